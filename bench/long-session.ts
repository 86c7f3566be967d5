/**
 * Long sessions with a working set, for the benchmark of endless sessions: deterministic, and of any length.
 *
 * A task takes 40 turns and works on a handful of files: the agent reads stretches of them before it edits there, comes
 * back to them, searches, runs commands (every fourth one again), notes its plan, and writes a few words. An edit
 * replaces text that the agent has read or written, most often in the file that it looked at last; it usually reads a
 * file again first if it has not looked at it for a while. This makes evidence meaningful here. Frequencies, the
 * lengths of texts, inputs and outputs, the share of user messages and of cold caches are taken from recordings of real
 * agents: `node bench/shape.ts DIR` prints both.
 */
import type { Message } from '../src/model/types.ts'
import { randomFrom } from './session.ts'

export type LongSession = {
  seed?: number
  /** Other shapes: factors for the lengths of texts and inputs, and of tool results, relative to the recordings. */
  skeleton?: number
  results?: number
}

type Random = () => number
type File = {
  path: string
  lines: string[]
  /** The turn in which it was last read or edited, and the lines that were in sight then. */
  seen: number
  from: number
  to: number
}
type Step = { name: string; input: object; output: string }

/** Tokens at these shares of all cases, in 47 recorded sessions of coding agents. Between them: even by ratio. */
const SHARES = [0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1]
const SIZES = {
  text: [0, 0, 0, 8, 33, 91, 229, 712, 2019],
  request: [2, 5, 10, 18, 42, 117, 575, 1580, 3000],
  note: [10, 29, 39, 43, 1410, 2400, 2800, 4300, 5300],
  command: [8, 19, 23, 39, 63, 144, 246, 528, 983],
  plan: [5, 11, 26, 59, 148, 376, 503, 1186, 2092],
  edit: [40, 79, 119, 214, 402, 825, 1220, 3153, 9393],
  write: [40, 68, 140, 375, 825, 2433, 4333, 16_698, 16_698],
  ran: [3, 20, 36, 98, 419, 1575, 2970, 9854, 15_765],
  read: [30, 135, 260, 520, 1207, 2300, 3365, 10_284, 14_413],
  found: [3, 13, 35, 99, 336, 917, 1953, 8507, 11_353],
} as const
/** For each call: requests, and notes of the client in the user's name; for each request: pauses of more than five minutes. */
const REQUESTS = 0.075
const NOTES = 0.039
const PAUSES = 0.22
const TASK = 40
const FILES = 60
const SET = 5
const START = 1_790_000_000_000
const STEP = 12_000
const PAUSE = 1_200_000
const WHILE = 8
const NEVER = Number.NEGATIVE_INFINITY
/** Tokens of a line of code, of the same line with its number, of a line of command output, and of a search match. */
const LINE = 14
const NUMBERED = 15
const RAN = 14
const MATCH = 32
const LONGEST_FILE = 1600

export function longSession(turns: number, { seed = 1, skeleton = 1, results = 1 }: LongSession = {}): Message[] {
  const random = randomFrom(seed)
  const size = (of: keyof typeof SIZES) => draw(random, SIZES[of]) * (isResult(of) ? results : skeleton)
  const desk: Desk = { random, size, files: [], set: [], current: undefined, commands: [], turn: 0 }
  desk.files = Array.from({ length: FILES }, () => makeFile(desk, 40 + Math.floor(1200 * random() ** 2)))
  const messages: Message[] = []
  let at = START
  for (let turn = 0; turn < turns; turn++) {
    desk.turn = turn
    if (turn % TASK === 0) startTask(desk)
    if (turn % TASK === 0 || random() < REQUESTS - 1 / TASK) {
      if (random() < PAUSES) at += PAUSE
      messages.push(fromUser(`Please change ${words(random, draw(random, SIZES.request))}.`, at))
    }
    if (random() < NOTES)
      messages.push(fromUser(`<system-reminder>${words(random, draw(random, SIZES.note))}</system-reminder>`, at))
    const { name, input, output } = nextStep(desk)
    const id = `call_${turn}`
    const said = words(random, size('text'))
    const call = { type: 'tool-call' as const, id, name, input }
    messages.push({ role: 'assistant', at, parts: said ? [{ type: 'text', text: `${said}.` }, call] : [call] })
    messages.push({ role: 'tool', at: at + 3000, parts: [{ type: 'tool-result', id, name, output }] })
    at += STEP
  }
  messages.push({ role: 'assistant', at, parts: [{ type: 'text', text: 'Done.' }] })
  return messages
}

type Desk = {
  random: Random
  size: (of: keyof typeof SIZES) => number
  files: File[]
  set: File[]
  current: File | undefined
  commands: string[]
  turn: number
}

function isResult(of: keyof typeof SIZES): boolean {
  return of === 'ran' || of === 'read' || of === 'found'
}

function fromUser(text: string, at: number): Message {
  return { role: 'user', at: at - 6000, parts: [{ type: 'text', text }] }
}

/** Another handful of files, of which the agent knows nothing yet. */
function startTask(desk: Desk): void {
  desk.set = Array.from({ length: SET }, () => pick(desk.random, desk.files))
  for (const file of desk.set) file.seen = NEVER
  desk.current = undefined
  desk.commands = []
}

function nextStep(desk: Desk): Step {
  const { random, turn } = desk
  const file = desk.current && random() < 0.7 ? desk.current : pick(random, desk.set)
  const choice = random()
  const away = turn - file.seen > WHILE && random() < 0.6
  if (choice < 0.41) {
    desk.current = file
    return file.seen === NEVER || away || choice >= 0.22 ? readFile(desk, file) : editFile(desk, file)
  }
  if (choice < 0.425) return writeFile(desk)
  if (choice < 0.7) return run(desk)
  return choice < 0.905 ? search(desk) : plan(desk)
}

