/** The index of recall is filled in bounded steps by any process, and finds results by their calls. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import type { Message } from '../../src/model/types.ts'
import { search } from '../../src/recall/search.ts'
import { openPalimpsest } from '../../src/session/engine.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-filling-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const said = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })

const openStores: SqliteLedger[] = []

async function open(path = ':memory:') {
  const store = new SqliteLedger(path, { indexes: false })
  openStores.push(store)
  const pal = await openPalimpsest({ home: folder, store, config: false })
  /** Takes one step; `false` if nothing was left to do. */
  const step = (...ids: string[]) => store.advanceIndex(ids, { steps: 1, merge: false })
  const stepsOf = async (...ids: string[]) => {
    let steps = 0
    while (await step(...ids)) steps++
    return steps
  }
  const found = async (session: string, query: string) =>
    (await search(await store.index({ session }), query, { limit: 2000 })).map(hit => hit.seq)
  return { store, pal, step, stepsOf, found }
}

test('a step takes at most 512 events, and fewer if texts are long', async () => {
  const { pal, store, stepsOf } = await open()
  const many = await pal.session('many')
  await many.append(...Array.from({ length: 1025 }, (_, i) => said(`note ${i}`)))
  assert.equal(await stepsOf('many'), 3)
  const long = await pal.session('long')
  const words = (n: number, i: number) => `${i} ${'word '.repeat(n)}`
  const inEvent = (await store.read('many'))[0]!.body!.length - 'note 0'.length
  const exact = (i: number) =>
    said(
      words(3000, i)
        .padEnd(20_000, '.')
        .slice(0, 15_000 - inEvent),
    )
  await long.append(...Array.from({ length: 42 }, (_, i) => exact(i)))
  assert.equal(await stepsOf('long'), 2, 'the first, and twenty texts of 15,000 characters a step')
  const large = await pal.session('large')
  await large.append(...Array.from({ length: 10 }, (_, i) => said(words(20_000, i))))
  assert.equal(await stepsOf('large'), 2, 'texts that are kept apart count as 40,000 characters')
  assert.equal(await stepsOf('many', 'long', 'large'), 0)
})

test('two processes that fill one index handle each event once', async () => {
  const path = join(folder, 'two.sqlite')
  const [one, two] = [await open(path), await open(path)]
  const session = await one.pal.session('s')
  for (let i = 0; i < 30; i++) {
    await session.append(said(`needle ${i}`))
    await (i % 2 === 0 ? one : two).step('s')
    await (i % 3 === 0 ? one : two).step('s')
  }
  for (const { found } of [one, two]) assert.equal((await found('s', 'needle')).length, 30)
  const db = new DatabaseSync(path)
  assert.equal(db.prepare('SELECT count(*) AS n FROM recall_documents').get()!['n'], 30)
  db.close()
  await Promise.all([one.store.close(), two.store.close()])
})

test('small segments are merged eight at a time, and searches find the same as before', async () => {
  const { store, pal, step, found } = await open()
  const session = await pal.session('s')
  const segments = async () => (await store.readIndex('all', { behind: false }).segments()).map(s => s.lengths.length)
  const append = async (count: number) => {
    for (let i = 0; i < count; i++) {
      await session.append(said(`needle ${i}`))
      await step('s')
    }
  }
  await append(7)
  assert.equal(await store.advanceIndex([], { steps: 9, merge: true }), false)
  assert.deepEqual(await segments(), [1, 1, 1, 1, 1, 1, 1], 'seven are too few')
  await append(1)
  await store.advanceIndex([], { steps: 1, merge: true })
  assert.deepEqual(await segments(), [8])
  const before = await found('s', 'needle')
  await append(56)
  while (await store.advanceIndex([], { steps: 4, merge: true }));
  assert.deepEqual(await segments(), [64], 'eight of eight are one again')
  assert.deepEqual((await found('s', 'needle')).length, before.length + 56)
})

