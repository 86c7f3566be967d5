/**
 * Everything that a replay compares, in one shape: our presets and the knob of `thrifty` run through the engine, peers
 * on the messages themselves. All are measured by the same meter.
 */

import { loadCounter } from '../src/model/tokens.ts'
import { presets } from '../src/planner/presets.ts'
import { thrifty } from '../src/planner/thrifty.ts'
import { THRIFTY } from '../src/planner/tuning.ts'
import type { PlannerFactory } from '../src/policies/policy.ts'
import { type Model, modelInfo, TYPICAL_OVERHEAD } from '../src/providers/models.ts'
import { type Measures, Meter, type Prices, pricesOf } from '../src/replay/measure/measure.ts'
import { OWN, type Recorded, tryPolicy } from '../src/replay/measure/policies.ts'
import type { Peer } from './peers/peer.ts'

/** The price tables, each by a model that has it. */
export const TABLES = {
  'Sonnet 5.5, Opus 5.5; 5 minutes': { model: 'claude-sonnet-5-5' },
  'Sonnet 5.5, Opus 5.5; 1 hour': { model: 'claude-sonnet-5-5', cacheTtl: '1h' },
  'Fable 5.2, 1 hour': { model: 'claude-fable-5-2', cacheTtl: '1h' },
  'GPT-6.1': { model: 'gpt-6.1-sol' },
  'Gemini 4': { model: 'gemini-4-argon' },
  DeepSeek: { model: 'deepseek-v4-pro' },
  'Sonnet 4.5': { model: 'claude-sonnet-4-5' },
} as const satisfies Record<string, { model: string; cacheTtl?: string }>

export type Table = keyof typeof TABLES
export const TABLE_NAMES = Object.keys(TABLES) as Table[]
export const MAIN: Table = 'Sonnet 5.5, Opus 5.5; 5 minutes'
/** The one with a window of 200,000 tokens, which long sessions fill. */
export const SMALL: Table = 'Sonnet 4.5'

export function modelOf(table: Table): Model {
  const { model, ...use } = TABLES[table]
  return modelInfo(model, {}, use)
}

export type Contender = {
  name: string
  setting: string
  kind: 'preset' | 'thrifty' | 'peer' | 'bound'
  source: string
  /** If its output depends on prices: the price tables for which it runs separately. */
  tables?: readonly Table[]
  run(session: Recorded, table: Table): Promise<Measures>
}

/** Those that come nearest to our curve, or are best known: the tables of docs/benchmarks.md name them. */
export const COMPARED =
  /^(thrifty, quote .*default|langchain Clear|anthropic|openhands forgetting, (default|best)|observation masking, best|deepagents|oracle)/

export const DEFAULT_QUOTE = THRIFTY.quote
/** The knob of `thrifty`: by the main table in small steps, by the others in large ones. */
export const QUOTES = [
  ...new Set([0, 5_000, 20_000, 40_000, 75_000, DEFAULT_QUOTE, 200_000, 280_000, 420_000, 1_000_000, 3_000_000]),
].toSorted((a, b) => a - b)
const COARSE = new Set([20_000, 75_000, DEFAULT_QUOTE, 280_000, 1_000_000])

export function ownContenders(quotes: readonly number[] = QUOTES): Contender[] {
  const every = presets.filter(({ name }) => name !== 'thrifty').map(preset => engine(preset, 'preset', 'default'))
  const knob = quotes.map(quote => {
    const setting = `quote ${inWords(quote)}${quote === DEFAULT_QUOTE ? ' (default)' : ''}`
    return engine(thrifty({ quote }), 'thrifty', setting, COARSE.has(quote) ? TABLE_NAMES : [MAIN])
  })
  return [...every, ...knob]
}

function inWords(quote: number): string {
  return quote < 1e6 ? `${quote / 1000}k` : `${quote / 1e6}M`
}

export function engine(
  policy: PlannerFactory,
  kind: Contender['kind'],
  setting: string,
  tables?: readonly Table[],
): Contender {
  return {
    name: policy.name,
    setting,
    kind,
    source: 'palimpsest',
    ...(tables ? { tables } : {}),
    async run(session, table) {
      const options = { ...TABLES[table], overhead: TYPICAL_OVERHEAD, prices: tablePrices() }
      return (await tryPolicy(session, policy, options)).measures
    },
  }
}

export function peerContender(peer: Peer): Contender {
  return {
    name: peer.name,
    setting: peer.setting,
    kind: 'peer',
    source: `${peer.source} (${peer.runs})`,
    run: session => measurePeer(peer, session),
  }
}

export async function measurePeer(
  peer: Peer,
  session: Recorded,
  { until = Number.POSITIVE_INFINITY, prices = tablePrices() } = {},
): Promise<Measures> {
  const count = await loadCounter()
  const meter = new Meter(session.messages, {
    count,
    prices,
    evidence: session.evidence,
    overhead: TYPICAL_OVERHEAD,
  })
  const run = peer.start(count)
  let fresh = 0
  let before = Number.NEGATIVE_INFINITY
  for (const [i, message] of session.messages.entries()) {
    if (message.role !== 'assistant') continue
    const at = session.messages[i - 1]?.at || message.at || 0
    const messages = session.messages.slice(0, i)
    meter.add(await run.view({ messages, fresh, at, before, overhead: TYPICAL_OVERHEAD }))
    fresh = i
    before = message.at || at
    if (cpuTime() > until) break
  }
  return meter.result()
}

/** Milliseconds of processor time so far: a limit in it means the same on a busy machine. */
export function cpuTime(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

export function tablePrices(): Record<string, Prices> {
  const named = TABLE_NAMES.map(name => [name, pricesOf(modelOf(name))] as const)
  return Object.fromEntries([[OWN, pricesOf(modelOf(MAIN))], ...named])
}
