/**
 * Records the sample session: our agent with its default policy, on a small project in a temporary folder, with a
 * scripted model behind a real HTTP port. The tools really run and the engine really edits. Only the words of the user
 * and the model (sample-script.ts) and the project (sample-project.ts) are written by hand.
 *
 * node scripts/record-sample.ts writes sample/session.jsonl; with --check it fails if that would change the file
 *
 * The bytes are the same on every machine: the clock belongs to the script, and the ledger has /project in place of the
 * temporary folder.
 */
import { hash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Agent, openAgent } from '../src/agent/agent.ts'
import { openModel } from '../src/agent/model.ts'
import { findPersona } from '../src/agent/personas.ts'
import { fromAnthropic } from '../src/formats/adapters/anthropic.ts'
import { Memory } from '../src/memory/memory.ts'
import { SqliteMemory } from '../src/memory/sqlite.ts'
import { MEMORY } from '../src/model/defaults.ts'
import { type Counter, loadCounter, messagesTokens } from '../src/model/tokens.ts'
import type { Usage } from '../src/model/types.ts'
import { type Model, modelInfo } from '../src/providers/models.ts'
import { openPalimpsest, type Palimpsest } from '../src/session/engine.ts'
import { type Recording, SAMPLE, SAMPLE_FILE, toLines } from '../src/session/sample.ts'
import type { Session } from '../src/session/session.ts'
import { type Received, startUpstream } from '../test/upstream.ts'
import { writeProject } from './sample-project.ts'
import { type Step, TURNS } from './sample-script.ts'

const MODEL = 'claude-sonnet-4-5'
const USER = 'local'
const START = Date.UTC(2026, 4, 25, 9, 30)
const SECOND = 1000
const MINUTE = 60 * SECOND

/** The clock of the session; it only moves when the script moves it. */
class Clock {
  now = START
  pass(ms: number): void {
    this.now += ms
  }
}

