import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProxyOptions } from '../../../src/doors/proxy/proxy.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { CLEARED, clearedCalls } from '../../../src/view/server-clears.ts'
import { type Account, checkingAnthropic } from '../../providers/checking-anthropic.ts'
import { type Received, startUpstream, type Turn } from '../../upstream.ts'
import { type AgentOptions, AnthropicAgent, thinkingModel } from './anthropic-agent.ts'
import { setUp } from './setup.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies as they go over the wire
type Json = any

const BETA = 'context-management-2025-06-27'
const MANAGES: AgentOptions = { headers: { 'anthropic-beta': BETA } }
const ONE_TURN = 1000

type Options = {
  agent?: AgentOptions
  turn?: number
  proxy?: Partial<ProxyOptions>
  account?: Account
  change?: (turn: Turn) => Turn
}

/** An agent in one long turn of the user, on a provider with a clock that the test moves. */
async function begun(given: Options = {}) {
  const { agent: options = MANAGES, turn = ONE_TURN, proxy = {}, account = {}, change = said => said } = given
  const clock = { now: 1e12 }
  const provider = checkingAnthropic(thinkingModel(turn), { ...account, clock: () => clock.now })
  const script = (received: Received, index: number) => change(provider.script(received, index))
  const pal = await openPalimpsest({ home: ':memory:', clock: () => clock.now })
  const it = await setUp(script, { pal, policy: 'thrifty', clock: () => clock.now, ...proxy }, provider)
  const agent = new AnthropicAgent(it.url, options)
  const play = async (rounds: number) => {
    for (let i = 0; i < rounds; i++) {
      clock.now += 15_000
      await agent.round()
      await it.proxy.idle()
    }
  }
  const session = () => it.pal.session('one', { asGuest: true })
  const said = async () =>
    (await (await session()).events()).flatMap(({ event }) => (event.type === 'decision' ? [event.text] : []))
  const clears = (): (number | undefined)[] =>
    it.upstream.requests.map(({ json }) => usesIn(json) - (keepIn(json) ?? usesIn(json)))
  return { ...it, provider, agent, play, session, said, clears, [Symbol.asyncDispose]: it[Symbol.asyncDispose] }
}

const usesIn = ({ messages }: Json): number =>
  messages.flatMap(({ content }: Json) => content).filter(({ type }: Json) => type === 'tool_use').length
const keepIn = ({ context_management: managed }: Json): number | undefined => managed?.edits.at(-1)?.keep.value

async function billAlone(rounds: number): Promise<number> {
  const clock = { now: 1e12 }
  const provider = checkingAnthropic(thinkingModel(ONE_TURN), { clock: () => clock.now })
  const upstream = await startUpstream(provider.script, provider)
  const agent = new AnthropicAgent(upstream.url, MANAGES)
  for (let i = 0; i < rounds; i++) {
    clock.now += 15_000
    await agent.round()
  }
  await upstream.close()
  return provider.bill.dollars
}

test('in a turn of 64 calls the server clears in few batches: no refusal, no thinking lost, and a lower bill', async () => {
  await using it = await begun()
  await it.play(64)
  assert.deepEqual(it.provider.refusals, [])
  assert.equal(it.provider.dropped, 0)
  const thinking = it.agent.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []))
  const last = it.upstream.requests.at(-1)!.json as Json
  const sent = last.messages.flatMap(({ content }: Json) => content).filter(({ type }: Json) => /thinking/.test(type))
  const own = thinking.slice(0, -2).filter(({ type }) => /thinking/.test(type))
  assert.ok(own.length - sent.length <= 2, 'all thinking is sent back')
  assert.ok(it.provider.bill.dollars < 0.9 * (await billAlone(64)), `${it.provider.bill.dollars}`)
  const batches = new Set(it.clears())
  assert.ok(batches.size > 1 && batches.size < 10, [...batches].join())
  const texts = await it.said()
  assert.ok(texts.some(text => /^The provider cleared \d+ results as asked, \d+ tokens\.$/.test(text)))
  assert.equal(texts.filter(text => /itself edited the history/.test(text)).length, 0)
})

