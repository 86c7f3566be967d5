/** The list of sessions as a dashboard: families, filters, sums by day, titles, and numbers that survive a restart. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { familiesOf, type Listed } from '../../../src/doors/server/families.ts'
import { SqliteLedger } from '../../../src/ledger/sqlite.ts'
import type { ListOptions } from '../../../src/ledger/store.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { importSession } from '../../../src/session/import-transcript.ts'
import { openSample } from '../../../src/session/sample.ts'
import type { Summary } from '../../../src/view/totals.ts'
import * as fc from '../../property.ts'
import { said, startServer } from './harness.ts'

test('every session is in one family, however parents are linked, and the sums of families equal those of sessions', () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
  const link = fc.option(fc.constantFrom(...ids, 'elsewhere'), { nil: undefined })
  const sessions = fc.tuple(...ids.map(() => fc.record({ parent: link, cents: fc.nat(1000), at: fc.nat(1000) })))
  fc.assert(
    fc.property(sessions, fc.constantFrom('used', 'cost', 'calls', 'title'), (given, sort) => {
      const listed = given.map(({ parent, cents, at }, i) => sessionOf(ids[i]!, { parent, cents, at }))
      const families = familiesOf(listed, { sort: sort as 'used' })
      const members = families.flatMap(({ id, children }) => [id, ...children.map(child => child.id)])
      assert.deepEqual(members.sort(), ids)
      const billed = families.reduce((sum, { total }) => sum + total.billed, 0)
      assert.equal(
        billed,
        given.reduce((sum, { cents }) => sum + cents, 0),
      )
      const keys = families.map(({ total }) => (sort === 'cost' ? total.billed : total.updatedAt))
      if (sort === 'cost' || sort === 'used')
        assert.deepEqual(
          keys,
          keys.toSorted((a, b) => b - a),
        )
    }),
  )
})

function sessionOf(id: string, { parent, cents, at }: { parent: string | undefined; cents: number; at: number }) {
  const summary = { title: id, calls: 1, money: { with: cents, without: cents }, days: [] } as unknown as Summary
  const about = parent === undefined ? {} : { parent }
  const row = { id, policy: 'none', model: 'm', owner: null, length: 1, createdAt: at, updatedAt: at, about }
  return { ...row, title: id, live: false, summary, isOld: false, isUntried: false } satisfies Listed
}

test('the overview reads sessions that were never opened, and its days add up to the sessions', async t => {
  const { server, pal, call } = await startServer({ clock: () => Date.UTC(2027, 5, 20) })
  t.after(() => server.close())
  await openSample(pal)
  const recorded = { id: 'r', carried: 0, messages: [], usage: [] }
  const messages = [said('Mend the harbour light.'), said('Done.', 'assistant')].map((message, i) => {
    return { ...message, at: Date.UTC(2027, 5, 19, 12) + i }
  })
  await importSession(pal, { ...recorded, messages, usage: [{ message: 1, usage: { input: 1e6, output: 10 } }] })
  let overview = (await call('GET', '/overview')).json
  for (let asked = 0; overview.counted < overview.sessions && asked < 10_000; asked++) {
    await new Promise(resolve => setImmediate(resolve))
    overview = (await call('GET', '/overview')).json
  }
  const summary = (await call('GET', '/sessions/r/summary')).json
  assert.equal(overview.sessions, 2)
  assert.equal(overview.week.billed, summary.money.with)
  assert.ok(summary.money.with > 1)
  const days: { billed: number }[] = overview.days
  assert.equal(
    days.reduce((sum, { billed }) => sum + billed, 0),
    summary.money.with,
    'the sample is older than 30 days',
  )
  const { families, billed } = (await call('GET', '/families?sort=cost')).json
  assert.deepEqual(
    families.map(({ id, title }: Listed) => [id, title]),
    [
      ['r', 'Mend the harbour light.'],
      ['sample', families[1].title],
    ],
  )
  assert.equal(billed, families[0].total.billed + families[1].total.billed)
  assert.deepEqual((await call('GET', '/families?contains=HARBOUR')).json.found, 1, 'titles are searched')
})

test('a recording shows the same possible savings in the list, by day and on its page', async t => {
  const { server, pal, call } = await startServer({ clock: () => Date.UTC(2027, 5, 20) })
  t.after(() => server.close())
  const sample = await openSample(pal)
  const events = await sample.events()
  const messages = events.flatMap(({ event }) => (event.type === 'entry' ? [event.message] : []))
  const moved = messages.map((message, i) => ({ ...message, at: Date.UTC(2027, 5, 19, 12) + i * 5000 }))
  await importSession(pal, { id: 'r', carried: 0, messages: moved, usage: [] })
  let overview = (await call('GET', '/overview')).json
  for (let asked = 0; (overview.counted < 2 || overview.untried > 0) && asked < 100_000; asked++) {
    await new Promise(resolve => setImmediate(resolve))
    overview = (await call('GET', '/overview')).json
  }
  const would = (await call('GET', '/sessions/r/would')).json
  assert.ok(would.saved > 0.01, `${would.saved}`)
  const { families } = (await call('GET', '/families')).json
  const totalOf = (wanted: string) => families.find(({ id }: Listed) => id === wanted).total
  assert.ok(Math.abs(totalOf('r').could - would.saved) < 1e-9)
  assert.ok(Math.abs(overview.week.could - would.saved) < 1e-9)
  assert.equal(totalOf('r').saved, 0)
  assert.equal(totalOf('sample').could, 0, 'it was not recorded without us')
})

test('a call copied by a fork counts once in the list, even if the fork was imported and counted first', async t => {
  const { server, call } = await startServer()
  t.after(() => server.close())
  const fileOf = (sessionId: string, asked: readonly string[]) => {
    const lines = asked.flatMap((content, i) => {
      const line = { sessionId, isSidechain: false, parentUuid: null, timestamp: new Date(Date.UTC(2027, 5, 1, 9, i)) }
      const message = { id: `msg_${content}`, model: 'claude-sonnet-4-5', usage: { input_tokens: 1e6 } }
      return [
        { ...line, type: 'user', uuid: `u${i}`, message: { role: 'user', content } },
        {
          ...line,
          type: 'assistant',
          uuid: `a${i}`,
          message: { ...message, content: [{ type: 'text', text: 'Done.' }] },
        },
      ]
    })
    return lines.map(line => JSON.stringify(line)).join('\n')
  }
  const billed = async () => {
    const { sessions } = (await call('GET', '/sessions')).json
    for (const { id } of sessions) await call('GET', `/sessions/${id}/summary`)
    return (await call('GET', '/families')).json
  }
  await call('POST', '/import', { body: fileOf('branch', ['a', 'b', 'c']) })
  const before = await billed()
  await call('POST', '/import', { body: fileOf('origin', ['a', 'b']) })
  const after = await billed()
  assert.ok(before.billed > 1)
  assert.equal(after.billed, before.billed)
  const [family] = after.families
  assert.deepEqual([family.id, family.summary.calls, family.total.calls], ['origin', 2, 3])
  assert.deepEqual(
    family.children.map(({ id, about, summary }: Listed) => [id, about.reason, summary?.calls]),
    [['branch', 'fork', 1]],
  )
  assert.equal((await call('GET', '/sessions/branch/verdict')).json.copied, 2)
  const { calls } = (await call('GET', '/sessions/branch/timeline')).json
  assert.equal(calls[0].reported.id, 'msg_a', 'by which a copy is known')
})

test('an import keeps the dates of the recording, repairs and usage included', async t => {
  const { server, pal, call } = await startServer()
  t.after(() => server.close())
  const at = Date.UTC(2026, 2, 1)
  const call1 = { type: 'tool-call' as const, id: 'c1', name: 'read', input: {} }
  const messages = [
    { ...said('go'), at },
    { role: 'assistant' as const, parts: [call1], at: at + 1000 },
  ]
  const usage = [{ message: 1, usage: { input: 10, output: 1 } }]
  await importSession(pal, { id: 'old', messages, usage, carried: 0 }, { client: 'pi' })
  const { json } = await call('GET', '/families')
  assert.equal(json.families[0].createdAt, at)
  assert.equal(json.families[0].updatedAt, at + 1000)
  assert.equal(json.families[0].live, false)
  for (const { at: time } of await (await pal.session('old')).events()) assert.ok(time <= at + 1000)
})

test('a title is separate from the name, and an empty one removes it', async t => {
  const { server, call } = await startServer()
  t.after(() => server.close())
  await call('POST', '/sessions', { body: { id: 's', messages: [said('first words')] } })
  const renamed = await call('PUT', '/sessions/s/title', { body: { title: '  Two\nlines ⚓ ' } })
  assert.equal(renamed.json.about.title, 'Two lines ⚓')
  assert.equal((await call('GET', '/families')).json.families[0].title, 'Two lines ⚓')
  await call('GET', '/sessions/s/summary')
  await call('PUT', '/sessions/s/title', { body: { title: '' } })
  assert.equal((await call('GET', '/families')).json.families[0].title, 'first words')
  assert.equal((await call('PUT', '/sessions/none/title', { body: { title: 'x' } })).status, 404)
})

test('a dropped file becomes the session that the command line imports, named after the file', async t => {
  const { server, pal } = await startServer()
  t.after(() => server.close())
  const trajectory = {
    messages: [said('hello'), said('hi', 'assistant')].map(({ role, parts }) => {
      return { role, content: parts[0]!.text }
    }),
    info: {},
    trajectory_format: 'mini-swe-agent-1',
  }
  const post = (file: string) =>
    server.fetch(
      new Request(`http://localhost/import?file=${encodeURIComponent(file)}`, {
        method: 'POST',
        headers: { 'content-type': 'application/octet-stream' },
        body: JSON.stringify(trajectory),
      }),
    )
  for (const file of [
    'django__django-1.traj.json',
    '../../django__django-1.traj.json',
    'C:\\work\\django__django-1.traj.json',
  ]) {
    const answer = JSON.parse(await (await post(file)).text())
    assert.equal(answer.sessions?.[0]?.session, 'django__django-1', JSON.stringify(answer))
  }
  assert.equal((await pal.sessions()).length, 1)
})

test('a user without sessions gets their own sample, if the server has one', async t => {
  const { server, call, token, pal } = await startServer({ requireToken: true, sample: true })
  t.after(() => server.close())
  for (const user of ['ada', 'bob']) {
    const { families } = (await call('GET', '/families', { token: (await token(user, 'user')).token })).json
    assert.deepEqual(
      families.map(({ id }: Listed) => id),
      ['sample'],
    )
  }
  assert.deepEqual((await pal.sessions()).map(({ id }) => id).sort(), ['@ada/sample', '@bob/sample'])
})

test('a deleted sample does not come back', async t => {
  const { server, call, token } = await startServer({ requireToken: true, sample: true })
  t.after(() => server.close())
  const ada = (await token('ada', 'user')).token
  const found = async () => (await call('GET', '/families', { token: ada })).json.found
  assert.equal(await found(), 1)
  await call('POST', '/deletions', { token: ada, body: { sessions: ['sample'] } })
  assert.equal(await found(), 0)
  assert.equal((await call('GET', '/overview', { token: ada })).json.sessions, 0)
})

test('tags are kept in order, can be searched and counted, and can be removed', async t => {
  const { server, call, pal } = await startServer()
  t.after(() => server.close())
  for (const id of ['one', 'two']) {
    await call('POST', '/sessions', { body: { id, messages: [said(`the harbour of ${id}`)] } })
  }
  const tagged = (tags: unknown) => call('PUT', '/sessions/one/tags', { body: { tags } })
  for (const wrong of [['a,b'], ['a\nb'], ['x'.repeat(51)]]) assert.equal((await tagged(wrong)).status, 422)
  assert.equal((await tagged(['🦆'.repeat(50)])).status, 200)
  assert.deepEqual((await tagged(['work', ' urgent', 'work', ''])).json.about.tags, ['urgent', 'work'])
  const ids = async (query: string) =>
    (await call('GET', `/families?${query}`)).json.families.map(({ id }: Listed) => id)
  assert.deepEqual(await ids('tag=work'), ['one'])
  assert.deepEqual(await ids('contains=URGENT'), ['one'])
  assert.deepEqual(await ids('tag=wor'), [])
  const { tags } = (await call('GET', '/overview')).json
  assert.deepEqual(tags, [
    { name: 'urgent', sessions: 1 },
    { name: 'work', sessions: 1 },
  ])
  const hits = (await call('GET', '/recall?q=harbour&tag=work')).json.hits
  assert.deepEqual(
    hits.map(({ session }: { session: string }) => session),
    ['one'],
  )
  for (const wrong of [['a,b'], ['a\nb'], ['x'.repeat(51)], Array.from({ length: 21 }, (_, i) => `t${i}`)])
    assert.equal((await tagged(wrong)).json.error.code, 'INVALID_INPUT')
  // Opening the session by another door keeps them.
  await pal.session('one', { about: { client: 'pi' } })
  assert.deepEqual((await pal.find('one'))?.about, { tags: ['urgent', 'work'], client: 'pi' })
  assert.deepEqual((await tagged([])).json.about, { client: 'pi' })
  assert.equal((await call('PUT', '/sessions/none/tags', { body: { tags: [] } })).status, 404)
})

/** Counts the rows of sessions that are read. */
class CountingLedger extends SqliteLedger {
  #rows = 0

