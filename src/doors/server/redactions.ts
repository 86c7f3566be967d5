/**
 * Permanently redacts secrets, a text or a pattern, and lists texts that look like secrets. Every door redacts through
 * here, so that the titles that the server keeps outside of the ledger are redacted too.
 */
import { z } from 'zod'
import { type Redacted, SHORTEST_TEXT, type ToRedact, toPattern } from '../../ledger/redaction.ts'
import type { Actor } from '../../memory/store.ts'
import type { Palimpsest } from '../../session/engine.ts'
import { allNames } from '../../session/every-session.ts'
import { secretsOf, wouldRedact } from '../../session/find-secrets.ts'
import { actorOf } from './blocks.ts'
import { defineRoute, named, PEOPLE, type Route } from './route.ts'
import type { ServerStore } from './server-store.ts'

const LONGEST_TEXT = 10_000
const LONGEST_PATTERN = 1000
const MOST_SESSIONS = 1000

type Covered = { session: string; kinds: Record<string, number> }

/** What would be covered, for a preview. Throws if a session does not exist. */
export async function toBeRedacted(pal: Palimpsest, names: readonly string[], what: ToRedact): Promise<Covered[]> {
  const found: Covered[] = []
  for (const session of names) {
    const kinds = await wouldRedact(await pal.session(session, { mustExist: true, asGuest: true }), what)
    if (Object.keys(kinds).length > 0) found.push({ session, kinds })
  }
  return found
}

export async function redactSessions(
  { pal, store }: { pal: Palimpsest; store: ServerStore },
  names: readonly string[],
  what: ToRedact,
  { by, idOf = name => name }: { by: Actor; idOf?: (name: string) => string },
): Promise<Redacted[]> {
  const redacted = await pal.redact(names, what, { by })
  await store.forgetSessions(redacted.map(({ session }) => idOf(session)))
  return redacted
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

const redact = defineRoute({
  method: 'post',
  path: '/redactions',
  summary: 'Redact secrets, a text or a pattern in sessions permanently; or list what would be redacted',
  description:
    'A mask of the same length replaces it in messages, edits, kept files and the search index. It cannot be undone. ' +
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
    sessions: z.array(
      z.object({
        session: z.string(),
        kinds: z.record(z.string(), z.number()).describe('How often each kind was, or would be, redacted.'),
      }),
    ),
  }),
  refusals: [404],
  run: ({ body, caller, doors }) =>
    doors.heavy.run(async () => {
      const { sessions: given, preview = false, ...asked } = body
      const what = 'pattern' in asked ? { pattern: toPattern(asked.pattern) } : asked
      const pal = doors.desk.of(caller)
      const names = given ?? (await allNames(pal))
      const found = await toBeRedacted(pal, names, what)
      if (preview || found.length === 0) return { redacted: !preview, sessions: found }
      const by = actorOf(caller, caller.owner ?? 'home')
      const idOf = (name: string) => doors.desk.idOf(caller, name)
      const done = await redactSessions(
        { pal, store: doors.store },
        found.map(({ session }) => session),
        what,
        { by, idOf },
      )
      return { redacted: true, sessions: done.map(({ session, kinds }) => ({ session, kinds })) }
    }),
})

export const redactionRoutes: readonly Route[] = [secrets, redact]
