/**
 * Facts about models: windows, prices by size and date, cache lifetimes, how a provider finds a cached prefix, and
 * whether it binds reasoning to the messages before it. The facts are data (models.json, each row with its date and
 * source); users add or change rows of their own.
 *
 * Prices are in US dollars per million tokens; `read` and `write` are factors of the input price for a prompt
 * prefix that the provider has cached, and for writing one. The planner works with the factors alone. A name that
 * the table does not have takes the strictest row of its family, so that nothing is sent that a provider may refuse.
 */
import type { Dialect } from '../model/types.ts'
import { familyOf, type Row, rowFor, type Table, table } from './table.ts'

/**
 * How a provider finds a cached prefix again. `marked`: at positions that a request marked, a few blocks back from a
 * marker. `breakpoints`: exactly at ends of messages that a request wrote. `intervals`: at multiples of a size.
 * `prefix`: the longest common beginning.
 */
export type Shape = 'marked' | 'breakpoints' | 'intervals' | 'prefix'

/**
 * What happens to reasoning after an edit: it stays (`none`), is silently dropped (`drop`), or the request is refused.
 */
export type Binding = 'none' | 'drop' | 'refuse'

/** Above `above` tokens the whole request costs these multiples of the price. */
export type Band = { above: number; input: number; output: number }

/** A cache lifetime: its duration in milliseconds, and the price factor for writing. */
type Lifetime = { name: string; ttl: number; write: number }

export type Model = {
  /** The id of the row that it comes from. */
  id: string
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
  /** Every lifetime that can be requested, the default first. `write` and `ttl` belong to the one in use. */
  lifetimes: readonly Lifetime[]
  bands: readonly Band[]
  /** Dollars for a search of the web that the provider makes. */
  search: number
  /** The price factor of each service tier or speed, by the name that answers use. */
  tiers: Readonly<Record<string, number>>
  shape: Shape
  binding: Binding
  /** Whether an edit invalidates the reasoning after it: `binding` is not `none`. */
  bindsReasoning: boolean
  dialect: Dialect
  /** Shorter prefixes are not cached. */
  minimum: number
  /** Largest request body in bytes. */
  maxBytes: number
  /** The provider's tokens for one o200k token, on code and logs. */
  scale: number
  asOf: string
  source: string
}

/** A user's own rows, by the beginning of the name. Omitted fields are as in the built-in table. */
export type ModelTable = Record<string, Partial<Model>>

/** One shared object, because unchanged tables are recognised by identity. */
export const NO_MODELS: ModelTable = {}

/** The facts of a request beside the model's name: the requested cache lifetime, and the day. */
export type ModelUse = { cacheTtl?: string; at?: number }

/** The assumed tokens of the system prompt and tools if no provider has counted them. */
export const TYPICAL_OVERHEAD = 18_000

/** The day of the newest facts. */
export const PRICES_AS_OF: string = table.asOf

/** The facts about a model. */
export function modelInfo(name: string = table.unknown, extra: ModelTable = {}, use: ModelUse = {}): Model {
  const row = rowFor(name) ?? strictest(familyOf(name)) ?? rowFor(table.unknown)!
  return withOwn(toModel(row, name, use), ownRow(name, extra))
}

/** Whether the table has the model, or its family. */
export function isKnownModel(name: string): boolean {
  return rowFor(name) !== undefined || familyOf(name).length > 0
}

/** Whether the table has the model itself. */
export function isListedModel(name: string): boolean {
  return rowFor(name) !== undefined
}

/** For a model that neither the table nor the user has: the row whose prices are assumed for it. */
export function assumedRow(name: string, own: ModelTable = {}): string | undefined {
  if (name === '' || rowFor(name) || ownRow(name, own)) return undefined
  return modelInfo(name, own).id
}

export function allModels(use: ModelUse = {}): Model[] {
  return table.models.map(row => toModel(row, row.id, use))
}

/** The lifetime of requests that ask for no caching, at a provider that caches only marked positions. */
const NO_CACHE = 'none'

/** The model with another cache lifetime; unchanged if the provider has no lifetime of that name. */
export function withLifetime(model: Model, name: string | undefined): Model {
  if (name === NO_CACHE && model.shape === 'marked') return { ...model, read: 1, write: 1, ttl: 0 }
  const found = model.lifetimes.find(lifetime => lifetime.name === name)
  return found ? { ...model, write: found.write, ttl: found.ttl } : model
}

