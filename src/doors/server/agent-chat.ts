/**
 * The agent as an OpenAI-compatible endpoint, `/agent/v1`: models are personas, so that any chat front end can use an
 * agent with memory. Text is the answer; reasoning and tool calls come as `reasoning_content`.
 *
 * A chat is one session, identified by the headers that OpenWebUI sends, by `user`, or by its messages. No user can be
 * asked here, so calls that need approval are refused unless the configuration allows them. A front end's own questions
 * (a title, tags) are answered outside of the session. If the client disconnects, the turn stops and the session is
 * kept. A line below the answer announces proposals to remember, with a link; the user decides there or by a word
 * (decide-by-word.ts). The link is removed from messages that come back, so that the model never reads it.
 */
import { createHash, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { askQuietly } from '../../agent/ask.ts'
import { placeConversation } from '../../agent/conversations.ts'
import { type AgentDesk, RunningTurn } from '../../agent/desk.ts'
import type { Home } from '../../agent/open.ts'
import { listPersonas } from '../../agent/personas.ts'
import { RETRY } from '../../agent/trouble.ts'
import { fromOpenAIChat } from '../../formats/adapters/openai-chat.ts'
import { ledgerId } from '../../ledger/owners.ts'
import { type DecisionLinks, noticeOf, withoutLinks, withoutNotice } from '../../memory/decision-links.ts'
import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { textOf } from '../../model/leaves.ts'
import type { Message } from '../../model/types.ts'
import { guestOf, ownerFor } from './agent-callers.ts'
import { type Completion, chunksOf, type Notice, toCompletion } from './agent-completion.ts'
import { STREAM_HEADERS, toEventStream } from './agent-stream.ts'
import { parseBody, readBytes } from './bodies.ts'
import { decideByWord, wordIn } from './decide-by-word.ts'
import { type Caller, isRevoked } from './gate.ts'
import { toRefusal } from './refusals.ts'
import { type Doors, PEOPLE } from './route.ts'
import type { Mounted } from './server.ts'

const PREFIX = '/agent/v1'
const MAX_BODY = 32 * 1024 * 1024

const bodySchema = z.looseObject({
  model: z.string().min(1),
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  user: z.string().min(1).max(100).nullish(),
})

type Body = z.infer<typeof bodySchema>
type Asked = { request: Request; caller: Caller; doors: Doors }

export type AgentChatOptions = {
  links: DecisionLinks
  /** The URL at which users reach this server, if the front end uses another one. */
  publicUrl?: string | undefined
  log: (line: string) => void
}

export function agentChat(desk: AgentDesk, { links, publicUrl, log }: AgentChatOptions): Mounted {
  /** The requests of one chat run one after the other. */
  const queues = new Map<string, Promise<unknown>>()
  return {
    prefix: PREFIX,
    // As for the agent's own routes, only people decide.
    roles: PEOPLE,
    // OpenAI clients must send some key; a key that is not ours counts as none.
    foreignAuthorization: 'unless-ours',
    async handle(request, { caller, doors }) {
      try {
        const path = new URL(request.url).pathname.slice(PREFIX.length)
        if (path === '/models' && request.method === 'GET') return await models(desk)
        if (path === '/chat/completions' && request.method === 'POST') return await complete({ request, caller, doors })
        throw new PalimpsestError('NOT_FOUND', 'Use GET /agent/v1/models or POST /agent/v1/chat/completions.')
      } catch (error) {
        return refuse(error, log)
      }
    },
  }

  async function complete({ request, caller, doors }: Asked): Promise<Response> {
    const body = await readBody(request)
    const home = await desk.home()
    const messages = fromOpenAIChat(body.messages).filter(({ role }) => role === 'user' || role === 'assistant')
    const linkOf = (path: string) => new URL(path, publicUrl ?? request.url).href
    const notice: Notice = ({ user, ids }) => noticeOf(ids.length, linkOf(links.path(user, ids)))
    const spoken = messages.map(onlyWords).filter(({ parts }) => parts.length > 0)
    const completion = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(doors.clock() / 1000), model: body.model }
    const named = request.headers.get('x-openwebui-user-id') ?? body.user ?? undefined
    const guest = await guestOf(desk, caller, named)
    if (isChore(spoken)) return whole(await doChore(home, spoken, completion))
    const owner = ownerFor(caller, guest, named)
    const base = chatName(guest?.user ?? home.user, request.headers.get('x-openwebui-chat-id'), spoken)
    const word = wordIn(messages)
    const decider = { memory: doors.memory, links, user: guest?.user ?? home.user, linkOf }
    const start = () => begin({ desk, home, body, base, spoken, guest, owner })
    const turn = word
      ? saying(base, await decideByWord(word, decider))
      : await inTurn(queues, ledgerId(owner, base), start)
    request.signal.addEventListener('abort', () => turn.abort(), { once: true })
    const isOver = () => isRevoked(doors.store, caller)
    if (body.stream !== true) return whole(await toCompletion(turn, completion, { notice, isOver }))
    const withUsage = body.stream_options?.include_usage === true
    const stream = toEventStream(chunksOf(turn, completion, { withUsage, notice }), {
      isOver,
      left: () => turn.abort(),
    })
    return new Response(stream, { headers: STREAM_HEADERS })
  }
}

