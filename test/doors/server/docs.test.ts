/** The server's own pages: nothing in them can run, and docs/server.md has every route. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { API_TYPES, apiTypes } from '../../../scripts/build-api-types.ts'
import { startServer } from './harness.ts'

const { server, call } = await startServer({ requireToken: true })
after(() => server.close())

const OPERATIONS = Object.entries(server.document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)

test('docs/server.md has every route with its roles and its summary, and no other', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/server.md'), 'utf8')
  const rows = [...text.matchAll(/^\| `(GET|POST|PUT|DELETE) (\S+)` \| ([^|]+) \| ([^|]+) \|$/gm)]
  const written = Object.fromEntries(
    rows.map(([, method, path, who, summary = '']) => [
      `${method} ${path}`,
      // The page may add a link in parentheses.
      { who, summary: summary.replace(/ \(\[.*\]\(.*\)\)$/, '') },
    ]),
  )
  const there = OPERATIONS.map(({ method, path, operation }) => {
    const roles = operation['x-roles']
    return [`${method} ${path}`, { who: roles === 'public' ? 'public' : roles.join(', '), summary: operation.summary }]
  })
  assert.deepEqual(written, Object.fromEntries(there))
})

test('the web UI has the types of this document (node scripts/build-api-types.ts)', () => {
  assert.equal(readFileSync(API_TYPES, 'utf8'), apiTypes())
})

test('the page names every route, runs no script and loads nothing', async () => {
  const { text, headers } = await call('GET', '/docs')
  for (const { path } of OPERATIONS) assert.ok(text.includes(`<code>${path}</code>`), path)
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'))
  assert.ok(text.includes(`Palimpsest <span class="dim">${version}</span>`), 'with the version of the package')
  assert.doesNotMatch(text, /<script|\son\w+=|javascript:|https?:\/\//)
  const policy = headers.get('content-security-policy') ?? ''
  assert.match(policy, /default-src 'none'/)
  assert.doesNotMatch(policy, /unsafe|\*/)
  const style = /<style>([\s\S]*?)<\/style>/.exec(text)![1]!
  assert.ok(policy.includes(`'sha256-${createHash('sha256').update(style).digest('base64')}'`))
})

test('the document refers only to its own parts, and every operation has a unique name', () => {
  const text = JSON.stringify(server.document)
  const named = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name!)
  assert.deepEqual([...new Set(named)].sort(), Object.keys(server.document.components.schemas).sort())
  assert.doesNotMatch(text, /\$defs/)
  const names = OPERATIONS.map(({ operation }) => operation.operationId)
  assert.equal(new Set(names).size, names.length)
})

test('every number that the document allows in a query is accepted', async () => {
  const open = await startServer({})
  let tried = 0
  for (const { method, path, operation } of OPERATIONS) {
    for (const { name, in: where, schema } of operation.parameters) {
      if (where !== 'query' || schema['type'] !== 'integer') continue
      for (const limit of [schema['minimum'], schema['maximum']]) {
        const { json } = await open.call(method, `${path.replaceAll(/\{\w+\}/g, 'x')}?${name}=${limit}`)
        const problems: { at: string }[] = json.error?.problems ?? []
        assert.ok(!problems.some(({ at }) => at === `query.${name}`), `${method} ${path} ${name}=${limit}`)
        tried++
      }
    }
  }
  assert.ok(tried > 10)
  await open.server.close()
})

test('health and pages need no token, and every answer has the security headers', async () => {
  for (const path of ['/healthz', '/openapi.json', '/docs', '/sessions', '/nowhere']) {
    const { status, headers } = await call('GET', path)
    assert.equal(status, { '/sessions': 401, '/nowhere': 404 }[path] ?? 200)
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('referrer-policy'), 'no-referrer')
    assert.ok(headers.get('content-security-policy')?.startsWith("default-src 'none'"))
    assert.equal(headers.get('set-cookie'), null)
  }
})
