/** The index in SQLite alone: two processes at once, merging, and what remains of a removed session. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { forgetSessions, type IndexTables, indexSome, mergeSome } from '../../src/ledger/filling.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import { SqliteIndex } from '../../src/ledger/sqlite-index.ts'
import { runNow } from '../../src/ledger/steps.ts'
import type { Event } from '../../src/model/types.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-index-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const said = (text: string): Event => ({ type: 'entry', message: { role: 'user', parts: [{ type: 'text', text }] } })

let files = 0
/** A ledger without an indexer, with an index over the same file. */
async function open(...sessions: string[][]) {
  const path = join(folder, `${files++}.sqlite`)
  const store = new SqliteLedger(path, { indexes: false })
  const append = async (key: number, ...texts: string[]) => {
    const ledger = new Ledger(store, `s${key}`)
    await ledger.load()
    await ledger.append(texts.map(said), 1)
  }
  for (const [i, texts] of sessions.entries()) {
    await store.open(`s${i + 1}`, { at: 0, meta: '{}' })
    if (texts.length > 0) await append(i + 1, ...texts)
  }
  const db = new DatabaseSync(path)
  const index = new SqliteIndex(db, { sync: 'FULL', lineageOf: key => [{ key, upTo: Number.MAX_SAFE_INTEGER }] })
  const close = async () => {
    db.close()
    await store.close()
  }
  return { db, store, index, append, close }
}

