/**
 * Rounds of agents against scripted providers that check and bill requests, with and without the proxy: whether
 * anything is refused, and which run pays less. Both runs use the same words at the same times; pauses come at the
 * user's turns.
 *
 * npm run bench:checked -- --rounds 10000 [--only opus]
 */
import { parseArgs } from 'node:util'
import { serveProxy } from '../src/doors/proxy/front.ts'
import { createProxy } from '../src/doors/proxy/proxy.ts'
import { openPalimpsest } from '../src/session/engine.ts'
import { AnthropicAgent, thinkingModel } from '../test/doors/proxy/anthropic-agent.ts'
import { GeminiAgent } from '../test/doors/proxy/gemini-agent.ts'
import { ResponsesAgent } from '../test/doors/proxy/responses-agent.ts'
import { startGemini } from '../test/gemini-upstream.ts'
import type { Bill } from '../test/providers/billing.ts'
import { type Account, checkingAnthropic } from '../test/providers/checking-anthropic.ts'
import { checkingGemini } from '../test/providers/checking-gemini.ts'
import { checkingOpenAI } from '../test/providers/checking-openai.ts'
import { startUpstream, type Upstream } from '../test/upstream.ts'

type World = {
  name: string
  kind: 'anthropic' | 'openai' | 'gemini'
  model: string
  ttl?: '1h'
  account?: Account
  /** Calls of a turn of the user. */
  turn?: number
  /** The client's requests have the beta under which the server clears results. */
  manages?: true
  /** The client lets the server clear results, and the clears are undone and redone. */
  clearsItself?: true
  /** Somebody edits by hand, takes edits back, and counts tokens in between. */
  meddling?: true
}

const WORLDS: World[] = [
  { name: 'Opus 5.5, new account', kind: 'anthropic', model: 'claude-opus-5-5' },
  { name: 'Opus 5.5, long turns', kind: 'anthropic', model: 'claude-opus-5-5', turn: 45 },
  { name: 'Opus 5.5, turns of 100 calls', kind: 'anthropic', model: 'claude-opus-5-5', turn: 100 },
  {
    name: 'Opus 5.5, long turns that the server clears',
    kind: 'anthropic',
    model: 'claude-opus-5-5',
    turn: 70,
    manages: true,
  },
  {
    name: 'Opus 5.5, the client has the server clear',
    kind: 'anthropic',
    model: 'claude-opus-5-5',
    manages: true,
    clearsItself: true,
  },
  {
    name: 'Opus 5.5, old account, edits by hand',
    kind: 'anthropic',
    model: 'claude-opus-5-5',
    account: { age: 'old' },
    meddling: true,
  },
  { name: 'Opus 5.5, new account, edits by hand', kind: 'anthropic', model: 'claude-opus-5-5', meddling: true },
  { name: 'Sonnet 5.5, one hour', kind: 'anthropic', model: 'claude-sonnet-5-5', ttl: '1h' },
  {
    name: 'Sonnet 5.5, a platform without betas',
    kind: 'anthropic',
    model: 'claude-sonnet-5-5',
    account: { betas: [] },
  },
  { name: 'Fable 5.2, one hour', kind: 'anthropic', model: 'claude-fable-5-2', ttl: '1h' },
  { name: 'Haiku 5.5', kind: 'anthropic', model: 'claude-haiku-5-5' },
  { name: 'Opus 5', kind: 'anthropic', model: 'claude-opus-5' },
  { name: 'GPT-6.1 Sol', kind: 'openai', model: 'gpt-6.1-sol' },
  { name: 'GPT-5.1 Codex', kind: 'openai', model: 'gpt-5.1-codex' },
  { name: 'Gemini 4 Argon', kind: 'gemini', model: 'gemini-4-argon' },
]

const CONVERSATION = 60
const MINUTE = 60_000
const STEP = 15_000

/** Ten thousand requests would fill the memory. */
const FORGETS = { forgets: true }

type Provider = { upstream: Upstream; bill: Bill; refusals: string[] }
type Agent = { round(): Promise<void>; rounds: number }
type Clock = { now: number }

async function startProvider({ kind, account, turn = 6 }: World, clock: Clock): Promise<Provider> {
  const options = { clock: () => clock.now }
  if (kind === 'gemini') {
    const { script, bill } = checkingGemini(thinkingModel(turn), options)
    return { upstream: await startGemini(script, FORGETS), bill, refusals: [] }
  }
  if (kind === 'openai') {
    const provider = checkingOpenAI(thinkingModel(turn), options)
    return { ...provider, upstream: await startUpstream(provider.script, FORGETS) }
  }
  const provider = checkingAnthropic(thinkingModel(turn), { ...account, ...options })
  return { ...provider, upstream: await startUpstream(provider.script, { ...provider, ...FORGETS }) }
}

/** As a client would ask for it, with marks that short conversations reach. */
const CLEARS = {
  context_management: {
    edits: [
      { type: 'clear_thinking_20251015', keep: 'all' },
      {
        type: 'clear_tool_uses_20250919',
        trigger: { type: 'input_tokens', value: 30_000 },
        keep: { type: 'tool_uses', value: 5 },
        clear_at_least: { type: 'input_tokens', value: 10_000 },
      },
    ],
  },
}

