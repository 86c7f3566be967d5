/**
 * A session as a file: JSON with everything that happened and every edit, or Markdown to read and share. Both contain
 * the conversation as it happened, not as it was shown to the model; the JSON also contains the edits.
 */
import { textOf } from '../../model/leaves.ts'
import type { Message, Part, Usage } from '../../model/types.ts'
import type { Look } from '../../session/look.ts'

export type ExportedSession = {
  format: 'palimpsest-session'
  version: 1
  session: string
  model: string
  persona: string
  entries: { entry: number; at: number; message: Message }[]
  edits: unknown[]
  usage: { at: number; usage: Usage }[]
}

type Named = { model: string; persona: string }

export async function exportSession(session: Look, { model, persona }: Named): Promise<ExportedSession> {
  const events = await session.events()
  const happened = events.flatMap(({ at, event }) => (event.type === 'entry' ? [{ at, message: event.message }] : []))
  return {
    format: 'palimpsest-session',
    version: 1,
    session: session.id,
    model,
    persona,
    entries: happened.map(({ at, message }, entry) => ({ entry, at, message })),
    edits: session.edits().map(({ edit, active }) => ({ ...edit, active })),
    usage: events.flatMap(({ at, event }) => (event.type === 'usage' ? [{ at, usage: event.usage }] : [])),
  }
}

/** Requests and answers as they are, tool calls and results in fences; the system prompt is left out. */
export function toMarkdown({ session, entries }: ExportedSession): string {
  const sections = entries
    .filter(({ message }) => message.role !== 'system')
    .map(({ message }) => [`## ${message.role}`, ...message.parts.map(partText)].join('\n\n'))
  return `${[`# ${session}`, ...sections].join('\n\n')}\n`
}

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'reasoning':
      return part.text.replace(/^/gm, '> ')
    case 'tool-call':
      return `**${part.name}**\n\n${fenced(JSON.stringify(part.input, null, 2) ?? '', 'json')}`
    case 'tool-result':
      return fenced(textOf(part))
    case 'image':
      return `(image, ${part.mediaType})`
    case 'raw':
      return `(a block of ${part.provider})`
  }
}

/** A fence longer than any in the text. */
function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text}\n${fence}`
}
