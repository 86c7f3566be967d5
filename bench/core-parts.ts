/**
 * The parts of the core benchmark. core.ts runs each in its own process; each returns plain numbers: milliseconds,
 * rates, counts. A part prepares its data before its clock starts.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { textOf } from '../src/model/leaves.ts'
import type { Session } from '../src/session/session.ts'
import { codingSession, type Turn } from './session.ts'

export type Numbers = Record<string, number>

const REPLAYED = 1600
const LONG = 10_000
const WINDOW = 200
/** The fewest turns that a fold leaves in view. */
const IN_VIEW = 100
const APPENDED = 4000

/**
 * Appends one turn and asks for the view: milliseconds of processor time, around turn 100 and around the last one. The
 * time of the disk is left out, because others may use the machine. With `fold`, all but the last turns are folded now
 * and then, so that they fit the window of the model. Without it everything stays in view, 24,000 messages in the end.
 */
async function perCall(home: string, { policy = 'none', fold = true, turns = LONG } = {}): Promise<Numbers> {
  const { openPalimpsest } = await import('../src/session/engine.ts')
  const pal = await openPalimpsest({ home, models: { endless: { maxBytes: Infinity } } })
  const options = { policy, model: fold ? 'claude-sonnet-4-5' : 'endless' }
  const warm = await pal.session('warm-up', options)
  for (const turn of codingSession({ turns: 400, seed: 2 })) await callOnce(warm, turn)
  const session = await pal.session('long', options)
  const times: number[] = []
  let folded = 0
  for (const turn of codingSession({ turns })) {
    if (fold && turn.some(({ role }) => role === 'user') && times.length % (2 * IN_VIEW) === 0 && times.length > 0) {
      folded = await foldOld(session, folded)
    }
    const { cpu } = await cpuOf(() => callOnce(session, turn))
    times.push(cpu!)
  }
  await pal.close()
  const early = times.slice(100 - WINDOW / 4, 100 + (3 * WINDOW) / 4)
  const late = times.slice(-WINDOW)
  return { early: median(early), late: median(late), ratio: median(late) / median(early), p99: quantile(late, 0.99) }
}

/** Folds everything before a request some turns back; returns the last entry of the fold. */
async function foldOld(session: Session, from: number): Promise<number> {
  const { entries } = session.fold
  const to = entries.findLastIndex(({ role }, i) => role === 'user' && i < entries.length - 2 * IN_VIEW) - 1
  if (to <= from) return from
  const messages = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: `Up to entry ${to}.` }] }]
  await session.apply([{ target: { type: 'range', from: 0, to }, replacement: { messages }, why: 'fold' }])
  return to
}

async function callOnce(session: Session, turn: Turn): Promise<void> {
  await session.append(...turn)
  await session.view()
}

async function replayOurs({ wide = true, counting = false, policy = 'none' } = {}): Promise<Numbers> {
  const { openPalimpsest } = await import('../src/session/engine.ts')
  const { loadCounter } = await import('../src/model/tokens.ts')
  const turns = [...codingSession({ turns: REPLAYED, wide })]
  await loadCounter()
  const pal = await openPalimpsest({ home: ':memory:' })
  const session = await pal.session('replay', { policy })
  return cpuOf(async () => {
    for (const turn of turns) {
      await session.append(...turn)
      const view = await session.view()
      if (counting) void view.tokens
    }
  })
}

/** As users run it: on every turn, on the list of messages that the agent keeps, with its own counter. */
async function replayLangChain(wide: boolean): Promise<Numbers> {
  const { ClearToolUsesEdit, countTokensApproximately } = await import('langchain')
  const { toLangChain } = await import('../src/formats/adapters/langchain.ts')
  const turns = [...codingSession({ turns: REPLAYED, wide })].map(turn => toLangChain(turn))
  const edit = new ClearToolUsesEdit()
  const messages: (typeof turns)[number] = []
  return cpuOf(async () => {
    for (const turn of turns) {
      messages.push(...turn)
      await edit.apply({ messages, countTokens: list => countTokensApproximately(list) } as Parameters<
        typeof edit.apply
      >[0])
    }
  })
}

