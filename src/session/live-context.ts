/**
 * The context editor for a running session: finds the session that a name means now, prices its next call part by
 * part, and lists what the client's own compaction dropped. Used by the command `context`, the agents' tool, and the
 * page.
 */
import { PalimpsestError } from '../model/errors.ts'
import type { Author, Edit } from '../model/types.ts'
import type { Dropped } from '../view/figures.ts'
import type { Timeline } from '../view/timeline.ts'
import { droppedFrom, putBack } from './dropped.ts'
import type { Palimpsest, SessionInfo } from './engine.ts'
import type { Session } from './session.ts'
import { Timelines } from './timelines.ts'

/** Whether a session is the conversation with this key, or continues it. */
export function isSegment(id: string, key: string): boolean {
  return id === key || (id.startsWith(key) && /^(?:\.\d+)?(?:-fork-\d+)*$/.test(id.slice(key.length)))
}

/** The newest session of a name: the conversation itself, or its continuation after a compaction or a restart. */
export async function liveSession(pal: Palimpsest, name: string): Promise<SessionInfo> {
  const family = (await pal.sessions({ contains: name, limit: 100 })).filter(({ id }) => isSegment(id, name))
  const [newest] = family.sort((a, b) => b.updatedAt - a.updatedAt)
  if (newest) return newest
  throw new PalimpsestError('SESSION_NOT_FOUND', `There is no session ${name}. List them: palimpsest sessions`, {
    name,
  })
}

/** The timeline of a session, priced with the session's own options. */
export async function timelineOf(session: Session): Promise<Timeline> {
  const { model } = session.options
  const { length } = await session.events()
  const info = { id: session.id, length, model: model.id, about: {} }
  return new Timelines({ models: { [model.id]: model } }, { most: 1 }).of(session, info)
}

/** What an agent's tool can reach besides its own session: the sessions of its user. */
export type LiveContext = {
  /** The newest session of a name. */
  open(name: string): Promise<Session>
  dropped(session: Session): Promise<Dropped>
  putBack(session: Session, ids: readonly string[]): Promise<Edit[]>
}

/** `isHidden` says which parts of a session must not be shown here. */
export function liveContext(
  pal: Palimpsest,
  { by, isHidden }: { by: Author; isHidden?: (session: Session, entry: number, part: number) => boolean },
): LiveContext {
  const infoOf = async ({ id }: Session) => (await pal.find(id))!
  return {
    open: async name => {
      const session = await pal.session((await liveSession(pal, name)).id, { mustExist: true, asGuest: true })
      await session.view({ plan: false })
      return session
    },
    dropped: async session => droppedFrom(pal, await infoOf(session), isHidden),
    putBack: async (session, ids) => putBack(pal, await infoOf(session), ids, { by, isHidden }),
  }
}
