/** The data for a page of a session: the list with numbers, map, timeline, one part, pending edits, compaction. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { presets, seedPresets } from '../../../src/planner/presets.ts'
import { openSmall, SMALL } from '../../small-session.ts'
import { said, startServer } from './harness.ts'

const { server, call, get, post, pal } = await startServer()
await openSmall(pal)
after(() => server.close())

const path = `/sessions/${SMALL}`
type Bar = {
  entry: number
  part: number | null
  kind: string
  raw: number
  shown: number
  edits: string[]
  label: string
}
const total = (bars: Bar[], key: 'raw' | 'shown') => bars.reduce((sum, bar) => sum + bar[key], 0)

/** A session of some steps, each with a long result. */
async function longSession(id: string, { steps = 12, policy = 'none', tool = 'read_file' } = {}) {
  const calls = Array.from({ length: steps }, (_, i) => [
    {
      role: 'assistant',
      parts: [{ type: 'tool-call', id: `c${i}`, name: tool, input: inputOf(tool, i) }],
    },
    {
      role: 'tool',
      parts: [{ type: 'tool-result', id: `c${i}`, name: tool, output: `line ${i}\n`.repeat(300) }],
    },
  ]).flat()
  const messages = [said('Read them all.'), ...calls, said('Done.', 'assistant')]
  await post('/sessions', { id, policy, messages }, 201)
}

function inputOf(tool: string, i: number) {
  return tool === 'read_file' ? { path: `src/f${i}.ts` } : { command: `npm test -- part-${i}` }
}

describe('the list', () => {
  test('has the numbers of opened sessions, and marks those that have grown since', async () => {
    const rowOf = async (id: string) => (await get('/sessions')).sessions.find((row: { id: string }) => row.id === id)
    await longSession('listed')
    assert.equal((await rowOf('listed')).summary, null)
    const summary = await get('/sessions/listed/summary')
    assert.deepEqual((await rowOf('listed')).summary, summary)
    assert.deepEqual([summary.turns, summary.calls, summary.title], [1, 13, 'Read them all.'])
    await post('/sessions/listed/messages', { messages: [said('More.')] }, 201)
    const { isOld, summary: before } = await rowOf('listed')
    assert.equal(isOld, true)
    assert.deepEqual(before, summary)
    assert.equal((await get('/sessions/listed/summary')).turns, 2)
    assert.equal((await rowOf('listed')).isOld, false)
  })

  test('has the client and the title of each session', async () => {
    await pal.session('known', { about: { client: 'claude-code', title: 'A title' } })
    const row = (await get('/sessions?contains=known')).sessions[0]
    assert.deepEqual(row.about, { client: 'claude-code', title: 'A title' })
  })
})

describe('the map', () => {
  test('has every part in order, with its kind and its state after edits', async () => {
    const { bars, tokens, entries, window } = await get(`${path}/map`)
    assert.deepEqual([entries, window], [17, 200_000])
    assert.equal(tokens.shown, total(bars, 'shown'))
    const kinds = bars.map((bar: Bar) => bar.kind)
    assert.deepEqual(kinds.slice(0, 3), ['system', 'user', 'assistant'])
    for (const kind of ['read', 'shell', 'edit', 'write']) assert.ok(kinds.includes(kind), kind)
    const edited = bars.filter((bar: Bar) => bar.edits.length > 0)
    assert.equal(edited.length, 2)
    for (const bar of edited) assert.ok(bar.shown < bar.raw)
    assert.equal(edited[0].label, 'logs/server.log')
    assert.deepEqual(
      bars.filter((bar: { pinned: boolean }) => bar.pinned).map((bar: Bar) => bar.entry),
      [1],
    )
  })

  test('at a call is the view that was sent', async () => {
    const { calls } = await get(`${path}/timeline`)
    assert.ok(calls.length > 0)
    for (const { call: at, sent, entry } of calls) {
      const { bars, tokens, entries } = await get(`${path}/map?at=${at}`)
      assert.equal(tokens.shown, sent.tokens)
      assert.equal(entries, entry)
      assert.ok(
        bars.every((bar: Bar) => bar.edits.length === 0),
        'its edits came later',
      )
    }
    assert.equal((await call('GET', `${path}/map?at=99`)).status, 404)
  })

  test('joins neighbours if there are too many bars, without losing tokens', async () => {
    await longSession('many', { steps: 60 })
    const whole = await get('/sessions/many/map')
    const few = await get('/sessions/many/map?max=10')
    assert.ok(few.bars.length <= 10)
    assert.equal(total(few.bars, 'raw'), total(whole.bars, 'raw'))
    assert.equal(few.bars.at(-1).to, 121)
  })
})

