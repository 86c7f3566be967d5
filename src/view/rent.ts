/**
 * Divides the cost of a session as rent: every text pays for each call that contains it, at the price of a cache read
 * or of a cache write, and answers pay the price of output.
 *
 * The amount paid for a call (timeline.ts) is divided over the text of the call, in the order of the prompt: system
 * prompt and tools first, then every part with its shown tokens. Tokens of the cached beginning weigh the read price,
 * the others the write price. So each of the lists adds up to the amount paid. Pure.
 */

import type { Model } from '../providers/models.ts'
import { promptTokens } from '../providers/token-fit.ts'
import type { Bar, PartKind } from './part-map.ts'
import type { Timeline, TimelineCall } from './timeline.ts'

export type RentRow = {
  name: string
  /** Tokens times the calls that contained them. */
  tokens: number
  dollars: number
  /** Dollars saved on the same texts: the tokens that edits removed from these calls. */
  saved: number
}

/** The ways to list the rent; each list adds up to the whole. */
export const RENT_BY = ['kind', 'tool', 'server', 'file', 'agent', 'edit'] as const
export type RentBy = (typeof RENT_BY)[number]
export type Rent = { dollars: number } & Record<RentBy, RentRow[]>

/** The row for texts that belong to no tool or no file. */
export const OTHER = 'everything else'
const FRONT = 'system prompt + tools'
const ANSWERS = 'answers'
const DEFINITIONS = 'tool definitions'

type Names = Record<RentBy, string>
type Lists = Record<RentBy, Map<string, RentRow>>

/** `seen`: a bar as the reader may see it. */
type Options = { isSubagent?: boolean; seen?: (bar: Bar) => Bar }