function readFile({ turn, random, size }: Desk, file: File): Step {
  const count = Math.min(file.lines.length, Math.ceil(size('read') / NUMBERED))
  file.from = Math.floor(random() * (file.lines.length - count + 1))
  file.to = file.from + count
  file.seen = turn
  const shown = file.lines.slice(file.from, file.to)
  const output = shown.map((text, i) => `${String(file.from + i + 1).padStart(6)}→${text}`).join('\n')
  return { name: 'read_file', input: { path: file.path, offset: file.from + 1, limit: count }, output }
}

/** Half of an edit's size is the text that it replaces, if so much is in sight; first and last line stay. */
function editFile({ turn, random, size }: Desk, file: File): Step {
  file.seen = turn
  const lines = Math.max(2, Math.round(size('edit') / LINE))
  const count = Math.max(1, Math.min(Math.floor(lines / 2), file.to - file.from))
  const at = file.from + Math.floor(random() * (file.to - file.from - count + 1))
  const old = file.lines.slice(at, at + count)
  const fresh = [old[0]!, ...codeLines(random, Math.max(1, lines - count - 2)), ...(count > 1 ? [old.at(-1)!] : [])]
  file.lines.splice(at, count, ...fresh)
  file.to += fresh.length - count
  if (file.lines.length > LONGEST_FILE) {
    file.lines = file.lines.slice(file.from, file.to).slice(0, LONGEST_FILE / 2)
    Object.assign(file, { from: 0, to: file.lines.length })
  }
  const input = { path: file.path, old_string: old.join('\n'), new_string: fresh.join('\n') }
  return { name: 'edit_file', input, output: `The file ${file.path} has been changed: 1 replacement.` }
}

function writeFile(desk: Desk): Step {
  const file = makeFile(desk, Math.ceil(desk.size('write') / LINE))
  Object.assign(file, { seen: desk.turn, to: file.lines.length })
  desk.files[Math.floor(desk.random() * desk.files.length)] = file
  desk.set[Math.floor(desk.random() * SET)] = file
  desk.current = file
  const input = { path: file.path, content: file.lines.join('\n') }
  return { name: 'write_file', input, output: `The file ${file.path} has been written.` }
}

function run({ random, size, set, commands }: Desk): Step {
  const again = commands.length > 0 && random() < 0.25
  const { path } = pick(random, set)
  const command = again
    ? pick(random, commands)
    : `npm test -- ${path.slice(ROOT.length + 1)} ${words(random, size('command') - 17)}`
  commands.push(command)
  const count = Math.max(1, Math.round(size('ran') / RAN))
  const lines = Array.from(
    { length: count },
    (_, i) => `ok ${i + 1} - ${words(random, 6)} ${Math.floor(random() * 900)} ms`,
  )
  return { name: 'bash', input: { command }, output: lines.join('\n') }
}

function search({ random, size, files }: Desk): Step {
  const word = pick(random, NAMES)
  const most = Math.max(1, Math.round(size('found') / MATCH))
  const found: string[] = []
  for (const { path, lines } of files) {
    for (const [i, text] of lines.entries())
      if (found.length < most && text.includes(word)) found.push(`${path}:${i + 1}:${text}`)
    if (found.length >= most) break
  }
  const input = {
    pattern: `${word}.*${pick(random, NAMES)}`,
    path: `${ROOT}/packages/${pick(random, NAMES)}`,
    output_mode: 'content',
    '-n': true,
  }
  return { name: 'grep', input, output: found.join('\n') || 'No matches' }
}

function plan({ random, size }: Desk): Step {
  return {
    name: 'update_plan',
    input: { plan: words(random, size('plan')) },
    output: `Plan updated: ${words(random, 80)}.`,
  }
}

/** Folders have under 40 characters, the length from which a passage counts; files have more. */
const ROOT = '/home/dev/shop'

function makeFile({ random, files }: Desk, lines: number): File {
  const path = `${ROOT}/packages/${pick(random, NAMES)}/src/${pick(random, NAMES)}-${files.length}${Math.floor(random() * 900)}.ts`
  return { path, lines: codeLines(random, lines), seen: NEVER, from: 0, to: 0 }
}

const NAMES = (
  'account adapter amount archive basket batch block buffer cache client config counter cursor decoder driver encoder event ' +
  'factory filter format gateway handler header index invoice ledger limit loader mapper market member meter module network ' +
  'offer option order owner parser payment policy price profile query queue range reader record region report request result ' +
  'retry role route schema scope sender server signal slot source stage store stream summary switch table target tenant timer ' +
  'token topic tracker transfer trigger unit usage vendor version visitor volume warning window worker writer zone'
).split(' ')

function codeLines(random: Random, count: number): string[] {
  return Array.from({ length: count }, () => {
    const [a, b, c] = [pick(random, NAMES), pick(random, NAMES), pick(random, NAMES)]
    return `  const ${a}${Math.floor(random() * 1e4)} = ${b}.find(${c}, ${Math.floor(random() * 1e3)})`
  })
}

function words(random: Random, count: number): string {
  return Array.from({ length: Math.max(0, Math.round(count)) }, () => pick(random, NAMES)).join(' ')
}

function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)]!
}

function draw(random: Random, sizes: readonly number[]): number {
  const share = random()
  const above = SHARES.findIndex(mark => mark > share)
  const [low, high] = [Math.log1p(sizes[above - 1]!), Math.log1p(sizes[above]!)]
  const between = (share - SHARES[above - 1]!) / (SHARES[above]! - SHARES[above - 1]!)
  return Math.expm1(low + between * (high - low))
}
