/**
 * Folding: the oldest steps become a compact log, one line each, with everything that users said left word for
 * word. This is what keeps an endless session under its window: clearing results alone does not, because calls and
 * text grow too. A fold is a range edit like any other; the originals are found by recall and come back by undo.
 *
 * What agents use again of old steps are mostly commands and paths, so a line has the command word for word and the path
 * as it was spelled, and folders that many calls name in full are said once. What the agent said on the way is a line
 * with another sign. Folds follow one another. When there are many, one fold around all of them keeps the newest lines
 * of the log, of those on the way none, and of those that leave the files that they name. What a client reports in the
 * user's name is a line of the log. There is a bound to users' words: past it, what somebody pasted is shortened first,
 * and of very many things that users said the oldest but the first.
 */

import { headLines } from '../calls/patches.ts'
import { isReport } from '../calls/requests.ts'
import { imageStub, stringsIn, textOf } from '../model/leaves.ts'
import { normalizePath } from '../model/paths.ts'
import { headOf, tailOf } from '../model/text.ts'
import type { Message, Part, ToolCallPart } from '../model/types.ts'
import { type PlanContext, textMessage } from '../policies/policy.ts'
import { isBlank } from '../view/legality.ts'
import type { Unit } from '../view/units.ts'
import { cutMiddle } from './excerpt.ts'
import { about } from './forms.ts'
import {
  ARGUMENT_CHARS,
  COMMAND_CHARS,
  LATEST_REQUESTS,
  LEAST_CALLS_OF_FOLDER,
  LINE_CHARS,
  MOST_FILES,
  MOST_FOLDERS,
  MOST_LINES,
  PASTED_KEEP,
  PATH_CHARS,
  SAID_KEEP,
  SHORTEST_FILE_CHARS,
  SHORTEST_FOLDER_CHARS,
} from './tuning.ts'

export const LOG_HEADER = headerWith('recall')

type RecallWith = PlanContext['recallWith']

/** Names the tool that finds the originals, where there is one. */
function headerWith(recallWith: RecallWith = 'recall'): string {
  const back = recallWith === false ? '' : ` ${recallWith} finds the originals`
  return `[Earlier steps, folded: a record, not a request.${back}]`
}

const HEADER = /^\[Earlier steps, folded: a record, not a request\.[^\n]*\]\n/

const OLDER = /^\((\d+) older steps\)$/
const FOLDERS = 'Folders: '
const FILES = 'Files: '
/** Before what the agent said while it worked: of least use once the work is done. */
const ON_THE_WAY = '> '
/** Where a line of the log begins; a command may have several of its own, but none that begins like this. */
const NEXT_LINE = /\n(?=- |> |Folders: |Files: |\(\d+ older steps\)$)/m
const ANY_NEXT_LINE = new RegExp(NEXT_LINE, 'gm')
const ABSOLUTE = /(?<![\w.~:/\\-])(?:[A-Za-z]:[\\/]+|\/+)[\w.@+-]+(?:[\\/]+[\w.@+-]+)+/g
/** A file with its folders, absolute or not. */
const FILE = /(?<![\w.~:/\\@+-])(?:~?[\\/]+|[A-Za-z]:[\\/]+)?(?:[\w.@+-]+[\\/]+)+[\w.@+-]+\.\w{1,5}\b/g
const TAG = /<\/?[a-z][\w-]*>/gi

/** How each call went, in a word or two, by the call's id. */
export type Outcomes = ReadonlyMap<string, string>

/** The messages in place of some units: users' own words whole and in place, a log of the rest between them. */
export function logMessages(units: readonly Unit[], outcomes: Outcomes, recallWith?: RecallWith): Message[] {
  const chunks: Chunk[] = []
  const onTheWay = saidOnTheWay(units)
  for (const unit of units) {
    const { original, role } = unit
    if (isBlank(original)) continue
    if ((role === 'user' || role === 'system') && !isOldReport(unit)) chunks.push({ said: { role, parts: [original] } })
    else {
      const line = onTheWay.has(unit) ? sayingOf(unit, ON_THE_WAY) : lineOf(unit, outcomes)
      if (line) chunks.push({ lines: [line.replaceAll(ANY_NEXT_LINE, '\n ')] })
    }
  }
  return toMessages(chunks, [headerWith(recallWith), ...toLines({ folders: foldersIn(units), files: [], gone: 0 })])
}

/** How many of the newest things that users said are whole; how much of it all a fold may hold, and how that is counted. */
export type Room = {
  whole: number
  most: number
  size: (message: Message) => number
  recallWith?: RecallWith
}

