/**
 * The last step from the fold to a view: repairs messages that break a rule, so that every ledger gives a legal view.
 * It is a pure function of the messages, so a restart gives the same view, and any edit can be undone in any order.
 *
 * Edits that would break a rule are refused when they are made. This file handles edits that became illegal later: a
 * result arrived for a call that an edit covers, or an edit that made another one legal was undone. Nothing is dropped:
 * a call without a result gets one, and a result without a call becomes text.
 */

import { withLeaves } from '../model/leaves.ts'
import { addAll } from '../model/lists.ts'
import type { Dialect, Message, Part, ToolCallPart, ToolResultPart } from '../model/types.ts'
import {
  blanksIn,
  type CheckOptions,
  callsIn,
  checkBeginning,
  checkView,
  firstSpoken,
  firstUnchecked,
  hangingIn,
  isWellFormed,
  mayWait,
  type Rule,
  resultsIn,
  type Violation,
} from './legality.ts'
import { EMPTY, interruptedResult, resultAsText } from './repairs.ts'

/** Inserted before a beginning of the conversation that the provider refuses. */
const OPENINGS: Partial<Record<Rule, string>> = {
  'call-comes-first': '[The conversation begins with a tool call]',
  'answer-comes-first': '[The conversation begins with an answer]',
  'nothing-left': '[Nothing is left of the conversation]',
}

type Legal = {
  messages: readonly Message[]
  /** The rules that were broken before the repair. */
  repaired: Violation[]
}

/** The messages without anything that a provider would refuse; the same list if nothing is wrong. */
export function legalize(messages: readonly Message[], options: CheckOptions = {}): Legal {
  const repaired = checkView(messages, options)
  if (repaired.length === 0) return { messages, repaired }
  const { dialect } = options
  const start = firstUnchecked(messages, options)
  const sound = messages.slice(start).flatMap(message => repairShape(message, dialect))
  const legal = [...messages.slice(0, start), ...repairSteps(sound, options)]
  return { messages: withOpening(legal, options), repaired }
}

function withOpening(messages: readonly Message[], options: CheckOptions): readonly Message[] {
  const [broken] = checkBeginning(messages, options)
  const text = broken && OPENINGS[broken.rule]
  if (!text) return messages
  const first = firstSpoken(messages)
  return messages.toSpliced(first < 0 ? messages.length : first, 0, { role: 'user', parts: [{ type: 'text', text }] })
}

/** Repairs the form of a message: valid Unicode, no text that the provider refuses, no empty message. */
function repairShape(message: Message, dialect: Dialect | undefined): Message[] {
  const blank = new Set(blanksIn(message, dialect))
  const hanging = new Set(hangingIn(message, dialect))
  const isFine = (part: Part) => !blank.has(part) && !hanging.has(part) && isWellFormed(part)
  if (message.parts.length > 0 && message.parts.every(isFine)) return [message]
  const parts = message.parts.flatMap(part => {
    if (hanging.has(part)) return [{ ...part, text: EMPTY }]
    return blank.has(part) ? [] : [wellFormed(part)]
  })
  if (parts.length > 0) return [{ ...message, parts }]
  return message.role === 'tool' ? [] : [{ ...message, parts: [{ type: 'text', text: EMPTY }] }]
}

function wellFormed(part: Part): Part {
  return withLeaves(part, text => text.toWellFormed())
}

function repairSteps(messages: readonly Message[], options: CheckOptions): Message[] {
  const legal: Message[] = []
  const taken = new Set<string>()
  for (let i = 0; i < messages.length; ) {
    if (messages[i]!.role !== 'assistant') {
      legal.push(withoutResults(messages[i++]!))
      continue
    }
    const said = i
    while (messages[i]?.role === 'assistant') i++
    const answered = i
    while (messages[i]?.role === 'tool') i++
    const assistants = messages.slice(said, answered).map(message => withoutTakenCalls(message, taken))
    const isLast = i === messages.length
    const mayBeOpen = (id: string) => isLast && mayWait(id, options)
    addAll(legal, repairStep({ assistants, results: messages.slice(answered, i), mayBeOpen }))
  }
  return legal
}

type Step = { assistants: Message[]; results: Message[]; mayBeOpen: (id: string) => boolean }

/** Repairs assistant messages in a row and the results after them: exactly one result for each call. */
function repairStep({ assistants, results, mayBeOpen }: Step): Message[] {
  const open = new Map(assistants.flatMap(callsIn).map(call => [call.id, call]))
  const told: Part[] = []
  const answers = results.flatMap(message => {
    const parts = message.parts.filter(part => {
      if (part.type !== 'tool-result' || open.delete(part.id)) return true
      addAll(told, resultAsText(part, `Result of ${part.name}`))
      return false
    })
    return parts.length === message.parts.length ? [message] : parts.length > 0 ? [{ ...message, parts }] : []
  })
  const unanswered = [...open.values()].filter(({ id }) => !mayBeOpen(id))
  if (unanswered.length > 0) answers.push(interrupted(unanswered))
  const waits = open.size > unanswered.length
  const aside: Message[] = told.length > 0 ? [{ role: 'user', parts: told }] : []
  return waits ? [...aside, ...assistants, ...answers] : [...assistants, ...answers, ...aside]
}

function interrupted(calls: readonly ToolCallPart[]): Message {
  return { role: 'tool', parts: calls.map(({ id, name }): ToolResultPart => interruptedResult(id, name)) }
}

/** Turns the results of a message that follows no call into text of the user. */
function withoutResults(message: Message): Message {
  if (resultsIn(message).length === 0) return message
  const { original: _, ...rest } = message
  const parts = message.parts.flatMap(part =>
    part.type === 'tool-result' ? resultAsText(part, `Result of ${part.name}`) : [part],
  )
  return { ...rest, role: 'user', parts }
}

/** Turns a second call with the same id into text; its result then becomes text too. */
function withoutTakenCalls(message: Message, taken: Set<string>): Message {
  if (!callsIn(message).some(({ id }) => taken.has(id)) && !repeats(message)) {
    for (const { id } of callsIn(message)) taken.add(id)
    return message
  }
  const parts = message.parts.map((part): Part => {
    if (part.type !== 'tool-call') return part
    if (taken.has(part.id)) return { type: 'text', text: `[Call of ${part.name}] ${JSON.stringify(part.input)}` }
    taken.add(part.id)
    return part
  })
  return { ...message, parts }
}

function repeats(message: Message): boolean {
  const ids = callsIn(message).map(({ id }) => id)
  return new Set(ids).size < ids.length
}
