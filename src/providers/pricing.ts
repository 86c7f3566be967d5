/** Dollars for the usage that providers report: by the cache lifetime, the size of the request, and its tier. */
import type { Usage } from '../model/types.ts'
import type { Band, Model } from './models.ts'

/** The cost of a call. Each input token is paid once: uncached, read from the cache, or written to it. */
export function dollarsOf(usage: Usage, model: Model): number {
  const { input = 0, cacheRead = 0, cacheWrite: all = 0, cacheWriteLong: long = 0, output = 0, searches = 0 } = usage
  const cacheWrite = Math.max(all, long)
  const band = bandAt(model, input + cacheRead + cacheWrite)
  const written = (cacheWrite - long) * shortWrite(model) + long * longWrite(model)
  const tokens = (input + cacheRead * model.read + written) * (band?.input ?? 1)
  const dollars =
    ((tokens * model.input + output * model.output * (band?.output ?? 1)) * tierFactor(usage, model)) / 1e6
  return dollars + searches * model.search
}

/** The cost of a call: in all, of its answer, and of what was sampled `beside` it, which counts with the answer. */
export type Paid = { dollars: number; output: number; beside?: { model: string | undefined; dollars: number }[] }

export function paidFor(usage: Usage, model: Model, modelOf: (name: string | undefined) => Model): Paid {
  const { output: _, searches: __, ...input } = usage
  const beside = (usage.beside ?? []).map(one => ({ model: one.model, dollars: dollarsOf(one, modelOf(one.model)) }))
  const dollars = beside.reduce((all, one) => all + one.dollars, dollarsOf(usage, model))
  return { dollars, output: dollars - dollarsOf(input, model), ...(beside.length > 0 ? { beside } : {}) }
}

const COUNTS = ['input', 'cacheRead', 'cacheWrite', 'cacheWriteLong', 'output'] as const

/** The usage with what was sampled beside it. */
export function wholeUsage({ beside = [], ...usage }: Usage): Usage {
  const whole = { ...usage }
  for (const one of beside) for (const key of COUNTS) if (one[key]) whole[key] = (whole[key] ?? 0) + one[key]
  return whole
}

function tierFactor({ tier = '' }: Pick<Usage, 'tier'>, { tiers }: Pick<Model, 'tiers'>): number {
  return tier.split(' ').reduce((all, name) => all * (tiers[name] ?? 1), 1)
}

/** The price of an uncached input token of a call, per million: by the size of the request and its tier. */
export function inputPrice(model: Model, { tokens, tier = '' }: { tokens: number; tier?: string | undefined }): number {
  return model.input * bandFactor(model, tokens) * tierFactor({ tier }, model)
}

/** How many times the plain price a request of this size costs. */
export function bandFactor(model: Pick<Model, 'bands'>, tokens: number, of: 'input' | 'output' = 'input'): number {
  return bandAt(model, tokens)?.[of] ?? 1
}

/** Names of tiers that have the usual price. */
const PLAIN = new Set(['', 'standard', 'default', 'auto', 'global', 'not_available'])

/** Adds the service tier, the speed or the region that a provider reports for a call, unless that is the default. */
export function takeTier(usage: Usage, ...names: readonly unknown[]): void {
  const told = names.filter(name => typeof name === 'string').filter(name => !PLAIN.has(name))
  const tiers = new Set([...(usage.tier?.split(' ') ?? []), ...told])
  if (tiers.size > 0) usage.tier = [...tiers].join(' ')
}

/** The price band of a request with this many input tokens; `undefined` for the plain price. */
export function bandAt({ bands }: Pick<Model, 'bands'>, tokens: number): Band | undefined {
  return bands.findLast(({ above }) => tokens > above)
}

function shortWrite({ lifetimes, write }: Model): number {
  return lifetimes.length > 1 ? Math.min(lifetimes[0]!.write, write) : write
}

function longWrite({ lifetimes, write }: Model): number {
  return lifetimes[1]?.write ?? write
}
