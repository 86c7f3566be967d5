/**
 * Facts that can be read from parts without understanding them: files changed and read, commands with their exit codes,
 * errors and what followed, decisions in the agent's own words, wishes in the user's, and open work.
 */

import { requestIn } from '../calls/requests.ts'
import { exitCode } from '../calls/tool-output.ts'
import { addAll } from '../model/lists.ts'
import { headOf, onOneLine } from '../model/text.ts'
import { type Unit, unitText } from '../view/units.ts'

type FileNotes = Map<string, { times: number; intents: string[] }>

export type Notes = {
  changed: FileNotes
  read: FileNotes
  commands: string[]
  errors: string[]
  said: string[]
  lastSaid: string[]
  rules: string[]
  open: string[]
}

const DECIDED =
  /\b(?:decided|because|root cause|turns out|instead of|found that|the (?:problem|issue|bug|cause|reason) (?:is|was)|works? now|fixed|must not|cannot)\b/i
const PLANNED = /\b(?:next(?: step)?s?\b|then I|remaining|still (?:need|have|missing)|to ?do\b|afterwards|left to)/i
const WISHED = /\b(?:always|never|do ?n[o']t|must|should|prefer|only|make sure|please use|without|keep)\b/i
const MAX_SAID_AT_ONCE = 2
const NAME_CHARS = 90

export function collectNotes(units: Iterable<Unit>): Notes {
  const notes: Notes = {
    changed: new Map(),
    read: new Map(),
    commands: [],
    errors: [],
    said: [],
    lastSaid: [],
    rules: [],
    open: [],
  }
  const working: Working = { notes, failed: undefined, lastText: '', todo: undefined, broken: new Map() }
  for (const unit of units) take(working, unit)
  finish(working)
  return notes
}

type Working = {
  notes: Notes
  /** The last error, while nothing has followed it. */
  failed: string | undefined
  lastText: string
  todo: unknown
  /** Commands whose last run failed. */
  broken: Map<string, string>
}

function take(working: Working, unit: Unit): void {
  const { original, role } = unit
  if (original.type === 'tool-result') return takeResult(working, unit)
  if (original.type === 'tool-call' && unit.call?.kind === 'todo') working.todo = original.input
  if (original.type !== 'text') return
  if (role === 'assistant') {
    working.notes.said.push(...sentences(original.text, DECIDED).slice(0, MAX_SAID_AT_ONCE).map(quoted('said')))
    if (original.text.trim() !== '') working.lastText = original.text
  }
  if (role === 'user' && requestIn({ role, parts: [original] }) !== undefined) {
    addAll(working.notes.rules, sentences(original.text, WISHED).map(quoted('user')))
  }
}

function takeResult(working: Working, unit: Unit): void {
  const { notes } = working
  const name = nameOf(unit)
  if (working.failed !== undefined) {
    notes.errors.push(`${working.failed} → then ${name}`)
    working.failed = undefined
  }
  const output = unitText(unit)
  const code = unit.call?.command === undefined ? undefined : exitCode(output)
  const failed = (unit.original.type === 'tool-result' && unit.original.isError === true) || (code ?? 0) !== 0
  if (failed) working.failed = `- error in ${name}: ${errorLine(output)}`
  const outcome = code === undefined ? (failed ? ': failed' : '') : `: exit ${code}`
  if (unit.call?.kind === 'shell') noteCommand(working, unit.call.command, { failed, outcome })
  if (!failed) noteFiles(notes, unit)
}

function noteCommand(
  { notes, broken }: Working,
  command: string | undefined,
  { failed, outcome }: { failed: boolean; outcome: string },
): void {
  if (command === undefined) return
  notes.commands.push(`- ran \`${shorten(command)}\`${outcome}`)
  broken.delete(command)
  if (failed) broken.set(command, `- open: \`${shorten(command)}\` failed when last run`)
}

function noteFiles(notes: Notes, { call }: Unit): void {
  const paths = call?.paths ?? []
  const intent = call?.intent === undefined || call.command !== undefined ? [] : [onOneLine(call.intent)]
  if (call?.kind === 'write' || call?.kind === 'edit') for (const path of paths) add(notes.changed, path, intent)
  if (call?.kind === 'read' || call?.kind === 'shell-read') for (const path of paths) add(notes.read, path, [])
  for (const { path, kept } of call?.writes ?? []) if (!kept) add(notes.changed, path, intent)
}

function add(files: FileNotes, path: string, intents: string[]): void {
  const known = files.get(path) ?? { times: 0, intents: [] }
  files.delete(path)
  files.set(path, { times: known.times + 1, intents: [...new Set([...known.intents, ...intents])] })
}

function finish({ notes, failed, lastText, todo, broken }: Working): void {
  if (failed !== undefined) notes.errors.push(`${failed} → open`)
  const said = onOneLine(lastText)
  if (said !== '') notes.lastSaid.push(`- last said: ${JSON.stringify(headOf(said, 200))}`)
  notes.open.push(...sentences(lastText, PLANNED).slice(0, 5).map(quoted('said')))
  notes.open.push(...openTodos(todo).map(item => `- to do: ${item}`))
  notes.open.push(...broken.values())
  if (failed !== undefined && notes.open.length === 0) notes.open.push(failed.replace('- error', '- open: error'))
}

/** The items of a to-do list that are not done, in the fields of any agent. */
function openTodos(input: unknown): string[] {
  if (typeof input !== 'object' || input === null) return []
  return Object.values(input)
    .filter(Array.isArray)
    .flat()
    .flatMap((item: Record<string, unknown> | null) => {
      if (typeof item !== 'object' || item === null || /complete|done|cancel/i.test(String(item['status'] ?? '')))
        return []
      const text = item['content'] ?? item['step'] ?? item['title'] ?? item['description'] ?? item['text']
      return typeof text === 'string' ? [onOneLine(text)] : []
    })
}

function nameOf({ tool, call }: Unit): string {
  const what = call?.command ?? call?.path ?? call?.query
  return what === undefined ? `${tool}` : `${tool} \`${shorten(what)}\``
}

function shorten(text: string): string {
  return headOf(onOneLine(text), NAME_CHARS)
}

/** The line of an output that best describes the error. */
function errorLine(output: string): string {
  const lines = output.split('\n').filter(line => line.trim() !== '' && !isExitLine(line))
  const telling = lines.find(line => /\b(?:\w*error|\w*exception|failed|not found|cannot|denied|fatal)\b/i.test(line))
  return headOf((telling ?? lines[0] ?? 'no output').trim(), 160).trimEnd()
}

function isExitLine(line: string): boolean {
  const at = line.search(/exit(?:ed)?\b/i)
  return /returncode/i.test(line) || (at >= 0 && /code/i.test(line.slice(at)))
}

function sentences(text: string, pattern: RegExp): string[] {
  const prose = text.replace(/```[\s\S]*?(?:```|$)/g, ' ')
  return prose
    .split(/(?<=[.!?])\s+|\n+/)
    .map(sentence => sentence.trim())
    .filter(sentence => sentence.length > 10 && sentence.length < 400 && pattern.test(sentence))
}

function quoted(who: string): (sentence: string) => string {
  return sentence => `- ${who}: ${JSON.stringify(headOf(sentence, 220))}`
}
