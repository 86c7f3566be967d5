/** The gate alone: which names, origins and credentials are accepted. access.test.ts has the same for every route. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Asked, checkHost, checkOrigin, isLoopback } from '../../../src/doors/proxy/same-site.ts'
import {
  authenticate,
  type Caller,
  type Credentials,
  checkRole,
  type GateOptions,
  isRevoked,
  LOCAL,
  mayActFor,
} from '../../../src/doors/server/gate.ts'
import { openServerStore } from '../../../src/doors/server/server-store.ts'

const asked = (headers: Record<string, string> = {}, method = 'GET', url = 'http://localhost:8377/x'): Asked => {
  return { url, method, headers: new Headers(headers) }
}

const isIn = (check: () => void): boolean => {
  try {
    check()
    return true
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'FORBIDDEN')
    return false
  }
}

describe('an origin', () => {
  const passes = (headers: Record<string, string>, method = 'GET') => isIn(() => checkOrigin(asked(headers, method)))

  test('must be the requested host with its port, or be absent', () => {
    const host = 'localhost:8377'
    assert.equal(passes({ host }), true)
    assert.equal(passes({ host, origin: 'http://localhost:8377' }, 'POST'), true)
    assert.equal(passes({ origin: 'http://localhost:8377' }, 'POST'), true, 'without a Host header the URL says it')
    for (const origin of ['http://localhost:3000', 'http://localhost', 'http://evil.example', 'null', '']) {
      assert.equal(passes({ host, origin }), false, origin)
      assert.equal(passes({ host, origin }, 'POST'), false, origin)
    }
    assert.equal(passes({ host: 'evil.example', origin: 'http://localhost:8377' }), false, 'the Host header counts')
  })

  test('of our own does not allow a request that the browser marks as cross-site', () => {
    const host = 'localhost:8377'
    assert.equal(passes({ host, origin: `http://${host}`, 'sec-fetch-site': 'cross-site' }, 'POST'), false)
  })

  test('named by the browser may be our own pages, the address bar, or a followed link', () => {
    for (const site of ['same-origin', 'none']) {
      assert.equal(passes({ 'sec-fetch-site': site }), true, site)
      assert.equal(passes({ 'sec-fetch-site': site, 'sec-fetch-mode': 'cors' }, 'POST'), true, site)
    }
    for (const site of ['cross-site', 'same-site', 'anything']) {
      const from = { 'sec-fetch-site': site }
      assert.equal(passes({ ...from, 'sec-fetch-mode': 'navigate' }), true, `a link from ${site}`)
      assert.equal(passes({ ...from, 'sec-fetch-mode': 'navigate' }, 'POST'), false, `a form on ${site}`)
      for (const mode of ['cors', 'no-cors', 'websocket', '']) {
        assert.equal(passes({ ...from, 'sec-fetch-mode': mode }), false, `${mode} from ${site}`)
      }
      assert.equal(passes(from), false, `no mode, from ${site}`)
    }
  })
})

describe('a host', () => {
  const passes = (host: string, options: Partial<GateOptions> = {}, url?: string) =>
    isIn(() => checkHost(asked(host === '' ? {} : { host }, 'GET', url), { hosts: [], anyAddress: false, ...options }))

  test('may be any loopback name of this machine, with any port', () => {
    for (const host of [
      'localhost',
      'LOCALHOST:1',
      'localhost.',
      '127.0.0.1:8377',
      '127.1.2.3',
      '[::1]',
      '[::1]:80',
      '',
    ]) {
      assert.equal(passes(host), true, host)
    }
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '10.0.0.1',
      '128.0.0.1',
      '[::2]',
      'a b',
      'x@localhost',
    ]) {
      assert.equal(passes(host), false, host)
    }
    assert.equal(passes('localhost:123456'), false, 'no such port')
  })

  test('may be one of the allowed names', () => {
    const hosts = ['memory.example.org']
    assert.equal(passes('memory.example.org', { hosts }), true)
    assert.equal(passes('Memory.Example.org:443', { hosts }), true)
    assert.equal(passes('example.org', { hosts }), false)
    assert.equal(passes('a b', { hosts: [''] }), false, 'an empty name, as of a variable that is not set')
  })

  test('may be any IP address, if the server listens beyond loopback', () => {
    for (const host of ['192.168.1.7:8377', '[2001:db8::1]']) {
      assert.equal(passes(host, { anyAddress: true }), true, host)
      assert.equal(passes(host), false, host)
    }
    for (const host of ['evil.example', 'a b', '1.2.3.4/x']) {
      assert.equal(passes(host, { anyAddress: true }), false, host)
    }
  })

  test('must be allowed in the URL and in the header', () => {
    assert.equal(passes('localhost', {}, 'http://evil.example/x'), false)
    assert.equal(passes('evil.example', {}, 'http://localhost/x'), false)
  })

  test('is recognised as loopback', () => {
    const names = ['localhost', '127.0.0.1', '[::1]', '::1', '127.9.9.9']
    assert.deepEqual(names.map(isLoopback), [true, true, true, true, true])
    const others = ['0.0.0.0', '::', '1127.0.0.1', '127.0.0.1.example', '127.0.0']
    assert.deepEqual(others.map(isLoopback), [false, false, false, false, false])
  })
})

describe('credentials', async () => {
  const store = await openServerStore(':memory:')
  const { token, id } = await store.createToken({ user: 'alice', role: 'user', name: 'laptop', at: 1 })
  const gone = await store.createToken({ user: 'alice', role: 'admin', name: '', at: 1 })
  await store.revokeToken(gone.id, 2)
  const alice: Caller = { id, role: 'user', user: 'alice', owner: 'alice', name: 'laptop' }
  const options = { store, requireToken: true, hosts: [], anyAddress: false, clock: () => 5 }

  const who = async (
    headers: Record<string, string>,
    credentials?: Credentials,
    requireToken = true,
  ): Promise<Caller | string> => {
    try {
      return await authenticate(asked(headers), { ...options, requireToken }, credentials)
    } catch (error) {
      return String((error as { code?: string }).code)
    }
  }

  test('are one of our tokens, in either header', async () => {
    assert.deepEqual(await who({ authorization: `Bearer ${token}` }), alice)
    assert.deepEqual(await who({ authorization: `  bearer   ${token} ` }), alice)
    assert.deepEqual(await who({ 'x-palimpsest-token': ` ${token} ` }), alice)
  })

  test('are refused if they are wrong, even if none are required', async () => {
    const wrong: Record<string, string>[] = [
      { authorization: 'Bearer pal_guess' },
      { authorization: `Bearer ${gone.token}` },
      { authorization: `Basic ${token}` },
      { authorization: `Bearer ${token} x` },
      { authorization: '' },
      { 'x-palimpsest-token': '' },
      { 'x-palimpsest-token': 'pal_guess', authorization: `Bearer ${token}` },
    ]
    for (const headers of wrong) {
      assert.equal(await who(headers), 'UNAUTHORIZED', JSON.stringify(headers))
      assert.equal(await who(headers, {}, false), 'UNAUTHORIZED', JSON.stringify(headers))
    }
  })

  test('may be missing if none are required; then the caller is the local user', async () => {
    assert.equal(await who({}), 'UNAUTHORIZED')
    assert.deepEqual(await who({}, {}, false), LOCAL)
  })

  test('for a provider are ignored: only our own header or a token with our prefix counts', async () => {
    const provider = { authorization: 'Bearer sk-of-the-provider' }
    for (const foreignAuthorization of [true, 'unless-ours'] as const) {
      assert.equal(await who(provider, { foreignAuthorization }), 'UNAUTHORIZED')
      assert.deepEqual(await who(provider, { foreignAuthorization }, false), LOCAL)
      assert.deepEqual(await who({ ...provider, 'x-palimpsest-token': token }, { foreignAuthorization }), alice)
    }
    const ours = { authorization: `Bearer ${token}` }
    assert.deepEqual(await who(ours, { foreignAuthorization: 'unless-ours' }), alice)
    assert.deepEqual(await who(ours, { foreignAuthorization: true }, false), LOCAL)
    const lookalike = { authorization: 'Bearer pal_guess' }
    assert.equal(await who(lookalike, { foreignAuthorization: 'unless-ours' }, false), 'UNAUTHORIZED')
  })

  test('end streams when they are revoked; a caller without one, or an unreachable store, ends none', async () => {
    const isOver = (id: string) => isRevoked(store, { ...LOCAL, id })
    assert.deepEqual(await Promise.all([alice.id, gone.id, 'unknown'].map(isOver)), [false, true, true])
    assert.equal(await isRevoked(store, LOCAL), false)
    const closed = await openServerStore(':memory:')
    await closed.close()
    assert.equal(await isRevoked(closed, alice), false)
  })

  test('of an admin are valid for all users, others only for their own', async () => {
    const admin = await store.createToken({ user: 'root', role: 'admin', name: '', at: 1 })
    const caller = await who({ authorization: `Bearer ${admin.token}` })
    assert.deepEqual(caller, { id: admin.id, role: 'admin', user: 'root', owner: undefined, name: '' })
    assert.deepEqual([mayActFor(alice, 'alice'), mayActFor(alice, 'bob')], [true, false])
    assert.deepEqual([mayActFor(LOCAL, 'alice'), mayActFor({ ...alice, role: 'admin' }, 'bob')], [true, true])
    assert.equal(mayActFor({ ...alice, role: 'agent', user: undefined }, 'alice'), false)
  })
})

test('a caller whose role is not allowed is refused, and the error names the allowed roles', async () => {
  checkRole(LOCAL, ['admin'])
  checkRole({ ...LOCAL, role: 'agent' }, ['user', 'agent'])
  assert.throws(() => checkRole({ ...LOCAL, role: 'agent' }, ['user', 'admin']), {
    code: 'FORBIDDEN',
    message: /role agent .* user and admin/,
  })
})
