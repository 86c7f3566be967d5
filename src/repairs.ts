/**
 * The edits that the engine itself makes so that a view is legal whatever happens to the agent: results for calls
 * that were interrupted, late results as plain text, no blank texts where the provider refuses them. They are
 * recorded and explained like any other edit.
 */

import { textOf } from './leaves.ts'
import { isBlank } from './legality.ts'
import type { Calls } from './messages.ts'
import type { Dialect, Edit, Message } from './types.ts'

export type Repair = Pick<Edit, 'target' | 'replacement' | 'why'>

/** What must be edited when `message` becomes entry number `entry`, directly behind the last one. */
export function repairsFor(message: Message, entry: number, calls: Calls, dialect: Dialect): Repair[] {
  const { interrupted, late } = calls.check(message)
  const repairs: Repair[] = []
  if (interrupted.length > 0) repairs.push(answerInterrupted(interrupted, entry - 1, calls))
  if (late.length > 0) repairs.push(showLate(message, entry))
  if (dialect === 'anthropic' && late.length === 0) repairs.push(...dropBlank(message, entry))
  return repairs
}

function answerInterrupted(ids: readonly string[], after: number, calls: Calls): Repair {
  const parts = ids.map(id => {
    const name = calls.nameOf(id) ?? 'tool'
    return { type: 'tool-result' as const, id, name, output: `[No result: ${name} was interrupted]`, isError: true }
  })
  return {
    target: { after },
    replacement: { messages: [{ role: 'tool', parts }] },
    why: 'call-without-result: the conversation went on before the tool answered',
  }
}

function showLate(message: Message, entry: number): Repair {
  const text = message.parts
    .map(part => (part.type === 'tool-result' ? `[Late result of ${part.name}]\n${textOf(part)}` : textOf(part)))
    .join('\n\n')
  return {
    target: { entry },
    replacement: { messages: [{ role: 'user', parts: [{ type: 'text', text }] }] },
    why: 'two-results: the call had been answered as interrupted',
  }
}

/** A blank text goes; when nothing else is left of the message, it says that it is empty. */
function dropBlank(message: Message, entry: number): Repair[] {
  const why = 'blank-text: the provider refuses blank texts'
  const allBlank = message.parts.every(isBlank)
  return message.parts.flatMap((part, index) => {
    if (!isBlank(part)) return []
    const replacement = allBlank && index === 0 ? '[empty message]' : null
    return [{ target: { entry, part: index }, replacement, why }]
  })
}
