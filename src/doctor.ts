/**
 * Finds and heals what is wrong with a conversation that was recorded elsewhere, so that it can enter a ledger and
 * be sent: ids that occur twice, results before or far behind their calls, results without a call, two results.
 * Nothing is thrown away: what cannot stay a tool result becomes text. Calls without a result are left to the
 * ledger, which answers them as interrupted.
 */
import { textOf } from './leaves.ts'
import { callsIn, checkView, type Violation, violation } from './legality.ts'
import type { Dialect, Message, Part, ToolResultPart } from './types.ts'

export type Diagnosis = { violations: Violation[]; messages: Message[]; healed: string[] }

/** What is wrong, and the same conversation without it. */
export function diagnose(messages: readonly Message[], dialect?: Dialect): Diagnosis {
  const violations = checkView(messages, dialect ? { dialect } : {})
  const { messages: whole, healed } = heal(messages)
  return { violations: [...violations, ...malformed(messages)], messages: whole, healed }
}

/** The conversation as a ledger accepts it: unchanged where nothing is wrong, with as many assistant messages. */
export function heal(messages: readonly Message[]): { messages: Message[]; healed: string[] } {
  const healed: string[] = []
  const readable = messages.map(message => (isWellFormed(message) ? message : wellFormed(message, healed)))
  if (checkView(readable).every(({ rule }) => rule === 'call-without-result' || rule === 'empty-message')) {
    return { messages: readable, healed }
  }
  return { messages: placeResults(renameRepeatedCalls(readable, healed), healed), healed }
}

function malformed(messages: readonly Message[]): Violation[] {
  return messages.flatMap((message, index) =>
    isWellFormed(message) ? [] : [violation('invalid-unicode', `message ${index} is not valid Unicode`, index)],
  )
}

function isWellFormed(message: Message): boolean {
  return message.parts.every(part => textOf(part).isWellFormed())
}

function wellFormed(message: Message, healed: string[]): Message {
  healed.push('invalid-unicode: lone surrogates became U+FFFD')
  return JSON.parse(JSON.stringify(message), (_, value) => (typeof value === 'string' ? value.toWellFormed() : value))
}

/** A call whose id is taken (or missing) gets a new one, and so do the results for it that follow. */
function renameRepeatedCalls(messages: readonly Message[], healed: string[]): Message[] {
  const times = new Map<string, number>()
  const current = new Map<string, string>()
  const rename = (part: Part): Part => {
    if (part.type === 'tool-result') return { ...part, id: current.get(part.id) ?? part.id }
    if (part.type !== 'tool-call') return part
    const seen = times.get(part.id) ?? 0
    times.set(part.id, seen + 1)
    const id = seen === 0 && part.id ? part.id : `${part.id || 'call'}~${seen}`
    current.set(part.id, id)
    if (id === part.id) return part
    healed.push(`duplicate-call: ${part.id} became ${id}`)
    return { ...part, id }
  }
  return messages.map(message => ({ ...message, parts: message.parts.map(rename) }))
}

type Found = { result: ToolResultPart; at: number | undefined }

/** Every result directly behind the assistant message that made its call; what has no place becomes text. */
function placeResults(messages: readonly Message[], healed: string[]): Message[] {
  const home = new Map<string, number>()
  for (const [index, message] of messages.entries()) for (const { id } of callsIn(message)) home.set(id, index)
  const found = new Map<string, Found>()
  const others = messages.map((message, index) => {
    const parts: Part[] = []
    for (const part of message.parts) {
      if (part.type !== 'tool-result') {
        parts.push(part)
        continue
      }
      const at = home.get(part.id)
      if (at !== undefined && !found.has(part.id)) {
        found.set(part.id, { result: part, at: message.at })
        if (!directlyBehind(messages, at, index)) healed.push(`result-without-call: ${part.id} moved behind its call`)
        continue
      }
      healed.push(`${at === undefined ? 'result-without-call' : 'two-results'}: ${part.id} became text`)
      parts.push({ type: 'text', text: `[Result of ${part.name} without a call]\n${textOf(part)}` })
    }
    return { ...message, role: message.role === 'tool' ? ('user' as const) : message.role, parts }
  })
  return others.flatMap((message, index) => withResults(message, messages[index]!, found))
}

function directlyBehind(messages: readonly Message[], call: number, result: number): boolean {
  let at = call + 1
  while (at < messages.length && messages[at]!.role === 'assistant') at++
  return result >= at && messages.slice(at, result + 1).every(message => message.role === 'tool')
}

/** An assistant message followed by the results of its calls; other messages stay unless nothing is left of them. */
function withResults(message: Message, original: Message, found: ReadonlyMap<string, Found>): Message[] {
  if (message.role !== 'assistant') return message.parts.length > 0 || original.parts.length === 0 ? [message] : []
  const own = callsIn(message).flatMap(({ id }) => found.get(id) ?? [])
  if (own.length === 0) return [message]
  const at = Math.max(...own.map(result => result.at ?? 0))
  return [message, { role: 'tool', parts: own.map(({ result }) => result), ...(at > 0 ? { at } : {}) }]
}
