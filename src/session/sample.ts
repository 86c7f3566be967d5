/**
 * A sample session of our own agent at work: a report that leaves out Sunday, an export, a slow build.
 *
 * It was recorded (scripts/record-sample.ts) and ships as sample/session.jsonl: the first line describes the session,
 * and each further line is an event with its time. Opening it writes the events into the home's ledger once; then it
 * is a session like any other. The agent's proposals for memory can be put into the inbox of that home's user.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Timed } from '../ledger/ledger.ts'
import type { Memory, ProposalInput } from '../memory/memory.ts'
import type { Palimpsest } from './engine.ts'
import type { Session } from './session.ts'
import type { About } from './session-options.ts'

export const SAMPLE = 'sample'

/** The file is beside `src` in a checkout, and beside `dist` in the package. */
export const SAMPLE_FILE = fileURLToPath(new URL('../../sample/session.jsonl', import.meta.url))

export type Recording = {
  policy: string
  model: string
  about: About
  proposals: (ProposalInput & { label: string; body: string })[]
  events: Timed[]
}

/** Opens the sample in a home, and creates it if it is missing. */
export async function openSample(pal: Palimpsest): Promise<Session> {
  const { proposals: _, ...recording } = await readSample()
  return pal.recorded(SAMPLE, { ...recording, ids: true })
}

/** Puts the sample agent's proposals into a user's inbox, if that user has no memory yet. */
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
