/** The contract of all ledger stores. Run by each implementation's test. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { contentHash, encodeEvent, GENESIS } from '../../src/ledger/codec.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { lastLink, type RedactEvent } from '../../src/ledger/redaction.ts'
import type { LedgerStore, ListOptions, NewRow, Row } from '../../src/ledger/store.ts'
import type { Event } from '../../src/model/types.ts'
import { search } from '../../src/recall/search.ts'
import { familyLaw } from './ledger-family.ts'

/** Opens a store on the same data each time it is called with the same name. */
export type StoreFactory = (name: string) => Promise<LedgerStore>

export function ledgerStoreContract(kind: string, openStore: StoreFactory): void {
  describe(`ledger store: ${kind}`, () => {
    test('a session is created once and found again', () =>
      withStore(async store => {
        assert.equal(await store.find('a'), undefined)
        const made = await store.open('a', { at: 5, meta: '{"x":1}' })
        assert.deepEqual(made, { id: 'a', createdAt: 5, updatedAt: 5, length: 0, meta: '{"x":1}' })
        assert.deepEqual(await store.open('a', { at: 9, meta: 'other' }), made)
        await store.setMeta('a', '{}')
        assert.equal((await store.find('a'))?.meta, '{}')
      }))

    test('rows are read as they were written, in order', () =>
      withStore(async store => {
        await store.open('a', { at: 0, meta: '{}' })
        const written = rows(['one', 'two', 'x'.repeat(40_000), '🙂 \u0000 end'])
        assert.equal(await store.append('a', written.slice(0, 1)), true)
        assert.equal(await store.append('a', written.slice(1)), true)
        assert.deepEqual(await store.read('a'), written.map(plain))
        assert.deepEqual(await store.read('a', { from: 1, to: 2 }), written.slice(1, 3).map(plain))
        assert.deepEqual(await store.read('a', { only: [0, 3] }), [written[0]!, written[3]!].map(plain))
        const contents = new Map(written.flatMap(row => [...(row.contents ?? [])]))
        assert.deepEqual(await store.contents([...contents.keys()]), contents)
        const light = await store.read('a', { lightType: 'entry' })
        assert.ok(light.every(row => row.body === undefined))
        assert.deepEqual(await store.read('a', { besidesEntries: true }), [])
        const pin = { ...rows(['a pin'])[0]!, seq: 4, type: 'pin' }
        assert.equal(await store.append('a', [pin]), true)
        assert.deepEqual(await store.read('a', { besidesEntries: true }), [plain(pin)])
        assert.equal((await store.find('a'))?.length, 5)
      }))

    test('an append may have any number of rows', () =>
      withStore(async store => {
        await store.open('a', { at: 0, meta: '{}' })
        const written = rows(Array.from({ length: 30 }, (_, i) => `row ${i}`))
        assert.equal(await store.append('a', []), true)
        assert.equal(await store.append('a', written), true)
        assert.deepEqual(await store.read('a'), written.map(plain))
      }))

    test('an append at a taken place is refused as a whole', () =>
      withStore(async store => {
        await store.open('a', { at: 0, meta: '{}' })
        const [first, second] = rows(['one', 'two'])
        assert.equal(await store.append('a', [first!]), true)
        assert.equal(await store.append('a', [first!]), false)
        assert.equal(await store.append('a', [{ ...second! }, { ...first! }]), false)
        assert.equal((await store.read('a')).length, 1)
      }))

    test('large contents are kept once and found by hash', () =>
      withStore(async store => {
        await store.open('a', { at: 0, meta: '{}' })
        await store.open('b', { at: 0, meta: '{}' })
        const [row] = rows(['y'.repeat(50_000)])
        const [[hash, text]] = [...row!.contents!] as [[string, string]]
        await store.append('a', [row!])
        await store.append('b', [row!])
        assert.deepEqual([...(await store.contents([hash, 'missing']))], [[hash, text]])
      }))

    test('a fork shares the rows of its parent up to the fork, and forks of forks do too', () =>
      withStore(async store => {
        await store.open('a', { at: 0, meta: '{}' })
        const all = rows(['0', '1', '2', '3', '4'])
        await store.append('a', all.slice(0, 3))
        await store.open('b', { at: 1, meta: '{}', parent: { id: 'a', seq: 1 } })
        await store.append('b', [{ ...plain(all[2]!), body: 'b2' }])
        await store.append('a', [all[3]!])
        await store.open('c', { at: 2, meta: '{}', parent: { id: 'b', seq: 2 } })
        await store.append('c', [{ ...plain(all[3]!), body: 'c3' }])
        await store.open('d', { at: 2, meta: '{}', parent: { id: 'b', seq: 0 } })
        const bodies = async (id: string) => (await store.read(id)).map(row => row.body)
        assert.deepEqual(await bodies('b'), [all[0]!.body, all[1]!.body, 'b2'])
        assert.deepEqual(await bodies('c'), [all[0]!.body, all[1]!.body, 'b2', 'c3'])
        assert.deepEqual(await bodies('d'), [all[0]!.body])
        assert.equal((await bodies('a')).length, 4)
        const forked = await store.read('c')
        assert.deepEqual(await store.read('c', { only: [0, 1, 2, 3] }), forked)
        assert.deepEqual(await store.read('c', { only: [1, 3] }), [forked[1], forked[3]])
        for (const [from, to] of [
          [1, 2],
          [2, 3],
          [3, 9],
          [4, 9],
        ] as const)
          assert.deepEqual(await store.read('c', { from, to }), forked.slice(from, to + 1))
        assert.equal((await store.find('d'))?.length, 1)
        assert.deepEqual((await store.find('b'))?.parent, { id: 'a', seq: 1 })
      }))

    test('sessions are listed by last use, in pages', () =>
      withStore(async store => {
        for (let i = 0; i < 7; i++) await store.open(`s${i}`, { at: i, meta: `{"n":${i}}` })
        await store.append('s2', [{ ...rows(['x'])[0]!, at: 100 }])
        const first = await store.list({ limit: 3 })
        const second = await store.list({ limit: 3, after: first.at(-1)!.id })
        assert.deepEqual(
          [...first, ...second].map(row => row.id),
          ['s2', 's6', 's5', 's4', 's3', 's1'],
        )
        assert.deepEqual(
          (await store.list({ contains: 's5' })).map(row => row.id),
          ['s5'],
        )
      }))

    test('a list can be limited to ids with a prefix, case-sensitive, and searched after it', () =>
      withStore(async store => {
        const ids = ['@ä/one', '@ä/two', '@äb/one', '@Ä/one', '@%/one', '@_/one', 'one']
        for (const [at, id] of ids.entries()) await store.open(id, { at, meta: '{}' })
        const listed = async (options: ListOptions) => (await store.list(options)).map(row => row.id)
        assert.deepEqual(await listed({ prefix: '@ä/' }), ['@ä/two', '@ä/one'])
        assert.deepEqual(await listed({ prefix: '@ä/', limit: 1, after: '@ä/two' }), ['@ä/one'])
        assert.deepEqual(await listed({ prefix: '@%/' }), ['@%/one'])
        assert.deepEqual(await listed({ prefix: '@ä/', contains: 'ä' }), [])
        assert.deepEqual(await listed({ prefix: '@ä/', contains: 'on' }), ['@ä/one'])
      }))

    test('the time of the last event is when a session was last used, and pages are sorted by it', () =>
      withStore(async store => {
        for (const [at, id] of ['@a/x', '@b/x', '@a/y', 'z'].entries()) await store.open(id, { at, meta: '{}' })
        const [first, second] = rows(['one', 'two'])
        await store.append('@a/x', [{ ...first!, at: 90 }])
        await store.append('@a/x', [{ ...second!, at: 50 }])
        await store.append('z', [{ ...first!, at: 50 }])
        const all = await store.list()
        assert.deepEqual(
          all.map(({ id, updatedAt }) => [id, updatedAt]),
          [
            ...[
              ['z', 50],
              ['@a/x', 50],
            ],
            ...[
              ['@a/y', 2],
              ['@b/x', 1],
            ],
          ],
        )
        for (const [i, { id }] of all.entries()) {
          assert.deepEqual(await store.list({ after: id }), all.slice(i + 1))
          assert.deepEqual(await store.find(id), all[i])
        }
        await store.setMeta('@b/x', '{"title":"kept"}')
        await store.remove(['z'], { at: 0, by: 'admin:cli' })
        assert.deepEqual(
          (await store.list()).map(({ id }) => id),
          ['@a/x', '@a/y', '@b/x'],
        )
        assert.deepEqual(
          (await store.list({ prefix: '@a/', after: '@a/x' })).map(({ id }) => id),
          ['@a/y'],
        )
      }))

    test('paging ends and gives every session once, while others append or redact', async t => {
      const [store, other] = [await openStore(t.name), await openStore(t.name)]
      const ids = ['a', 'b', 'c', 'd']
      for (const [at, id] of ids.entries()) await store.open(id, { at, meta: '{}' })
      await other.append('a', [{ ...rows(['the word'])[0]!, at: 50 }])
      await store.open('e', { at: 5, meta: '{}', parent: { id: 'a', seq: 0 } })
      await other.redact(['a'], { text: 'the word' }, { at: 60, by: 'admin:cli' })
      const met: string[] = []
      let page = await store.list({ limit: 2 })
      for (; page.length > 0 && met.length < 20; page = await store.list({ limit: 2, after: page.at(-1)!.id }))
        met.push(...page.map(({ id }) => id))
      assert.deepEqual(met.toSorted(), [...ids, 'e'])
      await store.close()
      await other.close()
    })

    test('search finds everything appended before it, in the session and its parents', () =>
      withStore(async store => {
        await store.open('a', { at: 0, meta: '{}' })
        await store.append('a', rows(['the quick fox', 'a lazy dog']))
        assert.deepEqual(await found(store, 'quick', 'a'), [0])
        await store.append('a', rows(['0', '1', 'another fox', 'late']).slice(2))
        assert.deepEqual((await found(store, 'fox', 'a')).sort(), [0, 2])
        await store.open('b', { at: 0, meta: '{}', parent: { id: 'a', seq: 1 } })
        assert.deepEqual(await found(store, 'fox', 'b'), [0])
        assert.deepEqual(await found(store, '"quick" OR (nonsense* NEAR', 'a'), [0])
        assert.deepEqual(await found(store, '', 'a'), [])
        assert.equal((await search(await store.index('all'), 'fox', { limit: 9 })).length, 2)
        const among = { among: (id: string) => id === 'b' }
        assert.equal((await search(await store.index(among), 'fox', { limit: 9 })).length, 0)
        await store.append('b', rows(['0', '1', 'a fox again']).slice(2))
        assert.equal((await search(await store.index('all'), 'fox', { limit: 9 })).length, 3, 'also a second time')
        await assert.rejects(store.index({ session: 'nobody' }), { code: 'SESSION_NOT_FOUND' })
      }))

    test('a removed session loses all content that no fork shares, and leaves a tombstone', () =>
      withStore(async store => {
        for (const id of ['a', 'b']) await store.open(id, { at: 0, meta: '{}' })
        const shared = 's'.repeat(20_000)
        const written = rows(['the quick fox', shared, 'o'.repeat(20_000)])
        await store.append('a', written)
        await store.append('b', rows(['a lazy dog', shared]))
        const [kept, own] = written.slice(1).map(row => [...row.contents!.keys()][0]!)
        const made = await store.remove(['a', 'nobody'], { at: 7, by: 'alice' })
        const head = written.at(-1)!.hash
        assert.deepEqual(made, [{ ...made[0]!, seq: 0, session: 'a', at: 7, by: 'alice', events: 3, head }])
        assert.deepEqual(await store.tombstones(), made)
        assert.equal(await store.find('a'), undefined)
        await assert.rejects(store.read('a'), { code: 'SESSION_NOT_FOUND' })
        await assert.rejects(store.append('a', rows(['more'])), { code: 'SESSION_NOT_FOUND' })
        assert.deepEqual([...(await store.contents([kept!, own!])).keys()], [kept])
        assert.deepEqual(await search(await store.index('all'), 'fox', { limit: 9 }), [])
        assert.equal((await search(await store.index('all'), 'lazy', { limit: 9 })).length, 1)
        assert.equal((await store.open('a', { at: 9, meta: '{}' })).length, 0)
        assert.equal((await store.read('a')).length, 0)
        assert.equal(await store.append('a', rows(['begun anew'])), true)
        assert.equal((await store.read('a')).length, 1)
      }))

    test('forks of a removed session keep their whole chain and stay searchable', () =>
      withStore(async store => {
        await store.open('a', { at: 0, meta: '{}' })
        await store.append('a', rows(['apple', 'banana', 'cherry', 'damson', 'elder']))
        await store.open('b', { at: 1, meta: '{}', parent: { id: 'a', seq: 1 } })
        await store.append('b', rows(['apple', 'banana', 'fig']).slice(2))
        await store.open('c', { at: 1, meta: '{}', parent: { id: 'a', seq: 3 } })
        await store.append('c', rows(['apple', 'banana', 'cherry', 'damson', 'grape']).slice(4))
        await store.open('d', { at: 1, meta: '{}', parent: { id: 'b', seq: 0 } })
        const before = await Promise.all(['b', 'c', 'd'].map(id => store.read(id)))
        await store.remove(['a'], { at: 7, by: 'alice' })
        assert.deepEqual(await Promise.all(['b', 'c', 'd'].map(id => store.read(id))), before)
        assert.deepEqual(await found(store, 'cherry', 'c'), [2])
        assert.deepEqual(await found(store, 'cherry', 'b'), [])
        assert.deepEqual(await found(store, 'banana', 'b'), [1])
        assert.deepEqual(await search(await store.index('all'), 'elder', { limit: 9 }), [])
        await store.remove(['c', 'b'], { at: 8, by: 'alice' })
        assert.deepEqual(await store.read('d'), before[2])
        await store.remove(['d'], { at: 9, by: 'alice' })
        assert.deepEqual(await search(await store.index('all'), 'apple', { limit: 9 }), [])
        assert.deepEqual(
          (await store.tombstones()).map(({ session, events }) => [session, events]),
          [
            ['a', 5],
            ['c', 5],
            ['b', 3],
            ['d', 1],
          ],
        )
      }))

    test('the tombstone of a fork without own events has the last hash of its shared events', () =>
      withStore(async store => {
        await store.open('a', { at: 0, meta: '{}' })
        const written = rows(['one', 'two', 'three', 'four'])
        await store.append('a', written)
        await store.open('b', { at: 1, meta: '{}', parent: { id: 'a', seq: 2 } })
        await store.open('c', { at: 1, meta: '{}', parent: { id: 'b', seq: 1 } })
        await store.open('d', { at: 1, meta: '{}', parent: { id: 'c', seq: 2 } })
        const ends = await store.remove(['d', 'c', 'b'], { at: 7, by: 'alice' })
        assert.deepEqual(
          ends.map(({ session, events, head }) => [session, events, head]),
          [
            ['d', 2, written[1]!.hash],
            ['c', 2, written[1]!.hash],
            ['b', 3, written[2]!.hash],
          ],
        )
        await store.open('new', { at: 8, meta: '{}' })
        const [empty] = await store.remove(['new'], { at: 9, by: 'alice' })
        assert.deepEqual([empty!.events, empty!.head], [0, GENESIS])
      }))

    test('creating a fork counts as its last use, even if its shared events are older', () =>
      withStore(async store => {
        await store.open('a', { at: 0, meta: '{}' })
        await store.append('a', rows(['apple', 'banana']))
        await store.open('b', { at: 500, meta: '{}', parent: { id: 'a', seq: 1 } })
        await store.open('c', { at: 400, meta: '{}' })
        const order = async () => (await store.list()).map(({ id, updatedAt }) => [id, updatedAt])
        await store.remove(['a'], { at: 700, by: 'alice' })
        assert.deepEqual(await order(), [
          ['b', 500],
          ['c', 400],
        ])
        await store.append('b', rows(['apple', 'banana', 'cherry']).slice(2))
        assert.equal((await store.find('b'))?.updatedAt, 500)
      }))

    test('a redacted text is gone from the session and its forks, and their chains still verify', () =>
      withStore(async store => {
        await store.open('a', { at: 0, meta: '{}' })
        const long = `xylophone ${'z'.repeat(20_000)}`
        await store.append('a', rows(['one', 'the xylophone', long, 'four']))
        await store.setMeta('a', '{"title":"on a xylophone"}')
        await store.open('b', { at: 0, meta: '{"title":"xylophone"}', parent: { id: 'a', seq: 2 } })
        await store.open('titled', { at: 0, meta: '{"title":"xylophones"}' })
        assert.equal((await search(await store.index('all'), 'xylophone', { limit: 9 })).length, 2)
        const { head } = await loaded(store, 'b')
        await store.open('e', { at: 0, meta: '{}', parent: { id: 'b', seq: 2 } })
        await (await loaded(store, 'e')).append([{ type: 'decision', text: 'a second xylophone' }], 1)
        await store.open('c', { at: 0, meta: '{}', parent: { id: 'a', seq: 0 } })
        const covered = ['nobody', 'a', 'e', 'titled']
        const redacted = await store.redact(covered, { text: 'xylophone' }, { at: 7, by: 'alice' })
        assert.equal((await search(await store.index('all'), 'four', { limit: 9 })).length, 1)
        for (const { meta } of await store.list()) assert.ok(!meta.includes('xylophone'))
        const changed = redacted.map(({ session, changed }) => [session, changed])
        assert.deepEqual(changed, [
          ['a', 2],
          ['b', 2],
          ['e', 3],
        ])
        for (const id of ['a', 'b', 'e']) {
          const events = (await new Ledger(store, id).verify()).map(({ event }) => event)
          assert.ok(!JSON.stringify(events).includes('xylophone'))
          assert.deepEqual(await found(store, 'xylophone', id), [])
          assert.deepEqual(await found(store, 'one', id), [0])
        }
        const [last] = await new Ledger(store, 'b').events([3])
        const { type, from, events, head: before, link } = last!.event as RedactEvent
        assert.deepEqual({ type, from, events, before }, { type: 'redact', from: 1, events: 3, before: head.hash })
        assert.equal(link, lastLink(['one', 'the xylophone', long].map(text => ({ event: said(text) }))))
        assert.equal((await store.contents([contentHash(long)])).size, 0)
        assert.equal((await store.read('c')).length, 1)
        assert.deepEqual(await store.redact(['a'], { text: 'xylophone' }, { at: 8, by: 'alice' }), [])
      }))

    test('a redaction counts as a use of the session', () =>
      withStore(async store => {
        for (const [at, id] of ['a', 'b'].entries()) await store.open(id, { at, meta: '{}' })
        await store.append('a', rows(['the xylophone']))
        const order = async () => (await store.list()).map(({ id }) => id)
        assert.deepEqual(await order(), ['b', 'a'])
        await store.redact(['a'], { text: 'xylophone' }, { at: 7, by: 'alice' })
        assert.deepEqual(await order(), ['a', 'b'])
      }))

    test('after any appends, forks, removals and redactions, each session has its own events and is searchable', () =>
      familyLaw(() => openStore(`family-${Math.random()}`), 4))

    test('another handle notices that a session was removed and created again', async t => {
      const one = await openStore(t.name)
      const two = await openStore(t.name)
      await one.open('a', { at: 0, meta: '{}' })
      await two.append('a', rows(['one', 'two']))
      await one.remove(['a'], { at: 1, by: 'alice' })
      await assert.rejects(two.append('a', rows(['one', 'two', 'three']).slice(2)), { code: 'SESSION_NOT_FOUND' })
      await one.open('a', { at: 2, meta: '{}' })
      assert.equal(await two.append('a', rows(['begun anew'])), true)
      assert.equal((await two.read('a')).length, 1)
      await one.close()
      await two.close()
    })

    test("two handles on one store see each other's events and never both write the same place", async t => {
      const one = await openStore(t.name)
      const two = await openStore(t.name)
      await one.open('a', { at: 0, meta: '{}' })
      const [row, next] = rows(['one', 'two'])
      const won = await Promise.all([one.append('a', [row!]), two.append('a', [row!])])
      assert.deepEqual(won.sort(), [false, true])
      assert.equal(await two.append('a', [next!]), true)
      assert.equal((await one.read('a')).length, 2)
      await one.close()
      await two.close()
    })

    test('appended events are there after reopening', async t => {
      const before = await openStore(t.name)
      await before.open('a', { at: 0, meta: '{}' })
      await before.append('a', rows(['one', 'z'.repeat(30_000)]))
      const read = await before.read('a')
      await before.close()
      const after = await openStore(t.name)
      assert.deepEqual(await after.read('a'), read)
      await after.close()
    })
  })

  async function withStore(work: (store: LedgerStore) => Promise<void>): Promise<void> {
    const store = await openStore(`contract-${Math.random()}`)
    try {
      await work(store)
    } finally {
      await store.close()
    }
  }
}

function rows(texts: readonly string[]): NewRow[] {
  let prev = GENESIS
  return texts.map((text, seq) => {
    const row = encodeEvent(said(text), { prev, seq, at: seq })
    prev = row.hash
    return row
  })
}

function said(text: string): Event {
  return { type: 'entry', message: { role: 'user', parts: [{ type: 'text', text }] } }
}

function plain({ contents: _, bytes: __, ...row }: NewRow): Row {
  return row
}

async function loaded(store: LedgerStore, id: string): Promise<Ledger> {
  const ledger = new Ledger(store, id)
  await ledger.load()
  return ledger
}

async function found(store: LedgerStore, query: string, session: string): Promise<number[]> {
  return (await search(await store.index({ session }), query, { limit: 10 })).map(hit => hit.seq)
}