describe('the causes of costs', () => {
  test('cover every call, and the rent adds up to the amount paid', async () => {
    await longSession('why')
    const { money } = await get('/sessions/why/summary')
    const why = await get('/sessions/why/why')
    assert.equal(why.calls.length, 13)
    assert.equal(why.calls[0].cause, 'start')
    assert.equal(why.moments.length, 5)
    assert.equal(why.free, null)
    const rent = await get('/sessions/why/rent')
    for (const by of ['kind', 'tool', 'server', 'file', 'agent', 'edit']) {
      const sum = rent[by].reduce((total: number, { dollars }: { dollars: number }) => total + dollars, 0)
      assert.ok(Math.abs(sum - money.with) < 1e-9, `${by}: ${sum} of ${money.with}`)
    }
    assert.ok((await get('/sessions/why/why?free=true')).free.savedUsd >= 0)
    assert.equal((await call('GET', '/sessions/none/why')).status, 404)
  })
})

describe('the timeline', () => {
  test('is divided into pages of calls', async () => {
    await longSession('paged')
    const first = await get('/sessions/paged/timeline?limit=5')
    const rest = await get(`/sessions/paged/timeline?from=${first.next}`)
    const numbers = [...first.calls, ...rest.calls].map(({ call }: { call: number }) => call)
    assert.deepEqual(
      numbers,
      Array.from({ length: 13 }, (_, i) => i + 1),
    )
    assert.equal(rest.next, null)
  })

  test('names the edit that broke the cache', async () => {
    await longSession('broken')
    const { parts } = await get('/sessions/broken/parts')
    await post('/sessions/broken/edits', { action: 'discard', targets: [[parts[0].hash]] }, 201)
    await post('/sessions/broken/messages', { messages: [said('And?'), said('Nothing.', 'assistant')] }, 201)
    const { calls } = await get('/sessions/broken/timeline')
    const { miss, edits } = calls.at(-1)
    assert.equal(miss.kind, 'edit')
    assert.match(miss.cause, /^e1 by user: /)
    assert.ok(miss.lost > 0)
    assert.deepEqual(edits.ids, ['e1'])
  })
})

describe('one part', () => {
  test('is shown before and after edits, with all its edits', async () => {
    const detail = await get(`${path}/parts/7/0`)
    assert.match(detail.texts.original, /slow query/)
    assert.doesNotMatch(detail.texts.shown, /slow query 1\b/)
    assert.equal(detail.inView, true)
    assert.ok(detail.tokens.shown < detail.tokens.original)
    const [edit] = detail.edits
    assert.deepEqual([edit.by, edit.active, edit.shows], ['agent', true, true])
    assert.ok(edit.saved > 0 && edit.at > 0)
    assert.equal((await call('GET', `${path}/parts/7/3`)).status, 404)
    assert.equal((await call('GET', `${path}/parts/99/0`)).status, 404)
  })

  test('can be discarded, distilled and restored by its hash', async () => {
    await longSession('handled')
    const { hash, texts } = await get('/sessions/handled/parts/2/0')
    const made = await post('/sessions/handled/edits', { action: 'distill', targets: [[hash, 'It holds lines.']] }, 201)
    const distilled = await get('/sessions/handled/parts/2/0')
    assert.match(distilled.texts.shown, /It holds lines/)
    assert.equal(distilled.texts.original, texts.original)
    await post(`/sessions/handled/edits/${made.edits[0].id}/undo`)
    const back = await get('/sessions/handled/parts/2/0')
    assert.equal(back.texts.shown, texts.original)
    assert.deepEqual([back.edits[0].active, back.edits[0].shows], [false, false])
  })
})

