/**
 * Permanently redacts secrets, a text or a pattern, and lists texts that look like secrets. Every door redacts through
 * here, so that copies outside of the ledger are redacted too: the titles that the server keeps, and the history of
 * the terminal chat, which belongs to the home.
 */
import { z } from 'zod'
import { SHORTEST_TEXT, type ToRedact, toPattern } from '../../ledger/redaction.ts'
import type { Actor } from '../../memory/store.ts'
import { MEMORY } from '../../model/defaults.ts'
import type { Palimpsest } from '../../session/engine.ts'
import { allNames } from '../../session/every-session.ts'
import { secretsOf, wouldRedact } from '../../session/find-secrets.ts'
import { redactHistory } from '../terminal/history.ts'
import { actorOf } from './blocks.ts'
import { defineRoute, named, PEOPLE, type Route } from './route.ts'
import type { ServerStore } from './server-store.ts'

const LONGEST_TEXT = 10_000
const LONGEST_PATTERN = 1000
const MOST_SESSIONS = 1000

type Kinds = Record<string, number>
export type Covered = { sessions: { session: string; kinds: Kinds }[]; history?: Kinds }

/** `history`: whether to redact the terminal chat's history too. `names` are sessions of `pal`. */
export type RedactionScope = { pal: Palimpsest; names: readonly string[]; history: boolean }

/** What would be redacted, for a preview. Throws if a session does not exist. */
export async function toBeRedacted({ pal, names, history }: RedactionScope, what: ToRedact): Promise<Covered> {
  const sessions: Covered['sessions'] = []
  for (const session of names) {
    const kinds = await wouldRedact(await pal.session(session, { mustExist: true, asGuest: true }), what)
    if (!isEmpty(kinds)) sessions.push({ session, kinds })
  }
  return { sessions, ...(history ? await inHistory(pal, what, { preview: true }) : {}) }
}

export async function redactSessions(
  { pal, names, history }: RedactionScope,
  what: ToRedact,
  { store, by, idOf = name => name }: { store: ServerStore; by: Actor; idOf?: (name: string) => string },
): Promise<Covered> {
  const inTheHistory = history ? await inHistory(pal, what, { preview: false }) : {}
  const redacted = names.length > 0 ? await pal.redact(names, what, { by }) : []
  await store.forgetSessions(redacted.map(({ session }) => idOf(session)))
  return { sessions: redacted.map(({ session, kinds }) => ({ session, kinds })), ...inTheHistory }
}

export function isNothing({ sessions, history }: Covered): boolean {
  return sessions.length === 0 && history === undefined
}

async function inHistory(pal: Palimpsest, what: ToRedact, options: { preview: boolean }): Promise<{ history?: Kinds }> {
  const history = pal.home === MEMORY ? {} : await redactHistory(pal.home, what, options)
  return isEmpty(history) ? {} : { history }
}

function isEmpty(kinds: Kinds): boolean {
  return Object.keys(kinds).length === 0
}

const secrets = defineRoute({
  method: 'get',
  path: '/sessions/{session}/secrets',
  summary: 'The places of texts in a session that look like keys or tokens; never the secrets themselves',
  roles: PEOPLE,
  answer: z.object({
    secrets: z.array(
      named('SecretPlace', {
        event: z.number().describe('Its place in the ledger.'),
        type: z.string(),
        entry: z.number().optional(),
        part: z.number().optional(),
        kind: z.string(),
        hint: z.string().describe('The first four and the last two characters.'),
      }),
    ),
  }),
  async run({ params, caller, doors }) {
    const found = await secretsOf(await doors.desk.open(caller, params.session))
    return { secrets: found.map(({ session: _, ...place }) => place) }
  },
})

const chosen = {
  sessions: z
    .array(z.string().min(1).max(400))
    .min(1)
    .max(MOST_SESSIONS)
    .optional()
    .describe('All sessions of the caller if omitted.'),
  preview: z.boolean().optional().describe('Only report what would be redacted.'),
}

const kindsSchema = z.record(z.string(), z.number()).describe('How often each kind was, or would be, redacted.')

const redact = defineRoute({
  method: 'post',
  path: '/redactions',
  summary: 'Redact secrets, a text or a pattern in sessions permanently; or list what would be redacted',
  description:
    'A mask of the same length replaces it in messages, edits, kept files, the search index and, for the home, the ' +
    'history of the terminal chat. It cannot be undone. ' +
    'An event records time and author. Forks that share the text are changed too. Clients can continue the conversation.',
  roles: PEOPLE,
  body: z.union([
    z.strictObject({ secrets: z.literal(true), ...chosen }),
    z.strictObject({ text: z.string().min(SHORTEST_TEXT).max(LONGEST_TEXT), ...chosen }),
    z.strictObject({
      pattern: z
        .string()
        .min(1)
        .max(LONGEST_PATTERN)
        .meta({ format: 'regex', description: 'A JavaScript regular expression, with the flag u.' }),
      ...chosen,
    }),
  ]),
  answer: named('Redacted', {
    redacted: z.boolean().describe('False for a preview.'),
    sessions: z.array(z.object({ session: z.string(), kinds: kindsSchema })),
    history: kindsSchema
      .optional()
      .describe('The same for the history of the terminal chat, which only the home itself can redact.'),
  }),
  refusals: [404],
  run: ({ body, caller, doors }) =>
    doors.heavy.run(async () => {
      const { sessions: given, preview = false, ...asked } = body
      const what = 'pattern' in asked ? { pattern: toPattern(asked.pattern) } : asked
      const pal = doors.desk.of(caller)
      const scope = { pal, names: given ?? (await allNames(pal)), history: caller.owner === undefined }
      const found = await toBeRedacted(scope, what)
      if (preview || isNothing(found)) return { redacted: !preview, ...found }
      const by = actorOf(caller, caller.owner ?? 'home')
      const idOf = (name: string) => doors.desk.idOf(caller, name)
      const names = found.sessions.map(({ session }) => session)
      return { redacted: true, ...(await redactSessions({ ...scope, names }, what, { store: doors.store, by, idOf })) }
    }),
})

export const redactionRoutes: readonly Route[] = [secrets, redact]
