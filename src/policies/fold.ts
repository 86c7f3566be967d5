/**
 * Folding: the oldest steps become a compact log, one line each, with everything that users said left word for
 * word. This is what keeps an endless session under its window: clearing results alone does not, because calls and
 * text grow too. A fold is a range edit like any other; the originals are found by recall and come back by undo.
 *
 * What agents use again of old steps are mostly commands and paths, so a line has the command word for word and the path
 * as it was spelled, and folders that many calls name in full are said once. Folds stand side by side. When there are
 * many, one fold around all of them keeps the newest lines of the log; and when the window is full, the first request
 * whole and the other old ones shortened.
 */
import { stringsIn, textOf } from '../leaves.ts'
import { isBlank } from '../legality.ts'
import { normalizePath } from '../paths.ts'
import { isReport } from '../requests.ts'
import type { Message, Part } from '../types.ts'
import type { Unit } from '../units.ts'
import { cutMiddle } from './excerpt.ts'
import { about } from './forms.ts'
import { textMessage } from './policy.ts'

export const FOLD_HEADER = '[Earlier steps, folded: a record, not a request. recall finds the originals]'

const WIDEST = 100
/** Characters of a command that its line keeps. */
export const LONGEST_COMMAND = 800
/** Paths are kept whole: an agent that must guess the rest of one gets it wrong. */
const LONGEST_PATH = 200
/** Lines of all logs together; older ones are counted, not kept. */
export const MOST_LINES = 200
const OLDER = /^\((\d+) older steps\)$/
const FOLDERS = 'Folders: '
/** Where a line of the log begins; a command may have several of its own. */
const NEXT_LINE = /\n(?=- |Folders: |\(\d+ older steps\)$)/m
const ABSOLUTE = /(?<![\w.~:/\\-])(?:[A-Za-z]:)?(?:[\\/]+[\w.@+-]+){2,}/g
/** A folder is worth a place if so many calls name it, and it is not short; and there are only so many places. */
const LEAST_CALLS = 3
const SHORTEST_FOLDER = 20
const MOST_FOLDERS = 12
/** What stays of a text that is shortened. */
const KEPT_HEAD = 300
const KEPT_TAIL = 100
/** Longer strings of an input are contents, not arguments. */
const LONGEST_ARGUMENT = 2000

/** How each call went, in a word or two, by the call's id. */
export type Outcomes = ReadonlyMap<string, string>

/** The messages that stand for some units: users' own words whole and in place, a log of the rest between them. */
export function foldMessages(units: readonly Unit[], outcomes: Outcomes): Message[] {
  const chunks: Chunk[] = []
  for (const unit of units) {
    const { original, role } = unit
    if (isBlank(original)) continue
    if (role === 'user' || role === 'system')
      chunks.push({ said: { role, parts: [isOldReport(unit) ? cutText(original) : original] } })
    else {
      const line = lineOf(unit, outcomes)
      if (line) chunks.push({ lines: [line] })
    }
  }
  return toMessages(chunks, headOf(foldersIn(units)))
}

/** One fold for several: the newest lines of their logs. Under pressure old requests are shortened too, but the first. */
export function mergeFolds(messages: readonly Message[], pressure: boolean): Message[] {
  const all = messages.map(toChunk)
  const heads = all.flatMap(chunk => ('lines' in chunk ? chunk.lines.filter(line => line.startsWith(FOLDERS)) : []))
  const folders = heads.toReversed().flatMap(line => line.slice(FOLDERS.length).split(' '))
  const chunks = all.map(chunk => ('lines' in chunk ? { lines: chunk.lines.filter(line => !isHead(line)) } : chunk))
  const lines = chunks.flatMap(chunk => ('lines' in chunk ? chunk.lines : []))
  const spare = leastWanted(lines, lines.length - MOST_LINES)
  const older = all.flatMap(chunk =>
    'lines' in chunk ? chunk.lines.map(line => Number(OLDER.exec(line)?.[1] ?? 0)) : [],
  )
  const gone = older.reduce((sum, count) => sum + count, spare.size)
  let first = true
  let line = 0
  const shorter = chunks.map(chunk => {
    if ('said' in chunk) {
      const whole = first
      first = false
      return whole || !pressure ? chunk : { said: shorten(chunk.said) }
    }
    return { lines: chunk.lines.filter(() => !spare.has(line++)) }
  })
  return toMessages(shorter, headOf(distinct(folders), gone))
}

