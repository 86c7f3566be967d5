/**
 * Models and what they cost: one table, with its date and sources, that users can extend.
 *
 * Prices are in US dollars per million tokens; `read` and `write` are factors of the input price for a prompt
 * prefix that the provider has cached, and for writing one. The planner works with the factors alone.
 */
import type { Dialect } from '../model/types.ts'

export const PRICES_AS_OF = '2026-11-01'

export type Model = {
  /** Tokens that fit in one request. */
  window: number
  input: number
  output: number
  /** Price of a cached input token, as a factor of `input`. */
  read: number
  /** Price of an input token that is written to the cache, as a factor of `input`. */
  write: number
  /** Milliseconds for which the provider keeps an unused prefix. */
  ttl: number
  dialect: Dialect
  /** Shorter prefixes are not cached. */
  minimum: number
  /** Largest request body in bytes. */
  maxBytes: number
  /** The provider's tokens for one o200k token, on code and logs. */
  scale: number
  /** Whether reasoning is bound to the messages before it, so that an edit there invalidates it. */
  bindsReasoning: boolean
  source: string
}

const MINUTE = 60_000

const anthropic: Model = {
  window: 200_000,
  input: 3,
  output: 15,
  read: 0.1,
  write: 1.25,
  ttl: 5 * MINUTE,
  dialect: 'anthropic',
  minimum: 1024,
  maxBytes: 32_000_000,
  scale: 1.11,
  bindsReasoning: false,
  source: 'Anthropic, pricing and prompt caching pages',
}

const openai: Model = {
  window: 272_000,
  input: 1.25,
  output: 10,
  read: 0.1,
  write: 1,
  ttl: 5 * MINUTE,
  dialect: 'openai-responses',
  minimum: 1024,
  maxBytes: 50_000_000,
  scale: 1,
  bindsReasoning: false,
  source: 'OpenAI, pricing and prompt caching pages',
}

const gemini: Model = {
  ...openai,
  window: 1_000_000,
  read: 0.25,
  dialect: 'gemini',
  maxBytes: 20_000_000,
  source: 'Google, Gemini API pricing and context caching pages',
}

const deepseek: Model = {
  ...openai,
  window: 128_000,
  input: 0.28,
  output: 0.42,
  ttl: 60 * MINUTE,
  dialect: 'openai-chat',
  minimum: 64,
  source: 'DeepSeek, models and pricing page',
}

/** By the longest name that a model's name begins with. */
const MODELS: Record<string, Model> = {
  claude: anthropic,
  'claude-haiku': { ...anthropic, input: 1, output: 5 },
  'claude-opus': { ...anthropic, input: 5, output: 25 },
  'claude-opus-5': { ...anthropic, input: 5, output: 25, bindsReasoning: true },
  'claude-1h': { ...anthropic, write: 2, ttl: 60 * MINUTE },
  gpt: openai,
  'gpt-4.1': { ...openai, window: 1_000_000, input: 2, output: 8, read: 0.25, dialect: 'openai-chat' },
  'gpt-4o': { ...openai, window: 128_000, input: 2.5, output: 10, read: 0.5, dialect: 'openai-chat' },
  codex: openai,
  o3: { ...openai, window: 200_000, input: 2, output: 8, read: 0.25 },
  o4: { ...openai, window: 200_000, input: 1.1, output: 4.4, read: 0.25 },
  gemini,
  deepseek,
  // The script that stands in for a model in demos costs nothing; its cache behaves like others.
  'palimpsest-demo': { ...openai, window: 200_000, input: 0, output: 0, dialect: 'openai-chat', source: 'the demo' },
}

export type ModelTable = Record<string, Partial<Model>>

/** What is known of a model. An unknown one is priced as the default, which is the dearest to break a cache on. */
export function modelInfo(name = 'claude', extra: ModelTable = {}): Model {
  return { ...(find(name, MODELS) ?? anthropic), ...find(name, extra) }
}

export function isKnownModel(name: string): boolean {
  return find(name, MODELS) !== undefined
}

/** The row with the longest key that the name begins with, or goes on with behind a provider (`x/…`, `x:…`, `x.…`). */
function find<T>(name: string, table: Record<string, T>): T | undefined {
  const lower = name.toLowerCase()
  const starts = [0, ...[...lower.matchAll(/[/:.]/g)].map(({ index }) => index + 1)]
  const matching = Object.keys(table).filter(key => starts.some(at => lower.startsWith(key.toLowerCase(), at)))
  const [best] = matching.sort((a, b) => b.length - a.length)
  return best === undefined ? undefined : table[best]
}
