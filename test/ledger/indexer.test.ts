/** When the index is filled. `advance` is the test's: it records requests and returns whether work is left. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Advance, Indexer } from '../../src/ledger/indexer.ts'
import { PalimpsestError } from '../../src/model/errors.ts'

type Asked = { sessions: readonly string[] | undefined; merge: boolean }

/** An index with `behind` steps left for older events; each error of `fail` is thrown once. */
function scripted({ behind = 0, fail = [] as Error[] } = {}) {
  const asked: Asked[] = []
  const failures = [...fail]
  let left = behind
  const advance: Advance = async (sessions, { merge }) => {
    asked.push({ sessions, merge })
    const failure = failures.shift()
    if (failure) throw failure
    if (sessions) return false
    left = Math.max(0, left - 1)
    return left > 0
  }
  return { indexer: new Indexer(advance), asked }
}

const locked = () => new PalimpsestError('STORE_LOCKED', 'locked')
/** Waits for the timer of the indexer, which does not keep the process alive, and for its steps. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(resolve => setTimeout(resolve, 5))
}

test('consecutive appends are indexed together and once, and then older events', async () => {
  const { indexer, asked } = scripted({ behind: 2 })
  indexer.appended('a')
  indexer.appended('b')
  indexer.appended('a')
  await until(() => asked.length === 3)
  assert.deepEqual(asked, [
    { sessions: ['a', 'b'], merge: true },
    { sessions: undefined, merge: true },
    { sessions: undefined, merge: true },
  ])
  indexer.appended('c')
  await until(() => asked.length === 4)
  await indexer.close()
  assert.deepEqual(asked.at(-1), { sessions: ['c'], merge: true }, 'what was behind is done, and not looked at again')
})

test('when all is indexed there are no further steps and no timers', async t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { indexer, asked } = scripted({ behind: 1 })
  const soon = async () => {
    t.mock.timers.tick(1000)
    for (let i = 0; i < 5; i++) await new Promise(resolve => setImmediate(resolve))
  }
  indexer.appended('a')
  for (let i = 0; i < 5; i++) await soon()
  assert.deepEqual(asked, [
    { sessions: ['a'], merge: true },
    { sessions: undefined, merge: true },
  ])
  await indexer.close()
  indexer.appended('b')
  await soon()
  assert.equal(asked.length, 2, 'closed')
})

test('appends during indexing are collected, and then indexed together', async () => {
  const asked: (readonly string[] | undefined)[] = []
  let goOn = () => {}
  const first = new Promise<void>(resolve => (goOn = resolve))
  const indexer = new Indexer(async sessions => {
    asked.push(sessions)
    if (asked.length === 1) await first
    return asked.length === 1
  })
  indexer.appended('a')
  await until(() => asked.length === 1)
  indexer.appended('b')
  goOn()
  await until(() => asked.length === 2)
  indexer.appended('c')
  await until(() => asked.length >= 3)
  await indexer.close()
  assert.deepEqual(asked.slice(0, 3), [['a'], ['a'], ['b', 'c']])
})

test('waiting sessions are indexed four at a time', async () => {
  const { indexer, asked } = scripted()
  for (let i = 0; i < 8; i++) indexer.appended(`s${i}`)
  await until(() => asked.length >= 3)
  assert.deepEqual(
    asked.map(({ sessions }) => sessions),
    [['s0', 's1', 's2', 's3'], ['s4', 's5', 's6', 's7'], undefined],
  )
  await indexer.close()
})

test('a search waits for sessions that are being indexed, and only for those', async () => {
  const asked: Asked[] = []
  const held = Promise.withResolvers<void>()
  const indexer = new Indexer(async (sessions, { merge }) => {
    asked.push({ sessions, merge })
    if (asked.length === 1) await held.promise
    return false
  })
  indexer.appended('a')
  await until(() => asked.length === 1)
  assert.equal(await indexer.catchUp(undefined), false)
  assert.deepEqual(asked.slice(1), [
    { sessions: ['a'], merge: false },
    { sessions: undefined, merge: false },
  ])
  held.resolve()
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(await indexer.catchUp(undefined), false)
  assert.equal(asked.length, 3)
  await indexer.close()
  assert.equal(asked.length, 3, 'nothing was left')
})

test('the timer does not keep the process alive, and closing clears it', async t => {
  const timers = () => process.getActiveResourcesInfo().filter(name => name === 'Timeout').length
  const { indexer, asked } = scripted({ behind: 2 })
  const before = timers()
  indexer.appended('a')
  assert.equal(timers(), before)
  await indexer.close()
  assert.equal(timers(), before)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const other = scripted({ behind: 2 })
  other.indexer.appended('a')
  await other.indexer.close()
  t.mock.timers.tick(10_000)
  await new Promise(resolve => setImmediate(resolve))
  assert.deepEqual([asked.length, other.asked.length], [1, 1])
})

test('closing stops endless work', async () => {
  const asked: Asked[] = []
  const indexer = new Indexer(async (sessions, { merge }) => {
    asked.push({ sessions, merge })
    return merge
  })
  indexer.appended('a')
  await until(() => asked.length > 1)
  await indexer.close()
  assert.deepEqual(asked.at(-1), { sessions: ['a'], merge: false })
})

test('a session is tried again with the next append after a failed step', async () => {
  const { indexer, asked } = scripted({ fail: [new Error('disk')] })
  indexer.appended('a')
  await until(() => asked.length === 1)
  await new Promise(resolve => setImmediate(resolve))
  indexer.appended('b')
  await until(() => asked.length >= 2)
  assert.deepEqual(new Set(asked[1]!.sessions), new Set(['a', 'b']))
  await indexer.close()
})

test('a search of one session is complete; a search of all says if some are left out', async () => {
  const { indexer, asked } = scripted({ behind: 3 })
  assert.equal(await indexer.catchUp('a'), false)
  assert.deepEqual(asked, [{ sessions: ['a'], merge: false }])
  assert.equal(await indexer.catchUp(undefined), true)
  assert.equal(await indexer.catchUp(undefined), true)
  assert.equal(await indexer.catchUp(undefined), false)
  const before = asked.length
  assert.equal(await indexer.catchUp(undefined), false)
  assert.equal(asked.length, before, 'nothing is left to look at')
  await indexer.close()
})

test('sessions left out of a search are indexed afterwards', async () => {
  const { indexer, asked } = scripted({ behind: 3 })
  assert.equal(await indexer.catchUp(undefined), true)
  await until(() => asked.some(({ merge }) => merge))
  await indexer.close()
})

test('a search of all sessions includes appends of this process', async () => {
  const { indexer, asked } = scripted()
  indexer.appended('a')
  await indexer.catchUp(undefined)
  assert.deepEqual(asked[0], { sessions: ['a'], merge: false })
  await indexer.close()
})

test('a search waits while the database is locked, and passes on other errors at once', async () => {
  const { indexer, asked } = scripted({ fail: [locked(), locked()] })
  assert.equal(await indexer.catchUp('a'), false)
  assert.equal(asked.length, 3)
  for (const failure of [new PalimpsestError('LEDGER_CORRUPT', 'broken'), new Error('broken')]) {
    const one = scripted({ fail: [failure] })
    await assert.rejects(one.indexer.catchUp('a'), failure)
    assert.equal(one.asked.length, 1)
  }
})

test('a search gives a writer time to finish', async () => {
  let isLocked = true
  const indexer = new Indexer(async () => {
    if (isLocked) throw locked()
    return false
  })
  setTimeout(() => (isLocked = false))
  assert.equal(await indexer.catchUp('a'), false)
  await indexer.close()
})

test('closing indexes the appends of this process once, and nothing starts afterwards', async () => {
  const { indexer, asked } = scripted({ behind: 5 })
  indexer.appended('a')
  await indexer.close()
  await indexer.close()
  assert.deepEqual(asked, [{ sessions: ['a'], merge: false }])
  const failing = scripted({ fail: [new Error('disk')] })
  failing.indexer.appended('a')
  await failing.indexer.close()
  assert.equal(failing.asked.length, 1, 'a failure at the end is left for the next process')
})

test('a search answers from the index as it is while the disk is full, and says so', async () => {
  const full = () => new PalimpsestError('STORE_FULL', 'full')
  const { indexer } = scripted({ fail: [full(), full()] })
  assert.equal(await indexer.catchUp('a'), true)
  assert.equal(await indexer.catchUp(undefined), true)
  assert.equal(await indexer.catchUp('a'), false)
})