/** One fold for several: the newest lines of their logs, and users' words as far as there is room for them. */
export function mergeLogs(messages: readonly Message[], room: Room): Message[] {
  const all = messages.map(toChunk)
  const head = readHead(linesOf(all))
  const chunks = all.map(chunk => ('lines' in chunk ? { lines: chunk.lines.filter(line => !isHead(line)) } : chunk))
  const lines = linesOf(chunks)
  const spare = leastWanted(lines, lines.length - MOST_LINES)
  const left = lines.filter((_, i) => spare.has(i))
  const kept = lines.filter((_, i) => !spare.has(i)).join('\n')
  const said = makeRoom(
    chunks.flatMap(chunk => ('said' in chunk ? [chunk.said] : [])),
    room,
  )
  let [word, line] = [0, 0]
  const shorter = chunks.map(chunk =>
    'said' in chunk ? { said: said[word++]! } : { lines: chunk.lines.filter(() => !spare.has(line++)) },
  )
  const files = [...head.files, ...left.flatMap(filesIn)].filter(file => !kept.includes(file))
  const lead = toLines({ ...head, files, gone: head.gone + left.length })
  return toMessages(shorter, [headerWith(room.recallWith), ...lead])
}

/** The lines to leave out: first what was said on the way, then those about what a later line is about too, then the oldest. */
function leastWanted(lines: readonly string[], count: number): Set<number> {
  const last = new Map(lines.map((line, i) => [subjectOf(line), i]))
  const rankOf = (line: string, i: number) =>
    line.startsWith(ON_THE_WAY) ? 0 : last.get(subjectOf(line)) === i ? 2 : 1
  const ranks = lines.map(rankOf)
  const order = [...lines.keys()].sort((a, b) => ranks[a]! - ranks[b]! || a - b)
  return new Set(order.slice(0, Math.max(0, count)))
}

/** The path or command of a line, without the tool and how it went. */
function subjectOf(line: string): string {
  const arrow = line.indexOf(' → ', line.lastIndexOf('\n') + 1)
  return line.slice(0, arrow < 0 ? undefined : arrow).replace(/^- \S+ /, '')
}

/** How many steps the logs among some messages tell of. */
export function logLines(messages: readonly Message[]): number {
  return linesOf(messages.map(toChunk)).length
}

type Chunk = { said: Message } | { lines: string[] }

function linesOf(chunks: readonly Chunk[]): string[] {
  return chunks.flatMap(chunk => ('lines' in chunk ? chunk.lines : []))
}

function toChunk(message: Message): Chunk {
  const text = message.parts.map(textOf).join('\n')
  const header = HEADER.exec(text)?.[0]
  return header === undefined ? { said: message } : { lines: text.slice(header.length).split(NEXT_LINE) }
}

/** What comes before the first line of a log: often named folders, files that only older steps name, and how many these are. */
type Head = { folders: readonly string[]; files: readonly string[]; gone: number }

function toLines({ folders, files, gone }: Head): string[] {
  const newest = [...new Set(files.toReversed())].slice(0, MOST_FILES).toReversed()
  return [
    ...(folders.length > 0 ? [FOLDERS + folders.slice(0, MOST_FOLDERS).join(' ')] : []),
    ...(newest.length > 0 ? [FILES + newest.join(' ')] : []),
    ...(gone > 0 ? [`(${gone} older steps)`] : []),
  ]
}

/** The heads of several logs as one; the newest folders first, the newest files last. */
function readHead(lines: readonly string[]): Head {
  const named = (sign: string) =>
    lines.filter(line => line.startsWith(sign)).map(line => line.slice(sign.length).split(' '))
  return {
    folders: distinct(named(FOLDERS).toReversed().flat()),
    files: named(FILES).flat(),
    gone: lines.reduce((sum, line) => sum + Number(OLDER.exec(line)?.[1] ?? 0), 0),
  }
}

function isHead(line: string): boolean {
  return line.startsWith(FOLDERS) || line.startsWith(FILES) || OLDER.test(line)
}

function filesIn(line: string): string[] {
  const found = line.match(FILE) ?? []
  return found.filter(({ length }) => length >= SHORTEST_FILE_CHARS && length <= PATH_CHARS)
}

