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

const MIN_WORDS = 2
/** Two facts are duplicates if they share this fraction of their words. */
const ALIKE = 0.7
const MAX_FACTS = 200
const UNTIL = /\((?:valid )?until (\d{4}-\d\d-\d\d)\)/i
const REPLACED = /\(replaced by:? ([^()\n]{1,200})\)/i
const NEGATIONS = /\b(?:never|not|no|avoid|stop|without|\w+n't|cannot)\b/gi

export function factsIn(body: string): string[] {
  return linesIn(body).filter(line => !line.startsWith('#') && termsIn(line).length >= MIN_WORDS)
}

/** The lines without list markers. */
function linesIn(body: string): string[] {
  return body.split('\n').map(line => line.replace(/^[\s>*+-]*(?:\d+[.)]\s+)?/, '').trim())
}

/** The facts that a proposal would add, including a second copy of an existing line. */
export function addedFacts({ body, base }: Pick<Proposal, 'body' | 'base'>): string[] {
  const left = factsIn(base?.body ?? '')
  const isAdded = (fact: string) => {
    const at = left.indexOf(fact)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  }
  return factsIn(body).filter(isAdded).slice(0, MAX_FACTS)
}

/** Whether two facts have nearly the same words in the same order, and the same negations. */
export function saySame(one: string, other: string): boolean {
  const [a, b] = [termsIn(one), termsIn(other)]
  const shared = a.filter(term => b.includes(term))
  const all = a.length + b.length - shared.length
  if (all === 0 || shared.length / all < ALIKE) return false
  if ((one.match(NEGATIONS) ?? []).length !== (other.match(NEGATIONS) ?? []).length) return false
  return b.filter(term => a.includes(term)).every((term, i) => term === shared[i])
}

/** Duplicates of the proposed facts: in blocks, and in proposals in any state. */
export function duplicatesOf(
  proposal: Pick<Proposal, 'label' | 'body' | 'base'> & { id?: string },
  { blocks, proposals }: { blocks: readonly Block[]; proposals: readonly Proposal[] },
): Duplicate[] {
  const added = addedFacts(proposal)
  const before = factsIn(proposal.base?.body ?? '')
  const like = (texts: readonly string[]) => texts.find(text => added.some(fact => saySame(fact, text)))
  const found: Duplicate[] = []
  for (const { label, body } of blocks) {
    // In its own block, a fact that the edit removes is not a duplicate, nor is one that came with its approval.
    const stays = (fact: string) => proposal.body.includes(fact) && (before.includes(fact) || !added.includes(fact))
    const text = like(label === proposal.label ? factsIn(body).filter(stays) : factsIn(body))
    if (text !== undefined) found.push({ label, text })
  }
  for (const other of proposals) {
    if (other.id === proposal.id || other.state === 'approved') continue
    const text = like(addedFacts(other))
    if (text !== undefined) found.push({ label: other.label, text, proposal: other.id, state: other.state })
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

/** The significant words, in their order. */
function termsIn(text: string): string[] {
  return [...parseQuery(text.replace(UNTIL, '').replace(REPLACED, '')).terms.keys()]
}
