/**
 * A session to look at, of our own agent at work: a report that leaves out Sunday, an export, a slow build.
 *
 * It was recorded (scripts/record-sample.ts) and ships as sample/session.jsonl: what the first line says of the session,
 * then its events, one a line, with their times. Opening it writes them into the ledger of a home, once; it is then a
 * session like any other. What the agent proposed to remember can be put into the inbox of that home's user.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Timed } from '../ledger/ledger.ts'
import type { Memory, ProposalInput } from '../memory/memory.ts'
import type { Palimpsest } from './engine.ts'
import type { Session } from './session.ts'
import type { About } from './session-options.ts'

export const SAMPLE = 'sample'

/** Beside `src` in a checkout, beside `dist` in the package. */
export const SAMPLE_FILE = fileURLToPath(new URL('../../sample/session.jsonl', import.meta.url))

export type Recording = {
  policy: string
  model: string
  about: About
  /** What the agent proposed to remember. */
  proposals: (ProposalInput & { label: string; body: string })[]
  events: Timed[]
}

/** The sample in a home, made if it is not there. */
export async function openSample(pal: Palimpsest): Promise<Session> {
  const { proposals: _, ...recording } = await readSample()
  return pal.recorded(SAMPLE, { ...recording, ids: true })
}

/** Puts what the sample's agent proposed into a user's inbox, where that user has no memory yet. */
export async function offerSampleProposals(memory: Memory, user: string): Promise<void> {
  if ((await memory.blocks(user, { limit: 1 })).length > 0) return
  if ((await memory.proposals(user, { limit: 1 })).length > 0) return
  const { proposals } = await readSample()
  for (const { label, ...proposal } of proposals) await memory.propose(user, label, proposal)
}

export function toLines({ events, ...head }: Recording): string {
  return `${[head, ...events].map(line => JSON.stringify(line)).join('\n')}\n`
}

async function readSample(): Promise<Recording> {
  const [head, ...events] = (await readFile(SAMPLE_FILE, 'utf8')).trimEnd().split('\n')
  return { ...JSON.parse(head!), events: events.map(line => JSON.parse(line)) }
}
