import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { openPalimpsest } from '../../src/index.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import { ThreadedLedger } from '../../src/ledger/threaded.ts'
import type { Message } from '../../src/model/types.ts'
import { documentsOf } from '../../src/recall/documents.ts'
import { search } from '../../src/recall/search.ts'
import type { Session } from '../../src/session/session.ts'
import * as fc from '../property.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const said = (role: 'user' | 'assistant', text: string): Message => ({ role, parts: [{ type: 'text', text }] })

function run(id: string, name: string, input: unknown, output: string): Message[] {
  return [
    { role: 'assistant', parts: [{ type: 'tool-call', id, name, input }] },
    { role: 'tool', parts: [{ type: 'tool-result', id, name, output }] },
  ]
}

async function sessionWith(...messages: Message[]): Promise<Session> {
  const session = await (await openPalimpsest({ home: ':memory:' })).session('s')
  await session.append(...messages)
  return session
}

const entries = async (session: Session, query: string, options = {}) =>
  (await session.recall(query, options)).map(hit => hit.entry)

test('a question finds the turn with the answer, even if not all its words occur', async () => {
  const session = await sessionWith(
    said('user', 'We went camping by the lake in July.'),
    said('assistant', 'How lovely! Was the water warm?'),
    said('user', 'I painted a sunrise for my sister.'),
    said('assistant', 'Did she like it?'),
  )
  assert.equal((await entries(session, 'What did the user paint for her sister?'))[0], 2)
  assert.equal((await entries(session, 'When did they go to camp?'))[0], 0)
})

test('a result is found by its call, by a name in it, by part of a name and by the beginning of one', async () => {
  const session = await sessionWith(
    said('user', 'Look around.'),
    ...run('1', 'read_file', { path: 'src/server/session-desk.ts' }, 'export class Desk { openGate() {} }'),
    ...run('2', 'bash', { command: 'npm run lint' }, 'all is well'),
    ...run('3', 'bash', { command: 'ls' }, 'connectionTimeoutMs=20'),
  )
  assert.equal((await entries(session, 'what was the result of npm run lint'))[0], 4)
  assert.equal((await entries(session, '/work/src/server/session-desk.ts'))[0], 2)
  assert.deepEqual(await entries(session, 'gate'), [2])
  assert.deepEqual(await entries(session, 'timeo'), [6])
  assert.deepEqual(await entries(session, 'meout'), [6])
})

test('hits can be limited to a kind, a tool, a file and a time, and to one for each text', async () => {
  const at = (time: number, messages: Message[]) => messages.map(message => ({ ...message, at: time }))
  const session = await sessionWith(
    ...at(1_000_000, run('1', 'read_file', { path: 'a/deep/one.ts' }, 'needle in one')),
    ...at(2_000_000, run('2', 'bash', { command: 'cat x' }, 'needle elsewhere')),
    ...at(3_000_000, run('3', 'read_file', { path: 'a/deep/one.ts' }, 'needle in one')),
    ...at(4_000_000, [said('user', 'a needle of mine')]),
  )
  const of = async (options: object) => (await entries(session, 'needle', options)).sort((a, b) => a - b)
  assert.deepEqual(await of({}), [1, 3, 5, 6])
  assert.deepEqual(await of({ types: ['tool-result'] }), [1, 3, 5])
  assert.deepEqual(await of({ types: ['user'] }), [6])
  assert.deepEqual(await of({ tools: ['bash', 'none'] }), [3])
  assert.deepEqual(await of({ paths: ['deep/one.ts'] }), [1, 5])
  assert.deepEqual(await of({ paths: ['./a/deep/one.ts'], since: 3_000_000 }), [5])
  assert.deepEqual(await of({ since: 2_000_000, until: 3_000_000 }), [3, 5])
  const distinct = await session.recall('needle', { distinct: true, tools: ['read_file'] })
  assert.deepEqual(
    distinct.map(({ entry, copies, at, kind }) => ({ entry, copies, at, kind })),
    [{ entry: 5, copies: 1, at: 3_000_000, kind: 'tool-result' }],
  )
})

