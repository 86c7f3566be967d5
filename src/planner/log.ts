/**
 * The log: the oldest steps become one line each, and users' words stay word for word. The log keeps an endless session
 * inside its window. Clearing results alone does not, because calls and text grow too. A log is a range edit like any
 * other: recall finds the originals, and undo brings them back.
 *
 * Agents mostly reuse commands and paths of old steps. So a line has the command word for word and the path as it was
 * spelled, and folders that many calls name in full are listed once. Remarks of the agent while it worked are lines
 * with another sign, and reports of a client in the user's name are lines too. Logs follow one another. When there are
 * many lines, one log replaces all of them: it keeps the newest lines, drops the remarks first, and lists the files
 * that only dropped lines name. Users' words have a bound: past it, pasted texts are shortened first, and then the
 * oldest messages except the first.
 */

import { headLines } from '../calls/patches.ts'
import { isReport } from '../calls/requests.ts'
import { imageStub, stringsIn, textOf } from '../model/leaves.ts'
import { addAll } from '../model/lists.ts'
import { normalizePath } from '../model/paths.ts'
import { headOf, tailOf } from '../model/text.ts'
import type { Message, Part, ToolCallPart } from '../model/types.ts'
import { type PlanContext, textMessage } from '../policies/policy.ts'
import { isBlankPart } from '../view/legality.ts'
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

/** The first line of a log. It names the tool that finds the originals, if there is one. */
function headerWith(recallWith: RecallWith = 'recall'): string {
  const back = recallWith === false ? '' : ` ${recallWith} finds the originals`
  return `[Earlier steps, folded: a record, not a request.${back}]`
}

const HEADER = /^\[Earlier steps, folded: a record, not a request\.[^\n]*\]\n/

const OLDER = /^\((\d+) older steps\)$/
const FOLDERS = 'Folders: '
const FILES = 'Files: '
/** The sign of a remark that the agent made while it worked: the least useful line once the work is done. */
const ON_THE_WAY = '> '
/** The beginning of a log line. A command may span several lines, but none of them begins like this. */
const NEXT_LINE = /\n(?=- |> |Folders: |Files: |\(\d+ older steps\)$)/m
const ANY_NEXT_LINE = new RegExp(NEXT_LINE, 'gm')
const ABSOLUTE = /(?<![\w.~:/\\-])(?:[A-Za-z]:[\\/]+|\/+)[\w.@+-]+(?:[\\/]+[\w.@+-]+)+/g
/** A path of a file with at least one folder, absolute or relative. */
const FILE = /(?<![\w.~:/\\@+-])(?:~?[\\/]+|[A-Za-z]:[\\/]+)?(?:[\w.@+-]+[\\/]+)+[\w.@+-]+\.\w{1,5}\b/g
const TAG = /<\/?[a-z][\w-]*>/gi

/** The outcome of each call in a word or two, by the call's id. */
export type Outcomes = ReadonlyMap<string, string>

/** The messages that replace some units: users' words whole and in place, and a log of the other parts between them. */
export function logMessages(units: readonly Unit[], outcomes: Outcomes, recallWith?: RecallWith): Message[] {
  const chunks: Chunk[] = []
  const onTheWay = saidOnTheWay(units)
  for (const unit of units) {
    const { original, role } = unit
    if (isBlankPart(original)) continue
    if ((role === 'user' || role === 'system') && !isOldReport(unit)) chunks.push({ said: { role, parts: [original] } })
    else {
      const line = onTheWay.has(unit) ? sayingOf(unit, ON_THE_WAY) : lineOf(unit, outcomes)
      if (line) chunks.push({ lines: [line.replaceAll(ANY_NEXT_LINE, '\n ')] })
    }
  }
  return toMessages(chunks, [headerWith(recallWith), ...toLines({ folders: foldersIn(units), files: [], gone: 0 })])
}

/**
 * How many of the newest user messages stay whole, how much a log may hold of all of them, and how that is measured.
 */
export type Room = {
  whole: number
  most: number
  size: (message: Message) => number
  recallWith?: RecallWith
}

/** Merges several logs into one: their newest lines, and users' words within the room for them. */
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
  const named = [...new Set([...head.files, ...left.flatMap(filesIn)].toReversed())].toReversed()
  const files = named.filter(file => !kept.includes(file))
  const lead = toLines({ ...head, files, gone: head.gone + left.length })
  return toMessages(shorter, [headerWith(room.recallWith), ...lead])
}

/**
 * The lines to drop: first the agent's remarks, then lines whose subject a later line repeats, then the oldest lines.
 */
