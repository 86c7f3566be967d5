/**
 * Imports a recorded session into the ledger and heals it on the way. Importing the same file again adds nothing;
 * importing a file that has grown, or after an interruption, adds the missing messages. A session of the same name
 * with another conversation is left alone. A file from `export` is imported in full, with its edits, times and
 * settings.
 */

import { randomBytes } from 'node:crypto'
import { heal } from '../formats/doctor.ts'
import type { TranscriptSession } from '../formats/transcripts/sessions.ts'
import { PalimpsestError } from '../model/errors.ts'
import { headOf } from '../model/text.ts'
import type { Message, Usage } from '../model/types.ts'
import { TYPICAL_OVERHEAD } from '../providers/models.ts'
import type { Palimpsest } from './engine.ts'
import type { About } from './session-options.ts'
import { type ReadSession, readWhole } from './whole-session.ts'

export type Imported = {
  session: string
  messages: number
  /** Messages that this import added. */
  added: number
  /** What was wrong with the recording, and how it was repaired. */
  healed: string[]
}

export type ImportOptions = {
  name?: string
  /** The agent that made the recording. */
  client?: string
  /** The id of this import. Sessions that it creates are marked with it. */
  importedBy?: string
  step?: (added: number) => void
}

const NAME = 200
const BATCH = 100

/** Importing more sessions than this at once asks first. */
export const MANY_SESSIONS = 20

/** The id by which everything that one import created can be found again. */
export function newImportId(): string {
  return `i-${randomBytes(4).toString('hex')}`
}

export async function importSession(
  pal: Palimpsest,
  recorded: TranscriptSession,
  { name = recorded.id, client, importedBy, step = () => undefined }: ImportOptions = {},
): Promise<Imported> {
  const whole = readWhole(recorded.whole)
  if (whole) return importWhole(pal, whole, { name: headOf(name, NAME), importedBy })
  const { messages, healed } = heal(recorded.messages)
  const { model } = recorded
  // Repairs and usage reports get the time of the message that they belong to, like everything else.
  let now = messages.find(({ at }) => at)?.at
  const isNew = !(await pal.find(headOf(name, NAME)))
  const session = await (now === undefined ? pal : pal.with({ clock: () => now ?? 0 })).session(headOf(name, NAME), {
    ...(model ? { model } : {}),
    about: { ...aboutOf(recorded, client), ...(isNew ? markOf(importedBy) : {}) },
    ...(recorded.usage.length === 0 ? { overhead: TYPICAL_OVERHEAD } : {}),
  })
  const there = await session.messages()
  const differing = there.findIndex((message, i) => messages[i] && !isSame(message, messages[i]))
  if (differing >= 0) throw occupied(session.id, differing)
  const usage = usageByMessage(recorded, messages)
  for (let next = there.length; next < messages.length; ) {
    const end = endOfBatch(messages, next, usage)
    now = messages.slice(next, end).findLast(({ at }) => at)?.at ?? now
    await session.append(...messages.slice(next, end))
    const reported = usage.get(end - 1)
    if (reported) await session.record({ type: 'usage', usage: reported })
    step(end - next)
    next = end
  }
  return { session: session.id, messages: messages.length, added: Math.max(0, messages.length - there.length), healed }
}

/** An engine that belongs to one user imports sessions of other users under that user. */
async function importWhole(
  pal: Palimpsest,
  { meta, parent, events, createdAt }: ReadSession,
  { name, importedBy }: { name: string; importedBy: string | undefined },
): Promise<Imported> {
  const above = parent ? { parent: { ...parent, id: pal.nameHere(parent.id) } } : {}
  const origin = meta.about?.parent
  const started = origin === undefined ? {} : { parent: pal.nameHere(origin) }
  const about = { ...meta.about, ...started, ...markOf(importedBy) }
  const session = pal.nameHere(name)
  const { added, differs } = await pal.restore(session, { createdAt, ...above, events, meta: { ...meta, about } })
  const isEntry = ({ event }: (typeof events)[number]) => event.type === 'entry'
  if (differs !== undefined) throw occupied(session, events.slice(0, differs).filter(isEntry).length)
  const messages = events.filter(isEntry).length
  return { session, messages, added: events.slice(events.length - added).filter(isEntry).length, healed: [] }
}

function markOf(importedBy: string | undefined): About {
  return importedBy === undefined ? {} : { importedBy }
}

function aboutOf({ carried, cwd, forkedAt, parent, reason }: TranscriptSession, client: string | undefined): About {
  return {
    ...(client === undefined ? {} : { client }),
    ...(cwd ? { project: cwd } : {}),
    ...(parent === undefined ? {} : { parent: headOf(parent, NAME) }),
    ...(reason === undefined ? {} : { reason }),
    ...(carried > 0 ? { carried } : {}),
    ...(forkedAt === undefined ? {} : { forkedAt }),
    recorded: true,
  }
}

/** The end of a batch: up to and including the next message with reported usage. The usage is recorded after it. */
function endOfBatch(messages: readonly Message[], from: number, usage: ReadonlyMap<number, Usage>): number {
  let end = from + 1
  while (end < messages.length && end - from < BATCH && !usage.has(end - 1)) end++
  return end
}

/** Healing moves results but never assistant messages, so usage is matched by the number of the call. */
export function usageByMessage(recorded: TranscriptSession, healed: readonly Message[]): Map<number, Usage> {
  const calls = healed.flatMap(({ role }, i) => (role === 'assistant' ? [i] : []))
  const numberOf = new Map<number, number>()
  let call = 0
  for (const [i, { role }] of recorded.messages.entries()) if (role === 'assistant') numberOf.set(i, call++)
  return new Map(
    recorded.usage.flatMap(({ message, usage }) => {
      const place = calls[numberOf.get(message) ?? -1]
      return place === undefined ? [] : [[place, usage] as const]
    }),
  )
}

/** Equal except for the time, which the ledger adds if a recording has none. */
function isSame(a: Message, b: Message): boolean {
  return a.role === b.role && JSON.stringify(a.parts) === JSON.stringify(b.parts)
}

function occupied(session: string, entry: number): PalimpsestError {
  return new PalimpsestError(
    'ALREADY',
    `Session ${session} holds another conversation (they differ from entry ${entry} on). Import under another name with --as.`,
    { session, entry },
  )
}
