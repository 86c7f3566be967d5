/**
 * Finds and repairs problems of a conversation that was recorded elsewhere, so that it can enter a ledger and be sent:
 * missing or duplicate ids, results before or far after their calls, results without a call, two results, parts in
 * messages of the wrong role. Nothing is thrown away: a part that cannot be kept becomes text. Calls without a result,
 * and empty messages, are left to the ledger, which repairs them.
 */
import { isPalimpsestError } from '../model/errors.ts'
import { parseJson } from '../model/json.ts'
import type { Dialect, Message, Part, ToolCallPart, ToolResultPart } from '../model/types.ts'
import { callsIn, checkView, isWellFormed, type Violation } from '../view/legality.ts'
import { Calls, checkMessage } from '../view/messages.ts'
import { resultAsText } from '../view/repairs.ts'

type Diagnosis = { violations: Violation[]; messages: Message[]; healed: string[] }

/** The problems, and the conversation without them. */
export function diagnose(messages: readonly Message[], dialect?: Dialect): Diagnosis {
  const violations = checkView(messages, dialect ? { dialect } : {})
  const { messages: whole, healed } = heal(messages)
  return { violations, messages: whole, healed }
}

/** The conversation as a ledger accepts it: unchanged if nothing is wrong, with as many assistant messages. */
export function heal(messages: readonly Message[]): { messages: Message[]; healed: string[] } {
  const healed: string[] = []
  const readable = messages.map(message => (message.parts.every(isWellFormed) ? message : wellFormed(message, healed)))
  if (isHealthy(readable)) return { messages: readable, healed }
  const named = nameCalls(readable, healed)
  return { messages: placeResults(named, healed), healed }
}

function isHealthy(messages: readonly Message[]): boolean {
  const left = new Set(['call-without-result', 'empty-message'])
  return checkView(messages).every(({ rule }) => left.has(rule)) && isAccepted(messages)
}

function isAccepted(messages: readonly Message[]): boolean {
  const calls = new Calls()
  try {
    for (const message of messages) {
      checkMessage(message)
      if (calls.check(message).late.length > 0) return false
      calls.add(message)
    }
    return true
  } catch (error) {
    if (isPalimpsestError(error)) return false
    throw error
  }
}

function wellFormed(message: Message, healed: string[]): Message {
  healed.push('invalid-unicode: lone surrogates became U+FFFD')
  return parseJson(JSON.stringify(message), (_, value) => (typeof value === 'string' ? value.toWellFormed() : value))
}

/**
 * Gives a call whose id is missing or taken a new one. A result goes to the newest call with its id that has no
 * result, as an agent that reuses ids means it.
 */
function nameCalls(messages: readonly Message[], healed: string[]): Message[] {
  const taken = new Set(messages.flatMap(message => message.parts.flatMap(part => ('id' in part ? part.id : []))))
  const namesakes = new Map<string, string[]>()
  const answered = new Set<string>()
  const nameCall = (part: ToolCallPart): ToolCallPart => {
    const known = namesakes.get(part.id) ?? []
    namesakes.set(part.id, known)
    const id = part.id && known.length === 0 ? part.id : freeId(part.id || 'call', taken)
    known.push(id)
    if (id === part.id && part.name) return part
    if (id !== part.id) healed.push(`duplicate-call: ${part.id || 'a call without an id'} became ${id}`)
    return { ...part, id, name: part.name || 'tool' }
  }
  const nameResult = (part: ToolResultPart): ToolResultPart => {
    const known = namesakes.get(part.id) ?? []
    const id = known.findLast(candidate => !answered.has(candidate)) ?? known.at(-1) ?? part.id
    answered.add(id)
    return id === part.id ? part : { ...part, id }
  }
  return messages.map(message => ({
    ...message,
    parts: message.parts.map(part => {
      if (part.type === 'tool-call' && message.role === 'assistant') return nameCall(part)
      return part.type === 'tool-result' ? nameResult(part) : part
    }),
  }))
}

function freeId(id: string, taken: Set<string>): string {
  for (let n = 1; ; n++) {
    const free = `${id}~${n}`
    if (taken.has(free)) continue
    taken.add(free)
    return free
  }
}

type Found = { result: ToolResultPart; at: number | undefined }

/** Puts every result directly after the assistant message that made its call; a result without a call becomes text. */
function placeResults(messages: readonly Message[], healed: string[]): Message[] {
  const home = new Map<string, number>()
  for (const [index, message] of messages.entries()) {
    if (message.role === 'assistant') for (const { id } of callsIn(message)) home.set(id, index)
  }
  const found = new Map<string, Found>()
  const others = messages.map((message, index) => {
    const parts = message.parts.flatMap((part): Part[] => {
      if (part.type === 'tool-call' && message.role !== 'assistant') return callAsText(part, healed)
      if (part.type !== 'tool-result') return [part]
      const at = home.get(part.id)
      if (at === undefined || found.has(part.id)) return strayAsText(part, at !== undefined, healed)
      found.set(part.id, { result: part, at: message.at })
      if (!directlyBehind(messages, at, index)) healed.push(`result-without-call: ${part.id} moved after its call`)
      return []
    })
    const { original: _, ...rest } = message
    return message.role === 'tool' ? { ...rest, role: 'user' as const, parts } : { ...message, parts }
  })
  return others.flatMap((message, index) => withResults(message, messages[index]!, found))
}

function callAsText({ name, input }: ToolCallPart, healed: string[]): Part[] {
  healed.push(`call-dropped: a call of ${name} in a message of another role became text`)
  return [{ type: 'text', text: `[Call of ${name}] ${JSON.stringify(input)}` }]
}

function strayAsText(part: ToolResultPart, answered: boolean, healed: string[]): Part[] {
  healed.push(`${answered ? 'two-results' : 'result-without-call'}: ${part.id} became text`)
  return resultAsText(part, `Result of ${part.name} ${answered ? 'that came again' : 'without a call'}`)
}

function directlyBehind(messages: readonly Message[], call: number, result: number): boolean {
  let at = call + 1
  while (at < messages.length && messages[at]!.role === 'assistant') at++
  return result >= at && messages.slice(at, result + 1).every(message => message.role === 'tool')
}

/** An assistant message followed by the results of its calls; another message is dropped if no part of it is left. */
function withResults(message: Message, original: Message, found: ReadonlyMap<string, Found>): Message[] {
  if (message.role !== 'assistant') return message.parts.length > 0 || original.parts.length === 0 ? [message] : []
  const own = callsIn(message).flatMap(({ id }) => found.get(id) ?? [])
  if (own.length === 0) return [message]
  const at = own.reduce((last, result) => Math.max(last, result.at ?? 0), 0)
  return [message, { role: 'tool', parts: own.map(({ result }) => result), ...(at > 0 ? { at } : {}) }]
}
