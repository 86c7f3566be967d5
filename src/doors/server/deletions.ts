/**
 * Permanent deletion: sessions by name or by age, and everything of a user. Every door deletes through here, so that
 * the server's data outside of the ledger (statistics of sessions, tokens, memory, files) is deleted too.
 */
import { z } from 'zod'
import type { Memory } from '../../memory/memory.ts'
import type { Actor } from '../../memory/store.ts'
import type { Palimpsest, SessionInfo } from '../../session/engine.ts'
import { everySession } from '../../session/every-session.ts'
import { actorOf } from './blocks.ts'
import { dropArchives, dropArchivesOf } from './retention.ts'
import { defineRoute, named, PEOPLE, type Route, Time } from './route.ts'
import type { ServerStore } from './server-store.ts'

export type ToDelete =
  | { sessions: readonly string[] }
  | { before: number; owner?: string }
  | { owner: string }
  /** The sessions that an import has created. */
  | { import: string }

/** The sessions that would be deleted, with their rows. Throws if a named one does not exist. */
export async function chosenFor(pal: Palimpsest, given: ToDelete): Promise<SessionInfo[]> {
  if ('sessions' in given) return Promise.all(given.sessions.map(name => pal.mustFind(name)))
  const isChosen = chooser(given)
  const found: SessionInfo[] = []
  for await (const info of everySession(pal)) if (isChosen(info)) found.push(info)
  return found
}

function chooser(given: Exclude<ToDelete, { sessions: readonly string[] }>): (info: SessionInfo) => boolean {
  if ('import' in given) return ({ about }) => about.importedBy === given.import
  const { owner } = given
  const before = 'before' in given ? given.before : Number.POSITIVE_INFINITY
  return info => info.updatedAt < before && (owner === undefined || info.owner === owner)
}

type Keepers = { pal: Palimpsest; store: ServerStore; memory: Memory }

export async function deleteSessions(
  { pal, store }: Pick<Keepers, 'pal' | 'store'>,
  names: readonly string[],
  { by, idOf = name => name }: { by: Actor; idOf?: (name: string) => string },
): Promise<void> {
  await pal.remove(names, { by })
  await dropArchives(pal.settings.retention?.archive, names.map(idOf))
  await store.forgetSessions(names.map(idOf))
}

/** Deletes everything of a user except their sessions: memory, tokens, files and archives. */
export async function forgetUser({ pal, store, memory }: Keepers, user: string, by: Actor): Promise<void> {
  await memory.forget(user, { by })
  await store.forgetUser(user)
  await pal.files.forget(user)
  await dropArchivesOf(pal.settings.retention?.archive, user)
}

const Deleted = named('Deleted', {
  deleted: z.boolean().describe('False for a preview.'),
  sessions: z.array(z.object({ session: z.string(), events: z.number(), updated_at: Time })),
})

const toDeleted = (chosen: readonly SessionInfo[], deleted: boolean) => ({
  deleted,
  sessions: chosen.map(({ id, length, updatedAt }) => ({ session: id, events: length, updated_at: updatedAt })),
})

const Preview = z.boolean().optional().describe('Only list the sessions that would be deleted.')

const sessions = defineRoute({
  method: 'post',
  path: '/deletions',
  summary: 'Delete sessions permanently, by name, age or import; or list those that would be deleted',
  description:
    'Removes events, texts that nothing else uses, files and their entries in the index. It cannot be undone. Forks keep ' +
    'what they share, and the ledger keeps a tombstone for each session.',
  roles: PEOPLE,
  body: z.union([
    z.strictObject({ sessions: z.array(z.string().min(1).max(400)).min(1).max(1000), preview: Preview }),
    z.strictObject({ before: Time.describe('Sessions last used before this.'), preview: Preview }),
    z.strictObject({
      import: z.string().min(1).max(100).describe('The id of an import: the sessions that it created.'),
      preview: Preview,
    }),
  ]),
  answer: Deleted,
  refusals: [404],
  async run({ body, caller, doors }) {
    const pal = doors.desk.of(caller)
    const chosen = await chosenFor(pal, body)
    const names = chosen.map(({ id }) => id)
    const by = actorOf(caller, caller.owner ?? 'home')
    const idOf = (name: string) => doors.desk.idOf(caller, name)
    if (!body.preview) await deleteSessions({ pal, store: doors.store }, names, { by, idOf })
    return toDeleted(chosen, !body.preview)
  },
})

const user = defineRoute({
  method: 'delete',
  path: '/users/{user}',
  summary: 'Delete everything of a user permanently: sessions, memory, files and tokens',
  roles: PEOPLE,
  query: { preview: z.enum(['true', 'false']).optional().describe('Only list the sessions that would be deleted.') },
  answer: Deleted,
  async run({ params, query, caller, doors }) {
    const by = actorOf(caller, params.user)
    const pal = doors.pal.of(params.user)
    const chosen = await chosenFor(pal, { before: Number.POSITIVE_INFINITY })
    if (query.preview === 'true') return toDeleted(chosen, false)
    const idOf = (name: string) => doors.desk.idOf({ ...caller, owner: params.user }, name)
    await deleteSessions(
      { pal, store: doors.store },
      chosen.map(({ id }) => id),
      { by, idOf },
    )
    await forgetUser(doors, params.user, by)
    return toDeleted(chosen, true)
  },
})

export const deletionRoutes: readonly Route[] = [sessions, user]
