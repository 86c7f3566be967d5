/**
 * Classes of parts by their likely use, and how many later quotes each class can be expected to get.
 *
 * The numbers were measured on recorded sessions of coding agents (docs/benchmarks.md) and are in tuning.ts: the
 * expected later quotes of a new part, how they fall with its age and with the time since its file was last touched,
 * and how much less a read is worth once its file was changed.
 */
import type { ToolKind } from '../model/types.ts'
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

/** The state of a part: calls since it was first sent, and what has happened to its file since then. */
export type Standing = { age: number; sinceTouched: number; changes: number; tokens: number }

/** The number of quotes still expected for one token of this class. */
export function expectedQuotes(
  quotes: Quotes,
  partClass: PartClass,
  { age, sinceTouched, changes, tokens }: Standing,
): number {
  const isCode = partClass === 'code' || partClass === 'grep'
  const current = isCode ? byChanges(changes) : 1
  const size = isCode || partClass === 'edit' ? 1 : bySize(tokens)
  return quotes[partClass] * 1e-4 * recencyOf(partClass, age, sinceTouched) * current * size
}

/** The share of a new part's quotes that is still expected at an age. */
export function recencyOf(partClass: PartClass, age: number, sinceTouched: number): number {
  return byAge(Math.max(0, age)) * bySince(Math.max(0, partClass === 'command' ? age : sinceTouched))
}

/** Larger counts (of calls, or of a part's tokens) are rare, so their powers are not kept. */
const REMEMBERED = 8192

const byAge = remembered(age => (HALF_CALLS / (HALF_CALLS + age)) ** AGE_POWER)
const bySince = remembered(age => (HALF_CALLS / (HALF_CALLS + age)) ** SINCE_POWER)
const byChanges = remembered(changes => (1 + changes) ** -CHANGED_POWER)
const bySize = remembered(tokens => (USUAL_TOKENS / Math.max(LEAST_TOKENS, tokens)) ** SIZE_POWER)

/** Computes each power once: powers are expensive, and a plan asks for the same few again and again. */
function remembered(compute: (count: number) => number): (count: number) => number {
  const known = new Float64Array(REMEMBERED)
  return count => (count < REMEMBERED ? (known[count] ||= compute(count)) : compute(count))
}

/** The class of a tool result or call; `undefined` for anything else. */
export function classOf({ original, call }: Unit): PartClass | undefined {
  if (!call) return undefined
  const { kind, path = '' } = call
  if (original.type === 'tool-call') return kind === 'edit' || kind === 'write' ? 'input' : 'command'
  if (kind === 'read' || kind === 'shell-read') return DOC.test(path) ? 'doc' : 'code'
  if (kind === 'shell-search') return FILE.test(path) && !DOC.test(path) ? 'grep' : 'list'
  return BY_KIND[kind] ?? 'run'
}

const BY_KIND: Partial<Record<ToolKind, PartClass>> = {
  edit: 'edit',
  write: 'edit',
  search: 'list',
  list: 'list',
  fetch: 'doc',
  agent: 'doc',
  memory: 'doc',
}
