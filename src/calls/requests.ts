/**
 * What the user really asked for. Agents put reminders, environment notes and the like into messages of the user;
 * those are no requests.
 */
import type { Message } from '../model/types.ts'

const NOT_A_REQUEST =
  /^\s*(?:<(?:system-reminder|environment_context|user_instructions|command-|local-command|task-notification|context|ide_)|\[Request interrupted|\[TASK ANCHOR|\[Summary of earlier|\[Restored from|⚠️ CONTEXT APPROACHING|Caveat: )/

/** What a client reports in the user's name while the agent works; with a tag around it, or a label that a reader gave it. */
const REPORT =
  /^\s*(?:<(system-reminder|task-notification|local-command-stdout|local-command-stderr|bash-stdout|bash-stderr)\b[\s\S]*<\/\1>\s*$|\[(?:edited text file|diagnostics)\b)/

/** Whether a text is nobody's words but a report: a file that changed, the end of a task, the output of a command. */
export function isReport(text: string): boolean {
  return REPORT.test(text)
}

/** The request that a message of the user makes, verbatim; `undefined` where it makes none. */
export function requestIn(message: Message | undefined): string | undefined {
  if (message?.role !== 'user') return undefined
  const texts = message.parts.flatMap(part =>
    part.type === 'text' && !NOT_A_REQUEST.test(part.text) ? [part.text] : [],
  )
  const text = texts.join('\n').trim()
  return text === '' ? undefined : text
}
