/** Routes: importing a recorded conversation, and what other policies would have done with one. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { readTranscript, type Transcript } from '../../formats/transcripts/read-transcript.ts'
import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { headOf } from '../../model/text.ts'
import { findPreset } from '../../planner/presets.ts'
import { KEEP_LEVELS, type KeepLevel } from '../../planner/tuning.ts'
import { dollarsPerUnit, prepareReplay, type Replayable, savedByCall, sum } from '../../replay/account.ts'
import { type Outcome, OWN, sumUp } from '../../replay/measure/policies.ts'
import { settleCopies } from '../../session/copied-calls.ts'
import { importSession, newImportId } from '../../session/import-transcript.ts'
import { withoutHidden } from '../../view/hidden.ts'
import type { Timeline } from '../../view/timeline.ts'
import { inSteps } from '../../view/totals.ts'
import type { Caller } from './gate.ts'
import { type Doors, defineRoute, END_OF_TIME, EVERYBODY, named, nameSchema, numberIn, type Route } from './route.ts'
import { openTimeline, remember } from './session-timeline.ts'

const MB = 1024 * 1024
const MAX_TRANSCRIPT = 64 * MB
const LIMITS = { maxUnpacked: MAX_TRANSCRIPT, maxProblems: 1000, maxValues: 6_000_000 }
const MAX_SESSIONS = 1000
const MAX_MESSAGES = 100_000
/** A comparison replays the whole session for each policy. */
const MAX_POLICIES = 8
const MAX_CALLS = 5000
const NAME_LENGTH = 200
const MAX_FILE_NAME = 255
const SERIES = 300
const DECISIONS = 100

const importRoute = defineRoute({
  method: 'post',
  path: '/import',
  summary: 'Import the transcript of an agent',
  description:
    'The body is the unchanged file. Its format is detected from its content; see docs/transcripts.md. Importing a ' +
    'file again adds only what is new in it. Broken tool calls are repaired.',
  roles: EVERYBODY,
  query: {
    name: nameSchema(NAME_LENGTH).optional().describe('A name for the session, if the file has only one.'),
    file: z
      .string()
      .max(MAX_FILE_NAME)
      .optional()
      .describe('The name of the file; some formats name their session by it.'),
    most: numberIn(1, MAX_SESSIONS)
      .optional()
      .describe('Import nothing where the file has more sessions than this: `found` says how many there are.'),
    written: numberIn(0, END_OF_TIME)
      .optional()
      .describe('When the file was last written, in milliseconds since 1970: the time of a recording that has none.'),
    import: nameSchema(NAME_LENGTH)
      .optional()
      .describe('The id of the import that this file belongs to; a new one by default.'),
  },
  bytes: MAX_TRANSCRIPT,
  answer: named('Imported', {
    format: z.string(),
    import: z.string().describe('The id with which `POST /deletions` undoes this import.'),
    found: z.number().describe('Sessions in the file.'),
    sessions: z.array(
      z.object({ session: z.string(), messages: z.number(), added: z.number(), healed: z.array(z.string()) }),
    ),
    problems: z.array(z.object({ line: z.number().optional(), message: z.string() })),
  }),
  status: 201,
  refusals: [404, 409],
  run: ({ query, bytes, caller, doors }) =>
    doors.heavy.run(async () => {
      const { format, sessions, problems } = await readBytesAsTranscript(bytes, query.file)
      if (sessions.length > MAX_SESSIONS) throw tooMany(`sessions in one file`, sessions.length, MAX_SESSIONS)
      const messages = sessions.reduce((all, session) => all + session.messages.length, 0)
      if (messages > MAX_MESSAGES) throw tooMany('messages in one file', messages, MAX_MESSAGES)
      const { import: importedBy = newImportId(), written } = query
      const imported = []
      for (const recorded of sessions.length > (query.most ?? MAX_SESSIONS) ? [] : sessions) {
        const name = (sessions.length === 1 ? query.name : undefined) ?? headOf(recorded.id, NAME_LENGTH)
        imported.push(
          await importSession(doors.desk.of(caller), recorded, { name, client: format, importedBy, written }),
        )
      }
      await settleCopies(doors.desk.of(caller), imported)
      return { format, import: importedBy, found: sessions.length, sessions: imported, problems }
    }),
})

const Costs = named('Costs', {
  policy: z.string(),
  calls: z.number(),
  tokens: z.number().describe('Tokens sent, over all calls.'),
  peak: z.number().describe('Tokens of the largest call.'),
  cost: z.number().describe('Cost in uncached input tokens.'),
  effective: z.number().describe('With what fetching lost evidence again would cost.'),
  costShare: z.number().describe('As a share of the cost of sending everything.'),
  effectiveShare: z.number(),
  evidence: z.number().describe('The share of quotes whose source was still in view.'),
  busts: z.number(),
  edits: z.number(),
  keep: z.string().nullable().describe('The requested level of its knob.'),
  saved: z.number().describe('Dollars.'),
  effectiveDollars: z.number().describe('With what fetching lost passages again would cost.'),
  dollars: z.number().describe('The amount paid, less the savings of the policy; answers included.'),
  series: z
    .object({ tokens: z.array(z.number()), cost: z.array(z.number()) })
    .describe(`Call by call: tokens sent, and the cost so far in dollars; in at most ${SERIES} steps.`),
  decisions: z
    .array(z.object({ call: z.number(), edits: z.number(), saved: z.number(), text: z.string() }))
    .describe(`The first ${DECISIONS} calls with new edits, from 1, with the calculation behind them.`),
})

