/**
 * Routes for gateways that let a separate service shorten their requests, in the form of LiteLLM's guardrail
 * `headroom`: messages in, as many messages out, and a way to retrieve the shortened text.
 *
 * LiteLLM sends tool results and earlier requests of the user, without the answers in between, and in another selection
 * with every call. So a conversation is identified by its first tool result and kept as a session of the caller. Each
 * result is appended once, under an id made from it, and the session's planner decides about it. A decision is shown in
 * every later call, so that the provider's cache holds. Only texts of tool results are changed.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { fromOpenAIChat } from '../../formats/adapters/openai-chat.ts'
import { ledgerId } from '../../ledger/owners.ts'
import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { textOf } from '../../model/leaves.ts'
import { Queues } from '../../model/queues.ts'
import { loadCounter } from '../../model/tokens.ts'
import type { Message, ToolCallPart } from '../../model/types.ts'
import type { Session } from '../../session/session.ts'
import { checkNotHidden } from '../../tools/recall.ts'
import { isVisible } from '../../view/fold.ts'
import { partId, shownParts } from '../../view/shown-texts.ts'
import type { Caller } from './gate.ts'
import { type Doors, defineRoute, EVERYBODY, nameSchema, type Route } from './route.ts'

const MAX_MESSAGES = 10_000
/** The hash in a stub is 16 digits of the conversation and the 8 of a part's id: LiteLLM accepts no more. */
const KEY_DIGITS = 16
/** A session cannot begin with a call, and the gateway does not send the first request. */
const OPENING: Message = {
  role: 'user',
  parts: [{ type: 'text', text: 'Tool results of a conversation, as sent by a gateway.' }],
}

const row = z.looseObject({ role: z.string(), content: z.unknown().optional() })
type WireRow = z.output<typeof row>
type Result = { index: number; text: string; call: ToolCallPart }

const compress = defineRoute({
  method: 'post',
  path: '/v1/compress',
  summary: 'Shorten the tool results of a conversation, for a gateway',
  description:
    'Takes messages of OpenAI Chat and returns the same number in the same order. Results shortened by the planner end with a ' +
    'hash, for which /v1/retrieve returns the whole text.',
  roles: EVERYBODY,
  body: z.looseObject({ messages: z.array(row).min(1).max(MAX_MESSAGES), model: nameSchema(100).optional() }),
  answer: z.object({
    messages: z.array(row),
    tokens_before: z.number(),
    tokens_after: z.number(),
    tokens_saved: z.number(),
    compression_ratio: z.number().describe('Tokens after shortening, as a share of those before.'),
    transforms_applied: z.array(z.string()),
    ccr_hashes: z.array(z.string()).describe('The hashes in these messages.'),
    session: z.string().nullable().describe('The session with the originals and the edits.'),
  }),
  unkeyed: true,
  async run({ body: { messages, model }, caller, doors }) {
    const results = resultsIn(messages)
    const shown = new Map<number, { text: string; hash: string }>()
    const session = results.length > 0 ? await shorten({ results, model, caller, doors, shown }) : null
    const after = messages.map((message, i) => (shown.has(i) ? { ...message, content: shown.get(i)!.text } : message))
    const count = await loadCounter()
    const tokensIn = (rows: readonly WireRow[]) =>
      rows.reduce(
        (sum, { content = '' }) => sum + count(typeof content === 'string' ? content : JSON.stringify(content)),
        0,
      )
    const [tokens_before, tokens_after] = [tokensIn(messages), tokensIn(after)]
    return {
      messages: after,
      tokens_before,
      tokens_after,
      tokens_saved: tokens_before - tokens_after,
      compression_ratio: tokens_before > 0 ? tokens_after / tokens_before : 1,
      transforms_applied: session && shown.size > 0 ? [session.options.policy.name] : [],
      ccr_hashes: [...shown.values()].map(({ hash }) => hash),
      session: session?.id ?? null,
    }
  },
})

const retrieve = defineRoute({
  method: 'get',
  path: '/v1/retrieve/{hash}',
  summary: 'The whole text of a result that was shortened for a gateway',
  roles: EVERYBODY,
  params: { hash: z.string().regex(/^[0-9a-f]{24}$/) },
  query: { query: z.string().max(10_000).optional().describe('Not used: the answer is always the whole text.') },
  answer: z.object({ hash: z.string(), original_content: z.string(), session: z.string(), entry: z.number() }),
  refusals: [409],
  async run({ params: { hash }, caller, doors }) {
    const name = nameOf(hash.slice(0, KEY_DIGITS))
    try {
      const session = await doors.desk.open(caller, name)
      const id = hash.slice(KEY_DIGITS)
      const { text, entry, part } = await session.original(id)
      if (caller.role === 'agent') checkNotHidden(session, { id, entry, part })
      return { hash, original_content: text, session: name, entry }
    } catch (error) {
      if (!isPalimpsestError(error) || !['SESSION_NOT_FOUND', 'EDIT_NOT_FOUND'].includes(error.code)) throw error
      throw new PalimpsestError('NOT_FOUND', 'There is no text with this hash. Use a hash from /v1/compress.', { hash })
    }
  },
})