test('the request that first has results cleared has a mark before them, so that the rest is read from the cache', async () => {
  await using it = await begun()
  await it.play(40)
  const clears = it.clears()
  const marks = it.upstream.requests.map(({ json }) => JSON.stringify(json).split('"cache_control"').length - 1)
  assert.ok(clears.at(-1)! > 0)
  assert.deepEqual(
    marks,
    clears.map((cleared, i) => (i > 0 && cleared !== clears[i - 1] ? 3 : 2)),
  )
})

test('the request has the originals, the view shows what the model sees, and a token count is smaller', async () => {
  await using it = await begun()
  await it.play(40)
  const session = await it.session()
  const { messages } = await session.view({ plan: false })
  const results = messages.flatMap(({ parts }) => parts.flatMap(part => (part.type === 'tool-result' ? [part] : [])))
  const cleared = clearedCalls(session.fold)
  assert.ok(cleared.length > 3)
  assert.ok(results.slice(0, cleared.length).every(({ output }) => output === CLEARED))
  const wire = (it.upstream.requests.at(-1)!.json as Json).messages
  assert.ok(!JSON.stringify(wire).includes(CLEARED))
  assert.match(JSON.stringify(await session.original(session.edits()[0]!.edit.id)), /part 0 step 0: compiled/)
  const { status, json } = await it.agent.post('/v1/messages/count_tokens')
  assert.equal(status, 200)
  assert.ok(json.input_tokens < json.context_management.original_input_tokens / 2)
})

test('undoing a clear restores it and all later ones, and the agent continues', async () => {
  await using it = await begun()
  await it.play(40)
  const session = await it.session()
  const edits = session.edits().filter(({ edit, active }) => active && edit.mark === 'server')
  await session.undo(edits[2]!.edit.id)
  assert.equal(clearedCalls(session.fold).length, 2)
  await it.play(3)
  assert.deepEqual(it.clears().slice(-3), [2, 2, 2])
  await session.redo(edits.at(-1)!.edit.id)
  assert.equal(clearedCalls(session.fold).length, edits.length)
  assert.deepEqual(it.provider.refusals, [])
})

test('without the beta the server does not clear, unless the option says always; never forbids it with the beta', async () => {
  for (const [agent, serverEdits, cleared] of [
    [{}, 'auto', false],
    [{}, 'always', true],
    [MANAGES, 'never', false],
  ] as const) {
    await using it = await begun({ agent, proxy: { serverEdits } })
    await it.play(36)
    assert.equal(
      it.clears().some(count => count! > 0),
      cleared,
    )
    assert.equal((await it.agent.post('/v1/messages/count_tokens')).status, 200)
    assert.deepEqual(it.provider.refusals, [])
  }
})

test("the client's clearing of thinking is kept before ours", async () => {
  const edits = [{ type: 'clear_thinking_20251015', keep: 'all' }]
  await using it = await begun({ agent: { ...MANAGES, more: { context_management: { edits } } } })
  await it.play(36)
  const { context_management: managed } = it.upstream.requests.at(-1)!.json as Json
  assert.deepEqual(managed.edits[0], edits[0])
  assert.equal(managed.edits[1].type, 'clear_tool_uses_20250919')
  assert.deepEqual(it.provider.refusals, [])
})

test('a provider that clears nothing is asked once and then gets everything', async () => {
  const deaf = (turn: Turn): Turn => ({ ...turn, more: { ...turn.more, context_management: undefined } })
  await using it = await begun({ change: deaf })
  await it.play(50)
  assert.equal(it.clears().filter(count => count! > 0).length, 1)
  assert.ok((await it.said()).some(text => /It cleared 0, so it is not asked again/.test(text)))
  assert.deepEqual(it.provider.refusals, [])
})

test('a platform that refuses the beta gets the request again without it', async () => {
  await using it = await begun({ agent: {}, proxy: { serverEdits: 'always' }, account: { betas: [] } })
  await it.play(50)
  assert.equal(it.provider.refusals.length, 1)
  assert.ok((await it.said()).some(text => /refused to clear results/.test(text)))
  assert.equal(it.clears().filter(count => count! > 0).length, 1)
})

