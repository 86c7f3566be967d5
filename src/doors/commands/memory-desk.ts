/** Shared by the actions of `memory`: their options, their context, and reading their arguments. */
import type { Memory } from '../../memory/memory.ts'
import type { Actor } from '../../memory/store.ts'
import { type Context, type Report, readInput } from '../terminal/command.ts'

export const MEMORY_OPTIONS = {
  user: { type: 'string', short: 'u', value: 'USER', about: 'the user (PALIMPSEST_USER, or your login name)' },
  dolt: {
    type: 'string',
    value: 'URL',
    about: 'memory on a Dolt server: mysql://user@host:port/database (PALIMPSEST_DOLT_URL)',
  },
  body: { type: 'string', value: 'TEXT', about: 'set, propose, approve, revert: the whole body' },
  file: { type: 'string', value: 'FILE', about: 'the body from a file, or from stdin with -' },
  title: { type: 'string', value: 'TITLE', about: 'set, propose, approve: the title' },
  schema: { type: 'string', value: 'NAME', about: 'set: a JSON Schema, as JSON or by its name in the home' },
  old: { type: 'string', value: 'TEXT', about: 'propose: the text to replace' },
  new: { type: 'string', value: 'TEXT', about: 'propose: the new text' },
  all: { type: 'boolean', about: 'propose: every occurrence of --old; export: every user' },
  append: { type: 'string', value: 'TEXT', about: 'propose: text to add at the end' },
  prepend: { type: 'string', value: 'TEXT', about: 'propose: text to add at the beginning' },
  section: { type: 'string', value: 'HEADER', about: 'propose: the section to replace with --body or --file' },
  reasoning: { type: 'string', short: 'r', value: 'TEXT', about: 'propose: the reason' },
  confidence: { type: 'string', value: 'LEVEL', about: 'propose: confidence: low, medium or high (medium)' },
  agent: { type: 'string', value: 'AGENT', about: 'propose: the name of the proposer (cli)' },
  why: { type: 'string', value: 'TEXT', about: 'set, delete, approve, reject, revert, restore: a reason to record' },
  state: { type: 'string', value: 'STATE', about: 'proposals: open, approved, rejected, reverted or all (open)' },
  at: { type: 'string', value: 'VERSION', about: 'show: the block at this version' },
  limit: { type: 'string', value: 'N', about: 'proposals, history: how many (50); search (20)' },
} as const

export type MemoryContext = Context<typeof MEMORY_OPTIONS>

/** The context of every action. */
export type Desk = { context: MemoryContext; memory: Memory; user: string; by: Actor }

export type Action = {
  usage: string
  /** Creates the database if there is none. */
  writes?: true
  /** How many arguments it takes. */
  takes: [least: number, most: number]
  run(desk: Desk, args: readonly string[]): Promise<Report>
}

export async function givenBody({ values, io }: MemoryContext): Promise<string | undefined> {
  return values.file === undefined ? values.body : readInput(values.file, io)
}

/** A line that tells a user at a terminal how many proposals wait. */
export function waitingNote(count: number, program = 'palimpsest'): string {
  const what = count === 1 ? '1 change to memory waits' : `${count} changes to memory wait`
  return `${what} for your decision: ${program} memory proposals (then: approve ID, or reject ID)`
}
