/**
 * Shared code of the scripted providers: hashes of prefixes, a cache of positions with lifetimes, and a bill.
 *
 * A prompt is a list of blocks, each with its tokens and the hash of everything up to it. Prices are the providers' own
 * of November 2026, written down here a second time on purpose: a wrong row in the project's table must show.
 */
import { createHash } from 'node:crypto'

export type Block = { hash: string; tokens: number }

export type Price = {
  input: number
  output: number
  read: number
  write: number
  writeLong: number
  /** Above this many prompt tokens the whole request costs this factor more. */
  band?: { above: number; input: number; output: number }
}

export const PRICES: Record<string, Price> = {
  'claude-fable-5-2': { input: 8, output: 40, read: 0.2, write: 10, writeLong: 16 },
  'claude-opus-5-5': { input: 4, output: 20, read: 0.2, write: 5, writeLong: 8 },
  'claude-sonnet-5-5': { input: 2, output: 10, read: 0.1, write: 2.5, writeLong: 4 },
  'claude-haiku-5-5': {
    input: 0.1,
    output: 0.5,
    read: 0.01,
    write: 0.125,
    writeLong: 0.2,
    band: { above: 100_000, input: 5, output: 5 },
  },
  'claude-opus-5': { input: 5, output: 25, read: 0.5, write: 6.25, writeLong: 10 },
  'claude-sonnet-5': { input: 2, output: 10, read: 0.2, write: 2.5, writeLong: 4 },
  'gpt-6.1-sol': {
    input: 2,
    output: 10,
    read: 0.1,
    write: 2.5,
    writeLong: 5,
    band: { above: 272_000, input: 2, output: 1.5 },
  },
  'gpt-5.1-codex': { input: 1.25, output: 10, read: 0.125, write: 1.25, writeLong: 1.25 },
  'gemini-4-argon': { input: 2, output: 10, read: 0.1, write: 2, writeLong: 2 },
  'gemini-3.1-pro-preview': {
    input: 2,
    output: 12,
    read: 0.2,
    write: 2,
    writeLong: 2,
    band: { above: 200_000, input: 2, output: 1.5 },
  },
}

export type Used = { input: number; cacheRead: number; cacheWrite: number; cacheWriteLong: number; output: number }

export type Bill = { dollars: number; calls: number; misses: number } & Used

export function emptyBill(): Bill {
  return { dollars: 0, calls: 0, misses: 0, input: 0, cacheRead: 0, cacheWrite: 0, cacheWriteLong: 0, output: 0 }
}

export function charge(bill: Bill, used: Used, price: Price): void {
  const { input, cacheRead, cacheWrite, cacheWriteLong, output } = used
  const { band } = price
  const dear = band !== undefined && input + cacheRead + cacheWrite > band.above
  const prompt =
    input * price.input +
    cacheRead * price.read +
    (cacheWrite - cacheWriteLong) * price.write +
    cacheWriteLong * price.writeLong
  bill.dollars += (prompt * (dear ? band.input : 1) + output * price.output * (dear ? band.output : 1)) / 1e6
  bill.calls++
  if (cacheRead === 0 && bill.calls > 1) bill.misses++
  for (const key of ['input', 'cacheRead', 'cacheWrite', 'cacheWriteLong', 'output'] as const) bill[key] += used[key]
}

/** Entries by the hash of their prefix; each read renews its lifetime. */
export class PrefixCache {
  readonly #entries = new Map<string, { until: number; lifetime: number }>()
  readonly #clock: () => number

  constructor(clock: () => number) {
    this.#clock = clock
  }

  write(hash: string, lifetime: number): void {
    const known = this.#entries.get(hash)
    const longest = Math.max(lifetime, known?.lifetime ?? 0)
    this.#entries.set(hash, { until: this.#clock() + longest, lifetime: longest })
  }

  read(hash: string): boolean {
    const entry = this.#entries.get(hash)
    if (!entry || entry.until < this.#clock()) return false
    entry.until = this.#clock() + entry.lifetime
    return true
  }
}

export function hashOf(...values: unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url').slice(0, 22)
}

/** The same value with sorted keys. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]))
}

/** Approximate tokens of a block, at least one. */
export function sizeOf(value: unknown): number {
  return Math.ceil(JSON.stringify(value).length / 4)
}

/** The content of a signature, sealed so that a change is detected. */
export type Seal = {
  id: string
  model: string
  /** The hash of everything before the block except reasoning, and the reasoning before it. */
  prefix: string
  before: string[]
  /** The ids of the blocks that were produced together. */
  run: string[]
  tokens: number
}

export function sealed(seal: Seal): string {
  const text = Buffer.from(JSON.stringify(seal)).toString('base64url')
  return `${text}.${hashOf(text, 'key')}`
}

export function opened(signature: unknown): Seal | undefined {
  if (typeof signature !== 'string') return undefined
  const [text = '', check] = signature.split('.')
  if (hashOf(text, 'key') !== check) return undefined
  return JSON.parse(Buffer.from(text, 'base64url').toString())
}

/**
 * Whether reasoning is where it was produced: the words before it are the same, and of the reasoning before it only the
 * oldest may be missing.
 */
export function holds({ prefix, before }: Seal, now: { prefix: string; before: readonly string[] }): boolean {
  const rest = before.slice(before.length - now.before.length)
  return prefix === now.prefix && now.before.length <= before.length && rest.join() === now.before.join()
}