const compare = defineRoute({
  method: 'post',
  path: '/sessions/{session}/compare',
  summary: 'Replay the session with several policies: tokens, cost and evidence of each',
  description: 'Nothing is recorded and no model is called. The method is in docs/benchmarks.md.',
  roles: EVERYBODY,
  body: z.strictObject({
    policies: z.array(nameSchema(100)).min(1).max(MAX_POLICIES),
    model: nameSchema(100).optional().describe("The session's model by default."),
    keep: z
      .enum(Object.keys(KEEP_LEVELS) as [KeepLevel, ...KeepLevel[]])
      .optional()
      .describe('How much planners with a knob keep.'),
  }),
  answer: z.object({ session: z.string(), model: z.string(), policies: z.array(Costs) }),
  refusals: [409],
  unkeyed: true,
  run: ({ params, body, caller, doors }) =>
    doors.heavy.run(async () => {
      const opened = await openTimeline(doors, caller, params.session)
      const { timeline, session } = opened
      const { base, options, under } = await replayable(doors, caller, opened, body.model)
      const policies: z.input<typeof Costs>[] = []
      for (const policy of body.policies) {
        const { keep } = body
        const planner = keep === undefined ? policy : (findPreset(policy, { keep }) ?? policy)
        const outcome = policy === 'none' ? base : await under(planner)
        policies.push({ ...costsOf(policy, outcome, base, timeline), keep: keep ?? null })
        await new Promise(resolve => setImmediate(resolve))
      }
      return { session, model: options.model, policies }
    }),
})

const rememberReplay = remember<Replayable>()

/**
 * A session that is ready to be replayed. Its quotes and its replay without edits are cached, because each row of a
 * comparison needs them.
 */
export async function replayable(
  doors: Doors,
  caller: Caller,
  { timeline, session: name }: { timeline: Timeline; session: string },
  model?: string,
): Promise<Replayable> {
  const count = timeline.calls.length
  if (count > MAX_CALLS) throw tooMany('calls in one replay', count, MAX_CALLS)
  return rememberReplay(timeline, `${caller.role === 'agent'} ${model}`, async () => {
    const session = await doors.desk.open(caller, name)
    const all = await session.messages()
    const messages = caller.role === 'agent' ? all.map((one, i) => withoutHidden(session.fold, i, one)) : all
    return prepareReplay(timeline, messages, model)
  })
}

export function costsOf(policy: string, outcome: Outcome, base: Outcome, timeline: Timeline): z.input<typeof Costs> {
  const { measures, decisions } = outcome
  const row = sumUp(policy, [{ measures, base: base.measures }], { prices: OWN })
  const { calls, tokens, peak, cost, effective, costShare, effectiveShare, evidence, busts } = row
  const saved = savedByCall(timeline, base, outcome)
  const paid = timeline.calls.map(({ inherited, paid: { dollars }, raw, sent }, i) => {
    // For an edited session, add the savings that it already had.
    return inherited ? 0 : dollars + raw.cost - sent.cost - (saved[i] ?? 0)
  })
  const dollars = sum(paid)
  let spent = 0
  return {
    policy,
    ...{
      calls,
      tokens: timeline.theirs(tokens),
      peak: timeline.theirs(peak),
      cost,
      effective,
      costShare,
      effectiveShare,
      evidence,
      busts,
    },
    edits: decisions.reduce((total, decision) => total + decision.edits, 0),
    dollars,
    saved: sum(saved),
    effectiveDollars: dollars + dollarsPerUnit(timeline) * (effective - cost),
    keep: null,
    series: {
      tokens: inSteps(
        measures.perCall.map(call => timeline.theirs(call.tokens)),
        SERIES,
      ),
      cost: inSteps(
        paid.map(dollars => (spent += dollars)),
        SERIES,
      ),
    },
    decisions: decisions.slice(0, DECISIONS).map(({ call, saved: tokens, ...rest }) => {
      return { call: call + 1, saved: timeline.theirs(tokens), ...rest }
    }),
  }
}

export const transcriptRoutes: readonly Route[] = [importRoute, compare]

/** The last name in a path, if a file system accepts it. */
function fileNameIn(path: string): string {
  const name = path.split(/[/\\\0]/).at(-1) ?? ''
  return /[^.]/.test(name) && Buffer.byteLength(name) <= MAX_FILE_NAME ? name : 'transcript'
}

/** Readers need a file, so the bytes are written to a temporary one. Errors do not reveal its path. */
async function readBytesAsTranscript(bytes: Uint8Array, name = ''): Promise<Transcript> {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-'))
  const path = join(folder, fileNameIn(name))
  try {
    await writeFile(path, bytes, { mode: 0o600 })
    return await readTranscript(path, LIMITS)
  } catch (error) {
    if (!isPalimpsestError(error)) throw error
    const { path: _, ...data } = error.data
    throw new PalimpsestError(error.code, error.message.replaceAll(path, 'The transcript'), data, error)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function tooMany(what: string, count: number, most: number): PalimpsestError {
  return new PalimpsestError('TOO_LARGE', `There are ${count} ${what}; the limit is ${most}.`, { count, most })
}
