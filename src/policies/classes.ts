/**
 * What a part is likely to be needed for: classes of parts, and how many later quotes each can be expected to get.
 *
 * The numbers were measured on recorded sessions of coding agents (docs/benchmarks.md): expected later quotes per
 * 10,000 tokens of a new part, and one curve for how that falls with age. Inputs of edits and commands carry a
 * safety factor, since losing what the agent itself wrote is the dearest mistake.
 */
import type { Unit } from '../units.ts'

export type PartClass = 'code' | 'doc' | 'grep' | 'list' | 'run' | 'edit' | 'input' | 'old' | 'command'

export type Quotes = Record<PartClass, number>

export const QUOTES: Quotes = {
  code: 60,
  grep: 50,
  list: 30,
  doc: 22,
  run: 6,
  edit: 250,
  input: 400,
  old: 20,
  command: 400,
}

const AGE_HALF = 4
const AGE_POWER = 2 / 3
const DOC = /\.(md|mdx|txt|rst|log|adoc)$/i
const FILE = /[\w-]\.[A-Za-z][A-Za-z0-9]{0,4}$/

/** Quotes still to be expected for a token of this class, `age` calls after it was first sent. */
export function expectedQuotes(quotes: Quotes, partClass: PartClass, age: number): number {
  return quotes[partClass] * 1e-4 * (AGE_HALF / (AGE_HALF + Math.max(0, age))) ** AGE_POWER
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
