/**
 * Finds the actual requests of the user. Agents put reminders, environment notes and the like into user messages; those
 * are not requests.
 */
import type { Message } from '../model/types.ts'

const NOT_A_REQUEST =
  /^\s*(?:<(?:system-reminder|environment_context|user_instructions|command-|local-command|task-notification|context|ide_)|\[Request interrupted|\[TASK ANCHOR|\[Summary of earlier|\[Restored from|⚠️ CONTEXT APPROACHING|Caveat: |Base directory for this skill: )/

/** A client's report in the user's name while the agent works; in a tag, or under a label from a transcript reader. */
const REPORT =
  /^\s*(?:<(system-reminder|task-notification|local-command-stdout|local-command-stderr|bash-stdout|bash-stderr)\b[\s\S]*<\/\1>\s*$|\[(?:edited text file|diagnostics)\b)/

/** Whether a text is a report that no person wrote: a changed file, the end of a task, the output of a command. */
export function isReport(text: string): boolean {
  return REPORT.test(text)
}

/** Text that a client adds to a conversation, under a label that our reader puts on its own line. */
const ADDED =
  /^\s*\[(?:(?:[a-z]+ ){1,4}(?:context|delta|error|file|listing|memory|message|reference|reminder|success)|file|directory|diagnostics)(?:: [^\n]*)?\](?:\n|$)/

/** The request in a user message, verbatim; `undefined` if it has none. */
export function requestIn(message: Message | undefined): string | undefined {
  if (message?.role !== 'user') return undefined
  const texts = message.parts.flatMap(part =>
    part.type === 'text' && !NOT_A_REQUEST.test(part.text) && !ADDED.test(part.text) ? [part.text] : [],
  )
  const text = texts.join('\n').trim()
  return text === '' ? undefined : text
}

/** A request that only continues a conversation: a summary of the messages before it. */
const CONTINUED = /^(?:This session is being continued from|# Context Checkpoint|Another language model started)/i
/** The example that SWE-agent shows before the task. */
const DEMONSTRATION = /^Here is a demonstration of how to correctly accomplish this task\./
/** A command of the client, with no other text. */
const BARE_COMMAND = /^\/[\w-]{1,40}\s*$/

/** Whether a request only continues a conversation, with a summary that no person typed. */
export function isContinuation(request: string): boolean {
  return CONTINUED.test(request)
}

/** The request of a message that begins a turn. */
export function typedIn(message: Message | undefined): string | undefined {
  const request = requestIn(message)
  return request === undefined || isContinuation(request) ? undefined : request
}

/** Text that agents and benchmarks write before a request: a heading, or a fixed sentence. */
const PREAMBLE =
  /^(?:# AGENTS\.md instructions for [^\n]*|Consider the following PR description:|We're currently solving the following [^\n]{0,80}\. Here's the issue text:|ISSUE:|Implement the following plan:|I've uploaded a [^\n]{0,300}\. Consider the following (?:issue|PR) description:|#{1,6}(?= )|> ?[^\n]*(?:\n|$)|[*_`"]{1,3})\s*/
const MOST_PREAMBLES = 200
const TAG = /^<([A-Za-z][\w-]{0,40})(?:\s[^>]{0,200})?>/
/** Tags whose content is the request. */
const SPOKEN = new Set(['pr_description', 'issue_description', 'user_query', 'request', 'task'])

/**
 * The first paragraph of a request, without text that agents put before it in the user's name; `undefined` if nothing
 * is left that a person typed.
 */
export function titleIn(request: string): string | undefined {
  let text = request.trimStart()
  for (let times = 0; times < MOST_PREAMBLES; times++) {
    if ([CONTINUED, DEMONSTRATION, BARE_COMMAND].some(pattern => pattern.test(text))) return undefined
    const rest = withoutTag(text).replace(PREAMBLE, '').trimStart()
    if (rest === text) break
    text = rest
  }
  const end = text.indexOf('\n\n')
  return text === '' ? undefined : end < 0 ? text : text.slice(0, end)
}

/** Removes the element at the beginning; if its content is the request, only the tags are removed. */
function withoutTag(text: string): string {
  const [opening, name] = TAG.exec(text) ?? []
  if (opening === undefined || name === undefined) return text
  const closing = `</${name}>`
  const end = text.indexOf(closing)
  if (SPOKEN.has(name) || end < 0) return text.slice(opening.length, end < 0 ? undefined : end).trim()
  return text.slice(end + closing.length).trimStart()
}
