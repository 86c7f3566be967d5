/** One turn of a conversation: what is recorded, what is sent, and its effect on the provider's cache. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { anthropic } from '../../../src/doors/proxy/anthropic.ts'
import { emptyAnswer } from '../../../src/doors/proxy/dialect.ts'
import { Readings } from '../../../src/doors/proxy/reading.ts'
import { piecesOf, type Spliced } from '../../../src/doors/proxy/splice-body.ts'
import { type Turn, Turns, type TurnsOptions } from '../../../src/doors/proxy/turns.ts'
import type { Event } from '../../../src/model/types.ts'
import { everyTurn, type Policy } from '../../../src/policies/policy.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'

type Said = { role: 'user' | 'assistant'; content: string | object[] }

const ask = (content: string): Said => ({ role: 'user', content })
const answer = (content: string): Said => ({ role: 'assistant', content })
const LONG = 'a long question that can be shortened '.repeat(60)
const MINUTE = 60_000

async function start(options: Partial<TurnsOptions> = {}) {
  const time = { now: 1_000_000 }
  const pal = await openPalimpsest({ home: ':memory:', clock: () => time.now })
  const faults: unknown[] = []
  const turns = new Turns({
    pal,
    policy: 'none',
    holdout: 0,
    inject: {},
    serverEdits: 'auto',
    clock: () => time.now,
    newName: () => `new-${time.now}`,
    fault: (_, error) => faults.push(error),
    ...options,
  })
  const readings = new Readings()
  const find = async (messages: readonly Said[], { tools = true, session = 'one' } = {}) => {
    const body = { model: 'claude-sonnet-4-5', tools: tools ? [{ name: 'bash', input_schema: {} }] : [], messages }
    const reading = readings.read(anthropic, Buffer.from(JSON.stringify(body)))!
    const headers = new Headers({ 'x-palimpsest-session': session })
    return (await turns.find({
      ...reading,
      headers,
      isHere: true,
      user: undefined,
      owner: undefined,
      model: body.model,
    }))!
  }
  const take = async (messages: readonly Said[], more: { tools?: boolean; session?: string } = {}): Promise<Turn> =>
    turns.prepare(await find(messages, more))
  const eventsOf = async (id: string): Promise<Event[]> =>
    (await (await pal.session(id, { mustExist: true })).events()).map(({ event }) => event)
  return { time, pal, faults, turns, find, take, eventsOf }
}

const sentBy = ({ edited }: { edited?: Spliced }) =>
  edited && (JSON.parse(Buffer.concat(piecesOf(edited)).toString()) as { messages: Said[] }).messages

/** Shortens the first message after it has been answered. */
const shortenFirst: Policy = {
  name: 'first',
  start: () => {
    let done = false
    return {
      plan({ calls }) {
        if (done || calls < 2) return []
        done = true
        const target = { type: 'part', entry: 0, part: 0 } as const
        return [{ policy: 'first', target, replacement: 'short', why: 'test' }]
      },
    }
  },
}

const talk = [ask(LONG), answer('one'), ask('two'), answer('three'), ask('four')]