async function replayAiSdk(wide: boolean): Promise<Numbers> {
  const { pruneMessages } = await import('ai')
  const { toAiSdk } = await import('../src/formats/adapters/ai-sdk.ts')
  const turns = [...codingSession({ turns: REPLAYED, wide })].map(turn => toAiSdk(turn))
  const messages: (typeof turns)[number] = []
  return cpuOf(async () => {
    for (const turn of turns) {
      messages.push(...turn)
      pruneMessages({ messages, toolCalls: 'before-last-3-messages', reasoning: 'before-last-message' })
    }
  })
}

/** One message of 5,000 characters per append, durable: ours, and bare inserts of the same rows. */
async function appends(sync: 'full' | 'normal'): Promise<Numbers> {
  const { openPalimpsest } = await import('../src/session/engine.ts')
  const { SqliteLedger } = await import('../src/ledger/sqlite.ts')
  const text = [...codingSession({ turns: 60 })]
    .flat()
    .map(message => message.parts.map(textOf).join('\n'))
    .join('\n')
  const messages = Array.from({ length: APPENDED }, (_, i) => {
    return {
      role: 'user' as const,
      parts: [{ type: 'text' as const, text: text.slice((i * 97) % 100_000).slice(0, 5000) }],
    }
  })
  return inFolder(async folder => {
    const store = new SqliteLedger(join(folder, 'ours.sqlite'), { sync })
    const pal = await openPalimpsest({ home: folder, store })
    const session = await pal.session('s', { policy: 'none' })
    const rounds = { ours: [] as number[], bare: [] as number[] }
    const insert = bareTable(join(folder, 'bare.sqlite'), sync)
    // In turns, so that a slow moment of the disk hits both.
    for (let from = 0; from < APPENDED; from += APPENDED / 20) {
      const batch = messages.slice(from, from + APPENDED / 20)
      const start = performance.now()
      for (const message of batch) await session.append(message)
      const middle = performance.now()
      const rows = await store.read('s', { from })
      const bareStart = performance.now()
      for (const row of rows) insert(row)
      rounds.ours.push((batch.length / (middle - start)) * 1000)
      rounds.bare.push((rows.length / (performance.now() - bareStart)) * 1000)
    }
    const found = await session.recall('handler')
    await pal.close()
    const [ours, bare] = [median(rounds.ours), median(rounds.bare)]
    return { ours, bare, ratio: ours / bare, found: found.length }
  })
}