export const gatewayRoutes: readonly Route[] = [compress, retrieve]

type Asked = {
  results: readonly Result[]
  model: string | undefined
  caller: Caller
  doors: Doors
  /** Filled with the text that replaces each message. */
  shown: Map<number, { text: string; hash: string }>
}

const queues = new Queues()
/** The entry of each result by the id of its call, and the entry up to which the session was searched. */
const known = new WeakMap<Session, { upTo: number; entries: Map<string, number> }>()

function shorten({ results, model, caller, doors, shown }: Asked): Promise<Session> {
  const key = results[0]!.call.id.slice(0, KEY_DIGITS)
  const name = nameOf(key)
  return queues.run(ledgerId(caller.owner, name), async () => {
    const isThere = (await doors.desk.find(caller, name)) !== undefined
    const about = { client: 'gateway' }
    const session = isThere
      ? await doors.desk.open(caller, name)
      : await doors.desk.create(caller, name, { about, model })
    await appendNew(session, results)
    await session.view()
    const entries = await entriesOf(session)
    for (const { index, text, call } of results) {
      const entry = entries.get(call.id)!
      const id = partId(entry, 0, { type: 'tool-result' })
      const now = withHash(shownText(session, entry), { id, hash: key + id })
      if (now.length < text.length && shownText(session, entry) !== text)
        shown.set(index, { text: now, hash: key + id })
    }
    return session
  })
}

async function appendNew(session: Session, results: readonly Result[]): Promise<void> {
  const entries = await entriesOf(session)
  const fresh = [...new Map(results.map(result => [result.call.id, result])).values()]
    .filter(({ call }) => !entries.has(call.id))
    .flatMap(({ call, text }): Message[] => [
      { role: 'assistant', parts: [call] },
      { role: 'tool', parts: [{ type: 'tool-result', id: call.id, name: call.name, output: text }] },
    ])
  const opening = session.fold.entries.length === 0 ? [OPENING] : []
  if (fresh.length > 0) await session.append(...opening, ...fresh)
}

async function entriesOf(session: Session): Promise<ReadonlyMap<string, number>> {
  const seen = known.get(session) ?? { upTo: 0, entries: new Map<string, number>() }
  known.set(session, seen)
  const { entries } = session.fold
  const from = seen.upTo
  // The messages of hidden entries are not loaded.
  const isWhole = entries.slice(from).every(({ message }) => message)
  const messages = isWhole ? entries.map(({ message }) => message) : await session.messages()
  for (; seen.upTo < entries.length; seen.upTo++) {
    for (const part of messages[seen.upTo]?.parts ?? [])
      if (part.type === 'tool-result') seen.entries.set(part.id, seen.upTo)
  }
  return seen.entries
}

/** Undefined if an edit of several entries hides this one. */
function shownText(session: Session, entry: number): string | undefined {
  if (!isVisible(session.fold, entry)) return undefined
  const [part] = shownParts(session.fold, entry)
  return part && textOf(part.shown)
}

/** A stub names the tool `recall`, which a model behind a gateway does not have. */
function withHash(text = '[left out by context manager]', { id, hash }: { id: string; hash: string }): string {
  const named = text.replace(`recall ${id}`, `retrieve hash=${hash}`)
  return named === text ? `${text}\n[shortened by context manager; whole text: retrieve hash=${hash}]` : named
}

/** Results that are text, each with its call under an id made from both: ids of other agents' calls are not unique. */
function resultsIn(messages: readonly WireRow[]): Result[] {
  const asked = fromOpenAIChat(messages.filter(({ role }) => role === 'assistant'))
  const calls = new Map(
    asked.flatMap(({ parts }) => parts.flatMap(part => (part.type === 'tool-call' ? [[part.id, part] as const] : []))),
  )
  return messages.flatMap(({ role, content, tool_call_id, name }, index) => {
    if (role !== 'tool' || typeof content !== 'string' || content === '') return []
    const call = calls.get(String(tool_call_id))
    const id = createHash('sha256')
      .update(JSON.stringify([tool_call_id, content]))
      .digest('hex')
      .slice(0, 32)
    const given = call?.name ?? (typeof name === 'string' && name !== '' ? name : 'tool')
    return [{ index, text: content, call: { type: 'tool-call', id, name: given, input: call?.input ?? {} } }]
  })
}

function nameOf(key: string): string {
  return `gateway-${key}`
}