type Begin = {
  desk: AgentDesk
  home: Home
  body: Body
  base: string
  spoken: readonly Message[]
  guest: Awaited<ReturnType<typeof guestOf>>
  owner: string | undefined
}

async function begin({ desk, home, body, base, spoken, guest, owner }: Begin): Promise<RunningTurn> {
  const persona = await home.persona(undefined, body.model)
  const pal = owner === undefined ? home.pal : home.pal.of(owner)
  const { session, history, request } = await placeConversation(pal, base, spoken)
  return desk.start({ session, owner, history, request, persona: persona.name, guest })
}

/** A turn that calls no model. The front end sends its text back with the next request. */
function saying(session: string, message: string): RunningTurn {
  return new RunningTurn(session, async function* () {
    yield { type: 'text', text: message }
    yield { type: 'done', reason: 'answered', message, steps: 0, cost: 0 }
  })
}

/** Runs work when no other request of this chat is starting or running. */
async function inTurn(
  queues: Map<string, Promise<unknown>>,
  chat: string,
  start: () => Promise<RunningTurn>,
): Promise<RunningTurn> {
  const before = queues.get(chat) ?? Promise.resolve()
  const started = before.then(start, start)
  const ended = started.then(turn => turn.ended).catch(() => undefined)
  queues.set(chat, ended)
  void ended.then(() => queues.get(chat) === ended && queues.delete(chat))
  return started
}

async function readBody(request: Request): Promise<Body> {
  const parsed = bodySchema.safeParse(parseBody(await readBytes(request, MAX_BODY)))
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new PalimpsestError('INVALID_INPUT', `${issue?.path.join('.') ?? 'body'}: ${issue?.message}`)
}

async function models(desk: AgentDesk): Promise<Response> {
  const found = await listPersonas((await desk.home()).home)
  const data = found.map(({ name, description = '' }) => {
    return { id: name, object: 'model', created: 0, owned_by: 'palimpsest', name, description }
  })
  return Response.json({ object: 'list', data })
}

/** Keeps the text of users and the agent. Drops the front end's own tool calls and results, and our notice. */
function onlyWords({ role, parts }: Message): Message {
  const said = parts.flatMap((part): Message['parts'] => {
    if (part.type === 'image') return [part]
    if (part.type !== 'text') return []
    const text = withoutLinks(role === 'assistant' ? withoutNotice(part.text) : part.text)
    return text.trim() === '' ? [] : [text === part.text ? part : { type: 'text', text }]
  })
  return { role, parts: said }
}

/** Each chat has one session. Without an id of the front end's, the first messages tell chats apart. */
function chatName(user: string, chat: string | null, spoken: readonly Message[]): string {
  const first =
    spoken
      .find(({ role }) => role === 'user')
      ?.parts.map(textOf)
      .join('\n') ?? ''
  const id = chat?.trim() ? chat.trim() : first
  const digest = createHash('sha256')
    .update(JSON.stringify([user, id]))
    .digest('hex')
    .slice(0, 12)
  const readable = (chat ?? '').replace(/[^\w-]/g, '').slice(0, 40)
  return ['chat', user.replace(/[^\w-]/g, '').slice(0, 40), readable, digest].filter(part => part !== '').join('-')
}

/** OpenWebUI asks for titles, tags and follow-ups under the id of the chat. */
function isChore(spoken: readonly Message[]): boolean {
  const [only] = spoken
  return spoken.length === 1 && only !== undefined && only.parts.map(textOf).join('').startsWith('### Task:')
}

async function doChore(home: Home, messages: readonly Message[], base: Completion) {
  if (!home.side) throw new PalimpsestError('MODEL_MISSING', 'No model is configured on this server.')
  const { message } = await askQuietly(await home.side(), { messages, tools: [], retry: { ...RETRY, attempts: 2 } })
  const content = message.parts
    .filter(({ type }) => type === 'text')
    .map(textOf)
    .join('')
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
  return { ...base, object: 'chat.completion', choices }
}

function whole(value: object): Response {
  return Response.json(value)
}

function refuse(error: unknown, log: (line: string) => void): Response {
  // The caller may read the provider's message: it contains no key and no path.
  if (isPalimpsestError(error) && error.code === 'MODEL_FAILED') return refusal(502, error)
  const { status, headers, body } = toRefusal(error, log)
  return refusal(status, body.error, headers)
}

function refusal(status: number, { code, message }: { code: string; message: string }, headers = {}): Response {
  return Response.json({ error: { message, type: 'palimpsest_error', code, param: null } }, { status, headers })
}