function bareTable(
  path: string,
  sync: string,
): (row: { seq: number; type: string; at: number; hash: string; light: string; body: string | undefined }) => void {
  const db = new DatabaseSync(path)
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${sync}; PRAGMA foreign_keys = ON;
    CREATE TABLE events (id INTEGER PRIMARY KEY, type TEXT, at INTEGER, hash TEXT, light TEXT, body TEXT) STRICT`)
  const statement = db.prepare('INSERT INTO events (id, type, at, hash, light, body) VALUES (?, ?, ?, ?, ?, ?)')
  return ({ seq, type, at, hash, light, body }) => statement.run(seq, type, at, hash, light, body ?? '')
}

/** Opening a session of 10,000 turns and asking for its view, with everything in view and with most of it folded. */
async function opening(): Promise<Numbers> {
  const { openPalimpsest } = await import('../src/session/engine.ts')
  return inFolder(async folder => {
    const pal = await openPalimpsest({ home: folder })
    const session = await pal.session('long', { policy: 'none' })
    let batch: Turn = []
    for (const turn of codingSession({ turns: LONG })) {
      batch.push(...turn)
      if (batch.length < 500) continue
      await session.append(...batch)
      batch = []
    }
    await session.append(...batch)
    const whole = await timeToOpen(folder)
    const last = session.fold.entries.findLastIndex(
      ({ role }, i) => role === 'user' && i < session.fold.entries.length - 200,
    )
    const folded = { messages: [{ role: 'user' as const, parts: [{ type: 'text' as const, text: 'So far.' }] }] }
    await session.apply([{ target: { type: 'range', from: 1, to: last - 1 }, replacement: folded, why: 'fold' }])
    const { tokens } = await session.view()
    const fold = await timeToOpen(folder)
    await pal.close()
    return { whole: whole.open, folded: fold.open, count: fold.count, tokens, entries: session.fold.entries.length }
  })
}

async function timeToOpen(home: string): Promise<{ open: number; count: number }> {
  const { openPalimpsest } = await import('../src/session/engine.ts')
  const { guarded, loadCounter, messagesTokens } = await import('../src/model/tokens.ts')
  await loadCounter()
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
  const pal = await openPalimpsest({ home })
  const start = performance.now()
  const { messages } = await (await pal.session('long')).view()
  const opened = performance.now()
  if (messages.length < 1000)
    messagesTokens(
      messages,
      guarded(text => countTokens(text)),
    )
  const counted = performance.now()
  await pal.close()
  return { open: opened - start, count: counted - opened }
}

/** Milliseconds until a fresh process has ended. */
async function starting(): Promise<Numbers> {
  const cli = join(import.meta.dirname, '../src/cli.ts')
  const time = (...args: string[]) => {
    const times = Array.from({ length: 5 }, () => {
      const start = performance.now()
      execFileSync(process.execPath, args, { stdio: 'ignore' })
      return performance.now() - start
    })
    return median(times)
  }
  const tokenizer = import.meta.resolve('gpt-tokenizer/encoding/o200k_base')
  return { node: time('-e', ''), help: time(cli, '--help'), withTokenizer: time('--import', tokenizer, cli, '--help') }
}

async function counting(): Promise<Numbers> {
  const { loadCounter } = await import('../src/model/tokens.ts')
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base')
  const count = await loadCounter()
  const texts = [...codingSession({ turns: 400 })].flat().flatMap(message => message.parts.map(textOf))
  const size = texts.reduce((sum, text) => sum + text.length, 0) / 1e6
  const speed = (work: () => unknown) => {
    const start = performance.now()
    work()
    return (size / (performance.now() - start)) * 1000
  }
  const odd = {
    letter: 'a'.repeat(200_000),
    base64: randomBytes(750_000).toString('base64'),
    blanks: ' '.repeat(200_000),
  }
  const ms = Object.entries(odd).map(([name, text]) => {
    const start = performance.now()
    count(text)
    return [`${name}Ms`, performance.now() - start] as const
  })
  const ours = speed(() => texts.map(count))
  const peer = speed(() => texts.map(text => countTokens(text)))
  return { ours, peer, again: speed(() => texts.map(count)), ...Object.fromEntries(ms) }
}

export const PARTS: Record<string, () => Promise<Numbers>> = {
  'per-call-memory': () => perCall(':memory:'),
  'per-call-file': () => inFolder(folder => perCall(folder)),
  'per-call-whole': () => perCall(':memory:', { fold: false }),
  'per-call-thrifty': () => perCall(':memory:', { policy: 'thrifty', fold: false, turns: 3000 }),
  'replay-ours': () => replayOurs(),
  'replay-ours-counting': () => replayOurs({ counting: true }),
  'replay-ours-thrifty': () => replayOurs({ policy: 'thrifty' }),
  'replay-langchain': () => replayLangChain(true),
  'replay-ai-sdk': () => replayAiSdk(true),
  'replay-narrow-ours': () => replayOurs({ wide: false }),
  'replay-narrow-langchain': () => replayLangChain(false),
  'replay-narrow-ai-sdk': () => replayAiSdk(false),
  'appends-full': () => appends('full'),
  'appends-normal': () => appends('normal'),
  opening,
  starting,
  counting,
}

async function cpuOf(work: () => Promise<void>): Promise<Numbers> {
  const start = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(start)
  return { cpu: (user + system) / 1000 }
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5)
}

function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
