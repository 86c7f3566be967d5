/**
 * The data model of sessions as JSON over HTTP: strict for input, loose for output.
 *
 * Input has the shape of types.ts, with the parts that each role may have. The ledger checks whether it fits the
 * session (a result needs its call).
 */
import { z } from 'zod'
import { SESSION_REASONS } from '../../formats/transcripts/transcript.ts'
import type { Part as EnginePart } from '../../model/types.ts'
import { END_OF_TIME, Index as index, named, Time } from './route.ts'

const MAX_MESSAGES = 1000
const MAX_PARTS = 1000
const MAX_ID = 500

export const RoleName = z.enum(['system', 'user', 'assistant', 'tool']).meta({ id: 'Role' })

const original = z
  .strictObject({
    dialect: z.enum(['anthropic', 'openai-chat', 'openai-responses', 'gemini', 'ai-sdk', 'langchain']),
    value: z.unknown().describe('As the provider sent it.'),
  })
  .meta({ id: 'Original' })
  .optional()

const text = z.strictObject({ type: z.literal('text'), text: z.string(), original })
const reasoning = z.strictObject({ type: z.literal('reasoning'), text: z.string(), original })
const image = z.strictObject({
  type: z.literal('image'),
  mediaType: z.string().min(1).max(100),
  data: z.string().optional(),
  url: z.string().optional(),
  original,
})
const raw = z.strictObject({
  type: z.literal('raw'),
  provider: z.string().min(1).max(100),
  value: z.unknown(),
  original,
})
const call = z.strictObject({
  type: z.literal('tool-call'),
  id: z.string().min(1).max(MAX_ID),
  name: z.string().min(1).max(MAX_ID),
  input: z.unknown(),
  original,
})
const shown = z.discriminatedUnion('type', [text, reasoning, image, raw])
const result = z.strictObject({
  type: z.literal('tool-result'),
  id: z.string().min(1).max(MAX_ID).describe('The id of the call that it answers.'),
  name: z.string().max(MAX_ID),
  output: z.union([z.string(), z.array(shown).max(MAX_PARTS)]),
  isError: z.boolean().optional(),
  original,
})

const at = z.int().min(0).max(END_OF_TIME).optional().describe('Milliseconds since 1970; now if omitted.')
const partsOf = <T extends z.ZodType>(part: T) => z.array(part).min(1).max(MAX_PARTS)

export const MessageInput = z
  .discriminatedUnion('role', [
    z.strictObject({ role: z.literal('system'), parts: partsOf(shown), at, original }),
    z.strictObject({ role: z.literal('user'), parts: partsOf(shown), at, original }),
    z.strictObject({
      role: z.literal('assistant'),
      parts: partsOf(z.discriminatedUnion('type', [text, reasoning, image, raw, call])),
      at,
      original,
    }),
    z.strictObject({
      role: z.literal('tool'),
      parts: partsOf(z.discriminatedUnion('type', [text, reasoning, image, raw, result])),
      at,
      original,
    }),
  ])
  .meta({ id: 'MessageInput' })

export const Messages = z.array(MessageInput).min(1).max(MAX_MESSAGES)

const shared = { original, edit: z.string().optional().describe('In a view: the edit that changed this part.') }

/** A part in an answer: as in the input, with the edit that made it what it is. */
export const Part: z.ZodType<EnginePart, EnginePart> = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string(), ...shared }),
    z.object({ type: z.literal('reasoning'), text: z.string(), ...shared }),
    z.object({ type: z.literal('tool-call'), id: z.string(), name: z.string(), input: z.unknown(), ...shared }),
    z.object({
      type: z.literal('tool-result'),
      id: z.string(),
      name: z.string(),
      output: z.union([z.string(), z.array(z.lazy(() => Part))]),
      isError: z.boolean().optional(),
      ...shared,
    }),
    z.object({
      type: z.literal('image'),
      mediaType: z.string(),
      data: z.string().optional(),
      url: z.string().optional(),
      ...shared,
    }),
    z.object({ type: z.literal('raw'), provider: z.string(), value: z.unknown(), ...shared }),
  ])
  .meta({ id: 'Part' })

