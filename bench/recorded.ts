/**
 * The sessions of a folder of transcripts, prepared for the benchmarks: healed, one tool result per message, and with
 * every kind of evidence that is measured. Preparing takes longer than replaying, so the result is cached in the
 * temporary folder of the machine, by the content of the files and of the preparing code.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { heal } from '../src/formats/doctor.ts'
import { readTranscript } from '../src/formats/transcripts/read-transcript.ts'
import type { TranscriptSession } from '../src/formats/transcripts/sessions.ts'
import { isPalimpsestError } from '../src/model/errors.ts'
import type { Message } from '../src/model/types.ts'
import { type Evidence, findQuotes } from '../src/replay/measure/evidence.ts'
import type { Recorded } from '../src/replay/measure/policies.ts'
import { findEditedText } from './edited-text.ts'
import { findFileVersions } from './file-versions.ts'
import { findIdentifiers } from './identifiers.ts'

export type BenchSession = Recorded & {
  format: string
  /** The repository that the agent worked on, by the name of the file: sessions of one go into one fold. */
  repo: string
  reason?: string
}

/** Every way in which evidence is looked for; effective cost goes by the first. */
export const EVIDENCE = {
  quotes: (messages: Message[]) => findQuotes(messages),
  'span 24': (messages: Message[]) => findQuotes(messages, { span: 24 }),
  'span 80': (messages: Message[]) => findQuotes(messages, { span: 80 }),
  near: (messages: Message[]) => findQuotes(messages, { near: true }),
  identifiers: findIdentifiers,
  edits: findEditedText,
  files: findFileVersions,
} as const

/** Formats of agents that work on code with tools. */
export const CODING = new Set([
  'claude-code',
  'codex',
  'pi',
  'opencode',
  'mini-swe-agent',
  'openhands',
  'swe-agent',
  'copilot-cli',
  'gemini-cli',
])

const CACHE = join(tmpdir(), 'palimpsest-bench')
const CODE = [
  './edited-text.ts',
  './file-versions.ts',
  './identifiers.ts',
  '../src/replay/measure/evidence.ts',
  '../src/replay/measure/grams.ts',
  '../src/formats/doctor.ts',
  '../src/formats/transcripts/read-transcript.ts',
].map(name => readFileSync(new URL(name, import.meta.url)))

export async function loadSessions(
  folder: string,
  { minCalls = 30 }: { minCalls?: number } = {},
): Promise<BenchSession[]> {
  const sessions: BenchSession[] = []
  for (const file of filesIn(folder)) {
    for (const session of await loadFile(file)) {
      if (session.calls >= minCalls && CODING.has(session.format)) sessions.push(session)
    }
  }
  return sessions
}

/** With the main measure alone. */
export function withQuotesOnly(session: BenchSession): BenchSession {
  return { ...session, evidence: { quotes: session.evidence['quotes']! } }
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile() && /\.(jsonl|json|traj)$/.test(entry.name) && entry.name !== 'index.json')
    .map(entry => join(entry.parentPath, entry.name))
    .sort()
}

async function loadFile(file: string): Promise<BenchSession[]> {
  const hash = createHash('sha256').update(readFileSync(file))
  for (const code of CODE) hash.update(code)
  const kept = join(CACHE, `${hash.digest('hex').slice(0, 32)}.v8`)
  if (statSync(kept, { throwIfNoEntry: false })) return revive(deserialize(readFileSync(kept)))
  const sessions = await prepareFile(file)
  mkdirSync(CACHE, { recursive: true })
  writeFileSync(kept, serialize(sessions.map(withoutFunctions)))
  return sessions
}

async function prepareFile(file: string): Promise<BenchSession[]> {
  try {
    const { format, sessions } = await readTranscript(file)
    return sessions
      .filter(({ messages }) => messages.some(({ role }) => role === 'assistant'))
      .map(session => {
        return prepare(session, { format, repo: basename(file).split('__')[0]! })
      })
  } catch (error) {
    if (isPalimpsestError(error)) return []
    throw error
  }
}

function prepare({ id, messages, reason }: TranscriptSession, about: { format: string; repo: string }): BenchSession {
  return { ...toRecorded(id, messages), ...about, ...(reason ? { reason } : {}) }
}

export function toRecorded(name: string, messages: readonly Message[], kinds = Object.keys(EVIDENCE)): Recorded {
  const healed = oneResultEach(heal(messages).messages)
  const evidence: Record<string, Evidence> = {}
  const calls = healed.filter(({ role }) => role === 'assistant').length
  for (const [kind, find] of Object.entries(EVIDENCE)) if (kinds.includes(kind)) evidence[kind] = find(healed)
  return { name, messages: healed, calls, evidence }
}

/** Some peers know messages of one result only, and for the cost it makes no difference. */
export function oneResultEach(messages: readonly Message[]): Message[] {
  return messages.flatMap(message =>
    message.role === 'tool' && message.parts.length > 1
      ? message.parts.map(part => ({ ...message, parts: [part] }))
      : [message],
  )
}

type Stored = Omit<BenchSession, 'evidence'> & { evidence: Record<string, Omit<Evidence, 'normalize'>> }

function withoutFunctions({ evidence, ...session }: BenchSession): Stored {
  const stored = Object.fromEntries(
    Object.entries(evidence).map(([kind, { sources, quotes }]) => [kind, { sources, quotes }]),
  )
  return { ...session, evidence: stored }
}

function revive(stored: Stored[]): BenchSession[] {
  return stored.map(session => {
    const evidence = Object.fromEntries(
      Object.entries(session.evidence).map(([kind, found]) => [kind, { ...found, normalize: normalizeOf(kind) }]),
    )
    return { ...session, evidence }
  })
}

function normalizeOf(kind: string): Evidence['normalize'] {
  return EVIDENCE[kind as keyof typeof EVIDENCE]([]).normalize
}