function startAgent({ kind, model, ttl, manages, clearsItself }: World, url: string, session: string): Agent {
  if (kind === 'openai') return new ResponsesAgent(url, { model, session })
  if (kind === 'gemini') return new GeminiAgent(url, { model, session })
  const headers = manages ? { headers: { 'anthropic-beta': 'context-management-2025-06-27' } } : {}
  const more = clearsItself ? { more: CLEARS } : {}
  return new AnthropicAgent(url, { model, session, ...headers, ...more, ...(ttl ? { ttl } : {}) })
}

/** The same pauses in every run: now and then five minutes and more, at a turn of the user. */
function pauseAfter(round: number, turn: number): number {
  if (round % turn !== 0) return STEP
  const nth = Math.floor(round / turn)
  return nth % 9 === 0 ? 80 * MINUTE : nth % 4 === 0 ? 7 * MINUTE : 40_000
}

type Between = (agent: Agent, session: string) => Promise<void>

async function play(
  world: World,
  rounds: number,
  url: (provider: Provider) => string,
  between: Between,
  clock: Clock,
  provider: Provider,
) {
  for (let done = 0; done < rounds; ) {
    const session = `conversation-${done}`
    const agent = startAgent(world, url(provider), session)
    for (let i = 0; i < Math.max(CONVERSATION, world.turn ?? 0) && done < rounds; i++, done++) {
      clock.now += pauseAfter(agent.rounds, world.turn ?? 6)
      await agent.round()
      await between(agent, session)
    }
  }
}

async function direct(world: World, rounds: number): Promise<Bill> {
  const clock = { now: START }
  const provider = await startProvider(world, clock)
  await play(
    world,
    rounds,
    ({ upstream }) => upstream.url,
    async () => {},
    clock,
    provider,
  )
  await provider.upstream.close()
  return provider.bill
}

const START = Date.parse('2026-11-17T00:00:00Z')

async function proxied(world: World, rounds: number) {
  const clock = { now: START }
  const provider = await startProvider(world, clock)
  const { url } = provider.upstream
  await using pal = await openPalimpsest({ home: ':memory:', clock: () => clock.now })
  const faults: string[] = []
  const upstreams = { anthropic: url, openai: `${url}/v1`, gemini: url }
  const proxy = createProxy({ pal, upstreams, clock: () => clock.now, log: line => faults.push(line) })
  const front = await serveProxy(proxy)
  const base = world.kind === 'gemini' ? `${front.url}/gemini` : front.url
  const between: Between = async (agent, session) => {
    await proxy.idle()
    if (world.clearsItself) await bringBack(agent, await pal.session(session))
    if (world.meddling && agent instanceof AnthropicAgent) await meddle(agent, await pal.session(session))
  }
  await play(world, rounds, () => base, between, clock, provider)
  await proxy.idle()
  await front.close()
  await provider.upstream.close()
  return { ...provider, faults, edits: proxy.meter.totals.edits }
}

type Session = Awaited<ReturnType<Awaited<ReturnType<typeof openPalimpsest>>['session']>>

async function meddle(agent: AnthropicAgent, session: Session): Promise<void> {
  const { rounds } = agent
  const count = () => agent.post('/v1/messages/count_tokens')
  if (rounds % 7 === 3 && (await count()).status !== 200) throw new Error('a count was refused')
  const mine = session.edits().filter(({ edit, active }) => active && edit.by === 'user')
  if (rounds % 13 === 12 && mine[0]) await session.undo(mine[0].edit.id)
  const results = session.fold.entries.flatMap(({ role }, entry) => (role === 'tool' ? [entry] : []))
  const entry = results[(rounds * 5) % results.length]
  if (rounds % 11 !== 8 || entry === undefined) return
  const target = { type: 'part' as const, entry, part: 0 }
  await session.apply([{ target, replacement: 'cleared by hand', why: 'by hand' }]).catch(() => {})
}

/** Sometimes undoes the server's clears from some result on, and later redoes them. */
async function bringBack({ rounds }: Agent, session: Session): Promise<void> {
  const cleared = session.edits().filter(({ edit }) => edit.mark === 'server')
  const undone = cleared.findLast(({ active }) => !active)
  const kept = cleared.filter(({ active }) => active)[rounds % 5]
  if (rounds % 12 === 5 && kept) await session.undo(kept.edit.id)
  if (rounds % 12 === 10 && undone) await session.redo(undone.edit.id)
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '1200' }, only: { type: 'string' } } })
  const worlds = WORLDS.filter(({ name }) => !values.only || name.toLowerCase().includes(values.only.toLowerCase()))
  const rounds = Math.ceil(Number(values.rounds) / worlds.length)
  let refused = 0
  let all = 0
  console.log(
    '| provider | rounds | refused | faults | edits | bill without | with | share |\n|---|--:|--:|--:|--:|--:|--:|--:|',
  )
  for (const world of worlds) {
    const without = await direct(world, rounds)
    const { bill, refusals, faults, edits } = await proxied(world, rounds)
    refused += refusals.length
    all += rounds
    const share = (bill.dollars / without.dollars).toFixed(3)
    const money = [without.dollars, bill.dollars].map(dollars => `$${dollars.toFixed(2)}`)
    console.log(`| ${[world.name, rounds, refusals.length, faults.length, edits, ...money, share].join(' | ')} |`)
    for (const line of [...refusals, ...faults].slice(0, 3)) console.error(line)
  }
  console.log(`\n${all} rounds, ${refused} refused.`)
  process.exitCode = refused === 0 ? 0 : 1
}

await main()
