/** Sums over a list that grows and changes, compared with sums of a plain list. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Sums } from '../../src/planner/sums.ts'
import * as fc from '../property.ts'

const step = fc.record({ value: fc.integer({ min: -1000, max: 1000 }), at: fc.option(fc.nat(70)) })

test('after any additions and changes, the sum before every index is correct', () =>
  fc.assert(
    fc.property(fc.array(step, { maxLength: 70 }), steps => {
      const sums = new Sums()
      const plain: number[] = []
      for (const { value, at } of steps) {
        if (at === null || at >= plain.length) {
          plain.push(value)
          sums.push(value)
        } else {
          plain[at]! += value
          sums.add(at, value)
        }
        let sum = 0
        for (let i = 0; i <= plain.length; i++) {
          assert.equal(sums.before(i), sum)
          sum += plain[i] ?? 0
        }
      }
    }),
  ))