/** The same tables, with some scripted answers. */
function withOwn(index: SqliteIndex, own: Partial<IndexTables>): IndexTables {
  return new Proxy(index as IndexTables, {
    get(target, name) {
      const value: unknown = Reflect.get(own, name) ?? Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const sizes = (index: SqliteIndex) => index.segments().map(({ lengths }) => lengths.length)

test('work that another process does in the middle of a step is not repeated', async () => {
  const { index, append, close } = await open(['one'])
  const meanwhile = (work: () => void) =>
    withOwn(index, {
      write(steps) {
        work()
        return index.write(steps)
      },
    })
  const slow = meanwhile(() => assert.equal(index.step(1), true))
  assert.equal(runNow(indexSome(slow, 1)), true)
  assert.deepEqual(sizes(index), [1])
  assert.equal(index.step(1), false)
  for (let i = 0; i < 7; i++) {
    await append(1, `more ${i}`)
    index.step(1)
  }
  assert.equal(runNow(mergeSome(meanwhile(() => assert.equal(index.merge(), true)))), true)
  assert.deepEqual(sizes(index), [8])
  assert.equal(runNow(indexSome(index, 99)), false, 'there is no such session')
  await close()
})

test('a segment that another process has removed is not merged', async () => {
  const { index, append, close } = await open([])
  for (let i = 0; i < 8; i++) {
    await append(1, `more ${i}`)
    index.step(1)
  }
  const listed = index.small(100)
  const gone = withOwn(index, { small: () => [...listed.slice(0, 7), { ...listed[7]!, id: 99 }] })
  runNow(mergeSome(gone))
  assert.deepEqual(sizes(index), [1, 1, 1, 1, 1, 1, 1, 1])
  await close()
})

test('eight segments of fewer than eight documents are merged as one class, larger ones as another', async () => {
  const { index, append, close } = await open([])
  for (const [i, count] of [1, 2, 3, 4, 5, 6, 7, 8].entries()) {
    await append(1, ...Array.from({ length: count }, (_, n) => `note ${i} ${n}`))
    index.step(1)
  }
  assert.equal(index.merge(), false, 'one of them has eight')
  await append(1, 'another')
  index.step(1)
  assert.equal(index.merge(), true)
  assert.deepEqual(sizes(index), [8, 29])
  await close()
})

test('events without text are marked as done, without a segment', async () => {
  const { store, index, close } = await open([])
  await new Ledger(store, 's1').append([{ type: 'pin', entry: 0, on: true, by: 'user' }], 1)
  assert.equal(index.step(1), true)
  assert.deepEqual(sizes(index), [])
  assert.deepEqual(index.done(1), { seq: 0, documents: 0 })
  await close()
})

test('terms are found by prefix and by substring, newest segments first', async () => {
  const { index, append, close } = await open([])
  for (const words of ['connectionTimeout alpha', 'socketTimeouts alphabet', 'beta']) {
    await append(1, words)
    index.step(1)
  }
  const segments = index.segments().map(({ id }) => id)
  const beginning = (text: string, limit = 9) => index.termsBeginning(text, { segments, limit })
  assert.deepEqual(beginning('alph'), ['alphabet', 'alpha'])
  assert.deepEqual([beginning('alph', 1), beginning('zeta')], [['alphabet'], []])
  const inside = (text: string, limit = 9) => index.termsInside(text, { segments, limit }).length
  assert.deepEqual([inside('meout'), inside('meout', 1), inside('xyz')], [2, 1, 0])
  const postings = index.postings(['alpha', 'beta', 'zeta'], segments)
  assert.deepEqual(
    [...postings].map(([term, found]) => [term, found.map(({ segment }) => segments.indexOf(segment))]),
    [
      ['alpha', [0]],
      ['beta', [2]],
      ['zeta', []],
    ],
  )
  const places = index.places(
    [
      { session: 1, number: 2 },
      { session: 1, number: 9 },
    ],
    key => `s${key}`,
  )
  assert.deepEqual([places[0]?.session, places[0]?.seq, places[1]], ['s1', 2, undefined])
  await close()
})

test('one merge is one step', async () => {
  const { index, append, close } = await open([])
  for (let i = 0; i < 16; i++) {
    await append(1, `note ${i}`)
    index.step(1)
  }
  assert.equal(index.merge(), true)
  assert.deepEqual(sizes(index), [1, 1, 1, 1, 1, 1, 1, 1, 8])
  await close()
})

test('a merged segment has at most 16,384 documents, but two are always merged', async () => {
  for (const [documents, merged] of [
    [8192, 2],
    [4097, 3],
    [4096, 4],
    [2048, 8],
    [20_000, 2],
  ] as const) {
    const { index, append, close } = await open([])
    for (let i = 0; i < 9; i++) {
      await append(1, `note ${i}`)
      index.step(1)
    }
    let largest = 0
    const small: IndexTables['small'] = most => {
      largest = most
      return index.small(100).map(one => ({ ...one, documents }))
    }
    runNow(mergeSome(withOwn(index, { small })))
    assert.deepEqual(
      sizes(index).filter(size => size > 1),
      [merged],
      `${documents}`,
    )
    assert.equal(largest, 8192, 'larger ones are not merged any more')
    await close()
  }
})

test('words of a removed session are gone from all segments', async () => {
  const { db, index, append, close } = await open([], [])
  for (let i = 0; i < 8; i++) {
    await append(1 + (i % 2), i % 2 === 0 ? `xylophone ${i} shared` : `marimba ${i} shared`)
    index.step(1 + (i % 2))
  }
  assert.equal(index.merge(), true)
  index.forgetAll([1])
  assert.deepEqual(sizes(index), [4])
  const stored = (table: string) => JSON.stringify(db.prepare(`SELECT * FROM ${table}`).all())
  for (const table of ['recall_postings', 'recall_words']) {
    assert.ok(stored(table).includes('marimba'), table)
    assert.ok(!stored(table).includes('xylophone'), table)
  }
  const [{ documents }] = db.prepare('SELECT documents FROM recall_segments').all() as [{ documents: number }]
  assert.equal(documents, 4)
  runNow(forgetSessions(index, [2]))
  assert.deepEqual(sizes(index), [])
  await close()
})

test('the list of segments is cached until a segment is added or removed', async () => {
  const { index, append, close } = await open(['one'], [])
  index.step(1)
  const list = index.segments()
  assert.equal(index.segments(), list)
  await append(2, 'of another connection')
  assert.equal(index.segments(), list)
  index.step(2)
  assert.equal(index.segments().length, 2)
  assert.equal(index.segments()[0], list[0], 'a segment that is known is not read again')
  await close()
})

test('writes of the index do not wait for the disk, later writes do', async () => {
  const { db, index, close } = await open([])
  const synchronous = () => db.prepare('PRAGMA synchronous').get()?.['synchronous']
  index.write(function* () {
    yield
    assert.equal(synchronous(), 1)
  })
  assert.equal(synchronous(), 2)
  assert.throws(() =>
    index.write(function* () {
      yield
      throw new Error('no')
    }),
  )
  assert.equal(synchronous(), 2)
  await close()
})

test("the last document up to an event is the event's, or the one before it", async () => {
  const { index, append, close } = await open(['zero', 'one'], ['other'])
  index.step(1)
  await append(1, 'two')
  index.step(1)
  index.step(2)
  assert.deepEqual(
    [-1, 0, 1, 2, 3].map(seq => index.lastDocument(1, seq)),
    [-1, 0, 1, 2, 2],
  )
  assert.equal(index.lastDocument(99, 5), -1)
  await close()
})