/** The first log has the whole head, the others only its first line. */
function toMessages(chunks: readonly Chunk[], [header = '', ...head]: readonly string[]): Message[] {
  const messages: Message[] = []
  let first = head
  let log: string[] = []
  const flush = () => {
    if (log.length > 0) {
      messages.push(textMessage('user', [header, ...first, ...log].join('\n')))
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

/**
 * What users said, within the room for it, always from the oldest on, and never the first. What nobody types goes
 * first, but from the latest requests: the middle of pasted texts, and images. Then, but from the newest, all is head
 * and tail, and then a beginning.
 */
function makeRoom(said: readonly Message[], { whole, most, size }: Room): Message[] {
  const kept = [...said]
  let total = kept.reduce((sum, message) => sum + size(message), 0)
  const ways: { shorten: (part: Part) => Part; end: number }[] = [
    { shorten: withoutPaste, end: kept.length - Math.min(whole, LATEST_REQUESTS) },
    { shorten: part => shortenText(part, headAndTail), end: kept.length - Math.max(whole, 1) },
    { shorten: part => shortenText(part, beginning), end: kept.length - Math.max(whole, 1) },
  ]
  for (const { shorten, end } of ways) {
    for (let i = 1; i < end && total > most; i++) {
      const before = kept[i]!
      if (before.role !== 'user') continue
      kept[i] = { ...before, parts: before.parts.map(shorten) }
      total -= size(before) - size(kept[i]!)
    }
  }
  return kept
}

function withoutPaste(part: Part): Part {
  if (part.type === 'image') return { type: 'text', text: imageStub(part) }
  return shortenText(part, text => cutMiddle(text, PASTED_KEEP))
}

function shortenText(part: Part, shorten: (text: string) => string): Part {
  return part.type === 'text' ? { ...part, text: shorten(part.text) } : part
}

function headAndTail(text: string): string {
  return cutMiddle(text, SAID_KEEP)
}

function beginning(text: string): string {
  return oneLine(text, LINE_CHARS)
}

/** Nobody's words: what a client reports in the user's name. Before the first answer it tells how to work, and stays. */
export function isOldReport({ role, original, turn }: Unit): boolean {
  return role === 'user' && turn > 0 && original.type === 'text' && isReport(original.text)
}

function lineOf(unit: Unit, outcomes: Outcomes): string | undefined {
  const { original, call } = unit
  if (original.type === 'tool-call') {
    const outcome = outcomes.get(original.id)
    const intent = call?.intent ? ` (${oneLine(call.intent, LINE_CHARS)})` : ''
    const command = (call?.command ?? promptOf(unit))?.trim()
    const spelled = command ? cutEnd(command, COMMAND_CHARS) : (pathAsSpelled(unit) ?? about(unit))
    const what = headsOfPatch(original) ?? spelled
    return `- ${original.name} ${what}${outcome ? ` → ${outcome}` : ''}${intent}`
  }
  if (original.type !== 'text') return undefined
  if (isOldReport(unit)) return `- note: ${oneLine(original.text.replaceAll(TAG, ' ').trim(), LINE_CHARS)}`
  return sayingOf(unit, '- ')
}

function sayingOf({ original }: Unit, sign: string): string | undefined {
  const line = textOf(original).trim().split('\n')[0]
  return line ? sign + headOf(line, LINE_CHARS) : undefined
}

/** What the agent said before it went on with a call; what it said last before the user spoke is its answer. */
function saidOnTheWay(units: readonly Unit[]): Set<Unit> {
  const found = new Set<Unit>()
  let goesOn = false
  for (const unit of units.toReversed()) {
    if (unit.original.type === 'tool-call') goesOn = true
    else if (unit.role === 'user' && !isOldReport(unit)) goesOn = false
    else if (unit.role === 'assistant' && unit.original.type === 'text' && goesOn) found.add(unit)
  }
  return found
}

/** What another agent was told: the longest string of the call. Prompts for the next one are written like the last. */
function promptOf({ original, call }: Unit): string | undefined {
  if (original.type !== 'tool-call' || call?.kind !== 'agent') return undefined
  return stringsIn(original.input).reduce((longest, text) => (text.length > longest.length ? text : longest), '')
}

/** A patch may be about several files: its lines that name them, as they were written. */
function headsOfPatch({ input }: ToolCallPart): string | undefined {
  for (const text of stringsIn(input)) {
    const heads = headLines(text)
    if (heads) return cutEnd(heads.join('\n'), COMMAND_CHARS)
  }
  return undefined
}

/** The path of a call as its input has it, not as we compare it. */
function pathAsSpelled({ original, call }: Unit): string | undefined {
  if (original.type !== 'tool-call' || call?.path === undefined) return undefined
  const { path } = call
  const spelled = stringsIn(original.input).find(text => text.length <= PATH_CHARS && normalizePath(text) === path)
  return spelled ?? tailOf(path, PATH_CHARS)
}

/** Folders that several calls name in full, most often named first. */
function foldersIn(units: readonly Unit[]): string[] {
  const counts = new Map<string, number>()
  for (const { original } of units) {
    if (original.type !== 'tool-call') continue
    const texts = stringsIn(original.input).filter(text => text.length <= ARGUMENT_CHARS)
    const named = texts.flatMap(text => [...text.matchAll(ABSOLUTE)].map(([path]) => folderOf(path)))
    for (const folder of new Set(named)) counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  const often = [...counts].filter(
    ([folder, count]) => count >= LEAST_CALLS_OF_FOLDER && folder.length >= SHORTEST_FOLDER_CHARS,
  )
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
  return text.length <= most ? text : `${headOf(text, most)}…`
}

function oneLine(text: string, most: number): string {
  return cutEnd(text.replace(/\s+/g, ' '), most)
}
