/**
 * Imports a recorded session into the ledger and heals it on the way. Importing the same file again adds nothing;
 * importing a file that has grown, or after an interruption, adds the missing messages. A session of the same name with
 * another conversation is not changed. A file from `export` is imported in full, with its edits, times and settings.
 */

import { randomBytes } from 'node:crypto'
import { heal } from '../formats/doctor.ts'
import type { TranscriptSession } from '../formats/transcripts/sessions.ts'
import { withoutLinksIn } from '../memory/decision-links.ts'
import { PalimpsestError } from '../model/errors.ts'
import { headOf } from '../model/text.ts'
import { type Counter, loadCounter, messageTokens } from '../model/tokens.ts'
import type { Message, Part, Usage } from '../model/types.ts'
import { TYPICAL_OVERHEAD } from '../providers/models.ts'
import { promptTokens } from '../providers/token-fit.ts'
import type { Palimpsest } from './engine.ts'
import type { Session } from './session.ts'
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
  /** When the file was last written: the time of a recording that has none. */
  written?: number | undefined
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
  { name = recorded.id, client, importedBy, written, step = () => undefined }: ImportOptions = {},
): Promise<Imported> {
  const whole = readWhole(recorded.whole)
  if (whole) return importWhole(pal, whole, { name: headOf(name, NAME), importedBy })
  // An agent's own recording has the lines that the proxy added to its answers.
  const { messages, healed } = heal(recorded.messages.map(withoutLinksIn))
  const { model } = recorded
  // Repairs and usage reports get the time of the message that they belong to, like everything else.
  const dated = new DatedImport(messages, written)
  const overhead = assumedOverhead(recorded, await loadCounter())
  const isNew = !(await pal.find(headOf(name, NAME)))
  const session = await dated.engine(pal).session(headOf(name, NAME), {
    ...(model ? { model } : {}),
    about: { ...aboutOf(recorded, client), ...(isNew ? markOf(importedBy) : {}) },
    ...(overhead > 0 ? { overhead } : {}),
  })
  const usage = usageByMessage(recorded, messages)
  const { known, rest } = alignment(await session.messages(), messages, session.id)
  const done = await complete(session, messages, { known, rest, usage, dated })
  for (let next = done; next < messages.length; ) {
    const end = endOfBatch(messages, next, usage)
    dated.follow(messages.slice(next, end))
    await session.append(...messages.slice(next, end))
    const reported = usage.get(end - 1)
    if (reported) await session.record({ type: 'usage', usage: reported })
    step(end - next)
    next = end
  }
  const added = Math.max(0, messages.length - known)
  return { session: session.id, messages: messages.length, added, healed }
}

/** The clock of an import: the time of the last imported message, or of the file if a recording has no times. */
class DatedImport {
  #now: number | undefined

  constructor(messages: readonly Message[], written: number | undefined) {
    this.#now = messages.find(({ at }) => at)?.at ?? written
  }

  engine(pal: Palimpsest): Palimpsest {
    return this.#now === undefined ? pal : pal.with({ clock: () => this.#now ?? 0 })
  }

  follow(messages: readonly Message[]): void {
    this.#now = messages.findLast(({ at }) => at)?.at ?? this.#now
  }
}

type Completing = Aligned & { usage: ReadonlyMap<number, Usage>; dated: DatedImport }

/**
 * Adds the rest of an answer that was incomplete at the last import, and its usage. Returns the number of recorded
 * messages that the session then has.
 */
async function complete(
  session: Session,
  messages: readonly Message[],
  { known, rest, usage, dated }: Completing,
): Promise<number> {
  if (rest.length === 0) {
    const last = messages.slice(0, known).findLastIndex(({ role }) => role === 'assistant')
    dated.follow(messages.slice(last, last + 1))
    await completeReport(session, usage.get(last))
    return known
  }
  dated.follow(messages.slice(known, known + 1))
  const { parts: _, ...answer } = messages[known]!
  await session.append({ ...answer, parts: rest })
  // The rest of an answer is not a separate call.
  await session.record({ type: 'usage', usage: { by: 'client' } })
  const reported = usage.get(known)
  if (reported) await session.record({ type: 'usage', usage: reported })
  return known + 1
}

type Aligned = { known: number; rest: Part[] }

/**
 * How many messages of a recording the session has, and the missing parts of the next one, if its agent was still
 * answering at the import. The session has such an answer in several messages.
 */
function alignment(there: readonly Message[], messages: readonly Message[], session: string): Aligned {
  let known = 0
  for (let at = 0; at < there.length && known < messages.length; known++) {
    const message = messages[known]!
    if (isSame(there[at]!, message)) {
      at++
      continue
    }
    const begun = at
    let parts: Part[] = []
    while (there[at]?.role === 'assistant' && isBeginning([...parts, ...there[at]!.parts], message))
      parts = [...parts, ...there[at++]!.parts]
    const isWhole = parts.length === message.parts.length
    if (at === begun || (!isWhole && at < there.length)) throw occupied(session, begun)
    if (!isWhole) return { known, rest: message.parts.slice(parts.length) }
  }
  return { known, rest: [] }
}

/** Records the report of the last answer if it came, or changed, after the import of the answer. */
async function completeReport(session: Session, reported: Usage | undefined): Promise<void> {
  if (!reported || reported.by === 'client') return
  const events = (await session.events()).map(({ event }) => event)
  const answer = events.findLastIndex(event => event.type === 'entry' && event.message.role === 'assistant')
  const told = events.slice(answer + 1).flatMap(event => (event.type === 'usage' ? [event.usage] : []))
  const before = told.findLast(({ by }) => by !== 'client')
  const isNew = !before || (before.id !== undefined && before.id === reported.id && differ(before, reported))
  if (isNew) await session.record({ type: 'usage', usage: reported })
}

function differ(one: Usage, other: Usage): boolean {
  return JSON.stringify(one) !== JSON.stringify(other)
}

function isBeginning(parts: readonly Part[], { role, parts: whole }: Message): boolean {
  if (role !== 'assistant' || parts.length > whole.length) return false
  return JSON.stringify(parts) === JSON.stringify(whole.slice(0, parts.length))
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

/** The size of system prompt and tools beyond the messages, where no report tells it: tools, if the prompt is recorded. */
export function assumedOverhead({ usage, messages }: TranscriptSession, count: Counter): number {
  if (usage.some(report => promptTokens(report.usage) > 0)) return 0
  const prompt = messages.findLast(({ role }) => role === 'system')
  return Math.max(0, TYPICAL_OVERHEAD - (prompt ? messageTokens(prompt, count) : 0))
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
    `Session ${session} has a different conversation (from entry ${entry} on). Import under another name with --as.`,
    { session, entry },
  )
}