test('entries have their shown form, and can be requested by number', async () => {
  const { entries, total: all } = await get(`${path}/entries?cursor=7&limit=3`)
  assert.equal(all, 17)
  assert.deepEqual(
    entries.map(({ entry }: { entry: number }) => entry),
    [7, 8, 9],
  )
  assert.match(entries[0].message.parts[0].output, /slow query/)
  assert.notEqual(entries[0].shown.parts[0].output, entries[0].message.parts[0].output)
  assert.equal('shown' in entries[1], false)
  assert.deepEqual(entries[0].edits, ['e1'])
})

describe('pending edits', () => {
  test('are listed with their sum, and asking records nothing', async () => {
    await longSession('held', { steps: 40, policy: 'thrifty', tool: 'run_command' })
    const { length } = await get('/sessions/held')
    const asked = await get('/sessions/held/pending')
    assert.equal(asked.policy, 'thrifty')
    assert.ok(asked.now.length + asked.later.length > 0)
    assert.match(asked.decision, /tokens/)
    assert.equal((await get('/sessions/held')).length, length)
  })

  test('are empty if the policy proposes nothing', async () => {
    const { now, later, decision } = await get('/sessions/many/pending')
    assert.deepEqual([now, later, decision], [[], [], null])
  })
})

describe('a manual compaction', () => {
  test('shows the summary of whole steps first, and then applies it', async () => {
    await longSession('compacted')
    const preview = await post('/sessions/compacted/compact/preview', { from: 2, to: 9 })
    assert.deepEqual([preview.from, preview.to, preview.narrowed], [3, 8, true])
    assert.equal(preview.problem, null)
    assert.match(preview.text, /## Current State\n- read src\/f1\.ts/)
    assert.ok(preview.tokens.saved > 1000)
    const before = await get('/sessions/compacted/map')
    const body = { from: preview.from, to: preview.to, text: `${preview.text}\nAnd my own words.` }
    const { edit } = await post('/sessions/compacted/compact', body, 201)
    assert.equal(edit.by, 'user')
    assert.match((await call('GET', '/sessions/compacted/view')).text, /And my own words/)
    const { bars } = await get('/sessions/compacted/map')
    const inserted = bars.filter((bar: Bar) => bar.kind === 'inserted')
    assert.equal(inserted.length, 1)
    assert.ok(
      bars
        .filter((bar: Bar) => bar.entry >= 3 && bar.entry <= 8 && bar.part !== null)
        .every((bar: Bar) => bar.shown === 0),
    )
    const hidden = await get('/sessions/compacted/parts/4/0')
    assert.equal(hidden.inView, false)
    assert.equal(hidden.instead.edit, edit.id)
    await post(`/sessions/compacted/edits/${edit.id}/undo`)
    assert.equal(total((await get('/sessions/compacted/map')).bars, 'shown'), total(before.bars, 'shown'))
  })

  test('keeps the last request verbatim after the summary', async () => {
    await longSession('kept')
    const preview = await post('/sessions/kept/compact/preview', { from: 0, to: 24 })
    assert.equal(preview.request, 'Read them all.')
    await post('/sessions/kept/compact', { from: preview.from, to: preview.to, text: preview.text }, 201)
    const { messages } = await get('/sessions/kept/view')
    assert.equal(messages[1].parts[0].text, 'Read them all.')
  })

  test('refuses a summary that is too long, a range without a whole step, and a missing range', async () => {
    await longSession('refused')
    const long = await call('POST', '/sessions/refused/compact', {
      body: { from: 1, to: 2, text: 'word '.repeat(5000) },
    })
    assert.equal(long.status, 409)
    assert.equal(long.json.error.code, 'SUMMARY_TOO_LONG')
    const tried = await post('/sessions/refused/compact/preview', { from: 1, to: 2, text: 'word '.repeat(5000) })
    assert.match(tried.problem, /no fewer than/)
    const part = await call('POST', '/sessions/refused/compact/preview', { body: { from: 1, to: 1 } })
    assert.equal(part.json.error.code, 'VIEW_ILLEGAL')
    const split = await call('POST', '/sessions/refused/compact', { body: { from: 2, to: 2, text: 'x' } })
    assert.equal(split.json.error.code, 'VIEW_ILLEGAL')
    assert.equal((await call('POST', '/sessions/refused/compact/preview', { body: { from: 5, to: 900 } })).status, 404)
    assert.deepEqual((await get('/sessions/refused/edits')).edits, [])
  })
})

test('a comparison has the data for its plots', async () => {
  await longSession('compared', { steps: 30 })
  const { policies, model } = await post('/sessions/compared/compare', { policies: ['none', 'stale-output'] })
  assert.equal(model, 'claude-sonnet-4-5')
  for (const { series, calls, dollars } of policies) {
    assert.equal(series.tokens.length, calls)
    assert.ok(Math.abs(series.cost.at(-1) - dollars) < 1e-9)
  }
  assert.deepEqual(policies[0].decisions, [])
  assert.ok(policies[1].decisions.length > 0)
  const { list } = await get('/sessions/compared/would?policy=stale-output')
  const { scale } = await get('/sessions/compared/map')
  assert.notEqual(scale, 1, 'this provider counts other tokens than we do')
  for (const { call: at, saved } of policies[1].decisions) {
    const own = list.filter((edit: { call: number }) => edit.call === at)
    const ours = own.reduce((sum: number, edit: { saved: number }) => sum + edit.saved, 0)
    assert.equal(saved, Math.round(ours * scale), `call ${at}, in the tokens of the provider`)
  }
})

test('policies and users are listed', async () => {
  const { policies } = await get('/policies')
  const names = policies.map(({ name }: { name: string }) => name)
  assert.deepEqual(
    names,
    [...presets, ...seedPresets].map(({ name }) => name),
  )
  for (const { name, about } of policies) assert.ok(about.length > 10, name)
  const { own, users } = await get('/users')
  assert.ok(users.some(({ user }: { user: string }) => user === own))
  await call('PUT', '/users/zoe/blocks/goals', { body: { body: 'x' } })
  const { users: more } = await get('/users')
  assert.deepEqual(
    more.find(({ user }: { user: string }) => user === 'zoe'),
    { user: 'zoe', blocks: 1, open: 0 },
  )
})

test('a turn lists its subagents, each with its own time, tokens, cost and errors', async () => {
  const at = (time: number, text: string, role: 'user' | 'assistant' = 'user') => ({
    role,
    at: time,
    parts: [{ type: 'text' as const, text }],
  })
  const parent = await pal.session('boss', { model: 'claude-sonnet-5' })
  await parent.append(at(1000, 'Split the work.'), at(2000, 'I ask two others.', 'assistant'))
  await parent.append(at(9000, 'And now the rest.'), at(9500, 'Done.', 'assistant'))
  const about = { parent: 'boss', reason: 'sub-agent' as const }
  const child = await pal.session('boss.one', { model: 'claude-sonnet-5', about })
  await child.append(
    at(1500, 'Find the callers.'),
    { role: 'assistant', at: 1600, parts: [{ type: 'tool-call', id: 'c', name: 'bash', input: { command: 'false' } }] },
    { role: 'tool', at: 1700, parts: [{ type: 'tool-result', id: 'c', name: 'bash', output: 'no', isError: true }] },
    at(1800, 'There are none.', 'assistant'),
  )
  await pal.session('boss.2', { about: { parent: 'boss' } })
  const [first] = (await get('/sessions/boss/turns?entry=0')).agents
  const { dollars, tokens, ...rest } = first
  assert.ok(dollars > 0 && tokens > 0)
  const counts = { calls: 2, tools: 1, errors: 1 }
  assert.deepEqual(rest, { session: 'boss.one', title: 'Find the callers.', at: 1500, ended: 1800, ...counts })
  assert.deepEqual((await get('/sessions/boss/turns?entry=2')).agents, [])
})

test('while the rent of a session is added up, other requests are answered', async () => {
  await longSession('rented', { steps: 60 })
  await get('/sessions/rented/summary')
  let isDone = false
  let turns = 0
  const turn = () => {
    turns++
    if (!isDone) setImmediate(turn)
  }
  setImmediate(turn)
  const rent = await get('/sessions/rented/rent')
  isDone = true
  assert.ok(turns > 60, `${turns} turns of the event loop for 61 calls`)
  const sum = rent.tool.reduce((total: number, { dollars }: { dollars: number }) => total + dollars, 0)
  assert.ok(rent.dollars > 0 && Math.abs(sum - rent.dollars) < 1e-9)
  assert.deepEqual(await get('/sessions/rented/rent'), rent)
})