test('a long result is one hit with its best piece, and its neighbours can be read', async () => {
  const lines = Array.from({ length: 900 }, (_, i) => `line ${i} of the build output, nothing to see here`)
  lines[700] = 'ERROR zebra crossing collapsed'
  const session = await sessionWith(
    said('user', 'build it'),
    ...run('1', 'bash', { command: 'make' }, lines.join('\n')),
  )
  const hits = await session.recall('zebra output', { types: ['tool-result'] })
  assert.equal(hits.length, 1)
  assert.match(hits[0]!.snippet, /zebra crossing/)
  assert.ok(hits[0]!.tokens > 5000 && hits[0]!.to - hits[0]!.from <= 1200)
  const around = await session.around(hits[0]!.hash, { before: 2, after: 2 })
  assert.deepEqual(
    around.map(({ entry, preview }) => [entry, preview.slice(0, 8)]),
    [
      [0, 'build it'],
      [1, 'make'],
      [2, 'line 0 o'],
    ],
  )
})

test('the neighbours of an edit of several entries are those of its first', async () => {
  const session = await sessionWith(said('user', 'one'), said('assistant', 'two'), said('user', 'three'))
  const [edit] = await session.apply([
    { target: { type: 'range', from: 1, to: 2 }, replacement: { messages: [said('user', 'both')] }, why: 'test' },
  ])
  const around = await session.around(edit!.id, { before: 1, after: 0 })
  assert.deepEqual(
    around.map(({ preview }) => preview),
    ['one', 'two'],
  )
  await assert.rejects(session.original(edit!.id), { code: 'ALREADY' })
})

test('pieces cover any text without gaps', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.nat(40), (unit, times) => {
      const text = `${unit}x`.repeat(times + 1)
      const pieces = documentsOf(said('user', text), () => undefined)
      let done = 0
      for (const { from, to } of pieces) {
        assert.equal(from, done)
        done = to
        assert.ok(to - from <= 1200)
      }
      assert.equal(done, text.length)
    }),
    { numRuns: 100 },
  )
})

test('hits do not depend on how the segments were made', async () => {
  const texts = Array.from(
    { length: 300 },
    (_, i) => `note ${i} about ${['pears', 'apples', 'plums'][i % 3]} number${i}`,
  )
  const one = await (await openPalimpsest({ home: ':memory:' })).session('s')
  await one.append(...texts.map(text => said('user', text)))
  const store = new SqliteLedger(':memory:')
  const many = await (await openPalimpsest({ home: ':memory:', store })).session('s')
  for (const text of texts) {
    await many.append(said('user', text))
    await store.advanceIndex(['s'], { steps: 9, merge: true })
  }
  for (const query of ['plums', 'number77 apples', 'number1']) {
    const places = async (session: Session) => (await session.recall(query)).map(({ entry }) => entry)
    assert.deepEqual(await places(many), await places(one), query)
  }
  const segments = await (await store.index('all')).segments()
  assert.ok(segments.length < 30, `${segments.length} segments`)
})

test('a home of an earlier version is indexed in steps, and a search meanwhile reports that it is incomplete', async () => {
  const path = join(folder, 'old.sqlite')
  const before = new SqliteLedger(path, { indexes: false })
  const pal = await openPalimpsest({ home: folder, store: before, config: false })
  for (let s = 0; s < 30; s++) {
    const session = await pal.session(`s${s}`)
    await session.append(...Array.from({ length: 3 }, (_, i) => said('user', `needle ${s} ${i}`)))
  }
  await before.close()
  const store = new SqliteLedger(path)
  const index = await store.index('all')
  assert.equal(index.behind, true)
  assert.ok((await search(index, 'needle', { limit: 100 })).length < 90)
  assert.equal((await search(await store.index({ session: 's29' }), 'needle', { limit: 9 })).length, 3)
  assert.equal((await store.index('all')).behind, false)
  assert.equal((await search(await store.index('all'), 'needle', { limit: 100 })).length, 90)
  await store.close()
})