export function rentOf(timeline: Timeline, options: Options = {}): Rent {
  const steps = rentByCall(timeline, options)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** The same, call by call, so that others can do something in between: every call looks at every part before it. */
export function* rentByCall(
  timeline: Timeline,
  { isSubagent = false, seen = bar => bar }: Options = {},
): Generator<undefined, Rent> {
  const lists = emptyLists()
  const main = isSubagent ? 'subagents' : 'main'
  const authors = new Map([...timeline.fold.records.values()].map(({ edit }) => [edit.id, edit.by]))
  // If the ledger has the system prompt as an entry, only the tools come before the messages.
  const hasPrompt = timeline.fold.entries.some(({ message }) => message?.role === 'system')
  const front = { ...plainNames(hasPrompt ? DEFINITIONS : FRONT), agent: main }
  const answers = { ...plainNames(ANSWERS), agent: main }
  const { scale } = timeline
  let dollars = 0
  for (const [i, call] of timeline.calls.entries()) {
    if (call.inherited) continue
    const { paid, overhead } = call
    const model = timeline.modelOf(call)
    const prompt = new Prompt(cachedTokens(call), model)
    const inFront = prompt.weigh(overhead)
    const parts = [...timeline.bars(i)].map(bar => ({ bar, weight: prompt.weigh(bar.shown) }))
    const rate = prompt.total === 0 ? 0 : (paid.dollars - paid.output) / prompt.total
    dollars += paid.dollars
    add(lists, answers, { tokens: 0, dollars: paid.output, saved: 0 })
    const unplaced = prompt.total === 0 ? paid.dollars - paid.output : 0
    add(lists, front, { tokens: overhead * scale, dollars: inFront * rate + unplaced, saved: 0 })
    for (const { bar, weight } of parts.filter(({ bar }) => bar.raw > 0 || bar.shown > 0)) {
      const names = { ...namesOf(seen(bar), authors), agent: bar.kind === 'agent' ? 'subagents' : main }
      const saved = Math.max(0, bar.raw - bar.shown) * model.read * rate
      add(lists, names, { tokens: bar.shown * scale, dollars: weight * rate, saved })
    }
    yield
  }
  return rentFrom(dollars, lists)
}

/** The rent of several sessions together. */
export function addRents(rents: readonly Rent[]): Rent {
  const lists = emptyLists()
  for (const rent of rents) for (const by of RENT_BY) for (const row of rent[by]) addTo(lists[by], row.name, row)
  return rentFrom(
    rents.reduce((total, { dollars }) => total + dollars, 0),
    lists,
  )
}

/** The largest rows, and one row for all others: the sum stays the same. */
export function largestRows(rows: readonly RentRow[], most: number): RentRow[] {
  const others = rows.filter(isOther)
  const named = rows.filter(row => !isOther(row))
  const room = most - others.length
  if (named.length <= room) return [...named, ...others]
  const rest = named.slice(room - 1)
  const row = { name: `${rest.length} more`, tokens: 0, dollars: 0, saved: 0 }
  for (const { tokens, dollars, saved } of rest) {
    row.tokens += tokens
    row.dollars += dollars
    row.saved += saved
  }
  return [...named.slice(0, room - 1), row, ...others]
}

function isOther({ name }: RentRow): boolean {
  return name === OTHER
}

/** Divides a call: texts count as cache reads, in the order of the prompt, until the cached tokens are used up. */
class Prompt {
  total = 0
  #cached: number
  readonly #prices: Pick<Model, 'read' | 'write'>

  constructor(cached: number, prices: Pick<Model, 'read' | 'write'>) {
    this.#cached = cached
    this.#prices = prices
  }

  weigh(tokens: number): number {
    const read = Math.min(tokens, this.#cached)
    this.#cached -= read
    const weight = read * this.#prices.read + (tokens - read) * this.#prices.write
    this.total += weight
    return weight
  }
}

/** Tokens, by our count, that came from the cache: the share that the provider reported, if it did. */
function cachedTokens({ sent, reported = {} }: TimelineCall): number {
  const { cacheRead } = reported
  // A timeline keeps no report of a prompt without tokens.
  return cacheRead === undefined ? sent.cached : (sent.tokens * cacheRead) / promptTokens(reported)
}

function namesOf({ kind, type, tool, path, edits }: Bar, authors: ReadonlyMap<string, string>): Omit<Names, 'agent'> {
  return {
    kind: type === 'tool-call' ? TOOL_CALLS : (KINDS[kind] ?? kind),
    tool: tool ?? OTHER,
    server: serverOf(tool) ?? OTHER,
    file: path ?? OTHER,
    edit: authors.get(edits[0] ?? '') ?? NOT_EDITED,
  }
}

/** Clients name the tools of an MCP server `mcp__server__tool`. */
function serverOf(tool: string | undefined): string | undefined {
  return /^mcp__(.+?)__/.exec(tool ?? '')?.[1]
}

const TOOL_CALLS = "the agent's own tool calls"
const NOT_EDITED = 'not edited'
const KINDS: Partial<Record<PartKind, string>> = {
  system: 'system prompt',
  user: 'your messages',
  assistant: 'text of the agent',
  reasoning: 'reasoning',
  image: 'images',
  raw: 'other content',
  inserted: 'summaries and notes',
  read: 'file reads',
  write: 'results of writing files',
  edit: 'results of editing files',
  shell: 'shell output',
  'shell-read': 'file reads',
  'shell-search': 'search results',
  'shell-write': 'shell output',
  list: 'file listings',
  search: 'search results',
  fetch: 'web pages',
  todo: 'to-do lists',
  agent: 'answers of subagents',
  memory: 'memory',
  other: 'results of other tools',
}

function plainNames(kind: string): Omit<Names, 'agent'> {
  return { kind, tool: OTHER, server: OTHER, file: OTHER, edit: NOT_EDITED }
}

function emptyLists(): Lists {
  return {
    kind: new Map(),
    tool: new Map(),
    server: new Map(),
    file: new Map(),
    agent: new Map(),
    edit: new Map(),
  }
}

type Amount = Omit<RentRow, 'name'>

function add(lists: Lists, names: Names, amount: Amount): void {
  for (const by of RENT_BY) addTo(lists[by], names[by], amount)
}

function addTo(list: Map<string, RentRow>, name: string, { tokens, dollars, saved }: Amount): void {
  const row = list.get(name) ?? { name, tokens: 0, dollars: 0, saved: 0 }
  row.tokens += tokens
  row.dollars += dollars
  row.saved += saved
  list.set(name, row)
}

function rentFrom(dollars: number, lists: Lists): Rent {
  const sorted = (by: RentBy) => [...lists[by].values()].sort((a, b) => b.dollars - a.dollars)
  return {
    dollars,
    kind: sorted('kind'),
    tool: sorted('tool'),
    server: sorted('server'),
    file: sorted('file'),
    agent: sorted('agent'),
    edit: sorted('edit'),
  }
}
