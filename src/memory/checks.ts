/**
 * Limits for blocks and proposals, for every writer. Names are short and have no invisible characters, because people
 * decide by them. Pure.
 */
import { PalimpsestError } from '../model/errors.ts'
import type { Confidence, Content, EntryLink } from './store.ts'

export type Checks = {
  /** Characters. */
  body: number
  title: number
}

const LIMITS: Checks = { body: 100_000, title: 200 }
const MAX_NAME_CHARS = 100
const MAX_REASONING_CHARS = 4000
const MAX_ENTRIES = 100
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
const CONFIDENCES: readonly string[] = ['low', 'medium', 'high'] satisfies Confidence[]

export function checkUser(userId: string): void {
  checkName(userId, 'A user id')
}

export function checkLabel(label: string): void {
  checkName(label, "A block's label")
}

export function checkContent({ title, body, schemaRef }: Content, limits: Partial<Checks> = {}): void {
  const { body: most, title: longest } = { ...LIMITS, ...limits }
  checkText(title, 'The title', longest)
  checkText(body, 'The body', most)
  if (schemaRef !== null) checkText(schemaRef, 'The schema reference', most)
}

export function checkProposal(given: {
  userId: string
  label: string
  agentId: string
  reasoning: string
  confidence: Confidence
  entries: readonly EntryLink[]
}): void {
  checkUser(given.userId)
  checkLabel(given.label)
  checkName(given.agentId, "An agent's id")
  if (!given.reasoning) throw invalid('reasoning is required to explain the edit to the user.')
  checkText(given.reasoning, 'The reasoning', MAX_REASONING_CHARS)
  if (!CONFIDENCES.includes(given.confidence)) throw invalid('confidence must be low, medium or high.')
  if (given.entries.length > MAX_ENTRIES) throw invalid(`A proposal can cite at most ${MAX_ENTRIES} entries.`)
}

/** The default title of a block: its label in words. */
export function titleOf(label: string): string {
  return label.replaceAll('_', ' ').replace(/\p{L}+/gu, word => {
    const [first = '', ...rest] = word
    return first.toUpperCase() + rest.join('').toLowerCase()
  })
}

function checkName(name: string, what: string): void {
  if (isName(name)) return
  const rule = `1–${MAX_NAME_CHARS} characters, without a space at either end and without invisible characters`
  throw invalid(`${what} is ${rule}.`, { name })
}

/** Whether a user id, a label or an agent's id is valid. */
export function isName(name: string): boolean {
  return name.length > 0 && name.length <= MAX_NAME_CHARS && name.trim() === name && !HIDDEN.test(name)
}

function checkText(text: string, what: string, most: number): void {
  if (text.length > most) {
    const { length } = text
    throw new PalimpsestError('TOO_LARGE', `${what} has ${length} characters; the limit is ${most}.`, { most, length })
  }
  if (!text.isWellFormed()) throw new PalimpsestError('INVALID_UNICODE', `${what} contains a lone surrogate.`)
}

function invalid(message: string, data: Record<string, unknown> = {}): PalimpsestError {
  return new PalimpsestError('INVALID_INPUT', message, data)
}
