import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  contentHash,
  decodeEvent,
  decodeLight,
  decodeLightFile,
  encodeEvent,
  GENESIS,
  referencesIn,
} from '../../src/ledger/codec.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import type { LedgerStore, NewRow, Row } from '../../src/ledger/store.ts'
import type { Event } from '../../src/model/types.ts'
import * as fc from '../property.ts'

const place = { prev: GENESIS, seq: 0, at: 1 }
const holding = (value: unknown): Event => ({
  type: 'entry',
  message: { role: 'user', parts: [{ type: 'raw', provider: 'test', value }] },
})
const LARGE = 20_000

/** The event after a round trip, and the size of its row. */
function roundTrip(event: Event): { event: Event; row: NewRow } {
  const row = encodeEvent(event, place)
  return { event: decodeEvent(row.body, row.contents ?? new Map()), row }
}

const key = fc.oneof(
  fc.constantFrom(
    '$content',
    '$$content',
    '$$$content',
    '__proto__',
    'constructor',
    'toString',
    '',
    'k\ud800',
    'k\u0000',
  ),
  // One character that JSON escapes: engines have misread such keys.
  fc.constantFrom('"', '\\', '\n', '\u0000', '\u001f', '\ud800', '\udfff'),
  fc.string({ unit: 'binary', maxLength: 6 }),
)
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('{"$content":"x"}', `{"$content":"${'a'.repeat(64)}"}`, '$content', '$content"', '\\$content\\"'),
  fc.constantFrom('x', 'é', '🙂', '\u0000', '\ud800').map(char => char.repeat(LARGE)),
)
const { json } = fc.letrec<{ json: unknown }>(tie => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('json')), { maxLength: 4 }).map(entries => Object.fromEntries(entries)),
  ),
}))

describe('events and rows', () => {
  test('any JSON survives, with any keys and large texts', () => {
    fc.assert(
      fc.property(json, value => {
        const event = holding(value)
        assert.deepEqual(roundTrip(event).event, event)
      }),
      { numRuns: 500 },
    )
  })

  test('an object that looks like a reference is not one, even if it names a text of the same event', () => {
    const large = 'x'.repeat(LARGE)
    const event = holding([large, { $content: contentHash(large) }, { $content: contentHash(large), more: 1 }])
    const { event: back, row } = roundTrip(event)
    assert.deepEqual(back, event)
    assert.deepEqual(referencesIn(row.body), [contentHash(large)])
  })

  test('a key named __proto__ stays a key', () => {
    const value: unknown = JSON.parse('{"__proto__":{"a":1},"$content":{"__proto__":2}}')
    const { event } = roundTrip(holding(value))
    assert.equal(JSON.stringify(event), JSON.stringify(holding(value)))
    assert.equal(Object.getPrototypeOf(event), Object.prototype)
  })

  test('a large text is stored once beside the row, even if it occurs several times', () => {
    const large = 'y'.repeat(LARGE)
    const { row } = roundTrip(holding({ a: large, b: [large, large] }))
    assert.ok(row.body.length < 1000)
    assert.deepEqual([...row.contents!], [[contentHash(large), large]])
    assert.equal(roundTrip(holding('small')).row.contents, undefined)
  })

  test('texts of 16,384 characters stay in the row, longer ones do not', () => {
    const [longest, larger] = ['x'.repeat(16_384), 'y'.repeat(16_385)]
    assert.deepEqual([...roundTrip(holding([longest, larger])).row.contents!.values()], [larger])
    assert.equal(roundTrip(holding([longest, longest])).row.contents, undefined)
  })

  test('the light form has the calls and answers of an entry, without its content', () => {
    const parts = [
      { type: 'text' as const, text: 'x'.repeat(LARGE) },
      { type: 'tool-call' as const, id: 'c1', name: 'bash', input: {} },
    ]
    const asked = encodeEvent({ type: 'entry', message: { role: 'assistant', parts } }, place)
    assert.deepEqual(decodeLight(asked.light), { role: 'assistant', calls: [{ id: 'c1', name: 'bash' }] })
    const result = { type: 'tool-result' as const, id: 'c1', name: 'bash', output: '' }
    const answered = encodeEvent({ type: 'entry', message: { role: 'tool', parts: [result] } }, place)
    assert.deepEqual(decodeLight(answered.light), { role: 'tool', results: ['c1'] })
    assert.deepEqual(decodeLight(encodeEvent(holding(1), place).light), { role: 'user' })
  })

  test('the light form of a file has the hash of the previous text, and distinguishes an empty file from none', () => {
    const wrote = { action: 'write', path: 'a.md', hash: 'h' } as const
    const lightOf = (before?: string | null) => {
      const event: Event = { type: 'file', ...wrote, ...(before === undefined ? {} : { before, after: 'x' }) }
      return decodeLightFile(encodeEvent(event, place).light)
    }
    assert.deepEqual(lightOf('old'), { ...wrote, before: contentHash('old') })
    assert.deepEqual(lightOf(''), { ...wrote, before: contentHash('') })
    assert.deepEqual(lightOf(null), { ...wrote, before: null })
    assert.deepEqual(lightOf(), wrote)
    assert.equal(encodeEvent({ type: 'decision', text: 'x' }, place).light, '', 'other events have none')
  })

  test('a missing content is an error that names it', () => {
    const row = encodeEvent(holding('z'.repeat(LARGE)), place)
    assert.throws(() => decodeEvent(row.body, new Map()), {
      code: 'LEDGER_CORRUPT',
      message: /content [0-9a-f]{64} is missing/,
    })
  })

  test('large texts with unusual characters come back from a real database', async () => {
    const store = new SqliteLedger(':memory:')
    await store.open('s', { at: 0, meta: '{}' })
    const ledger = new Ledger(store, 's')
    const events = ['\u0000', '\ud800', '🙂', '\u2028', '\ufeff', 'a\u0000b'].map(char => holding(char.repeat(LARGE)))
    await ledger.append(events, 1)
    assert.deepEqual(
      (await ledger.verify()).map(({ event }) => event),
      events,
    )
    await store.close()
  })
})