describe('a turn', () => {
  test('records exactly what the client sent, once', async () => {
    const { take, eventsOf, pal } = await start()
    await take(talk.slice(0, 1))
    await take(talk.slice(0, 3))
    await take(talk.slice(0, 3))
    const turn = await take(talk)
    assert.equal(turn.edited, undefined)
    assert.deepEqual([turn.made, turn.sent.edited, turn.before], [[], false, 4])
    const entries = (await eventsOf('one')).filter(({ type }) => type === 'entry')
    assert.equal(entries.length, 5)
    await pal.close()
  })

  test('with an edit sends the view, and the same body later gives the same bytes', async () => {
    const { take, pal } = await start({ policy: everyTurn('first', [shortenFirst]) })
    await take(talk.slice(0, 1))
    await take(talk.slice(0, 3))
    const turn = await take(talk)
    assert.deepEqual(sentBy(turn)?.[0]?.content, 'short')
    assert.deepEqual(sentBy(turn)?.slice(1), talk.slice(1))
    assert.deepEqual(turn.made, ['policy:first'])
    assert.equal(turn.sent.edited, true)
    const again = await take(talk)
    assert.deepEqual(Buffer.concat(piecesOf(again.edited!)), Buffer.concat(piecesOf(turn.edited!)))
    assert.deepEqual([again.made, again.sent.edited], [[], false])
    const next = await take([...talk, answer('five'), ask('six')])
    assert.equal(next.sent.edited, false, 'an edit costs the cache once')
    await pal.close()
  })

  test('at the same time as others of its session waits for them', async () => {
    const { find, turns, eventsOf, pal } = await start()
    const found = [await find(talk.slice(0, 1)), await find(talk.slice(0, 3)), await find(talk)]
    const taken = await Promise.all(found.map(one => turns.prepare(one)))
    assert.deepEqual(
      taken.map(({ live }) => live.session.id),
      ['one', 'one', 'one'],
    )
    const kinds = (await eventsOf('one')).map(({ type }) => type)
    assert.equal(kinds.filter(type => type === 'entry').length, 5)
    await pal.close()
  })

  test('needs messages', async () => {
    const { turns, pal } = await start()
    const reading = new Readings().read(anthropic, Buffer.from('{"model":"claude"}'))!
    const nothing = {
      ...reading,
      messages: undefined,
      headers: new Headers(),
      isHere: true,
      user: undefined,
      owner: undefined,
      model: undefined,
    }
    assert.equal(await turns.find(nothing), undefined)
    await pal.close()
  })
})

describe('a conversation that is only recorded', () => {
  test('is passed on unchanged once it is known, until the user edits it', async () => {
    const { find, turns, pal } = await start()
    const first = await find(talk.slice(0, 1))
    assert.equal(first.asIs, false, 'not opened yet')
    const { live } = await turns.prepare(first)
    assert.equal((await find(talk.slice(0, 3))).asIs, true)
    const target = { type: 'part', entry: 0, part: 0 } as const
    await live.session.apply([{ target, replacement: 'short', why: 'test' }])
    assert.equal((await find(talk.slice(0, 3))).asIs, false)
    await pal.close()
  })

  test('has no planner; a conversation with a planner waits for its view', async () => {
    const { find, turns, pal } = await start({ policy: 'thrifty' })
    await turns.prepare(await find(talk.slice(0, 1)))
    assert.equal((await find(talk.slice(0, 3))).asIs, false)
    await pal.close()
  })
})

describe("the provider's cache", () => {
  test('is lost when the client takes messages back', async () => {
    const { take, pal } = await start()
    await take(talk.slice(0, 1))
    await take(talk)
    const turn = await take([...talk.slice(0, 2), ask('something else')])
    assert.notEqual(turn.live.session.id, 'one')
    assert.deepEqual([turn.sent.clientChanged, turn.sent.edited], [true, false])
    assert.deepEqual(turn.made, [])
    await pal.close()
  })
})