/** The lines to leave out: first those that stand there again further down, then the oldest. */
function leastWanted(lines: readonly string[], count: number): Set<number> {
  const last = new Map(lines.map((text, i) => [text, i]))
  const order = [...lines.keys()].sort((a, b) => Number(isLast(a)) - Number(isLast(b)) || a - b)
  return new Set(order.slice(0, Math.max(0, count)))

  function isLast(i: number): boolean {
    return last.get(lines[i]!) === i
  }
}

/** How many steps the logs among some messages tell of. */
export function logLines(messages: readonly Message[]): number {
  return messages.map(toChunk).reduce((count, chunk) => count + ('lines' in chunk ? chunk.lines.length : 0), 0)
}

type Chunk = { said: Message } | { lines: string[] }

function toChunk(message: Message): Chunk {
  const text = message.parts.map(textOf).join('\n')
  return text.startsWith(FOLD_HEADER)
    ? { lines: text.slice(FOLD_HEADER.length + 1).split(NEXT_LINE) }
    : { said: message }
}

/** What stands before the first line of a log. */
function headOf(folders: readonly string[], gone = 0): string[] {
  const named = folders.length > 0 ? [FOLDERS + folders.slice(0, MOST_FOLDERS).join(' ')] : []
  return gone > 0 ? [...named, `(${gone} older steps)`] : named
}

function isHead(line: string): boolean {
  return line.startsWith(FOLDERS) || OLDER.test(line)
}

function toMessages(chunks: readonly Chunk[], head: readonly string[]): Message[] {
  const messages: Message[] = []
  let first = [...head]
  let log: string[] = []
  const flush = () => {
    if (log.length > 0) {
      messages.push(textMessage('user', [FOLD_HEADER, ...first, ...log].join('\n')))
      first = []
    }
    log = []
  }
  for (const chunk of chunks) {
    if ('lines' in chunk) log.push(...chunk.lines)
    else {
      flush()
      messages.push(chunk.said)
    }
  }
  flush()
  return messages
}

function shorten(message: Message): Message {
  return { ...message, parts: message.parts.map(cutText) }
}

function cutText(part: Part): Part {
  return part.type === 'text' ? { ...part, text: cutMiddle(part.text, KEPT_HEAD, KEPT_TAIL) } : part
}

/** Nobody's words: what a client reports in the user's name. Before the first answer it tells how to work, and stays. */
export function isOldReport({ role, original, turn }: Unit): boolean {
  return role === 'user' && turn > 0 && original.type === 'text' && isReport(original.text)
}

function lineOf(unit: Unit, outcomes: Outcomes): string | undefined {
  const { original, call } = unit
  if (original.type === 'tool-call') {
    const outcome = outcomes.get(original.id)
    const intent = call?.intent ? ` (${oneLine(call.intent, WIDEST)})` : ''
    const command = call?.command?.trim()
    const what = command ? cutEnd(command, LONGEST_COMMAND) : (pathAsSpelled(unit) ?? about(unit))
    return `- ${original.name} ${what}${outcome ? ` → ${outcome}` : ''}${intent}`
  }
  if (original.type !== 'text') return undefined
  const line = original.text.trim().split('\n')[0]
  return line ? `- ${line.slice(0, WIDEST)}` : undefined
}

/** The path of a call as its input has it, not as we compare it. */
function pathAsSpelled({ original, call }: Unit): string | undefined {
  if (original.type !== 'tool-call' || call?.path === undefined) return undefined
  const { path } = call
  const spelled = stringsIn(original.input).find(text => text.length <= LONGEST_PATH && normalizePath(text) === path)
  return spelled ?? path.slice(-LONGEST_PATH)
}

/** Folders that several calls name in full, most often named first. */
function foldersIn(units: readonly Unit[]): string[] {
  const counts = new Map<string, number>()
  for (const { original } of units) {
    if (original.type !== 'tool-call') continue
    const texts = stringsIn(original.input).filter(text => text.length <= LONGEST_ARGUMENT)
    const named = texts.flatMap(text => [...text.matchAll(ABSOLUTE)].map(([path]) => folderOf(path)))
    for (const folder of new Set(named)) counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  const often = [...counts].filter(([folder, count]) => count >= LEAST_CALLS && folder.length >= SHORTEST_FOLDER)
  often.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
  return distinct(often.map(([folder]) => folder))
}

/** A folder that another one begins with is named already. */
function distinct(folders: readonly string[]): string[] {
  return [...new Set(folders)].filter(folder => !folders.some(other => other !== folder && other.startsWith(folder)))
}

function folderOf(path: string): string {
  const end = Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1
  return /\.\w{1,5}$/.test(path) ? path.slice(0, end) : path
}

function cutEnd(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`
}

function oneLine(text: string, most: number): string {
  return cutEnd(text.replace(/\s+/g, ' '), most)
}
