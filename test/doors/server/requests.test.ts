/**
 * Requests are bounded and checked, errors say what is wrong and nothing more, and an idempotency key makes a write
 * safe to repeat.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { RateLimiter, Slots } from '../../../src/doors/server/rates.ts'
import { EVERYBODY } from '../../../src/doors/server/route.ts'
import { said, startServer } from './harness.ts'

const noDevice = process.platform === 'linux' ? false : 'only Linux has a device that is always full'

describe('a body', () => {
  const cases: [name: string, sent: { body: string; type?: string }, status: number, code: string][] = [
    ['that is no JSON', { body: '{' }, 400, 'FORMAT_BROKEN'],
    ['that does not fit', { body: '{"messages":[]}' }, 422, 'INVALID_INPUT'],
    ['with a field that nobody knows', { body: '{"messages":[],"x":1}' }, 422, 'INVALID_INPUT'],
    [
      'of another type',
      { body: 'messages=1', type: 'application/x-www-form-urlencoded' },
      415,
      'MEDIA_TYPE_UNSUPPORTED',
    ],
    ['with half a surrogate pair', { body: '{"messages":"\\ud800"}' }, 422, 'INVALID_UNICODE'],
    ['that is too deep', { body: `${'['.repeat(5000)}${']'.repeat(5000)}` }, 422, 'INVALID_INPUT'],
    ['that is too large', { body: JSON.stringify({ messages: 'x'.repeat(2000) }) }, 413, 'TOO_LARGE'],
    ['that is not there', { body: '' }, 422, 'INVALID_INPUT'],
  ]
  for (const [name, { body, type = 'application/json' }, status, code] of cases) {
    test(`${name} is a ${status}`, async () => {
      const { call, server } = await startServer({ maxBody: name.includes('large') ? 1000 : 100_000 })
      const answer = await call('POST', '/sessions/x/messages', { body, headers: { 'content-type': type } })
      assert.equal(answer.status, status)
      assert.equal(answer.json.error.code, code)
      await server.close()
    })
  }

  test('of a third of a megabyte that unpacks to hundreds is a 413, before it is all in memory', async () => {
    const { server } = await startServer()
    const packed = gzipSync(Buffer.alloc(32 * 1024 * 1024))
    const body = Buffer.concat(Array(9).fill(packed))
    const headers = { 'content-type': 'application/octet-stream' }
    const answer = await server.fetch(new Request('http://localhost/import', { method: 'POST', headers, body }))
    assert.equal(answer.status, 413)
    assert.match(await answer.text(), /The transcript has more than 67108864 bytes when it is unpacked/)
    await server.close()
  })

  test('of a transcript that would fill the memory with values or messages is refused', async () => {
    const { server } = await startServer()
    const headers = { 'content-type': 'application/octet-stream' }
    const send = (body: string) =>
      server.fetch(new Request('http://localhost/import', { method: 'POST', headers, body: gzipSync(body) }))
    const lineOf = (uuid: string) =>
      JSON.stringify({ type: 'user', uuid, sessionId: 's', message: { role: 'user', content: 'go' } })
    const line = lineOf('u')
    const blocks = line.replace('"go"', `[${'{},'.repeat(3_000_000)}{}]`)
    for (const values of [`[${'{},'.repeat(3_000_000)}{}]`, '['.repeat(7_000_000), `${line}\n${blocks}\n`]) {
      const answer = await send(values)
      assert.equal(answer.status, 413)
      assert.match(await answer.text(), /more than 6000000 values/)
    }
    const answer = await send(Array.from({ length: 100_001 }, (_, i) => lineOf(`u${i}`)).join('\n'))
    assert.equal(answer.status, 413)
    assert.match(await answer.text(), /There are 100001 messages in one file/)
    await server.close()
  })

  test('of a transcript with thousands of broken lines is refused before all of them are described', async () => {
    const { server } = await startServer()
    const good = JSON.stringify({ type: 'user', uuid: 'u', sessionId: 's', message: { role: 'user', content: 'go' } })
    const send = (broken: number) => {
      const body = `${good}\n${'x\n'.repeat(broken)}`
      const headers = { 'content-type': 'application/octet-stream' }
      return server.fetch(new Request('http://localhost/import', { method: 'POST', headers, body }))
    }
    assert.equal((await send(1000)).status, 201)
    const answer = await send(100_000)
    assert.equal(answer.status, 400)
    const text = await answer.text()
    assert.match(text, /The transcript is damaged. More than 1000 places cannot be read; line 2: /)
    assert.ok(text.length < 200_000)
    await server.close()
  })

  test('without a declared length is refused at the limit while it arrives', async () => {
    const { server } = await startServer({ maxBody: 1000 })
    let given = 0
    const endless = new ReadableStream({
      pull(controller) {
        given++
        controller.enqueue(new Uint8Array(500))
      },
    })
    const headers = { 'content-type': 'application/json' }
    const init: RequestInit = { method: 'POST', body: endless, duplex: 'half', headers }
    const answer = await server.fetch(new Request('http://localhost/sessions', init))
    assert.equal(answer.status, 413)
    assert.ok(given < 10)
    await server.close()
  })
})

describe('an address', () => {
  test('that is unknown gives a 404, and a wrong method gives a 405 with the allowed ones', async () => {
    const { call, server } = await startServer()
    assert.equal((await call('GET', '/nowhere')).json.error.code, 'NOT_FOUND')
    const wrong = await call('PATCH', '/sessions')
    assert.equal(wrong.status, 405)
    assert.equal(wrong.headers.get('allow'), 'GET, HEAD, POST')
    const preflight = await call('OPTIONS', '/sessions')
    assert.equal(preflight.status, 405)
    assert.equal(preflight.headers.get('access-control-allow-methods'), null)
    await server.close()
  })

  test('with an invalid query gives a 422 that names the parameter', async () => {
    const { call, server } = await startServer()
    for (const query of ['limit=0', 'limit=1e2', 'limit=%201', 'limit=', 'limit=1&limit=2', 'limit=999']) {
      const { status, json } = await call('GET', `/sessions?${query}`)
      assert.equal(status, 422, query)
      assert.equal(json.error.problems[0].at, 'query.limit')
    }
    await server.close()
  })
})

test('an internal error is logged whole, and answered without its message', async () => {
  const { call, server, logged, memory } = await startServer()
  memory.store.blocks = () => Promise.reject(new Error('secret detail at /home/somebody'))
  const { status, text } = await call('GET', '/users/alice/blocks')
  assert.equal(status, 500)
  assert.deepEqual(JSON.parse(text).error.code, 'INTERNAL')
  assert.doesNotMatch(text, /secret|somebody|at /)
  assert.match(logged.join('\n'), /secret detail[\s\S]*requests\.test\.ts/)
  await server.close()
})

test('a file that the system refuses is not an internal error', { skip: noDevice }, async () => {
  const { call, server, logged, memory } = await startServer()
  memory.store.blocks = () => writeFile('/dev/full', 'x') as Promise<never>
  const { status, json } = await call('GET', '/users/alice/blocks')
  assert.deepEqual([status, json.error.code], [503, 'STORE_FULL'])
  assert.match(logged.join('\n'), /The disk is full/)
  await server.close()
})

describe('an idempotency key', () => {
  test('repeated with the same request gives the same answer without doing the work again', async () => {
    const { call, server } = await startServer()
    await call('POST', '/sessions', { body: { id: 's' } })
    const sent = { body: { messages: [said('once')] }, key: 'k1' }
    const first = await call('POST', '/sessions/s/messages', sent)
    const again = await call('POST', '/sessions/s/messages', sent)
    assert.equal(again.status, 201)
    assert.equal(again.text, first.text)
    assert.equal(again.headers.get('idempotency-replayed'), 'true')
    assert.equal((await call('GET', '/sessions/s/entries')).json.entries.length, 1)
    await server.close()
  })

  test('with a different request is refused', async () => {
    const { call, server } = await startServer()
    await call('POST', '/sessions', { body: { id: 's' }, key: 'k' })
    for (const [path, body] of [
      ['/sessions', { id: 't' }],
      ['/sessions/s/messages', { messages: [said('x')] }],
    ] as const) {
      const { status, json } = await call('POST', path, { body, key: 'k' })
      assert.equal(status, 409)
      assert.equal(json.error.code, 'KEY_REUSED')
    }
    await server.close()
  })

  test('sent twice at the same time does the work once', async () => {
    const { call, server } = await startServer()
    await call('PUT', '/users/a/blocks/b', { body: { body: 'x' } })
    const sent = { body: { append: 'y', reasoning: 'r' }, key: 'k' }
    const answers = await Promise.all(Array.from({ length: 5 }, () => call('POST', '/users/a/blocks/b/propose', sent)))
    assert.ok(answers.some(({ status }) => status === 201))
    assert.ok(answers.every(({ status }) => status === 201 || status === 409))
    assert.equal((await call('GET', '/users/a/proposals')).json.proposals.length, 1)
    await server.close()
  })

  test('belongs to one caller, and is free again after a failure', async () => {
    const { call, server, token, memory } = await startServer({ requireToken: true })
    const [alice, bob] = [(await token('alice', 'user')).token, (await token('bob', 'user')).token]
    assert.equal((await call('POST', '/sessions', { token: alice, key: 'k', body: { id: 'a' } })).status, 201)
    assert.equal((await call('POST', '/sessions', { token: bob, key: 'k', body: { id: 'b' } })).status, 201)
    const { set } = memory
    memory.set = () => Promise.reject(new Error('no luck'))
    const sent = { token: alice, key: 'p', body: { body: 'x' } }
    assert.equal((await call('PUT', '/users/alice/blocks/b', sent)).status, 500)
    memory.set = set
    assert.equal((await call('PUT', '/users/alice/blocks/b', sent)).status, 200)
    await server.close()
  })

  test('does not bypass the checks for access', async () => {
    const { call, server, token } = await startServer({ requireToken: true })
    const [user, agent] = [(await token('alice', 'user')).token, (await token('alice', 'agent')).token]
    await call('PUT', '/users/alice/blocks/b', { token: user, key: 'k', body: { body: 'x' } })
    const { status } = await call('PUT', '/users/alice/blocks/b', { token: agent, key: 'k', body: { body: 'x' } })
    assert.equal(status, 403)
    await server.close()
  })
})

describe('rate limits', () => {
  test('a caller that sends too many requests must wait, others need not, and time refills the bucket', () => {
    let now = 0
    const limiter = new RateLimiter({ perSecond: 2, burst: 3 }, () => now)
    for (let i = 0; i < 3; i++) limiter.take('a')
    assert.throws(() => limiter.take('a'), { code: 'RATE_LIMITED' })
    limiter.take('b')
    now = 1000
    limiter.take('a')
    limiter.take('a')
    assert.throws(() => limiter.take('a'), { code: 'RATE_LIMITED' })
  })

  test('over HTTP the answer is a 429 with the time to wait', async () => {
    const { call, server } = await startServer({ rate: { perSecond: 1, burst: 2 }, clock: () => 0 })
    await call('GET', '/me')
    await call('GET', '/me')
    const { status, headers, json } = await call('GET', '/me')
    assert.equal(status, 429)
    assert.equal(headers.get('retry-after'), '1')
    assert.equal(json.error.code, 'RATE_LIMITED')
    await server.close()
  })

  test('guesses of tokens are limited by client address', async () => {
    const { call, server, token } = await startServer({
      requireToken: true,
      rate: { perSecond: 1, burst: 2 },
      clock: () => 0,
    })
    const good = (await token('alice', 'user')).token
    const guesses = await Promise.all([1, 2, 3].map(n => call('GET', '/me', { token: `pal_${n}` })))
    assert.deepEqual(
      guesses.map(({ status }) => status),
      [401, 401, 429],
    )
    assert.equal((await call('GET', '/me', { token: good })).status, 200)
    await server.close()
  })

  test('few heavy requests run at once, and more are refused at once', async () => {
    const slots = new Slots(1)
    let finish = () => {}
    const first = slots.run(() => new Promise<void>(resolve => (finish = resolve)))
    await assert.rejects(
      slots.run(async () => undefined),
      { code: 'RATE_LIMITED' },
    )
    finish()
    await first
    await slots.run(async () => undefined)
  })
})

describe('another handler', () => {
  test('gets the requests under its path, with the same checks for access', async () => {
    const seen: string[] = []
    const { call, server, token } = await startServer({
      requireToken: true,
      mount: [
        { prefix: '/mcp', roles: EVERYBODY, handle: (_, { caller }) => new Response(`mcp for ${caller.user}`) },
        {
          prefix: '/v1',
          roles: EVERYBODY,
          foreignAuthorization: true,
          handle(request, { caller }) {
            seen.push(`${caller.user} ${request.headers.get('authorization')}`)
            return new Response('proxied')
          },
        },
        {
          prefix: '/',
          roles: 'public',
          handle: () => new Response('a page', { headers: { 'content-type': 'text/html' } }),
        },
      ],
    })
    const { token: secret } = await token('alice', 'user')
    assert.equal((await call('POST', '/mcp')).status, 401)
    assert.equal((await call('POST', '/mcp', { token: secret })).text, 'mcp for alice')
    assert.equal(
      (await call('POST', '/mcp', { token: secret, headers: { origin: 'http://evil.example' } })).status,
      403,
    )
    assert.equal((await call('POST', '/v1/messages', { token: secret })).status, 401)
    const headers = { 'x-palimpsest-token': secret, authorization: 'Bearer sk-provider' }
    assert.equal((await call('POST', '/v1/messages', { headers })).text, 'proxied')
    assert.deepEqual(seen, ['alice Bearer sk-provider'])
    const page = await call('GET', '/anything')
    assert.equal(page.text, 'a page')
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    assert.equal((await call('GET', '/mcpx', { headers: { host: 'evil.example' } })).status, 403)
    await server.close()
  })
})