describe('an answer', () => {
  test('has the time when it was given, not when the client sends it back', async () => {
    const { take, turns, time, eventsOf, pal } = await start()
    const first = await take(talk.slice(0, 1))
    time.now += 1000
    await turns.finish(first, { ...emptyAnswer(), text: 'one' })
    time.now += MINUTE
    await take(talk.slice(0, 3))
    const [question, said, next] = (await eventsOf('one')).flatMap(event =>
      event.type === 'entry' ? event.message : [],
    )
    assert.deepEqual([question?.at, said?.at, next?.at], [1_000_000, 1_001_000, 1_061_000])
    await pal.close()
  })

  test('is recorded with its usage, if the provider reports usage', async () => {
    const { take, turns, eventsOf, pal } = await start()
    const turn = await take(talk.slice(0, 1))
    await turns.finish(turn, { ...emptyAnswer(), usage: {} })
    assert.equal(
      (await eventsOf('one')).some(({ type }) => type === 'usage'),
      false,
    )
    await turns.finish(turn, { ...emptyAnswer(), usage: { input: 700, output: 3 } })
    const [used] = (await eventsOf('one')).filter(event => event.type === 'usage')
    assert.ok(used?.type === 'usage' && used.usage.input === 700)
    await pal.close()
  })

  test('identifies a conversation without a name by its calls', async () => {
    const { take, turns, pal } = await start()
    const turn = await take([ask('do it')], { session: '' })
    const call = { id: 'toolu_1', name: 'bash', input: {} }
    await turns.finish(turn, { ...emptyAnswer(), calls: [call] })
    const used: Said = { role: 'assistant', content: [{ type: 'tool_use', ...call }] }
    const result: Said = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] }
    const next = await take([ask('a summary instead'), used, result], { session: '' })
    assert.equal(next.place.by, 'call ids')
    assert.equal(next.place.session, turn.place.session)
    assert.equal(turn.live.lateCalls.size, 0, 'no tool of ours')
    await pal.close()
  })
})

describe('a request that is too long for the provider', () => {
  const step = (n: number): Said[] => [
    { role: 'assistant', content: [{ type: 'tool_use', id: `t${n}`, name: 'bash', input: { command: `make ${n}` } }] },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `t${n}`, content: `line ${n} of a log\n`.repeat(400) }],
    },
  ]
  const long = [ask('build it'), ...Array.from({ length: 12 }, (_, n) => step(n)).flat(), answer('so'), ask('go on')]

  test('is shortened, and the ledger says why', async () => {
    const { take, turns, eventsOf, pal } = await start({ policy: 'thrifty' })
    const turn = await take(long)
    const before = turn.edited ? Buffer.concat(piecesOf(turn.edited)).length : JSON.stringify(long).length
    const shorter = await turns.shrink(turn)
    assert.ok(shorter && Buffer.concat(piecesOf(shorter)).length < 0.7 * before)
    const told = (await eventsOf('one')).filter(event => event.type === 'decision' && /too long/.test(event.text))
    assert.equal(told.length, 1)
    assert.deepEqual((await take(long)).edited, shorter, 'the same body again is sent as it was then')
    assert.equal(turn.live.session.options.policy.name, 'thrifty')
    await pal.close()
  })

  test('stays unchanged if nothing may be edited', async () => {
    const recorded = await start({ policy: 'none' })
    assert.equal(await recorded.turns.shrink(await recorded.take(long)), undefined)
    const holdout = await start({ policy: 'thrifty', holdout: 1 })
    const turn = await holdout.take(long)
    assert.equal(turn.live.isHoldout, true)
    assert.equal(await holdout.turns.shrink(turn), undefined)
    const side = await start({ policy: 'thrifty' })
    await side.take(talk)
    const title = [ask('Generate a title for this conversation: fix it')]
    const beside = await side.take(title, { tools: false })
    assert.equal(beside.place.side, 'title')
    assert.equal(await side.turns.shrink(beside), undefined)
    await Promise.all([recorded.pal.close(), holdout.pal.close(), side.pal.close()])
  })
})

test('a view that an undo has broken is repaired in every later turn', async () => {
  const { take, pal } = await start()
  const call: Said = { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'bash', input: {} }] }
  const result: Said = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'it is made' }] }
  const conversation = [ask('build it'), call, result, answer('so'), ask('go on')]
  await take(conversation)
  const session = await pal.session('one')
  const hide = (entry: number) => ({
    target: { type: 'entry' as const, entry },
    replacement: { messages: [] },
    why: 'test',
  })
  const [, second] = await session.apply([hide(1), hide(2)])
  await session.undo(second!.id)
  for (let i = 0; i < 3; i++) {
    conversation.push(answer(`step ${i}`), ask('and on'))
    const text = JSON.stringify(sentBy(await take(conversation)))
    assert.ok(text.includes('it is made') && !text.includes('tool_result'), text)
  }
  await pal.close()
})
