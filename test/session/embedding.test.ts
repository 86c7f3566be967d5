/** Recall by meaning: vectors from an endpoint (a real server here) or from real weights, combined with word search. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { embeddingFolder } from '../../scripts/optional-parts.ts'
import type { Message } from '../../src/model/types.ts'
import { meaningOf } from '../../src/recall/meaning.ts'
import { parseConfig } from '../../src/session/config.ts'
import { openEmbedding } from '../../src/session/embedding.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { wordPieces } from '../../src/session/wordpiece.ts'

const said = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })

/** Has two topics: vehicles and food. */
const asked: { model: string; input: string[]; key: string | undefined }[] = []
const server = createServer(async (request, response) => {
  if (!request.url?.startsWith('/v1/')) return response.writeHead(404).end()
  let body = ''
  for await (const chunk of request) body += chunk
  const { model, input }: { model: string; input: string[] } = JSON.parse(body)
  asked.push({ model, input, key: request.headers.authorization })
  const about = (text: string, words: RegExp) => (words.test(text) ? 2 : 0.1)
  const data = input.map((text, index) => ({
    index,
    embedding: [about(text, /car|lorry|vehicle|automobile/), about(text, /soup|bread|meal/)],
  }))
  return response.end(JSON.stringify({ data: data.reverse() }))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close())
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`

const texts = [
  'the price of the soup went up',
  'the price of the lorry fell',
  'a price list',
  'nothing to see',
  'my car',
]

test('an endpoint finds texts by meaning that share no word, and both orders are combined', async () => {
  process.env['PALIMPSEST_TEST_KEY'] = 'secret'
  const config = { recall: { embedding: { url, model: 'm', keyEnv: 'PALIMPSEST_TEST_KEY', queryPrefix: 'find: ' } } }
  await using pal = await openPalimpsest({ home: ':memory:', config })
  const session = await pal.session('s')
  await session.append(...texts.map(said))
  const first = (await session.recall('price of an automobile')).map(({ entry }) => entry)
  assert.equal(first[0], 1, 'by words and by meaning')
  assert.ok(first.includes(4), 'by its meaning alone')
  assert.ok(
    asked.some(
      ({ model, input, key }) =>
        model === 'm' && key === 'Bearer secret' && input[0] === 'find: price of an automobile',
    ),
  )
  assert.equal((await session.recall('automobile', { limit: 1 }))[0]!.entry, 4)
  const { hits } = await pal.recall('something for a meal', { limit: 1 })
  assert.deepEqual(
    hits.map(({ entry }) => entry),
    [0],
  )
  assert.equal(asked.flatMap(({ input }) => input).filter(text => text === texts[1]).length, 1, 'vectors are kept')
})

test('filters also apply to hits by meaning', async () => {
  await using pal = await openPalimpsest({ home: ':memory:', config: { recall: { embedding: { url, model: 'm' } } } })
  const session = await pal.session('s')
  const reply: Message = { role: 'assistant', parts: [{ type: 'text', text: 'a lorry it is' }] }
  await session.append(said('my car'), reply, said('a vehicle with wheels'))
  const found = await session.recall('automobile', { types: ['assistant'] })
  assert.deepEqual(
    found.map(({ entry }) => entry),
    [1],
  )
  const copies = await session.append(said('my car'))
  assert.ok(copies)
  const distinct = await session.recall('automobile', { types: ['user'], distinct: true })
  assert.deepEqual(distinct.map(({ entry }) => entry).toSorted(), [2, 3])
})

test('a search does not wait for all vectors of a long session; the next search has them', async () => {
  const embed = await openEmbedding({ url, model: 'm' }, '.')
  await using pal = await openPalimpsest({ home: ':memory:', embed })
  const session = await pal.session('s')
  const many = Array.from({ length: 600 }, (_, i) => said(`number ${i}`))
  await session.append(said('my old car'), ...many)
  const before = asked.length
  assert.notEqual((await session.recall('automobile', { limit: 1 }))[0]!.entry, 0, 'the oldest is not known yet')
  const waited = asked.slice(before).flatMap(({ input }) => input).length
  assert.ok(waited < 300, `it waited for ${waited} vectors`)
  await meaningOf(embed).filled()
  assert.equal((await session.recall('automobile', { limit: 1 }))[0]!.entry, 0)
})

test('without a configuration no vector is requested', async () => {
  const before = asked.length
  await using pal = await openPalimpsest({ home: ':memory:' })
  const session = await pal.session('s')
  await session.append(...texts.map(said))
  assert.equal((await session.recall('price of an automobile')).length, 3)
  assert.equal(asked.length, before)
})

test('a wrong configuration, a missing file and a refusing endpoint are reported', async () => {
  assert.throws(() => parseConfig({ recall: { embedding: { onnx: '' } } }), { code: 'CONFIG_INVALID' })
  assert.throws(
    () => parseConfig({ recall: { vectors: true } }),
    /unknown key recall\.vectors; allowed in recall: embedding/,
  )
  await assert.rejects(openEmbedding({ onnx: 'none/model.onnx' }, '.'), /tokenizer\.json cannot be read/)
  const embed = await openEmbedding({ url: url.replace('/v1', '/refuse'), model: 'm' }, '.')
  await assert.rejects(embed(['bread'], 'passage'), /answered 404 to a request for embeddings/)
})

test('the tokenizer cuts words into the pieces of the vocabulary', () => {
  const vocab = { '[UNK]': 0, '[CLS]': 1, '[SEP]': 2, un: 3, '##aff': 4, '##able': 5, ',': 6, cafe: 7, 北: 8 }
  const tokenize = wordPieces({ model: { vocab } }, 8)!
  assert.deepEqual(tokenize('Unaffable, Café 北zzz'), [1, 3, 4, 5, 6, 7, 8, 2])
  assert.deepEqual(tokenize('zzz'), [1, 0, 2])
  assert.deepEqual(tokenize(''), [1, 2])
  assert.equal(wordPieces({ model: {} }, 8), undefined)
})

const folder = embeddingFolder()
test('with real weights a paraphrase ranks before a text that shares words by chance', {
  skip: folder === undefined && 'no model: npm run embedding:install',
}, async () => {
  const queryPrefix = 'Represent this sentence for searching relevant passages: '
  const embed = await openEmbedding({ onnx: join(folder!, 'model.onnx'), queryPrefix }, folder!)
  const [query] = await embed(['How was the login problem solved?'], 'query')
  const vectors = await embed(
    [
      'We repaired the sign-in form by renewing the session cookie.',
      'The problem with apples is that they are solved by eating.',
    ],
    'passage',
  )
  const [near, far] = vectors.map(vector => vector.reduce((sum, value, i) => sum + value * query![i]!, 0))
  assert.ok(near! > far!, `${near} ${far}`)
})
