/**
 * The lines of a block as facts: which ones a proposal adds, which are duplicates, and which are out of date. Pure.
 *
 * A fact is a line with words in it. It may end with `(valid until 2026-10-01)` or `(replaced by Node 24)`. Front matter
 * says the same of a whole block (`valid_until`, `replaced_by`), and `load: on-demand` keeps it out of the prompt.
 */
import { parseQuery } from '../recall/query.ts'
import { readFrontMatter } from './front-matter.ts'
import type { Block, Proposal, ProposalState } from './store.ts'

/** A text with the same meaning as a proposed one: in a block, or in another proposal. */
export type Duplicate = { label: string; text: string; proposal?: string; state?: ProposalState }

/** Why a fact is out of date. */
export type Stale = { text: string; since?: string; replacedBy?: string }

type BlockFacts = Omit<Stale, 'text'> & { onDemand: boolean }

/** A fact with its significant words, in their order. */
type Read = { text: string; terms: ReadonlySet<string> }

const MIN_WORDS = 2
/** Two facts are duplicates if they share this fraction of their words. */
const ALIKE = 0.7
const MAX_FACTS = 200
const UNTIL = /\((?:valid )?until (\d{4}-\d\d-\d\d)\)/i
const REPLACED = /\(replaced by:? ([^()\n]{1,200})\)/i
const NEGATIONS = /\b(?:never|not|no|avoid|stop|without|\w+n't|cannot)\b/gi

export function factsIn(body: string): string[] {
  return [...readFacts(linesIn(body))].map(({ text }) => text)
}

function* readFacts(lines: Iterable<string>): Generator<Read> {
  for (const line of lines) {
    const fact = readFact(line)
    if (!line.startsWith('#') && fact.terms.size >= MIN_WORDS) yield fact
  }
}

/** The lines without list markers. */
function linesIn(body: string): string[] {
  return body.split('\n').map(line => line.replace(/^[\s>*+-]*(?:\d+[.)]\s+)?/, '').trim())
}

/** The facts that a proposal would add, including a second copy of an existing line. */
export function addedFacts(proposal: Pick<Proposal, 'body' | 'base'>): string[] {
  return readAdded(proposal).map(({ text }) => text)
}

function readAdded({ body, base }: Pick<Proposal, 'body' | 'base'>): Read[] {
  const left = Map.groupBy(linesIn(base?.body ?? ''), line => line)
  const added = linesIn(body).filter(line => left.get(line)?.pop() === undefined)
  return readFacts(added).take(MAX_FACTS).toArray()
}

/** Whether two facts have nearly the same words in the same order, and the same negations. */
export function saySame(one: string, other: string): boolean {
  return areSame(readFact(one), readFact(other))
}

function areSame(a: Read, b: Read): boolean {
  const shared = [...a.terms].filter(term => b.terms.has(term))
  if (!areAlike(a, b, shared.length)) return false
  const inOrder = b.terms.values().filter(term => a.terms.has(term))
  return inOrder.every((term, i) => term === shared[i]) && negationsIn(a) === negationsIn(b)
}

function negationsIn({ text }: Read): number {
  return (text.match(NEGATIONS) ?? []).length
}

function areAlike(a: Read, b: Read, shared: number): boolean {
  const all = a.terms.size + b.terms.size - shared
  return all > 0 && shared / all >= ALIKE
}

/** Tests whether a text says the same as one of these facts. Compares it only with facts that share enough words. */
function matcherOf(facts: readonly Read[]): (text: Read) => boolean {
  const byTerm = new Map<string, Read[]>()
  for (const fact of facts) for (const term of fact.terms) byTerm.set(term, [...(byTerm.get(term) ?? []), fact])
  return text => {
    const shared = new Map<Read, number>()
    for (const term of text.terms) {
      for (const fact of byTerm.get(term) ?? []) shared.set(fact, (shared.get(fact) ?? 0) + 1)
    }
    return [...shared].some(([fact, count]) => areAlike(fact, text, count) && areSame(fact, text))
  }
}

/** Duplicates of the proposed facts: in blocks, and in proposals in any state. */
export function duplicatesOf(
  proposal: Pick<Proposal, 'label' | 'body' | 'base'> & { id?: string },
  { blocks, proposals }: { blocks: readonly Block[]; proposals: readonly Proposal[] },
): Duplicate[] {
  const facts = readAdded(proposal)
  const added = new Set(facts.map(({ text }) => text))
  const isAlike = matcherOf(facts)
  const before = new Set(factsIn(proposal.base?.body ?? ''))
  const found: Duplicate[] = []
  for (const { label, body } of blocks) {
    // In its own block, a fact that the edit removes is not a duplicate, nor is one that came with its approval.
    const stays = (fact: string) => proposal.body.includes(fact) && (before.has(fact) || !added.has(fact))
    const same = readFacts(linesIn(body)).find(fact => isAlike(fact) && (label !== proposal.label || stays(fact.text)))
    if (same) found.push({ label, text: same.text })
  }
  for (const other of proposals) {
    if (other.id === proposal.id || other.state === 'approved') continue
    const same = readAdded(other).find(isAlike)
    if (same) found.push({ label: other.label, text: same.text, proposal: other.id, state: other.state })
  }
  return found
}

/** The lines of a block that are out of date, even those of one word; `day` is like 2026-05-18. */
export function staleFacts(body: string, day: string): Stale[] {
  return linesIn(body).flatMap(text => {
    const stale = staleness(text, day)
    return stale ? [{ text, ...stale }] : []
  })
}

/** The body with a mark before each line that is out of date. */
export function markStale(body: string, day: string): string {
  return body
    .split('\n')
    .map(line => {
      const stale = staleness(line, day)
      return stale ? `[${describeStale(stale)}] ${line.trim()}` : line
    })
    .join('\n')
}

export function describeStale({ since, replacedBy }: Omit<Stale, 'text'>): string {
  return replacedBy === undefined ? `STALE since ${since}` : `STALE, replaced by ${replacedBy}`
}

/** The front matter's statements about the whole block. */
export function blockFacts(body: string, day: string): BlockFacts {
  const read = readFrontMatter(body)
  const value: unknown = read && 'value' in read ? read.value : undefined
  const data: Record<string, unknown> = typeof value === 'object' && value !== null ? { ...value } : {}
  const { valid_until: until, replaced_by: replacedBy, load } = data
  return {
    ...(typeof until === 'string' && until < day ? { since: until } : {}),
    ...(typeof replacedBy === 'string' && replacedBy !== '' ? { replacedBy } : {}),
    onDemand: load === 'on-demand',
  }
}

export function utcDayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10)
}

function staleness(line: string, day: string): Omit<Stale, 'text'> | undefined {
  const replacedBy = REPLACED.exec(line)?.[1]?.trim()
  if (replacedBy !== undefined) return { replacedBy }
  const until = UNTIL.exec(line)?.[1]
  return until !== undefined && until < day ? { since: until } : undefined
}

function readFact(text: string): Read {
  return { text, terms: new Set(parseQuery(text.replace(UNTIL, '').replace(REPLACED, '')).terms.keys()) }
}
