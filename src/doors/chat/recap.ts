/** The lines that a chat prints when it opens a session: its name, its size, the last request and answer. */

import type { Agent } from '../../agent/agent.ts'
import { requestIn } from '../../calls/requests.ts'
import { textOf } from '../../model/leaves.ts'
import { amount } from '../../model/text.ts'
import type { Message } from '../../model/types.ts'
import type { Look } from '../../session/look.ts'
import { beginning, oneLine, printable, timeOf } from '../terminal/output.ts'
import type { Screen } from '../terminal/screen.ts'
import { type Line, span } from '../terminal/spans.ts'

const HELP = '/help lists commands · \\ at the end of a line continues it · Ctrl-C stops a turn · Ctrl-D leaves'
const SHOWN_LINES = 8

export async function recapLines(agent: Agent, { laidOut, width }: Screen): Promise<Line[]> {
  const { session } = agent
  const { entries } = session.fold
  const title: Line = [
    span('palimpsest ', 'bold'),
    span(printable(session.id), 'cyan', 'bold'),
    span(` · ${printable(agent.model.name)} · ${agent.persona.name}`, 'dim'),
  ]
  if (entries.length <= 1) return laidOut ? [title, [span(HELP, 'dim')], []] : [title]
  const { edits, tokens } = await session.view({ plan: false })
  const last = entries.at(-1)!
  const size = `${amount(entries.length, 'entry', 'entries')}, last on ${timeOf(last.at)}; ${amount(tokens, 'token')} in view, ${amount(edits.length, 'edit')}`
  const room = Math.min(width, 110)
  const request = lastText(session, requestIn)
  const answer = lastText(session, answerIn)
  return [
    title,
    [span(size, 'dim')],
    ...(request === undefined ? [] : [[span('› ', 'dim'), span(oneLine(request, room - 2))]]),
    ...(answer === undefined
      ? []
      : beginning(answer, { lines: SHOWN_LINES, width: room - 2 }).map(line => [span(`  ${line}`, 'dim')])),
    ...(laidOut ? [[]] : []),
  ]
}

/** Whether the last request still waits for its answer: the turn was stopped, or the program ended during it. */
export function isUnfinished({ fold }: Look): boolean {
  const last = fold.entries.at(-1)
  if (!last || last.role === 'system') return false
  return last.role !== 'assistant' || (last.message?.parts.some(({ type }) => type === 'tool-call') ?? false)
}

function lastText(session: Look, read: (message: Message | undefined) => string | undefined): string | undefined {
  for (const { message } of session.fold.entries.toReversed()) {
    const text = read(message)
    if (text !== undefined && text.trim() !== '') return text
  }
  return undefined
}

function answerIn(message: Message | undefined): string | undefined {
  if (message?.role !== 'assistant') return undefined
  return message.parts.flatMap(part => (part.type === 'text' ? [textOf(part)] : [])).join('\n')
}
