import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SqliteLedger } from '../src/ledger/sqlite.ts'
import type { LedgerStore, Row } from '../src/ledger/store.ts'
import type { Message } from '../src/model/types.ts'
import { openPalimpsest } from '../src/session/engine.ts'
import { storeWith } from './ledger/store-with.ts'

const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
const says = (text: string): Message => ({ role: 'assistant', parts: [{ type: 'text', text }] })

/** A store that records for which entries it returned the body, and which large contents. */
function watching(store: LedgerStore) {
  const bodies = new Set<number>()
  const contents: string[] = []
  const watched = storeWith(store, {
    read: async (...args) => {
      const rows = await store.read(...args)
      for (const row of rows) if (hasBody(row)) bodies.add(row.seq)
      return rows
    },
    contents: async hashes => {
      contents.push(...hashes)
      return store.contents(hashes)
    },
  })
  return { watched, bodies, contents }
}

function hasBody({ type, body }: Row): boolean {
  return type === 'entry' && body !== undefined
}

async function folded(turns: number, shownTurns: number) {
  const store = new SqliteLedger(':memory:')
  const pal = await openPalimpsest({ home: ':memory:', store, clock: () => 1 })
  const session = await pal.session('long')
  const large = (turn: number) => `${turn} `.repeat(6000)
  for (let turn = 0; turn < turns; turn++)
    await session.append(user(`request ${turn}`), says(turn % 50 ? 'ok' : large(turn)))
  const to = 2 * (turns - shownTurns) - 1
  await session.apply([
    { target: { type: 'range', from: 0, to }, replacement: { messages: [user('so far')] }, why: 'fold' },
  ])
  return { store, session, to }
}

describe('opening a long session', () => {
  test('reads only the bodies of shown entries', async () => {
    const { store, session, to } = await folded(1000, 10)
    const before = await session.view()
    const { watched, bodies, contents } = watching(store)
    const pal = await openPalimpsest({ home: ':memory:', store: watched, clock: () => 1 })
    const again = await pal.session('long')
    const view = await again.view()
    assert.deepEqual(view.messages, before.messages)
    assert.equal(view.tokens, before.tokens)
    assert.equal(bodies.size, 20)
    assert.ok([...bodies].every(seq => seq > to))
    assert.deepEqual(contents, [])
    await again.append(user('more'), says('fine'))
    await again.apply([{ target: { type: 'part', entry: 1999, part: 0 }, replacement: 'x', why: 'test' }])
    await again.view()
    assert.equal(bodies.size, 20)
  })

  test('reads a hidden entry on request, and all when the fold is undone', async () => {
    const { store } = await folded(100, 10)
    const { watched, bodies } = watching(store)
    const pal = await openPalimpsest({ home: ':memory:', store: watched, clock: () => 1 })
    const session = await pal.session('long')
    const hash = (await session.recall('request'))[0]!.hash
    const afterRecall = bodies.size
    assert.ok(afterRecall < 60, `${afterRecall} bodies`)
    assert.match((await session.restore(hash)).text, /^request/)
    await session.undo('e1')
    assert.equal((await session.view()).messages.length, 201)
    assert.equal(bodies.size, 200)
  })
})

describe('facts about a session', () => {
  test('are kept, and changed only by newly given ones', async () => {
    await using pal = await openPalimpsest({ home: ':memory:' })
    await pal.session('child', { about: { client: 'codex', parent: 'root' } })
    await pal.session('child', { about: { title: 'Find the bug' } })
    await pal.session('child')
    const about = { client: 'codex', parent: 'root', title: 'Find the bug' }
    assert.deepEqual((await pal.find('child'))?.about, about)
    assert.deepEqual(
      (await pal.sessions()).map(info => info.about),
      [about],
    )
    assert.equal(await pal.find('other'), undefined)
  })
})