/** The lines of sample/session.jsonl. */
export async function recordSample(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-sample-'))
  const root = join(folder, 'project')
  await writeProject(root)
  const clock = new Clock()
  const pal = await openPalimpsest({ home: MEMORY, clock: () => clock.now })
  const memory = new Memory(new SqliteMemory(MEMORY), { clock: () => clock.now })
  const provider = new Provider(clock, await loadCounter(), modelInfo(MODEL))
  const upstream = await startUpstream(request => provider.answer(renamed(request, folder)))
  try {
    const agent = await openAgent(SAMPLE, {
      pal: speakingOfProject(pal, folder),
      memory,
      user: USER,
      root,
      workspace: join(folder, 'workspace'),
      persona: await findPersona(folder, 'default'),
      model: await openModel({ provider: 'anthropic', name: MODEL, baseUrl: `${upstream.url}/v1`, key: 'none' }),
      allow: { all: true },
      env: { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` },
      clock: () => clock.now,
    })
    await play(agent, provider, clock)
    return toLines(await recordingOf(agent.session, pal, memory))
  } finally {
    await upstream.close()
    await pal.close()
    await memory.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The three requests, and the user's edits between them. */
async function play(agent: Agent, provider: Provider, clock: Clock): Promise<void> {
  const [sunday, csv, build] = TURNS
  const { session } = agent
  const ask = async ({ request, pause, steps }: (typeof TURNS)[number]) => {
    clock.pass(pause * MINUTE)
    await runTurn(agent, request, { provider, clock, steps })
  }
  await ask(sunday)
  clock.pass(40 * SECOND)
  await session.pin(session.fold.lastUser, { by: 'user' })
  await ask(csv)
  clock.pass(90 * SECOND)
  await undoPointer(session)
  await ask(build)
}

/** The user undoes the pointer, so that the second read of a file is shown in full. */
async function undoPointer(session: Session): Promise<void> {
  const pointer = session.edits().find(({ edit }) => edit.by === 'policy:thrifty')
  if (!pointer) throw new Error('Nothing was shortened so far: the script and the engine have come apart.')
  await session.undo(pointer.edit.id, 'user')
}

type TurnOptions = { provider: Provider; clock: Clock; steps: readonly Step[] }

async function runTurn(agent: Agent, request: string, { provider, clock, steps }: TurnOptions): Promise<void> {
  provider.steps = [...steps]
  const left = steps.flatMap(({ call, seconds = 1 }) => (call ? seconds : []))
  for await (const event of agent.run(request)) {
    if (event.type === 'call') clock.pass((left.shift() ?? 0) * SECOND)
    if (event.type === 'done' && event.reason !== 'answered') throw new Error(`${event.reason}: ${event.message}`)
  }
  if (provider.steps.length > 0) throw new Error(`The turn ended with ${provider.steps.length} steps left.`)
}

async function recordingOf(session: Session, pal: Palimpsest, memory: Memory): Promise<Recording> {
  const info = await pal.find(session.id)
  if (!info) throw new Error('The session is gone.')
  const { policy, model } = info
  // The recording leaves out the folder, which is a temporary one.
  const { project: _, ...about } = info.about
  const proposals = await memory.proposals(USER, { state: 'open' })
  return {
    policy,
    model,
    about,
    proposals: proposals.map(({ label, title, body, kind, agentId, reasoning, confidence, entries }) => ({
      label,
      title,
      body,
      kind: kind === 'new' ? ('new' as const) : ('edit' as const),
      agentId,
      reasoning,
      confidence,
      entries,
    })),
    events: (await session.events()).map(({ at, event }) => ({ at, event })),
  }
}

/** Folders that the agent works in, and their names in the ledger. */
const NAMES = ['project', 'workspace']

/**
 * Paths are renamed on their way into the ledger. The agent compares its own prompt with the ledger's, so they are
 * renamed back there.
 */
function speakingOfProject(pal: Palimpsest, folder: string): Palimpsest {
  const open = pal.session.bind(pal)
  pal.session = async (...args) => {
    const session = await open(...args)
    const [append, view] = [session.append.bind(session), session.view.bind(session)]
    session.append = (...messages) => append(...renamed(messages, folder))
    session.view = async options => {
      const shown = await view(options)
      const [system, ...rest] = shown.messages
      if (system?.role !== 'system') return shown
      return Object.assign(shown, {
        messages: [NAMES.reduce((message, name) => rename(message, `/${name}`, join(folder, name)), system), ...rest],
      })
    }
    return session
  }
  const withOptions = pal.with.bind(pal)
  pal.with = options => speakingOfProject(withOptions(options), folder)
  return pal
}

function renamed<T>(value: T, folder: string): T {
  return NAMES.reduce((text, name) => rename(text, join(folder, name), `/${name}`), value)
}

function rename<T>(value: T, from: string, to: string): T {
  return JSON.parse(JSON.stringify(value).replaceAll(from, to))
}

/** The model: answers as the script says, and counts and caches tokens as Anthropic documents it. */
class Provider {
  steps: Step[] = []
  readonly #clock: Clock
  readonly #count: Counter
  readonly #model: Model
  /** Until when a prefix of a request is cached. */
  readonly #known = new Map<string, number>()

  constructor(clock: Clock, count: Counter, model: Model) {
    this.#clock = clock
    this.#count = count
    this.#model = model
  }

  answer({ json }: Received) {
    const step = this.steps.shift()
    if (!step) throw new Error('The model is asked more often than the script says.')
    const call = typeof step.call === 'function' ? step.call(idsIn(json.messages)) : step.call
    const output = this.#count(step.say) + (call ? this.#count(JSON.stringify(call.input)) + 30 : 0)
    const usage = { ...this.#usage(json), output }
    this.#clock.pass(2 * SECOND + output * 18)
    return { ...(step.say === '' ? {} : { text: step.say }), ...(call ? { calls: [call] } : {}), usage }
  }

  /** The prefix of an earlier request that is unchanged and not too old is read from the cache; the rest is written. */
  #usage(request: Received['json']): Usage {
    const { now } = this.#clock
    const prefixes = prefixesOf(request)
    const read = prefixes.findLastIndex(prefix => (this.#known.get(prefix) ?? 0) >= now)
    for (const prefix of [prefixes[0]!, prefixes.at(-1)!]) this.#known.set(prefix, now + this.#model.ttl)
    const { system, tools, messages } = request
    const front = this.#count(JSON.stringify(tools)) + this.#count(JSON.stringify(system))
    const tokensOf = (count: number) =>
      Math.round((front + messagesTokens(fromAnthropic(messages.slice(0, count)), this.#count)) * this.#model.scale)
    const cacheRead = read < 0 ? 0 : tokensOf(read)
    return { input: 0, cacheRead, cacheWrite: tokensOf(messages.length) - cacheRead }
  }
}

/** A name for each front part of a request: before the first message, after it, after the second, … */
function prefixesOf({ system, tools, messages }: Received['json']): string[] {
  const pieces = [{ system, tools }, ...messages].map(piece => JSON.stringify(piece, withoutMarks))
  let name = ''
  return pieces.map(piece => (name = hash('sha256', name + piece)))
}

function withoutMarks(key: string, value: unknown): unknown {
  return key === 'cache_control' ? undefined : value
}

function idsIn(messages: unknown): string[] {
  return [...JSON.stringify(messages).matchAll(/\[id ([0-9a-f]{8})\]/g)].map(match => match[1]!)
}

if (import.meta.main) {
  const lines = await recordSample()
  if (!process.argv.includes('--check')) await writeFile(SAMPLE_FILE, lines)
  else if ((await readFile(SAMPLE_FILE, 'utf8')) !== lines) {
    console.error('sample/session.jsonl is not what the script makes: run node scripts/record-sample.ts')
    process.exitCode = 1
  }
}