  override async find(id: string) {
    this.#rows++
    return super.find(id)
  }

  override async list(options?: ListOptions) {
    const found = await super.list(options)
    this.#rows += found.length
    return found
  }

  taken(): number {
    const rows = this.#rows
    this.#rows = 0
    return rows
  }
}

test('with 10,000 sessions a page reads only those that changed', async t => {
  const path = join(mkdtempSync(join(tmpdir(), 'palimpsest-list-')), 'ledger.sqlite')
  const store = new CountingLedger(path)
  const pal = await openPalimpsest({ home: ':memory:', store })
  const meta = (i: number) =>
    JSON.stringify({ policy: 'none', model: 'm', about: { client: i % 2 ? 'pi' : 'codex', project: `/p/${i % 9}` } })
  const MANY = 10_000
  for (let i = 0; i < MANY; i++) await store.open(`${i % 10 ? '' : '@ada/'}s${i}`, { at: i, meta: meta(i) })
  const { server, call, token } = await startServer({ pal, clock: () => MANY })
  t.after(() => server.close())
  const admin = { token: (await token('root', 'admin')).token }
  const ada = { token: (await token('ada', 'user')).token }
  store.taken()
  assert.equal((await call('GET', '/families', admin)).json.found, MANY)
  assert.equal(store.taken(), MANY)
  assert.equal((await call('GET', '/families', ada)).json.found, MANY / 10)
  assert.equal(store.taken(), MANY / 10)
  // Changes of the last minutes are read again, so these become old.
  const database = new DatabaseSync(path)
  database.exec('UPDATE sessions SET changed_minute = 0')
  database.close()
  await call('PUT', '/sessions/s1/title', { ...admin, body: { title: 'A needle' } })
  await call('POST', '/deletions', { ...admin, body: { sessions: ['s2', '@ada/s10'] } })
  await call('POST', '/sessions', { ...ada, body: { id: 'new', messages: [said('hello')] } })
  store.taken()
  const { found, families } = (await call('GET', '/families?contains=needle', admin)).json
  assert.deepEqual([found, families[0].id], [1, 's1'])
  assert.equal((await call('GET', '/families?sort=title', ada)).json.found, MANY / 10)
  assert.equal((await call('GET', '/families?agent=pi&project=4', admin)).json.sessions > 500, true)
  assert.ok(store.taken() < 400, 'four changes, and the sessions that were used last')
  const page = (await call('GET', '/sessions?limit=50', ada)).json
  assert.equal(page.sessions.length, 50)
  assert.ok(store.taken() <= 52)
})

