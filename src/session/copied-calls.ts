/**
 * Calls that an agent has copied from one of its sessions into another. Claude Code and pi begin the file of a fork
 * with a copy of the earlier session, which has the same ids of answers. Such a call counts once: in the session that
 * began first. In the others it belongs to the messages at the beginning that come from a parent (`carried`).
 */

import type { TranscriptSession } from '../formats/transcripts/sessions.ts'
import type { Event } from '../model/types.ts'
import type { Palimpsest, SessionInfo } from './engine.ts'
import { everySession } from './every-session.ts'
import type { Imported } from './import-transcript.ts'

/** A session's calls: the number of messages up to and including the answer, by the provider's id of the answer. */
export type Calls = { id: string; forkedAt: number; endedAt: number; answers: ReadonlyMap<string, number> }
export type Copied = { carried: number; from: string }

/** For each session, the messages at its beginning that are copies from another one; `undefined` if there are none. */
export function copiesAmong(sessions: readonly Calls[]): (Copied | undefined)[] {
  const owners = new Map<string, Calls>()
  const found = new Map<Calls, Copied>()
  const inOrder = sessions.toSorted((a, b) => a.forkedAt - b.forkedAt || a.endedAt - b.endedAt)
  for (const session of inOrder) {
    for (const [answer, carried] of session.answers) {
      const owner = owners.get(answer)
      if (owner && owner !== session) found.set(session, { carried, from: owner.id })
      else owners.set(answer, session)
    }
  }
  return sessions.map(session => found.get(session))
}

export function callsOfRecording({ id, forkedAt = 0, messages, usage }: TranscriptSession): Calls {
  const answers = usage.flatMap(({ message, usage: { id: answer } }) =>
    answer ? [[answer, message + 1] as const] : [],
  )
  return { id, forkedAt, endedAt: messages.findLast(({ at }) => at)?.at ?? 0, answers: new Map(answers) }
}

/** The recording with the messages that it shares with an earlier one marked as carried. */
export function withCopies(session: TranscriptSession, copied: Copied | undefined): TranscriptSession {
  return copied ? { ...session, ...forkOf(session, copied) } : session
}

/** After an import, marks copies among the new sessions and the existing ones. */
export async function settleCopies(pal: Palimpsest, imported: readonly Imported[]): Promise<void> {
  const names = new Set(imported.map(({ session }) => session))
  const recorded: SessionInfo[] = []
  for await (const info of everySession(pal)) if (info.about.recorded) recorded.push(info)
  // A copy begins with the same message, at the same time.
  for (const kin of Map.groupBy(recorded, ({ createdAt }) => createdAt).values()) {
    if (kin.length === 1 || !kin.some(({ id }) => names.has(id))) continue
    const calls = await Promise.all(kin.map(info => callsIn(pal, info)))
    for (const [i, copied] of copiesAmong(calls).entries()) {
      const { id, about } = kin[i]!
      if (!copied || copied.carried <= (about.carried ?? 0)) continue
      await pal.session(id, { mustExist: true, about: forkOf(about, copied) })
    }
  }
}

type Link = Pick<SessionInfo['about'], 'parent' | 'reason' | 'carried'>

/** A session that is already linked to another one, as its segment, keeps that link. */
function forkOf({ parent, reason, carried = 0 }: Link, copied: Copied): Link & { carried: number } {
  const link =
    parent === undefined ? { parent: copied.from, reason: 'fork' as const } : { parent, ...(reason && { reason }) }
  return { ...link, carried: Math.max(carried, copied.carried) }
}

async function callsIn(pal: Palimpsest, { id, about }: SessionInfo): Promise<Calls> {
  const session = await pal.session(id, { mustExist: true, asGuest: true })
  const answers = new Map<string, number>()
  let messages = 0
  let endedAt = 0
  const take = (at: number, event: Event) => {
    if (event.type === 'entry') [messages, endedAt] = [messages + 1, Math.max(endedAt, at)]
    if (event.type === 'usage' && event.usage.id) answers.set(event.usage.id, messages)
  }
  for (const { at, event } of await session.events()) take(at, event)
  return { id, forkedAt: about.forkedAt ?? 0, endedAt, answers }
}
