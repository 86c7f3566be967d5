/** The port of a proxy: who has access, under which path, and with which headers. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { serveProxy } from '../../../src/doors/proxy/front.ts'
import { jsonAnswer, NodeHeaders, type NodeRequest, toResponse } from '../../../src/doors/proxy/node-http.ts'

const echo = async ({ url, method, headers, source }: NodeRequest) => {
  const { pathname, search } = new URL(url)
  return jsonAnswer(200, { path: pathname + search, method, has: source !== undefined, name: headers.get('X-Name') })
}

describe('a port with a token', () => {
  const open = () => serveProxy(echo, { token: 'se/cret' })
  const ask = async (url: string, headers: Record<string, string> = {}) => {
    const response = await fetch(url, { headers })
    return [response.status, ((await response.json()) as { path?: string }).path]
  }

  test('accepts requests with the token in a header or at the beginning of the path, and removes it from the path', async () => {
    await using front = await open()
    const header = { 'x-palimpsest-token': 'se/cret' }
    assert.deepEqual(await ask(`${front.url}/v1/models?a=1`, header), [200, '/v1/models?a=1'])
    assert.deepEqual(await ask(`${front.url}/key/se%2Fcret/v1/models?a=1`), [200, '/v1/models?a=1'])
    assert.deepEqual(await ask(`${front.url}/key/se%2Fcret`), [200, '/'])
  })

  test('refuses all other requests', async () => {
    await using front = await open()
    for (const path of ['/v1/models', '/key/other/v1', '/key/', '/v1/key/se%2Fcret', '/keys/se%2Fcret']) {
      assert.deepEqual(await ask(front.url + path), [401, undefined], path)
    }
    assert.deepEqual(await ask(`${front.url}/v1`, { 'x-palimpsest-token': 'se/cre' }), [401, undefined])
    const both = { 'x-palimpsest-token': 'wrong' }
    assert.deepEqual(await ask(`${front.url}/key/se%2Fcret/v1`, both), [200, '/v1'], 'one good token is enough')
  })
})

test('without a token, the port is open to this machine only', async () => {
  await assert.rejects(serveProxy(echo, { host: '0.0.0.0' }), { code: 'INVALID_INPUT', message: /requires a token/ })
  await using front = await serveProxy(echo)
  assert.equal(front.url, `http://127.0.0.1:${front.port}`)
  const got = await (await fetch(`${front.url}/x`, { headers: { 'x-name': 'a' } })).json()
  assert.deepEqual(got, { path: '/x', method: 'GET', has: false, name: 'a' })
  const posted = await (await fetch(`${front.url}/x`, { method: 'POST', body: 'b' })).json()
  assert.deepEqual(posted, { path: '/x', method: 'POST', has: true, name: null })
})

test('without a token, no web site gets at it through a browser, with or without a name for this machine', async () => {
  await using front = await serveProxy(echo)
  const ask = async (headers: Record<string, string>) => {
    const sent = request(front.url, { method: 'POST', headers }).end('{}')
    const [{ statusCode }] = (await once(sent, 'response')) as [IncomingMessage]
    return statusCode
  }
  const host = `127.0.0.1:${front.port}`
  assert.equal(await ask({}), 200)
  assert.equal(await ask({ origin: `http://${host}` }), 200)
  for (const [name, value] of [
    ['host', 'evil.example'],
    ['host', `evil.example:${front.port}`],
    ['origin', 'http://evil.example'],
    ['origin', 'null'],
    ['sec-fetch-site', 'cross-site'],
  ] as const)
    assert.equal(await ask({ [name]: value }), 403, `${name}: ${value}`)
})

test('a connection with very many waiting requests is closed, and others are answered', async () => {
  const { promise: never, resolve } = Promise.withResolvers<void>()
  await using front = await serveProxy(async request => {
    if (request.url.endsWith('/wait')) await never
    return echo(request)
  })
  const socket = connect(front.port, '127.0.0.1').on('error', () => {})
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
  socket.write(get('/wait') + get('/x').repeat(2000))
  await new Promise<unknown>(closed => socket.resume().once('close', closed))
  assert.equal((await fetch(`${front.url}/x`)).status, 200)
  resolve()
})

test('a connection may send any number of requests, if it reads the answers', async () => {
  await using front = await serveProxy(echo)
  const socket = connect(front.port, '127.0.0.1').setEncoding('utf8')
  let answers = 0
  for (let i = 1; i <= 120; i++) {
    socket.write('GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(2))
    while (answers < 2 * i) {
      const [text] = await Promise.race([once(socket, 'data'), once(socket, 'close')])
      assert.equal(typeof text, 'string', 'the connection is open')
      answers += text.split('HTTP/1.1 200').length - 1
    }
  }
  socket.destroy()
})

test('a request that waits on a connection is not answered when its client has gone', async () => {
  const asked: string[] = []
  const { promise: never, resolve } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  await using front = await serveProxy(async request => {
    asked.push(new URL(request.url).pathname)
    begin()
    if (request.url.endsWith('/wait')) await never
    return echo(request)
  })
  const socket = connect(front.port, '127.0.0.1').on('error', () => {})
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
  socket.write(get('/wait') + get('/late'))
  await begun
  socket.destroy()
  for (let i = 0; i < 20; i++) await (await fetch(`${front.url}/other`)).text()
  assert.deepEqual([...new Set(asked)], ['/wait', '/other'])
  resolve()
})

test('an error in a handler only breaks that connection', async () => {
  let isBroken = true
  await using front = await serveProxy(async request => {
    if (isBroken) throw new Error('broken')
    return echo(request)
  })
  await assert.rejects(fetch(front.url))
  isBroken = false
  assert.equal((await fetch(front.url)).status, 200)
})

describe('headers', () => {
  test('are found in any letter case, and repeated ones are joined as in web Headers', () => {
    const headers = new NodeHeaders(['Accept', 'a', 'X-Name', 'n', 'accept', 'b', 'Cookie', 'c=1', 'cookie', 'd=2'])
    assert.deepEqual([headers.get('ACCEPT'), headers.get('cookie'), headers.get('none')], ['a, b', 'c=1; d=2', null])
    assert.deepEqual([headers.has('x-NAME'), headers.has('none')], [true, false])
    assert.deepEqual(
      [...headers],
      [
        ['accept', 'a'],
        ['x-name', 'n'],
        ['accept', 'b'],
        ['cookie', 'c=1'],
        ['cookie', 'd=2'],
      ],
    )
  })

  test('of an answer are kept, and a JSON answer has the JSON content type', async () => {
    const answer = jsonAnswer(418, { a: 1 }, { 'x-more': 'm' })
    const response = toResponse({ ...answer, headers: [...answer.headers, ['set-cookie', 'a'], ['set-cookie', 'b']] })
    assert.equal(response.status, 418)
    assert.deepEqual(
      [response.headers.get('content-type'), response.headers.get('x-more'), response.headers.getSetCookie()],
      ['application/json', 'm', ['a', 'b']],
    )
    assert.deepEqual(await response.json(), { a: 1 })
    assert.equal(toResponse({ status: 204, headers: [], body: undefined }).body, null)
  })
})