const REGIONAL = /(?:^|[/:])(?:us|eu|au|jp|in|apac)\.anthropic\./i
/** The ending of models that OpenRouter and opencode offer for free. */
const FREE = /[-:]free$/i
const LONG_WINDOW = 1_000_000

function toModel(row: Row, name: string, { cacheTtl, at }: ModelUse): Model {
  const provider = table.providers[row.provider]!
  const facts = { ...provider, ...row }
  const prices = pricesAt(row, at === undefined ? table.asOf : new Date(at).toISOString().slice(0, 10))
  const regional = provider.regional !== undefined && REGIONAL.test(name) ? provider.regional : 1
  const times = FREE.test(name) ? 0 : regional * hourFactor(row, at)
  const lifetimes = Object.entries(facts.lifetimes).map(([lifetime, ttl]) => {
    const write = prices.write[lifetime] ?? Math.max(...Object.values(prices.write))
    return { name: lifetime, ttl, write: factorOf(write, prices.input) }
  })
  const { binding } = facts
  const model: Model = {
    id: row.id,
    window: name.endsWith('[1m]') ? LONG_WINDOW : (row.maxInput ?? row.window),
    input: prices.input * times,
    output: prices.output * times,
    read: row.factors?.read ?? factorOf(prices.read, prices.input),
    write: lifetimes[0]!.write,
    ttl: lifetimes[0]!.ttl,
    lifetimes,
    bands: row.bands ?? [],
    search: provider.search ?? 0,
    tiers: { ...provider.tiers, ...row.tiers },
    shape: facts.shape,
    binding,
    bindsReasoning: binding !== 'none',
    dialect: facts.dialect,
    minimum: facts.minimum,
    maxBytes: provider.maxBytes,
    scale: table.tokenizers[facts.tokenizer]!,
    asOf: row.asOf,
    source: row.source,
  }
  return withLifetime(model, cacheTtl)
}

/** The price factor of the hour; without a time, that of peak hours. */
function hourFactor({ offPeak }: Row, at: number | undefined): number {
  if (!offPeak || at === undefined) return 1
  const date = new Date(at)
  const [weekday, hour] = [date.getUTCDay(), date.getUTCHours()]
  const isPeak = weekday >= 1 && weekday <= 5 && offPeak.peak.some(([from, until]) => hour >= from && hour < until)
  return isPeak ? 1 : offPeak.factor
}

/** A price as a factor of another; 1 if the other is zero. */
export function factorOf(price: number, of: number): number {
  return of === 0 ? 1 : Number((price / of).toPrecision(6))
}

/** The prices that are valid on a day: the latest that have begun by then. */
function pricesAt({ prices }: Row, day: string): Table['models'][number]['prices'][number] {
  return prices.findLast(({ from }) => from === undefined || from <= day) ?? prices[0]!
}

/** Adds a user's own fields. A user may give `binding` or only `bindsReasoning`. */
function withOwn(model: Model, own: Partial<Model> | undefined): Model {
  if (!own) return model
  const merged = { ...model, ...own }
  if (own.binding === undefined && own.bindsReasoning !== undefined) {
    merged.binding = !own.bindsReasoning ? 'none' : model.binding === 'none' ? 'refuse' : model.binding
  }
  return { ...merged, bindsReasoning: merged.binding !== 'none' }
}

const STRICTNESS: Record<Binding, number> = { none: 0, drop: 1, refuse: 2 }

/** The strictest row; of equally strict rows, the one whose cache is most expensive to break. */
function strictest(rows: readonly Row[]): Row | undefined {
  const models = rows.map(row => ({ row, model: toModel(row, row.id, {}) }))
  models.sort((a, b) => compareStrictness(b.model, a.model))
  return models[0]?.row
}

function compareStrictness(a: Model, b: Model): number {
  const byBinding = STRICTNESS[a.binding] - STRICTNESS[b.binding]
  return byBinding || a.write / a.read - b.write / b.read || a.input - b.input
}

/** The user's row with the longest key that begins the name, or begins the rest after a provider (`x/…`, `x.…`). */
export function ownRow(name: string, own: ModelTable): Partial<Model> | undefined {
  const keys = Object.keys(own)
  if (keys.length === 0) return undefined
  const lower = name.toLowerCase()
  const starts = [0, ...[...lower.matchAll(/[/:.]/g)].map(({ index }) => index + 1)]
  const matching = keys.filter(key => starts.some(at => lower.startsWith(key.toLowerCase(), at)))
  const [best] = matching.sort((a, b) => b.length - a.length)
  return best === undefined ? undefined : own[best]
}
