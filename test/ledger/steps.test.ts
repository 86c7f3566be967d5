/** Work that is written once and runs on stores that answer at once and on stores that answer later. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, runLater, runNow, type Steps } from '../../src/ledger/steps.ts'
import * as fc from '../property.ts'

/** Asks for each number in turn, and sums up the answers. */
function* sumUp(numbers: readonly number[]): Steps<number> {
  let sum = 0
  for (const n of numbers) sum += yield* ask(n)
  return sum
}

test('the answers come in the order of the questions, and the end is the same at once and later', () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.nat(99)), async numbers => {
      const asked: unknown[] = []
      const doubled = (n: unknown) => {
        asked.push(n)
        return 2 * Number(n)
      }
      const sum = numbers.reduce((all, n) => all + n, 0)
      assert.deepEqual([runNow(sumUp(numbers)), await runLater(sumUp(numbers))], [sum, sum])
      assert.equal(runNow(sumUp(numbers), doubled), 2 * sum)
      assert.equal(await runLater(sumUp(numbers), async n => doubled(n)), 2 * sum)
      assert.deepEqual(asked, [...numbers, ...numbers])
    }),
  ))
