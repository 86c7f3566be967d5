/** Tasks in queues, one after the other for each key; and the first index from which a condition holds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { firstIndex } from '../../src/model/first-index.ts'
import { Queues } from '../../src/model/queues.ts'
import * as fc from '../property.ts'

test('tasks under one key run in the order of the requests, even after errors; other keys do not wait', async () => {
  const queues = new Queues()
  const done: string[] = []
  const held = Promise.withResolvers<void>()
  const first = queues.run('a', async () => {
    await held.promise
    done.push('first')
    throw new Error('failed')
  })
  const second = queues.run('a', async () => {
    done.push('second')
    return 2
  })
  assert.equal(await queues.run('b', async () => done.push('other')), 1)
  assert.deepEqual(done, ['other'])
  held.resolve()
  await assert.rejects(first, { message: 'failed' })
  assert.equal(await second, 2)
  assert.deepEqual(done, ['other', 'first', 'second'])
  assert.equal(await queues.run('a', async () => 3), 3)
})

test('a task added while others run or wait comes last', async () => {
  const queues = new Queues()
  const done: string[] = []
  const held = Promise.withResolvers<void>()
  const first = queues.run('a', async () => done.push('first'))
  const second = queues.run('a', async () => {
    await held.promise
    done.push('second')
  })
  await first
  await new Promise(resolve => setImmediate(resolve))
  const third = queues.run('a', async () => done.push('third'))
  await new Promise(resolve => setImmediate(resolve))
  held.resolve()
  await Promise.all([second, third])
  assert.deepEqual(done, ['first', 'second', 'third'])
})

test('the result of a finished task is not kept in memory', async () => {
  const queues = new Queues()
  const given = new WeakRef(await queues.run('a', async () => ({ large: true })))
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  await new Promise(resolve => setImmediate(resolve))
  collect()
  assert.equal(given.deref(), undefined)
})

test('the first index from which a condition holds is found in logarithmic time', () =>
  fc.assert(
    fc.property(fc.nat(500), fc.nat(600), (length, from) => {
      let asked = 0
      const found = firstIndex(length, index => {
        asked++
        assert.ok(index >= 0 && index < length)
        return index >= from
      })
      assert.equal(found, Math.min(from, length))
      assert.ok(asked <= Math.ceil(Math.log2(length + 1)) + 1)
    }),
  ))