describe('the hash chain', () => {
  const events: Event[] = [
    { type: 'entry', message: { role: 'user', parts: [{ type: 'text', text: 'go' }], at: 5 } },
    {
      type: 'entry',
      message: { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'x', input: { a: 1 } }] },
    },
    {
      type: 'entry',
      message: { role: 'tool', parts: [{ type: 'tool-result', id: 'c', name: 'x', output: 'w'.repeat(LARGE) }] },
    },
    {
      type: 'edit',
      edits: [
        { id: 'e1', target: { type: 'part', entry: 2, part: 0 }, replacement: 'w', by: 'user', why: '', saved: 1 },
      ],
    },
    { type: 'revert', edits: ['e1'], by: 'user' },
    { type: 'usage', usage: { input: 5 } },
  ]

  function chain(): NewRow[] {
    let prev = GENESIS
    return events.map((event, seq) => {
      const row = encodeEvent(event, { prev, seq, at: seq * 10 })
      prev = row.hash
      return row
    })
  }

  /** A store with only these rows. */
  function holdingRows(rows: readonly Row[], contents: ReadonlyMap<string, string>): LedgerStore {
    const no = async () => assert.fail('not asked for')
    return {
      read: async () => [...rows],
      contents: async hashes =>
        new Map(hashes.flatMap(hash => (contents.has(hash) ? [[hash, contents.get(hash)!]] : []))),
      open: no,
      find: no,
      list: no,
      setMeta: no,
      append: no,
      remove: no,
      redact: no,
      scrub: no,
      tombstones: no,
      index: no,
      close: async () => undefined,
    }
  }

  const contentsOf = (rows: readonly NewRow[]) => new Map(rows.flatMap(row => [...(row.contents ?? [])]))
  const verify = (rows: readonly Row[], contents: ReadonlyMap<string, string>) =>
    new Ledger(holdingRows(rows, contents), 's').verify()
  const corrupt = { code: 'LEDGER_CORRUPT' }

  test('an unchanged chain verifies', async () => {
    const rows = chain()
    const placed = await verify(rows, contentsOf(rows))
    assert.deepEqual(
      placed.map(({ event }) => event),
      events,
    )
  })

  test('any changed character in any field of any row is detected', async () => {
    const rows = chain()
    const contents = contentsOf(rows)
    const field = fc.constantFrom('type' as const, 'light' as const, 'body' as const, 'hash' as const)
    await fc.assert(
      fc.asyncProperty(fc.nat(rows.length - 1), field, fc.nat(), fc.nat(0xffff), async (index, name, at, code) => {
        const row = rows[index]!
        const value = row[name]
        const char = String.fromCharCode(code).toWellFormed()
        const changed = value.slice(0, at % (value.length + 1)) + char + value.slice((at % (value.length + 1)) + 1)
        if (changed === value) return
        await assert.rejects(verify(rows.with(index, { ...row, [name]: changed }), contents), corrupt)
      }),
      { numRuns: 400 },
    )
  })

  test('a changed time or number is detected', async () => {
    const rows = chain()
    for (const [index, row] of rows.entries()) {
      for (const change of [{ at: row.at + 1 }, { seq: row.seq + 1 }]) {
        await assert.rejects(verify(rows.with(index, { ...row, ...change }), contentsOf(rows)), corrupt)
      }
    }
  })

  test('a dropped, repeated, swapped or added row is detected', async () => {
    const rows = chain()
    const contents = contentsOf(rows)
    const alien = encodeEvent({ type: 'decision', text: 'never' }, { prev: rows[1]!.hash, seq: 2, at: 0 })
    for (const [i, row] of rows.entries()) {
      if (i < rows.length - 1) await assert.rejects(verify(rows.toSpliced(i, 1), contents), corrupt)
      await assert.rejects(verify(rows.toSpliced(i, 0, row), contents), corrupt)
      await assert.rejects(verify(rows.toSpliced(i, 0, alien), contents), corrupt)
      for (const j of rows.keys()) {
        if (i === j) continue
        const moved = rows.with(i, { ...rows[j]!, seq: i }).with(j, { ...row, seq: j })
        await assert.rejects(verify(moved, contents), corrupt)
      }
    }
  })

  test('a changed or lost content is detected', async () => {
    const rows = chain()
    const contents = contentsOf(rows)
    const [hash] = [...contents.keys()]
    await assert.rejects(verify(rows, new Map([[hash!, `${contents.get(hash!)} `]])), corrupt)
    await assert.rejects(verify(rows, new Map()), corrupt)
  })

  test('rows lost at the end are detected with a kept head', async () => {
    const store = new SqliteLedger(':memory:')
    await store.open('s', { at: 0, meta: '{}' })
    const ledger = new Ledger(store, 's')
    await ledger.append(events, 0)
    let left = events.length
    const short: LedgerStore = Object.assign(Object.create(store), {
      read: async (...args: Parameters<LedgerStore['read']>) => (await store.read(...args)).slice(0, left),
      append: async (...args: Parameters<LedgerStore['append']>) => store.append(...args),
      contents: async (hashes: readonly string[]) => store.contents(hashes),
    })
    await store.open('t', { at: 0, meta: '{}' })
    const watched = new Ledger(short, 't')
    await watched.append(events, 0)
    for (left of [3, events.length - 1])
      await assert.rejects(watched.verify(), {
        code: 'LEDGER_CORRUPT',
        message: new RegExp(`event ${left} is missing`),
      })
    await store.close()
  })
})

test('an unreadable body is a damaged ledger', () => {
  for (const body of ['', '{"type":"entry"', 'null', '"text"', '\u0000\u0000']) {
    assert.throws(() => decodeEvent(body, new Map()), { code: 'LEDGER_CORRUPT' })
    assert.throws(() => decodeLight(body), { code: 'LEDGER_CORRUPT' })
  }
})
