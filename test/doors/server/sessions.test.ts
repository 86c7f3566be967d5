/** Sessions over HTTP, from the first message to a comparison of policies. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { SqliteLedger } from '../../../src/ledger/sqlite.ts'
import { openSmall, SMALL } from '../../small-session.ts'
import { said, startServer } from './harness.ts'

const { server, call, get, post, pal } = await startServer()
await openSmall(pal)
after(() => server.close())

test('a session can be created, appended to and viewed', async () => {
  const made = await post('/sessions', { id: 'a/b c', policy: 'thrifty', messages: [said('hello')] }, 201)
  assert.deepEqual([made.id, made.policy, made.owner], ['a/b c', 'thrifty', null])
  const path = '/sessions/a%2Fb%20c'
  assert.deepEqual(await post(`${path}/messages`, { messages: [said('hi', 'assistant')] }, 201), { entries: [1] })
  const view = await get(`${path}/view`)
  assert.deepEqual(
    view.messages.map(({ role }: { role: string }) => role),
    ['user', 'assistant'],
  )
  assert.equal((await call('POST', '/sessions', { body: { id: 'a/b c' } })).json.error.code, 'ALREADY')
})

test('if one message does not fit the session, all are refused', async () => {
  await post('/sessions', { id: 'strict' }, 201)
  const result = { role: 'tool', parts: [{ type: 'tool-result', id: 'c1', name: 'x', output: 'y' }] }
  const refused = await call('POST', '/sessions/strict/messages', { body: { messages: [said('hi'), result] } })
  assert.equal(refused.status, 409)
  assert.equal(refused.json.error.code, 'INVALID_MESSAGE')
  assert.deepEqual((await get('/sessions/strict/entries')).entries, [])
  const shapeless = { messages: [{ role: 'user', parts: [{ type: 'tool-call', id: 'c', name: 'n', input: {} }] }] }
  assert.equal((await call('POST', '/sessions/strict/messages', { body: shapeless })).status, 422)
})

describe('a small session', () => {
  test('shows its entries in pages, including hidden ones', async () => {
    const first = await get(`/sessions/${SMALL}/entries?limit=10`)
    const rest = await get(`/sessions/${SMALL}/entries?limit=10&cursor=${first.next}`)
    assert.equal(rest.next, null)
    const all = [...first.entries, ...rest.entries]
    assert.deepEqual(
      all.map(({ entry }) => entry),
      all.map((_, i) => i),
    )
    assert.match(all[7].message.parts[0].output, /slow query/)
  })

  test('explains its view, and undoing an edit restores the original', async () => {
    const { slots, saved } = await get(`/sessions/${SMALL}/explained`)
    assert.ok(saved > 1000)
    assert.equal(slots.length, 17)
    const { edits } = await get(`/sessions/${SMALL}/edits`)
    const mine = edits.find(({ by }: { by: string }) => by === 'user')
    assert.equal((await post(`/sessions/${SMALL}/edits/${mine.id}/undo`)).active, false)
    assert.equal((await post(`/sessions/${SMALL}/edits/${mine.id}/redo`)).active, true)
    assert.equal((await call('POST', `/sessions/${SMALL}/edits/e99/undo`)).status, 404)
  })

  test('can be searched, alone or with all sessions, and hits tell whether they are in view', async () => {
    const { hits } = await get('/recall?q=slow%20query')
    assert.equal(hits[0].session, SMALL)
    assert.equal(hits[0].inView, false)
    const own = await get(`/sessions/${SMALL}/recall?q=slow%20query`)
    assert.deepEqual(own.hits, hits)
  })

  test('appends restored parts at the end of the view', async () => {
    const [hit] = (await get('/recall?q=slow%20query')).hits
    const { edit, text } = await post(`/sessions/${SMALL}/restore`, { id: hit.hash })
    assert.match(text, /slow query/)
    await post(`/sessions/${SMALL}/edits/${edit.id}/undo`)
  })

  test('protects pinned parts', async () => {
    const { parts } = await get(`/sessions/${SMALL}/parts`)
    const [largest] = parts
    await post(`/sessions/${SMALL}/pin`, { entry: largest.entry })
    await post(`/sessions/${SMALL}/pin`, { entry: largest.entry, on: false })
    assert.equal((await call('POST', `/sessions/${SMALL}/pin`, { body: { entry: 9999 } })).status, 404)
  })

  test('lists its changes, and the state of a file', async () => {
    assert.equal((await get(`/sessions/${SMALL}/changelog`)).changes.length, 2)
    const before = await get(`/sessions/${SMALL}/file?path=src/report.ts&turn=1`)
    assert.match(before.content, /addDays\(from, 6\)/)
    assert.match((await get(`/sessions/${SMALL}/file?path=src/report.ts`)).content, /addDays\(from, 7\)/)
    assert.equal((await get(`/sessions/${SMALL}/file?path=none.ts`)).content, null)
  })

  test('can be verified, counted and forked, and has suggestions', async () => {
    assert.equal((await get(`/sessions/${SMALL}/verify`)).ok, true)
    const stats = await get(`/sessions/${SMALL}/stats`)
    assert.deepEqual([stats.entries, stats.calls], [17, 8])
    assert.ok(Array.isArray((await get(`/sessions/${SMALL}/suggestions`)).suggestions))
    const fork = await post(`/sessions/${SMALL}/fork`, { at: 3, id: 'small-short' }, 201)
    assert.equal(fork.parent.id, SMALL)
    assert.equal((await get('/sessions/small-short/view')).messages.length, 4)
  })

  test('can be replayed with several policies without being changed', async () => {
    const before = await get(`/sessions/${SMALL}`)
    const body = { policies: ['none', 'stale-output', 'thrifty'] }
    const { policies } = await post(`/sessions/${SMALL}/compare`, body)
    assert.deepEqual(
      policies.map(({ policy, calls }: { policy: string; calls: number }) => [policy, calls]),
      [
        ['none', 8],
        ['stale-output', 8],
        ['thrifty', 8],
      ],
    )
    assert.equal(policies[0].costShare, 1)
    assert.deepEqual(await get(`/sessions/${SMALL}`), before)
    const unknown = await call('POST', `/sessions/${SMALL}/compare`, { body: { policies: ['nonsense'] } })
    assert.equal(unknown.json.error.code, 'CONFIG_INVALID')
  })
})

test('edits of originals are applied, and targets outside the session are refused', async () => {
  await post('/sessions', { id: 'direct', messages: [said('a question'), said('an answer', 'assistant')] }, 201)
  const apply = (target: object) =>
    call('POST', '/sessions/direct/edits/apply', { body: { edits: [{ target, replacement: 'short', why: 'w' }] } })
  assert.equal((await apply({ type: 'part', entry: 1, part: 0 })).json.edits[0].by, 'user')
  assert.match((await call('GET', '/sessions/direct/view')).text, /short/)
  const far = 2_000_000_000
  for (const target of [
    { type: 'range', from: 0, to: far },
    { type: 'entry', entry: far },
    { type: 'after', entry: 7 },
  ]) {
    assert.equal((await apply(target)).status, 404, JSON.stringify(target))
  }
  assert.equal((await apply({ type: 'range', from: 1, to: 0 })).status, 409)
})

test('GET of a view records nothing, POST may plan and record', async () => {
  const result = 'line of output\n'.repeat(2000)
  const calls = Array.from({ length: 12 }, (_, i) => [
    { role: 'assistant', parts: [{ type: 'tool-call', id: `c${i}`, name: 'run_command', input: { command: 'ls' } }] },
    { role: 'tool', parts: [{ type: 'tool-result', id: `c${i}`, name: 'run_command', output: result }] },
  ]).flat()
  await post('/sessions', { id: 'planned', policy: 'stale-output', messages: [said('go'), ...calls] }, 201)
  const { length } = await get('/sessions/planned')
  const looked = await get('/sessions/planned/view')
  assert.equal((await post('/sessions/planned/view', { plan: false })).tokens, looked.tokens)
  assert.equal((await get('/sessions/planned')).length, length)
  const planned = await post('/sessions/planned/view')
  assert.ok(planned.tokens < looked.tokens)
  assert.ok((await get('/sessions/planned')).length > length)
})

test('the list has pages and a search, and an unknown cursor is an error', async () => {
  const ids: string[] = []
  for (let cursor = ''; ; ) {
    const page = await get(`/sessions?limit=2${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
    ids.push(...page.sessions.map(({ id }: { id: string }) => id))
    if (page.next === null) break
    cursor = page.next
  }
  assert.equal(new Set(ids).size, ids.length)
  assert.ok(ids.includes('a/b c') && ids.includes(SMALL))
  const found = await get('/sessions?contains=small-sh')
  assert.deepEqual(
    found.sessions.map(({ id }: { id: string }) => id),
    ['small-short'],
  )
  assert.equal((await call('GET', '/sessions?cursor=gone')).status, 404)
})

test('many sessions stay open: an append reads only what others have written', async t => {
  const { server, call, pal } = await startServer()
  const ids = Array.from({ length: 200 }, (_, i) => `open-${i}`)
  for (const id of ids) await call('POST', '/sessions', { body: { id, messages: [said(`first of ${id}`)] } })
  const reads = t.mock.method(SqliteLedger.prototype, 'read').mock
  for (const id of ids) {
    const { json } = await call('POST', `/sessions/${id}/messages`, { body: { messages: [said('second')] } })
    assert.deepEqual(json, { entries: [1] })
  }
  assert.equal(reads.callCount(), 0)
  await (await pal.session(ids[0]!)).append(said('from elsewhere'))
  const { json } = await call('POST', `/sessions/${ids[0]}/messages`, { body: { messages: [said('fourth')] } })
  assert.deepEqual(json, { entries: [3] })
  await server.close()
})
