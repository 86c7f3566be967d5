/** The files of the web UI over HTTP: types, security policy and caching, and no access to any other file. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { findWeb, webMounts } from '../../../src/doors/server/web.ts'
import { startServer } from './harness.ts'

const SCRIPT = `console.log('${'long '.repeat(400)}')`

describe('the files of the web UI', () => {
  let folder: string
  let started: Awaited<ReturnType<typeof startServer>>
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'palimpsest-web-'))
    mkdirSync(join(folder, 'web/assets'), { recursive: true })
    writeFileSync(join(folder, 'secret.txt'), 'secret')
    writeFileSync(join(folder, 'web/.hidden'), 'hidden')
    writeFileSync(join(folder, 'web/index.html'), '<!doctype html><title>Palimpsest</title>')
    writeFileSync(join(folder, 'web/assets/index-Ab3_xY-9.js'), SCRIPT)
    writeFileSync(join(folder, 'web/assets/icon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
    started = await startServer({ mount: webMounts([join(folder, 'web')]), requireToken: true })
  })
  after(async () => {
    await started.server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const get = (path: string, init: RequestInit = {}) =>
    started.server.fetch(new Request(`http://localhost${path}`, init))

  test('the page needs no token, and may load from this server only', async () => {
    const response = await get('/')
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
    const policy = response.headers.get('content-security-policy') ?? ''
    assert.match(
      policy,
      /default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'/,
    )
    assert.doesNotMatch(policy, /unsafe/)
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
    assert.equal((await get('/sessions')).status, 401, 'the data still needs one')
  })

  test('a file with a hash in its name is cached for ever, the page is revalidated', async () => {
    assert.equal((await get('/')).headers.get('cache-control'), 'no-cache')
    assert.match((await get('/assets/index-Ab3_xY-9.js')).headers.get('cache-control') ?? '', /immutable/)
    assert.equal((await get('/assets/icon.svg')).headers.get('cache-control'), 'no-cache')
  })

  test('an unchanged file is answered with 304', async () => {
    const etag = (await get('/')).headers.get('etag') ?? ''
    const again = await get('/', { headers: { 'if-none-match': etag } })
    assert.equal(again.status, 304)
    assert.equal(await again.text(), '')
  })

  test('HEAD has the headers and no body; other methods are refused', async () => {
    const head = await get('/assets/index-Ab3_xY-9.js', { method: 'HEAD' })
    assert.equal(head.status, 200)
    assert.equal(head.headers.get('content-length'), String(SCRIPT.length))
    assert.equal(await head.text(), '')
    assert.equal((await get('/assets/icon.svg', { method: 'POST' })).status, 405)
    assert.equal((await get('/healthz', { method: 'DELETE' })).status, 405)
  })

  test('text is compressed for clients that accept it', async () => {
    const response = await get('/assets/index-Ab3_xY-9.js', { headers: { 'accept-encoding': 'br, gzip' } })
    assert.equal(response.headers.get('content-encoding'), 'gzip')
    assert.equal(gunzipSync(Buffer.from(await response.arrayBuffer())).toString(), SCRIPT)
  })

  test('no path reaches another file', async () => {
    const paths = ['/../secret.txt', '/%2e%2e/secret.txt', '/..%2fsecret.txt', '/assets/../../secret.txt', '/.hidden']
    for (const path of [...paths, '/assets', '/assets/', '//secret.txt', '/index.html%00', '/nothing']) {
      const response = await get(path)
      assert.equal(response.status, 404, path)
      assert.equal(JSON.parse(await response.text()).error.code, 'NOT_FOUND')
    }
  })

  test('routes of the API have precedence', async () => {
    assert.match((await get('/docs')).headers.get('content-type') ?? '', /html/)
    assert.equal((await get('/healthz')).status, 200)
  })
})

test('without built files there is no page, and the root shows the routes', async () => {
  const nowhere = [join(tmpdir(), 'palimpsest-no-such-folder')]
  assert.equal(findWeb(nowhere), undefined)
  const { server } = await startServer({ mount: webMounts(nowhere) })
  const response = await server.fetch(new Request('http://localhost/'))
  assert.equal(response.headers.get('location'), '/docs')
  await server.close()
})