test('a result is found by its call, in whichever step the call was indexed, and in a fork', async () => {
  const { pal, step, found, stepsOf } = await open()
  const session = await pal.session('s')
  const call = (id: string, path: string): Message => {
    return { role: 'assistant', parts: [{ type: 'tool-call', id, name: 'read_file', input: { path } }] }
  }
  const result = (id: string, output: string): Message => {
    return { role: 'tool', parts: [{ type: 'tool-result', id, name: 'read_file', output }] }
  }
  await session.append(said('go'), call('c1', 'src/zebra.ts'))
  await step('s')
  const fork = await session.fork(1, 'f')
  await session.append(result('c1', 'stripes'), call('c2', 'src/giraffe.ts'), result('c2', 'neck'))
  await fork.append(result('c1', 'black and white'))
  await stepsOf('s', 'f')
  const seqOf = (name: string, text: string) => found(name, text).then(seqs => seqs.at(-1))
  assert.equal((await found('s', 'zebra')).length, 2, 'the call and its result')
  assert.equal((await found('s', 'giraffe')).length, 2)
  assert.equal((await found('f', 'zebra')).length, 2)
  assert.notEqual(await seqOf('f', 'white'), undefined)
})

test('with several calls a result is found by its own, and by none more than 400 events before it', async () => {
  const { pal, stepsOf, found } = await open()
  const session = await pal.session('s')
  const call = (id: string, path: string) => ({ type: 'tool-call' as const, id, name: 'read_file', input: { path } })
  const result = (id: string, output: string): Message => {
    return { role: 'tool', parts: [{ type: 'tool-result', id, name: 'read_file', output }] }
  }
  await session.append(said('go'), {
    role: 'assistant',
    parts: [call('c1', 'src/zebra.ts'), call('c2', 'src/giraffe.ts')],
  })
  await stepsOf('s')
  await session.append(result('c2', 'neck'))
  await stepsOf('s')
  assert.deepEqual([(await found('s', 'zebra')).length, (await found('s', 'giraffe')).length], [1, 2])
  await session.append(result('c1', 'stripes'), said('on'))
  await session.append({ role: 'assistant', parts: [call('c3', 'src/okapi.ts')] })
  const other = await pal.session('t')
  await other.append(said('go'), { role: 'assistant', parts: [call('c4', 'src/quagga.ts')] })
  await stepsOf('s', 't')
  const store = openStores.at(-1)!
  const rows = await store.read('t')
  const last = rows.at(-1)!
  const notes = Array.from({ length: 401 }, (_, i) => ({
    ...last,
    body: '{}',
    light: '',
    type: 'decision',
    seq: last.seq + 1 + i,
  }))
  await store.append('t', notes)
  const answer = { type: 'entry', message: result('c4', 'stripes again') }
  const light = JSON.stringify({ role: 'tool', results: ['c4'] })
  await store.append('t', [{ ...last, seq: last.seq + 402, type: 'entry', light, body: JSON.stringify(answer) }])
  await stepsOf('t')
  assert.deepEqual([(await found('t', 'quagga')).length, (await found('t', 'stripes')).length], [1, 1])
})

test('a hit in a long text names the piece with the word', async () => {
  const { pal, store, stepsOf } = await open()
  const text = Array.from({ length: 900 }, (_, i) => `Paragraph ${i} has the word needle${i} and some more.`).join(
    '\n\n',
  )
  await (await pal.session('s')).append(said('first'), said(text))
  await stepsOf('s')
  for (const word of ['needle0', 'needle450', 'needle899']) {
    const [hit] = await search(await store.index({ session: 's' }), word, { limit: 1 })
    const piece = text.slice(hit!.from, hit!.to)
    assert.ok(piece.includes(`${word} and`) && piece.length < text.length / 10, `${hit!.from} to ${hit!.to}`)
    assert.ok(hit!.to <= text.length)
  }
})

test('a damaged event or a missing large text does not hide other results', async () => {
  const path = join(folder, 'damaged.sqlite')
  const { pal, store, stepsOf, found } = await open(path)
  const session = await pal.session('s')
  const beside: Message = {
    role: 'user',
    parts: [...said('needle four').parts, ...said(`five ${'large '.repeat(5000)}`).parts],
  }
  await session.append(said('needle one'), said(`needle two ${'large '.repeat(5000)}`), said('needle three'), beside)
  const rows = await store.read('s')
  const entries = rows.filter(({ type }) => type === 'entry').map(({ seq }) => seq)
  const db = new DatabaseSync(path)
  db.exec('DELETE FROM contents')
  db.prepare('UPDATE events SET body = ? WHERE body LIKE ?').run('{"type":', '%needle one%')
  db.close()
  await stepsOf('s')
  assert.deepEqual((await found('s', 'needle')).sort(), entries.slice(2))
  await store.close()
})
