/**
 * What a part is likely to be needed for: classes of parts, and how many later quotes each can be expected to get.
 *
 * The numbers were measured on recorded sessions of coding agents (docs/benchmarks.md) and are in tuning.ts: expected
 * later quotes of a new part, how that falls with age and with the time since anybody touched its file, and how much less
 * a read is worth once the file was changed.
 */
import type { Unit } from '../view/units.ts'
import {
  AGE_POWER,
  CHANGED_POWER,
  HALF_CALLS,
  LEAST_TOKENS,
  type PartClass,
  type Quotes,
  SINCE_POWER,
  SIZE_POWER,
  USUAL_TOKENS,
} from './tuning.ts'

const DOC = /\.(md|mdx|txt|rst|log|adoc)$/i
const FILE = /[\w-]\.[A-Za-z][A-Za-z0-9]{0,4}$/

/** What is known of a part: calls since it was first sent, and what happened to its file since. */
export type Standing = { age: number; sinceTouched: number; changes: number; tokens: number }

/** Quotes still to be expected for a token of this class. */
export function expectedQuotes(
  quotes: Quotes,
  partClass: PartClass,
  { age, sinceTouched, changes, tokens }: Standing,
): number {
  const isCode = partClass === 'code' || partClass === 'grep'
  const since = partClass === 'command' ? age : sinceTouched
  const recency = fall(BY_AGE, age, AGE_POWER) * fall(BY_SINCE, since, SINCE_POWER)
  const current = isCode ? (BY_CHANGES[changes] ??= (1 + changes) ** -CHANGED_POWER) : 1
  const size = isCode || partClass === 'edit' ? 1 : sizeShare(tokens)
  return quotes[partClass] * 1e-4 * recency * current * size
}

const BY_AGE: number[] = []
const BY_SINCE: number[] = []
const BY_CHANGES: number[] = []
const BY_SIZE: number[] = []
/** Parts up to this size are remembered: larger ones are few. */
const REMEMBERED_TOKENS = 10_000

/** What is left after so many calls. Powers are dear, and ages are few: each is computed once. */
function fall(known: number[], calls: number, power: number): number {
  const age = Math.max(0, calls)
  return (known[age] ??= (HALF_CALLS / (HALF_CALLS + age)) ** power)
}

function sizeShare(tokens: number): number {
  if (tokens > REMEMBERED_TOKENS) return (USUAL_TOKENS / tokens) ** SIZE_POWER
  return (BY_SIZE[tokens] ??= (USUAL_TOKENS / Math.max(LEAST_TOKENS, tokens)) ** SIZE_POWER)
}

/** The class of a tool result or call; `undefined` for anything else. */
export function classOf({ original, call }: Unit): PartClass | undefined {
  if (!call) return undefined
  const { kind, path = '' } = call
  if (original.type === 'tool-call') return kind === 'edit' || kind === 'write' ? 'input' : 'command'
  switch (kind) {
    case 'read':
    case 'shell-read':
      return DOC.test(path) ? 'doc' : 'code'
    case 'edit':
    case 'write':
      return 'edit'
    case 'shell-search':
      return FILE.test(path) && !DOC.test(path) ? 'grep' : 'list'
    case 'search':
    case 'list':
      return 'list'
    case 'fetch':
    case 'agent':
    case 'memory':
      return 'doc'
    default:
      return 'run'
  }
}
