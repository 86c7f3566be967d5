/**
 * Real sessions across their compactions. A client that compacts continues with a new conversation that begins with a
 * summary and sometimes some earlier messages. Here the stretches are joined as if nothing had been compacted, and what
 * the client kept is recorded separately.
 *
 * A chain is one session; a life is all sessions of one repository, or of one client, one after the other, with the
 * pauses between them shortened to an hour.
 */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { readTranscript } from '../src/formats/transcripts/read-transcript.ts'
import type { TranscriptSession } from '../src/formats/transcripts/sessions.ts'
import { isPalimpsestError } from '../src/model/errors.ts'
import type { Message } from '../src/model/types.ts'
import { findQuotes } from '../src/replay/measure/evidence.ts'
import { type BenchSession, CODING, toRecorded } from './recorded.ts'

export type Stretch = {
  /** The client's own summary and kept messages; empty in the first stretch. */
  head: Message[]
  /** The messages of the stretch. */
  messages: Message[]
}

export type Chain = { name: string; format: string; repo: string; stretches: Stretch[] }

const HOUR = 3_600_000

/** Every session of a folder's transcripts, compacted or not. */
export async function loadChains(folder: string): Promise<Chain[]> {
  const chains: Chain[] = []
  for (const file of filesIn(folder)) {
    const read = await readTranscript(file).catch((error: unknown) => {
      if (isPalimpsestError(error)) return undefined
      throw error
    })
    if (!read || !CODING.has(read.format)) continue
    const found = new Map<string, Chain>()
    for (const session of read.sessions) {
      if (session.reason === 'sub-agent' || session.reason === 'rewind') continue
      const own = toStretch(session)
      const before = session.reason === 'compaction' ? found.get(session.parent ?? '') : undefined
      if (before) before.stretches.push(own)
      const [repo = ''] = basename(file).split('__')
      const chain = before ?? { name: `${read.format}/${basename(file)}`, format: read.format, repo, stretches: [own] }
      found.set(session.id, chain)
      if (!before) chains.push(chain)
    }
  }
  return chains
}

export function compacted(chains: readonly Chain[]): Chain[] {
  return chains.filter(({ stretches }) => stretches.length > 1)
}

/** One conversation of all stretches. */
export function joinChain({ stretches }: Chain): Message[] {
  return stretches.flatMap(({ messages }) => messages)
}

export type Life = { messages: Message[]; stretches: number }

/** All sessions of a repository in which something was compacted, joined: by format and repository. */
export function lives(chains: readonly Chain[]): Map<string, Life> {
  return joinBy(chains, ({ format, repo }) => `${format}/${repo}`)
}

/** The same for a client that worked on several repositories, as if the user had never started a new session. */
export function longLives(chains: readonly Chain[]): Map<string, Life> {
  const repos = Map.groupBy(chains, ({ format }) => format)
  const several = chains.filter(({ format }) => new Set(repos.get(format)!.map(({ repo }) => repo)).size > 1)
  return joinBy(several, ({ format }) => `${format}, all repositories`)
}

/**
 * All sessions of a repository in which something was compacted, joined. A file is read many times there, so a passage
 * counts as shown where its newest source is.
 */
export async function loadJoined(folder: string): Promise<BenchSession[]> {
  const found = [...lives(await loadChains(folder))]
  return found.map(([name, { messages }]) => {
    const [format = '', repo = ''] = name.split('/')
    const session = toRecorded(name, messages, [])
    return { ...session, format, repo, evidence: { quotes: findQuotes(session.messages, { newest: true }) } }
  })
}

function joinBy(chains: readonly Chain[], nameOf: (chain: Chain) => string): Map<string, Life> {
  const found = new Map<string, Life>()
  for (const [name, own] of Map.groupBy(chains, nameOf)) {
    if (compacted(own).length === 0) continue
    const stretches = own.reduce((sum, chain) => sum + chain.stretches.length, 0)
    found.set(name, { messages: joinAll(own.map(joinChain)), stretches })
  }
  return found
}

function joinAll(sessions: readonly Message[][]): Message[] {
  let end = 0
  return sessions.flatMap((messages, number) => {
    const start = messages.find(({ at }) => at)?.at ?? 0
    const shift = number === 0 ? 0 : end + HOUR - start
    // The chain already has a system prompt.
    const kept = number === 0 ? messages : messages.filter(({ role }) => role !== 'system')
    return kept.map(message => {
      const at = (message.at ?? start) + shift
      end = Math.max(end, at)
      const parts = message.parts.map(part => ('id' in part ? { ...part, id: `${number}.${part.id}` } : part))
      return { ...message, at, parts }
    })
  })
}

/** The messages of a compacted session that are not new bear the time of the compaction, or were carried over. */
function toStretch({ messages, carried, reason }: TranscriptSession): Stretch {
  if (reason !== 'compaction') return { head: [], messages }
  const at = messages[0]?.at
  const written = messages.findIndex(message => message.at !== at)
  const head = Math.max(written < 0 ? messages.length : written, carried)
  return { head: messages.slice(0, head), messages: messages.slice(head) }
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter(entry => entry.isFile() && /\.(jsonl|json|traj)$/.test(entry.name) && entry.name !== 'index.json')
    .map(entry => join(entry.parentPath, entry.name))
    .sort()
}
