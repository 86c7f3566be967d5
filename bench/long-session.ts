/**
 * Long sessions with a working set, for the benchmark of endless sessions: deterministic, as long as one likes.
 *
 * A user asks for something every 40 turns. For each request the agent works on a handful of files: it reads them
 * before it edits them, comes back to them, greps, runs tests, and explains itself in a few sentences. Some outputs
 * have 60,000 characters. An edit replaces text that the agent has read or written itself, most often in the file
 * that it looked at last; a file that it has not looked at for a while it usually reads again first, as agents do.
 * That is what makes evidence mean something here.
 */
import type { Message } from '../src/types.ts'
import { randomFrom } from './session.ts'

type Random = () => number
type File = { path: string; lines: string[] /** The turn in which it was last read or edited. */; seen: number }
type Step = { name: string; input: object; output: string }

const REQUEST_EVERY = 40
const FILES = 60
const SET = 5
const HUGE = 60_000
const START = 1_790_000_000_000
const STEP = 12_000
const WHILE = 8
const NEVER = Number.NEGATIVE_INFINITY

export function longSession(turns: number, seed = 1): Message[] {
  const random = randomFrom(seed)
  const files = Array.from({ length: FILES }, (_, i) => makeFile(random, i))
  const messages: Message[] = []
  let set: File[] = []
  let current: File | undefined
  for (let turn = 0; turn < turns; turn++) {
    const at = START + turn * STEP
    if (turn % REQUEST_EVERY === 0) {
      set = Array.from({ length: SET }, () => pick(random, files))
      for (const file of set) file.seen = NEVER
      current = undefined
      messages.push({
        role: 'user',
        at: at - 6000,
        parts: [{ type: 'text', text: `Please change ${words(random, 24)}.` }],
      })
    }
    const { step, file } = nextStep(random, { set, current, files, turn })
    current = file
    const id = `call_${turn}`
    messages.push({
      role: 'assistant',
      at,
      parts: [
        { type: 'text', text: `${words(random, 30)}.` },
        { type: 'tool-call', id, name: step.name, input: step.input },
      ],
    })
    messages.push({
      role: 'tool',
      at: at + 3000,
      parts: [{ type: 'tool-result', id, name: step.name, output: step.output }],
    })
  }
  messages.push({ role: 'assistant', at: START + turns * STEP, parts: [{ type: 'text', text: 'Done.' }] })
  return messages
}

type Desk = { set: readonly File[]; current: File | undefined; files: readonly File[]; turn: number }

function nextStep(random: Random, { set, current, files, turn }: Desk): { step: Step; file: File } {
  const file = current && random() < 0.7 ? current : pick(random, set)
  const choice = random()
  const away = turn - file.seen > WHILE && random() < 0.6
  if (file.seen === NEVER || (choice < 0.42 && away)) return { step: readFile(file, turn), file }
  if (choice < 0.42) return { step: editFile(random, file, turn), file }
  if (choice < 0.5) return { step: readFile(file, turn), file }
  if (choice < 0.76) return { step: runTests(random), file }
  if (choice < 0.93) return { step: grep(random, files), file }
  return { step: build(random), file }
}

function readFile(file: File, turn: number): Step {
  file.seen = turn
  return { name: 'read_file', input: { path: file.path }, output: numbered(file.lines) }
}

function editFile(random: Random, file: File, turn: number): Step {
  file.seen = turn
  const at = Math.floor(random() * (file.lines.length - 6))
  const old = file.lines.slice(at, at + 4)
  const fresh = [old[0]!, line(random), line(random), line(random), old[3]!]
  file.lines.splice(at, 4, ...fresh)
  if (file.lines.length > 260) file.lines.splice(0, 40)
  const input = { path: file.path, old_string: old.join('\n'), new_string: fresh.join('\n') }
  return { name: 'edit_file', input, output: `Edited ${file.path}: 1 replacement.` }
}

function runTests(random: Random): Step {
  const lines = Array.from({ length: 60 }, (_, i) => `ok ${i + 1} - ${words(random, 5)}`)
  return {
    name: 'bash',
    input: { command: `npm test -- ${words(random, 2)}` },
    output: `${lines.join('\n')}\nExit code: 0`,
  }
}

function build(random: Random): Step {
  const most = random() < 0.3 ? HUGE : 6000
  const lines: string[] = []
  for (let size = 0; size < most; size += lines.at(-1)!.length + 1)
    lines.push(`INFO compiled ${words(random, 6)} in ${Math.floor(random() * 900)} ms`)
  return { name: 'bash', input: { command: 'npm run build' }, output: lines.join('\n') }
}

function grep(random: Random, files: readonly File[]): Step {
  const word = pick(random, NAMES)
  const found = files.flatMap(({ path, lines }) =>
    lines.flatMap((text, i) => (text.includes(word) ? [`${path}:${i + 1}:${text}`] : [])),
  )
  return { name: 'grep', input: { pattern: word }, output: found.slice(0, 40).join('\n') || 'No matches' }
}

function makeFile(random: Random, number: number): File {
  const lines = Array.from({ length: 100 + Math.floor(random() * 100) }, () => line(random))
  return { path: `src/${pick(random, NAMES)}/${pick(random, NAMES)}-${number}.ts`, lines, seen: NEVER }
}

function numbered(lines: readonly string[]): string {
  return lines.map((text, i) => `${String(i + 1).padStart(6)}→${text}`).join('\n')
}

const NAMES = (
  'account adapter amount archive basket batch block buffer cache client config counter cursor decoder driver encoder event ' +
  'factory filter format gateway handler header index invoice ledger limit loader mapper market member meter module network ' +
  'offer option order owner parser payment policy price profile query queue range reader record region report request result ' +
  'retry role route schema scope sender server signal slot source stage store stream summary switch table target tenant timer ' +
  'token topic tracker transfer trigger unit usage vendor version visitor volume warning window worker writer zone'
).split(' ')

function line(random: Random): string {
  const [a, b, c] = [pick(random, NAMES), pick(random, NAMES), pick(random, NAMES)]
  return `  const ${a}_${Math.floor(random() * 1e6)} = await ${b}.find({ ${c}: ${a}.${b}, limit: ${Math.floor(random() * 1e4)} })`
}

function words(random: Random, count: number): string {
  return Array.from({ length: count }, () => pick(random, NAMES)).join(' ')
}

function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)]!
}