test('a turn of 80 calls without the beta is edited if that saves more than the lost reasoning costs', async () => {
  await using it = await begun({ agent: {} })
  await it.play(80)
  assert.deepEqual(it.provider.refusals, [])
  assert.equal(it.provider.dropped, 0)
  const paid = (await it.session()).edits().flatMap(({ edit }) => (edit.by === 'policy:thrifty' ? [edit] : []))
  assert.ok(paid.length > 10, `${paid.length} edits`)
  assert.ok(it.provider.bill.dollars < 0.9 * (await billAlone(80)), `${it.provider.bill.dollars}`)
  const events = await (await it.session()).events()
  const reasons = events.flatMap(({ event }) => (event.type === 'edit' ? [event.decision ?? ''] : []))
  assert.ok(
    reasons.some(text => /tokens of reasoning after the first change are lost, \S+ of them from this turn/.test(text)),
  )
})

const ITS_OWN = {
  context_management: {
    edits: [
      { type: 'clear_thinking_20251015', keep: { type: 'thinking_turns', value: 10 } },
      {
        type: 'clear_tool_uses_20250919',
        trigger: { type: 'input_tokens', value: 12_000 },
        keep: { type: 'tool_uses', value: 5 },
        clear_at_least: { type: 'input_tokens', value: 4000 },
      },
    ],
  },
}

test('clears that the client asks the server for are edits that can be shown and undone', async () => {
  await using it = await begun({ agent: { ...MANAGES, more: ITS_OWN } })
  await it.play(30)
  const session = await it.session()
  const edits = () => session.edits().filter(({ edit, active }) => active && edit.mark === 'server')
  const server = async () =>
    (await session.events()).flatMap(({ event }) => (event.type === 'usage' ? [event.server ?? []] : [])).at(-1)!
  const [thinking, results] = await server()
  assert.deepEqual(thinking?.type, 'clear_thinking_20251015')
  assert.ok(thinking!.thinkingTurns! > 10 && thinking!.tokens! > 0)
  const told = (await it.said()).filter(text => /itself edited the history/.test(text))
  assert.ok(told.some(text => /\(clear_thinking_20251015\) of \d+ turns with thinking, \d+ tokens\. /.test(text)))
  assert.equal(edits().length, results?.toolUses)
  assert.ok(edits().every(({ edit }) => edit.by === 'engine' && edit.replacement === CLEARED))
  assert.match(JSON.stringify(await session.original(edits()[0]!.edit.id)), /part 0 step 0: compiled/)
  assert.deepEqual(it.upstream.requests.at(-1)!.json, it.agent.body(it.agent.messages.slice(0, -2)))
  await session.undo(edits()[2]!.edit.id)
  await it.play(3)
  assert.deepEqual(it.clears().slice(-3), [2, 2, 2])
  assert.equal((await server()).find(({ type }) => type === 'clear_tool_uses_20250919')?.toolUses, 2)
  assert.equal((await it.agent.post('/v1/messages/count_tokens')).status, 200)
  await session.undo(edits()[0]!.edit.id)
  await it.play(2)
  const { context_management: left } = it.upstream.requests.at(-1)!.json as Json
  assert.deepEqual(left.edits, [ITS_OWN.context_management.edits[0]])
  await session.redo(session.edits().findLast(({ edit }) => edit.mark === 'server')!.edit.id)
  await it.play(2)
  assert.deepEqual((it.upstream.requests.at(-1)!.json as Json).context_management, ITS_OWN.context_management)
  const again = (await it.session()).edits().filter(({ edit, active }) => active && edit.mark === 'server')
  assert.ok(again.length > results!.toolUses!)
  assert.deepEqual(it.provider.refusals, [])
})

test('a compaction request is not refused, and its messages are not edited', async () => {
  await using it = await begun({ agent: {}, turn: 6 })
  await it.play(18)
  const target = { type: 'part', entry: 3, part: 0 } as const
  await (await it.session()).apply([{ target, replacement: 'cleared', why: 'by hand' }])
  await it.play(3)
  const asks = [...it.agent.messages, { role: 'user', content: 'Create a detailed summary of the conversation.' }]
  for (const [more, messages] of [
    [{}, asks],
    [{ compaction: { type: 'summarize' } }, it.agent.messages],
  ] as const) {
    const aside = new AnthropicAgent(it.url, { more })
    assert.equal((await aside.post('/v1/messages', messages as Json[])).status, 200)
    const last = it.upstream.requests.at(-1)!.json as Json
    assert.match(JSON.stringify(last.messages), /part 0 step 0: compiled/)
  }
  await it.play(3)
  assert.deepEqual(it.provider.refusals, [])
})
