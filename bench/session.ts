/**
 * Coding-agent sessions for benchmarks: deterministic, of any length, and shaped like real ones.
 *
 * An agent works on a small repository in memory: it reads files (often again), edits them, searches, lists, runs tests
 * and builds, writes a sentence or two, and sometimes a command prints 60,000 characters. The same seed gives the same
 * bytes; neither the clock nor system randomness is used.
 */
import type { Message, Part, ToolCallPart } from '../src/model/types.ts'

/** The messages appended for one model call: the model's message and the results of its calls. */
export type Turn = Message[]

/** `wide`: 3.9 calls a turn instead of 1.4, with shorter results: agents that call many tools at once. */
export type CodingSession = { turns: number; seed?: number; files?: number; wide?: boolean }

export function* codingSession({ turns, seed = 1, files = 40, wide = false }: CodingSession): Generator<Turn> {
  const random = randomFrom(seed)
  const repository = makeRepository(random, wide ? 2 * files : files)
  for (let turn = 0; turn < turns; turn++) {
    const messages: Message[] = []
    if (turn === 0) messages.push(said('system', 'You are a coding agent. Work in small steps and run the tests.'))
    if (turn % REQUEST_EVERY === 0) messages.push(said('user', request(random)))
    const steps = Array.from({ length: pickWeighted(random, wide ? MANY_CALLS : CALLS_PER_TURN) }, (_, i) => {
      return makeStep(random, repository, `call_${turn}_${i}`, wide ? SHORT : Infinity)
    })
    const text: Part = { type: 'text', text: sentence(random) }
    messages.push({ role: 'assistant', parts: [text, ...steps.map(step => step.call)], at: atTurn(turn) })
    for (const { call, output, isError } of steps) {
      const result = { type: 'tool-result' as const, id: call.id, name: call.name, output }
      messages.push({ role: 'tool', parts: [isError ? { ...result, isError } : result], at: atTurn(turn) + 2000 })
    }
    yield messages
  }
}

const REQUEST_EVERY = 25
const CALLS_PER_TURN: [number, number][] = [
  [1, 0.72],
  [2, 0.2],
  [3, 0.08],
]
const MANY_CALLS: [number, number][] = [
  [1, 0.1],
  [2, 0.15],
  [3, 0.2],
  [4, 0.2],
  [5, 0.15],
  [6, 0.1],
  [8, 0.1],
]
/** Characters of most results in a wide session. */
const SHORT = 1600
const HUGE = 60_000
const START = 1_790_000_000_000
const atTurn = (turn: number) => START + turn * 9000

type Random = () => number
type Repository = { path: string; lines: string[] }[]
type Step = { call: ToolCallPart; output: string; isError?: boolean }

const STEPS: [
  (random: Random, repository: Repository) => Omit<Step, 'call'> & { name: string; input: object },
  number,
][] = [
  [read, 0.34],
  [edit, 0.24],
  [runTests, 0.18],
  [grep, 0.12],
  [list, 0.05],
  [build, 0.07],
]

function makeStep(random: Random, repository: Repository, id: string, longest: number): Step {
  const { name, input, output, isError } = pickWeighted(random, STEPS)(random, repository)
  const whole = output.length <= longest || (output.length >= HUGE && random() < 0.25)
  const cut = whole ? output : output.slice(0, longest)
  return { call: { type: 'tool-call', id, name, input }, output: cut, ...(isError ? { isError } : {}) }
}

function read(random: Random, repository: Repository) {
  const file = pickFile(random, repository)
  const output = file.lines.map((line, i) => `${String(i + 1).padStart(6)}→${line}`).join('\n')
  return { name: 'read_file', input: { path: file.path }, output }
}

function edit(random: Random, repository: Repository) {
  const file = pickFile(random, repository)
  const at = Math.floor(random() * (file.lines.length - 4))
  const old = file.lines.slice(at, at + 3)
  const fresh = [...old.slice(0, 1), codeLine(random), codeLine(random), ...old.slice(2)]
  file.lines.splice(at, 3, ...fresh)
  const input = { path: file.path, old_string: old.join('\n'), new_string: fresh.join('\n'), intent: sentence(random) }
  return { name: 'edit_file', input, output: `Edited ${file.path}: 1 replacement, ${file.lines.length} lines now.` }
}

function runTests(random: Random) {
  const failing = random() < 0.3
  const lines = Array.from({ length: 20 + Math.floor(random() * 60) }, (_, i) => {
    return `${failing && i % 17 === 3 ? 'not ok' : 'ok'} ${i + 1} - ${name(random)} ${name(random)} (${Math.floor(random() * 900)} ms)`
  })
  if (failing) lines.push(...stackTrace(random))
  const output = `${lines.join('\n')}\nExit code: ${failing ? 1 : 0}`
  return { name: 'bash', input: { command: `npm test -- ${name(random)}` }, output, isError: failing }
}

