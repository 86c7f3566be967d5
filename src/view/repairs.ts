/**
 * The edits that the engine itself makes so that a view is always legal: results for calls that were interrupted, late
 * results as plain text, no empty messages, no blank texts where the provider refuses them. They are recorded and
 * explained like any other edit.
 */
import { textOf } from '../model/leaves.ts'
import { addAll } from '../model/lists.ts'
import type { Dialect, Edit, Message, Part, ToolResultPart } from '../model/types.ts'
import { isBlankPart, resultsIn } from './legality.ts'
import type { Calls, Late } from './messages.ts'

export type Repair = Pick<Edit, 'target' | 'replacement' | 'why'>

export const EMPTY = '[empty message]'

/** The edits that are needed when `message` becomes entry number `entry`, directly after the last one. */
export function repairsFor(message: Message, entry: number, calls: Calls, dialect: Dialect): Repair[] {
  const { interrupted, late } = calls.check(message)
  const repairs: Repair[] = []
  if (interrupted.length > 0) repairs.push(answerInterrupted(interrupted, entry - 1, calls))
  if (late.length > 0) return [...repairs, ...showLate(message, late, { entry, calls })]
  if (message.parts.length === 0) return [...repairs, fillEmpty(message, entry)]
  return dialect === 'anthropic' ? [...repairs, ...dropBlank(message, entry)] : repairs
}

function answerInterrupted(ids: readonly string[], after: number, calls: Calls): Repair {
  const parts = ids.map(id => interruptedResult(id, calls.nameOf(id) ?? 'tool'))
  return {
    target: { type: 'after', entry: after },
    replacement: { messages: [{ role: 'tool', parts }] },
    why: 'call-without-result: the conversation continued before the tool answered',
  }
}

export function interruptedResult(id: string, name: string): ToolResultPart {
  return { type: 'tool-result', id, name, output: `[No result: ${name} was interrupted]`, isError: true }
}

/**
 * Turns a result whose call was already answered as interrupted into text. The text takes the place of the result; if
 * other calls still wait for their results there, it goes before the step that made them.
 */
function showLate(
  message: Message,
  late: readonly Late[],
  { entry, calls }: { entry: number; calls: Calls },
): Repair[] {
  const why = 'two-results: the call already had a result, as interrupted'
  const places = new Set(late.map(({ part }) => part))
  const tooLate = message.parts.filter((part, index): part is ToolResultPart => places.has(index))
  const told: Message = {
    role: 'user',
    parts: tooLate.flatMap(part => resultAsText(part, `Late result of ${part.name}`)),
  }
  const others: Message = { ...message, parts: message.parts.filter((_, index) => !places.has(index)) }
  const answered = new Set(resultsIn(others).map(({ id }) => id))
  const own = answered.size > 0 ? [others] : []
  if (own.length === 0) addAll(told.parts, others.parts)
  if (calls.open.every(id => answered.has(id))) {
    return [{ target: { type: 'entry', entry }, replacement: { messages: [...own, told] }, why }]
  }
  return [
    { target: { type: 'after', entry: entry - calls.stepLength - 1 }, replacement: { messages: [told] }, why },
    { target: { type: 'entry', entry }, replacement: { messages: own }, why },
  ]
}

/** A result as a text that begins with a title, followed by its images. */
export function resultAsText(part: ToolResultPart, title: string): Part[] {
  const others =
    typeof part.output === 'string' ? [] : part.output.filter(({ type }) => type === 'image' || type === 'raw')
  return [{ type: 'text', text: `[${title}]\n${textOf(part)}` }, ...others]
}

/** Fills an empty message: every provider requires some content. */
function fillEmpty({ role }: Message, entry: number): Repair {
  const messages: Message[] = role === 'tool' ? [] : [{ role, parts: [{ type: 'text', text: EMPTY }] }]
  return {
    target: { type: 'entry', entry },
    replacement: { messages },
    why: 'empty-message: providers refuse empty messages',
  }
}

/** Drops a blank text. If nothing else is left of the message, it says that it is empty. */
function dropBlank(message: Message, entry: number): Repair[] {
  const why = 'blank-text: the provider refuses blank texts'
  const allBlank = message.parts.every(isBlankPart)
  return message.parts.flatMap((part, index) => {
    if (!isBlankPart(part)) return []
    const replacement = allBlank && index === 0 ? EMPTY : null
    return [{ target: { type: 'part', entry, part: index }, replacement, why }]
  })
}