test('the last session of an agent on this machine is found, and imported on request', async t => {
  const home = mkdtempSync(join(tmpdir(), 'palimpsest-own-'))
  const folder = join(home, '.claude/projects/-home-ada-harbour')
  mkdirSync(folder, { recursive: true })
  const lines = [
    { type: 'user', uuid: 'u1', parentUuid: null, message: { role: 'user', content: 'Mend the light.' } },
    {
      type: 'assistant',
      uuid: 'u2',
      parentUuid: 'u1',
      message: { id: 'm1', role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
    },
  ].map((line, i) => JSON.stringify({ ...line, sessionId: 'own', timestamp: `2026-05-01T10:00:0${i}.000Z` }))
  writeFileSync(join(folder, 'own.jsonl'), lines.join('\n'))
  const { server, call, pal } = await startServer({ agentsEnv: { HOME: home } })
  const blind = await startServer({ agentsEnv: { HOME: home }, host: '0.0.0.0' })
  t.after(async () => {
    await server.close()
    await blind.server.close()
    rmSync(home, { recursive: true, force: true })
  })
  assert.deepEqual((await call('GET', '/own-sessions')).json.agents, [{ agent: 'claude-code', sessions: 1 }])
  const { session } = (await call('POST', '/own-sessions/last')).json
  assert.equal((await pal.find(session))?.about.client, 'claude-code')
  assert.equal((await call('POST', '/own-sessions/last')).json.session, session, 'once')
  const { token } = await blind.token('root', 'admin')
  const asked = await blind.call('GET', '/own-sessions', { token, headers: { host: '127.0.0.1' } })
  assert.notEqual(asked.json.sessions, 1, 'not for those elsewhere')
})