function build(random: Random) {
  const length = random() < 0.4 ? HUGE : 4000
  const lines: string[] = []
  for (let size = 0; size < length; size += lines.at(-1)!.length + 1) {
    const time = new Date(START + lines.length * 137).toISOString()
    lines.push(
      `${time} INFO [${name(random)}] compiled ${name(random)}/${name(random)}.ts in ${Math.floor(random() * 400)} ms`,
    )
  }
  return { name: 'bash', input: { command: 'npm run build -- --verbose' }, output: lines.join('\n') }
}

function grep(random: Random, repository: Repository) {
  const word = name(random)
  const found = repository.flatMap(({ path, lines }) =>
    lines.flatMap((line, i) => (line.includes(word) ? [`${path}:${i + 1}:${line}`] : [])),
  )
  return { name: 'grep', input: { pattern: word, path: 'src' }, output: found.slice(0, 60).join('\n') || 'No matches' }
}

function list(_: Random, repository: Repository) {
  return { name: 'list_files', input: { path: 'src' }, output: repository.map(file => file.path).join('\n') }
}

function makeRepository(random: Random, files: number): Repository {
  return Array.from({ length: files }, (_, i) => ({
    path: `src/${name(random)}/${name(random)}-${i}.ts`,
    lines: Array.from({ length: 40 + Math.floor(random() * 200) }, () => codeLine(random)),
  }))
}

/** A few files are looked at again and again, as in real sessions. */
function pickFile(random: Random, repository: Repository): Repository[number] {
  return repository[Math.floor(random() ** 2 * repository.length)]!
}

const NAMES = (
  'account adapter amount archive array basket batch block buffer builder cache caller client config context counter ' +
  'cursor customer decoder delta driver encoder entry event export factory field filter folder format frame gateway ' +
  'handler header index invoice job key label ledger limit line list loader lock manager mapper market match member merge ' +
  'message meter model module network node number offer option order owner page parser part path payment period plan ' +
  'policy price printer product profile query queue range reader record region report request result retry role route ' +
  'rule schema scope search section segment sender server session shape signal slot snapshot source span stage state ' +
  'status step store stream string summary switch table target task template tenant timer token topic total trace ' +
  'tracker transfer tree trigger unit update usage user validator value vendor version view visitor volume warning window worker writer zone'
).split(' ')

const name = (random: Random) => NAMES[Math.floor(random() * NAMES.length)]!
const upper = (word: string) => word[0]!.toUpperCase() + word.slice(1)

function codeLine(random: Random): string {
  const [a, b, c] = [name(random), name(random), name(random)]
  const n = Math.floor(random() * 1000)
  const forms = [
    `  const ${a}${upper(b)} = await ${c}.find${upper(a)}({ id: ${b}.id, limit: ${n} })`,
    `  if (${a}.${b} === undefined) throw new Error('${a} ${b} is missing in ${c} ${n}')`,
    `export function ${a}${upper(b)}(${c}: ${upper(c)}): ${upper(a)} {`,
    `  return ${a}.${b}s.filter(${c} => ${c}.${a}Count > ${n}).map(${c} => ${c}.${b})`,
    `    ${a}.set('${b}-${n}', ${c}?.${b} ?? null)`,
    `  // The ${a} is kept until the ${b} of the ${c} has been written.`,
    `import { ${upper(a)}, ${upper(b)} } from './${c}/${a}-${b}.ts'`,
    `}`,
    '',
  ]
  return forms[Math.floor(random() * forms.length)]!
}

function stackTrace(random: Random): string[] {
  const frames = Array.from({ length: 12 }, () => {
    const [a, b] = [name(random), name(random)]
    return `    at ${a}${upper(b)} (file:///repo/src/${a}/${b}.ts:${Math.floor(random() * 300)}:${Math.floor(random() * 80)})`
  })
  return [`AssertionError: expected ${name(random)} to equal ${name(random)}`, ...frames]
}

function sentence(random: Random): string {
  return `Check how the ${name(random)} of the ${name(random)} reaches the ${name(random)}, then change ${name(random)}${upper(name(random))}.`
}

function request(random: Random): string {
  return `Please fix the ${name(random)} ${name(random)}: it loses the ${name(random)} when the ${name(random)} is empty. Keep the tests green.`
}

function said(role: 'system' | 'user', text: string): Message {
  return { role, parts: [{ type: 'text', text }] }
}

function pickWeighted<T>(random: Random, choices: readonly [T, number][]): T {
  let left = random()
  for (const [value, weight] of choices) if ((left -= weight) < 0) return value
  return choices.at(-1)![0]
}

/** Small, fast and good enough: mulberry32. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