export const Message = named('Message', { role: RoleName, parts: z.array(Part), at: Time.optional(), original })

export const Target = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('entry'), entry: index }),
    z.strictObject({
      type: z.literal('part'),
      entry: index,
      part: index,
      leaf: index.optional(),
      span: z.tuple([index, index]).optional(),
    }),
    z.strictObject({ type: z.literal('range'), from: index, to: index }),
    z.strictObject({ type: z.literal('after'), entry: index }),
  ])
  .meta({ id: 'Target', description: 'The place of an edit, in terms of originals.' })

const MAX_TEXT = 200_000

const id = z.string().min(1).max(MAX_ID)
const summary = z.string().min(1).max(MAX_TEXT)
const operation = z.strictObject({
  start: z.string().min(1).max(MAX_TEXT),
  end: z.string().min(1).max(MAX_TEXT),
  replacement: z.string().max(MAX_TEXT),
})
const distilled = z.array(summary).min(2).max(2).describe('[id, summary]')
const discarded = z.array(id).min(1).max(1).describe('[id]')
const MAX_TARGETS = 1000

/** The input of the `context` tool: ids and literal texts that the model sees. A batch may hold all three kinds. */
export const ContextRequest = z
  .discriminatedUnion('action', [
    z.strictObject({
      action: z.enum(['discard', 'replace']),
      targets: z
        .array(z.union([discarded, distilled, operation]))
        .min(1)
        .max(MAX_TARGETS),
    }),
    z.strictObject({
      action: z.literal('distill'),
      targets: z
        .array(z.union([distilled, operation]))
        .min(1)
        .max(MAX_TARGETS),
    }),
  ])
  .meta({ id: 'ContextRequest' })

export const Edit = named('Edit', {
  id: z.string(),
  target: Target,
  replacement: z
    .union([z.string(), z.null(), z.object({ messages: z.array(Message) }), z.object({ input: z.unknown() })])
    .describe('A text, messages, or the input of a call; null if the part is dropped.'),
  by: z.string().describe('policy:name, agent, user or engine.'),
  why: z.string(),
  saved: z.number().describe('Tokens that the edit removed from the view, when it was made.'),
  mark: z.string().optional().describe('The form that a policy gave the part, in its own words.'),
})

export const EditState = Edit.extend({ active: z.boolean(), seq: z.number() }).meta({ id: 'EditState' })

export const Violation = z.looseObject({ rule: z.string(), message: z.string() }).meta({ id: 'Violation' })

export const View = named('View', {
  session: z.string(),
  messages: z.array(Message),
  tokens: z.number(),
  edits: z.array(Edit),
  pending: z.array(z.looseObject({ saves: z.number(), reason: z.string() })),
  decision: z.string().optional(),
  waiting: z.array(z.string()).describe('Calls that still wait for their results; the view cannot be sent before.'),
  report: z.array(Violation),
})

export const SummaryOut = named('Summary', {
  title: z.string().describe('The first request of the user; empty for an agent, because the user may have hidden it.'),
  entries: z.number(),
  turns: z.number().describe('Requests of the user.'),
  calls: z.number().describe('Model calls.'),
  carried: z.number().describe('Messages at the beginning whose calls were paid in another session.'),
  edits: z.number().describe('In force.'),
  tokens: z
    .object({ raw: z.number(), shown: z.number(), window: z.number() })
    .describe('Tokens of the next call: of the original conversation, and of the view.'),
  sent: z.object({ raw: z.number(), shown: z.number() }).describe('Tokens over all calls.'),
  money: z
    .object({
      without: z.number(),
      with: z.number(),
      saved: z.number(),
      modelled: z.number(),
      estimated: z.number(),
      could: z.number().optional().describe('What thrifty would have saved in a recording, if it was replayed.'),
    })
    .describe(
      'Dollars, answers included. `with` is what was paid: as the provider reported it, and by our cost model for ' +
        'the `estimated` calls without a report. `without` adds what our edits `saved`. `modelled` is the estimate of the ' +
        'cost model for all calls.',
    ),
  series: z
    .object({ raw: z.array(z.number()), shown: z.array(z.number()) })
    .describe('Tokens sent call by call, in at most 40 steps.'),
  days: z
    .array(
      z.object({
        day: z.string().describe("YYYY-MM-DD, in the server's time zone."),
        calls: z.number(),
        billed: z.number(),
        saved: z.number(),
        could: z.number().optional(),
        input: z.number().describe('Tokens of input.'),
        cacheRead: z.number().describe('Tokens of input that were read from the cache.'),
      }),
    )
    .describe('The same money by the day of each call.'),
})