function leastWanted(lines: readonly string[], count: number): Set<number> {
  const subjects = lines.map(subjectOf)
  const last = new Map(subjects.map((subject, i) => [subject, i]))
  const ranks = lines.map((line, i) => (line.startsWith(ON_THE_WAY) ? 0 : last.get(subjects[i]!) === i ? 2 : 1))
  const order: number[][] = [[], [], []]
  for (const [i, rank] of ranks.entries()) order[rank]!.push(i)
  return new Set(order.flat().slice(0, Math.max(0, count)))
}

/** The path or command of a line, without the tool and the outcome. */
function subjectOf(line: string): string {
  const arrow = line.indexOf(' → ', line.lastIndexOf('\n') + 1)
  return line.slice(0, arrow < 0 ? undefined : arrow).replace(/^- \S+ /, '')
}

/** The number of steps in the logs among some messages. */
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

/**
 * The lines before the first step of a log: frequent folders, files that only dropped steps name, and the number of
 * dropped steps.
 */
type Head = { folders: readonly string[]; files: readonly string[]; gone: number }

function toLines({ folders, files, gone }: Head): string[] {
  const newest = files.slice(-MOST_FILES)
  return [
    ...(folders.length > 0 ? [FOLDERS + folders.slice(0, MOST_FOLDERS).join(' ')] : []),
    ...(newest.length > 0 ? [FILES + newest.join(' ')] : []),
    ...(gone > 0 ? [`(${gone} older steps)`] : []),
  ]
}

/** Merges the heads of several logs: the newest folders first, the newest files last. */
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
    if ('lines' in chunk) addAll(log, chunk.lines)
    else {
      flush()
      messages.push(chunk.said)
    }
  }
  flush()
  return messages
}

/**
 * Shortens users' messages until they fit the room, the oldest first; the first message always stays whole. First it
 * cuts the middle of pasted texts and replaces images, except in the latest requests. Then it cuts each message except
 * the newest ones to head and tail, and then to its beginning.
 */
function makeRoom(said: readonly Message[], { whole, most, size }: Room): Message[] {
  const kept = [...said]
  let total = kept.reduce((sum, message) => sum + size(message), 0)
  const ways: { shorten: (part: Part) => Part; end: number }[] = [
    { shorten: withoutPaste, end: kept.length - Math.min(whole, LATEST_REQUESTS) },
    { shorten: part => shortenText(part, headAndTail), end: kept.length - Math.max(whole, 1) },
    { shorten: part => shortenText(part, oneLine), end: kept.length - Math.max(whole, 1) },
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

/**
 * Whether a client reported this in the user's name, so that the user did not write it. Reports before the first answer
 * give instructions and stay whole.
 */
export function isOldReport({ role, original, turn }: Unit): boolean {
  return role === 'user' && turn > 0 && original.type === 'text' && isReport(original.text)
}

function lineOf(unit: Unit, outcomes: Outcomes): string | undefined {
  const { original, call } = unit
  if (original.type === 'tool-call') {
    const outcome = outcomes.get(original.id)
    const intent = call?.intent ? ` (${oneLine(call.intent)})` : ''
    const command = (call?.command ?? promptOf(unit))?.trim()
    const spelled = command ? cutEnd(command, COMMAND_CHARS) : (pathAsSpelled(unit) ?? about(unit))
    const what = headsOfPatch(original) ?? spelled
    return `- ${original.name} ${what}${outcome ? ` → ${outcome}` : ''}${intent}`
  }
  if (original.type !== 'text') return undefined
  if (isOldReport(unit)) return `- note: ${oneLine(original.text.replaceAll(TAG, ' ').trim())}`
  return sayingOf(unit, '- ')
}

function sayingOf({ original }: Unit, sign: string): string | undefined {
  const line = textOf(original).trim().split('\n')[0]
  return line ? sign + headOf(line, LINE_CHARS) : undefined
}

/** The agent's texts that a later call of the same turn follows. The last text before the user speaks is its answer. */
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

/** The prompt for a subagent: the longest string of the call. Agents write the next prompt like the last one. */
function promptOf({ original, call }: Unit): string | undefined {
  if (original.type !== 'tool-call' || call?.kind !== 'agent') return undefined
  return stringsIn(original.input).reduce((longest, text) => (text.length > longest.length ? text : longest), '')
}

/** The lines of a patch that name its files, as written: a patch may change several. */
function headsOfPatch({ input }: ToolCallPart): string | undefined {
  for (const text of stringsIn(input)) {
    const heads = headLines(text)
    if (heads) return cutEnd(heads.join('\n'), COMMAND_CHARS)
  }
  return undefined
}

/** The path as the input of a call spells it, not in the normalized form that we compare. */
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

/** Drops folders that are the beginning of another folder in the list. */
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

function oneLine(text: string): string {
  return cutEnd(text.replace(/\s+/g, ' '), LINE_CHARS)
}