test('appended text is in the index when the store is closed, even by the thread', async () => {
  for (const Store of [SqliteLedger, ThreadedLedger]) {
    const path = join(folder, `${Store.name}.sqlite`)
    const store = new Store(path)
    const session = await (await openPalimpsest({ home: folder, store, config: false })).session('s')
    await session.append(said('user', 'a needle'))
    await store.close()
    const db = new DatabaseSync(path)
    assert.equal(db.prepare('SELECT count(*) AS n FROM recall_documents').get()?.['n'], 1)
    db.close()
  }
})

test('substrings of words are found, whatever their stem is, in large segments too', async () => {
  const store = new SqliteLedger(':memory:')
  const pal = await openPalimpsest({ home: ':memory:', store })
  const session = await pal.session('s')
  const other = await pal.session('other')
  const word = (i: number) => `w${(i * 7919).toString(36)}q${i.toString(36)}`
  for (let i = 0; i < 40; i++) {
    const texts = Array.from({ length: 64 }, (_, j) => `${word(64 * i + j)} ${word(9000 + 64 * i + j)}`)
    await session.append(...texts.map(text => said('user', text)))
    await other.append(...texts.map(text => said('user', `${text}zz notificationless${i}`)))
  }
  await session.append(said('user', 'the authenticationMiddleware'), said('user', 'notifications of Rückstände'))
  while (await store.advanceIndex(['s', 'other'], { steps: 64, merge: true }));
  assert.ok((await (await store.index('all')).segments()).some(({ lengths }) => lengths.length > 1000))
  assert.deepEqual(await entries(session, 'henticationmid'), [2560])
  assert.deepEqual(await entries(session, 'ificatio'), [2561])
  assert.deepEqual(await entries(session, 'uckstand'), [2561])
  assert.deepEqual(await entries(session, `${word(100).slice(1, -1)}`), [100])
  assert.deepEqual(await entries(session, 'xyzzyx'), [])
})

test('Chinese, Japanese, Thai and Korean are found by words and by a single character, anywhere in a sentence', async () => {
  const session = await sessionWith(
    said('user', '我们昨天在北京开会讨论预算'),
    said('user', '明日は東京で会議があります。サーバーを再起動してください'),
    said('user', 'ฉันชอบกินข้าวผัดกุ้งที่ตลาด'),
    said('user', '这个国家很大, 我爱祖国'),
    said('user', '배포 스크립트를 고쳤습니다'),
  )
  const first = async (query: string) => (await entries(session, query))[0]
  assert.equal(await first('北京'), 0)
  assert.equal(await first('预算'), 0)
  assert.equal(await first('再起動'), 1)
  assert.equal(await first('サーバー'), 1)
  assert.equal(await first('ข้าวผัด'), 2)
  assert.equal(await first('ตลาด'), 2)
  assert.deepEqual(await entries(session, '国'), [3])
  assert.deepEqual(await entries(session, '算'), [0])
  assert.equal(await first('스크립트'), 4)
  assert.equal(await first('배포'), 4)
  assert.equal(await first('스크립트는 어디에'), 4, 'with another ending')
})

test('words of a removed session are gone from the index, even as substrings', async () => {
  const path = join(folder, 'removed.sqlite')
  const store = new SqliteLedger(path, { indexes: false })
  const pal = await openPalimpsest({ home: folder, store, config: false })
  await (await pal.session('kept')).append(said('user', 'the zebracrossings stay here'))
  await (await pal.session('gone')).append(said('user', 'hiddenpasswordish zebracrossing'))
  while (await store.advanceIndex(undefined, { steps: 64, merge: true }));
  const inside = async (text: string) =>
    (await search(await store.index('all'), text, { limit: 5 })).map(hit => hit.session)
  assert.deepEqual(await inside('npasswordi'), ['gone'])
  await store.remove(['gone'], { at: 1, by: 'user' })
  assert.deepEqual(await inside('npasswordi'), [])
  assert.deepEqual(await inside('zebracrossing'), ['kept'])
  await store.close()
  const db = new DatabaseSync(path)
  const words = db
    .prepare('SELECT words FROM recall_words')
    .all()
    .map(row => String(row['words']))
  db.close()
  assert.ok(words.some(block => block.includes('zebracrossing')))
  assert.ok(words.every(block => !/password/.test(block)))
})
