/**
 * Routes: the sessions that agents keep on this machine, for a first start. Only on a server for this machine alone.
 */
import { z } from 'zod'
import { findOwnSessions, readFoundFile } from '../../formats/transcripts/find-sessions.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { settleCopies } from '../../session/copied-calls.ts'
import { importSession } from '../../session/import-transcript.ts'
import { ADMINS, type Doors, defineRoute, named, type Route, Time } from './route.ts'

/** The number of newest files to try: some hold no conversation yet. */
const MOST_TRIED = 20

const show = defineRoute({
  method: 'get',
  path: '/own-sessions',
  summary: 'The number of sessions that agents on this machine have kept, and when the last one was used',
  description: 'Only names, sizes and times are read. Empty if the server can be reached from other machines.',
  roles: ADMINS,
  answer: named('OwnSessions', {
    sessions: z.number(),
    agents: z.array(z.object({ agent: z.string(), sessions: z.number() })),
    last: z.object({ agent: z.string(), at: Time }).nullable(),
  }),
  async run({ doors }) {
    const found = await ownSessions(doors)
    const agents = [...Map.groupBy(found, ({ agent }) => agent)].map(([agent, own]) => ({
      agent,
      sessions: own.length,
    }))
    const [last] = found
    return { sessions: found.length, agents, last: last ? { agent: last.agent, at: last.at } : null }
  },
})

const importLast = defineRoute({
  method: 'post',
  path: '/own-sessions/last',
  summary: 'Import the last session of an agent on this machine',
  roles: ADMINS,
  answer: z.object({ session: z.string() }),
  status: 201,
  refusals: [404],
  unkeyed: true,
  run: ({ caller, doors }) =>
    doors.heavy.run(async () => {
      for (const file of (await ownSessions(doors)).slice(0, MOST_TRIED)) {
        const { format, sessions } = await readFoundFile(file)
        if (!sessions.some(({ messages }) => messages.some(({ role }) => role === 'assistant'))) continue
        const imported = []
        for (const recorded of sessions) {
          imported.push(await importSession(doors.desk.of(caller), recorded, { client: format }))
        }
        await settleCopies(doors.desk.of(caller), imported)
        return { session: imported[0]!.session }
      }
      throw new PalimpsestError(
        'NOT_FOUND',
        'No agent on this machine has kept a session. Import a transcript instead.',
      )
    }),
})

export const ownRoutes: readonly Route[] = [show, importLast]

async function ownSessions({ agentsEnv }: Doors) {
  return agentsEnv === undefined ? [] : findOwnSessions(agentsEnv)
}