export const SessionOut = named('Session', {
  id: z.string(),
  policy: z.string(),
  model: z.string(),
  owner: z.string().nullable().describe('The user who owns it; null if it has no owner.'),
  length: z.number().describe('Number of events.'),
  createdAt: Time,
  updatedAt: Time,
  parent: z.object({ id: z.string(), seq: z.number() }).optional().describe('The place where it was forked.'),
  about: z
    .object({
      client: z.string().optional(),
      project: z.string().optional().describe('The folder that the agent works in.'),
      title: z.string().optional().describe('The title that somebody gave it.'),
      parent: z.string().optional(),
      reason: z.enum(SESSION_REASONS).optional().describe('Why it has a parent.'),
      tags: z.array(z.string()).optional().describe("The user's tags, for finding sessions."),
      carried: z.number().optional().describe('Messages at the beginning that are shared with the parent.'),
      forkedAt: z.number().optional().describe("When the agent's file began, if it began with a copy of another."),
      recorded: z.literal(true).optional().describe('It was imported from a file of an agent.'),
      importedBy: z.string().optional().describe('The import that created it.'),
    })
    .describe('Its client, its project, its title and tags, and the session that it continues or that started it.'),
  cacheTtl: z.string().optional().describe('The cache lifetime requested from the provider.'),
  cacheKept: z
    .number()
    .optional()
    .describe('The longest time in milliseconds for which the provider was seen to keep a prefix.'),
  overhead: z.number().optional().describe('Tokens of system prompt and tools.'),
  ids: z.number().optional().describe('Results with more characters get an id.'),
})

export const SessionRow = SessionOut.extend({
  title: z.string().describe('The title that somebody gave it, or its first request; empty if that is not known yet.'),
  live: z.boolean().describe('It has new entries from the last minute and a half.'),
  isOld: z.boolean().describe('Whether the session has grown since its numbers were computed.'),
  isUntried: z.boolean().describe('Whether it is a recording that is still to be replayed.'),
  summary: SummaryOut.nullable().describe('Null if it is not known yet: request it at /sessions/{session}/summary.'),
}).meta({ id: 'SessionRow' })

export const FamilyOut = SessionRow.extend({
  children: z.array(SessionRow),
  total: z
    .object({
      calls: z.number(),
      billed: z.number(),
      without: z.number(),
      saved: z.number(),
      could: z.number().describe('What could have been saved in the recordings among them.'),
      updatedAt: Time,
      known: z.boolean().describe('Whether the numbers of all of them are included.'),
    })
    .describe('Dollars and calls of the whole family.'),
}).meta({ id: 'Family' })

const PartType = z.enum(['text', 'reasoning', 'tool-call', 'tool-result', 'image', 'raw']).meta({ id: 'PartType' })

const nearby = {
  entry: z.number(),
  part: z.number(),
  role: RoleName,
  kind: PartType,
  tool: z.string().optional(),
  inView: z.boolean().describe('Whether the model sees it now.'),
  hash: z.string().describe('The id of the part, for edits and restore.'),
  tokens: z.number().describe('Tokens of the whole part.'),
}

export const Nearby = named('Nearby', { ...nearby, preview: z.string() })

export const Hit = named('Hit', {
  ...nearby,
  session: z.string(),
  snippet: z.string(),
  from: z.number().describe('Where the matching passage begins in the text of the part.'),
  to: z.number(),
  at: z.number().describe('When it happened, in milliseconds since 1970.'),
  hidden: z.boolean().optional().describe('Whether the user has hidden it from agents.'),
  copies: z.number().optional().describe('How many older parts have the same text.'),
})
