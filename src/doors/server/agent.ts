/**
 * Routes: turns of the agent for pages and programs that speak our own events, with approvals. A turn runs on the
 * server: a reader may leave and come back. Only people decide: an agent's token can neither start a turn nor approve
 * anything.
 */
import { z } from 'zod'
import { listPersonas } from '../../agent/personas.ts'
import type { FollowedTurn } from '../../agent/remote-turn.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { agentOf, guestOf } from './agent-callers.ts'
import { dataBlock, STREAM_HEADERS, toEventStream } from './agent-stream.ts'
import { type Caller, isRevoked } from './gate.ts'
import { type Doors, defineRoute, named, PEOPLE, type Route } from './route.ts'

const MOST_TEXT = 1_000_000

const personas = defineRoute({
  method: 'get',
  path: '/agent/personas',
  summary: 'The personas of the agent',
  roles: PEOPLE,
  answer: named('Personas', {
    personas: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        model: z.string().nullable(),
        tools: z.array(z.string()).nullable().describe('Groups or tools; null for all.'),
        source: z.enum(['package', 'home']),
      }),
    ),
    chosen: z.string().describe('The default for new sessions.'),
    demo: z.boolean().describe('Whether the model is a script on a sample project.'),
  }),
  refusals: [404],
  async run({ doors }) {
    const home = await agentOf(doors).home()
    const found = await listPersonas(home.home)
    return {
      personas: found.map(({ name, description = '', model = null, tools = null, source }) => {
        return { name, description, model, tools, source }
      }),
      chosen: (await home.persona()).name,
      demo: home.demo !== undefined,
    }
  },
})

const start = defineRoute({
  method: 'post',
  path: '/agent/sessions/{session}/turns',
  summary: 'Send the agent a request and follow its turn',
  description:
    'Server-sent events, each the JSON of one event of the agent; the last is `done`. A session that does not exist is created. ' +
    'Without a text, an interrupted turn continues. Leaving the stream does not stop the turn.',
  roles: PEOPLE,
  body: z.strictObject({
    text: z.string().min(1).max(MOST_TEXT).optional(),
    persona: z.string().min(1).max(40).optional(),
  }),
  type: 'text/event-stream',
  answer: z.string(),
  refusals: [409],
  unkeyed: true,
  async run({ params, body, caller, doors }) {
    const desk = agentOf(doors)
    const guest = await guestOf(desk, caller, undefined)
    if (body.text === undefined) await doors.desk.open(caller, params.session)
    const turn = await desk.start({
      session: params.session,
      owner: caller.owner,
      request: body.text,
      persona: body.persona,
      guest,
      canAsk: true,
    })
    return follow(turn, caller, doors)
  },
})

const listen = defineRoute({
  method: 'get',
  path: '/agent/sessions/{session}/turns',
  summary: 'Follow the running turn of a session, from its beginning',
  description: 'The same events as for the caller that started it. If no turn is running, the stream ends at once.',
  roles: PEOPLE,
  type: 'text/event-stream',
  answer: z.string(),
  async run({ params, caller, doors }) {
    await doors.desk.open(caller, params.session)
    return follow(await agentOf(doors).running(doors.desk.idOf(caller, params.session)), caller, doors)
  },
})

const approve = defineRoute({
  method: 'post',
  path: '/agent/sessions/{session}/approvals/{id}',
  summary: 'Answer the approval question of a turn',
  roles: PEOPLE,
  params: { id: z.string().min(1).max(200) },
  body: z.strictObject({ yes: z.boolean() }),
  answer: z.object({ id: z.string(), yes: z.boolean() }),
  unkeyed: true,
  async run({ params, body, caller, doors }) {
    const turn = await turnIn(doors, caller, params.session)
    await turn.answer(params.id, body.yes)
    return { id: params.id, yes: body.yes }
  },
})

const stop = defineRoute({
  method: 'post',
  path: '/agent/sessions/{session}/stop',
  summary: 'Stop the running turn of a session; the session is kept',
  roles: PEOPLE,
  answer: z.object({ session: z.string(), stopped: z.boolean() }),
  unkeyed: true,
  async run({ params, caller, doors }) {
    const turn = await turnIn(doors, caller, params.session)
    await turn.stop()
    return { session: params.session, stopped: true }
  },
})

export const agentRoutes: readonly Route[] = [personas, start, listen, approve, stop]

function follow(turn: FollowedTurn | undefined, caller: Caller, { store }: Doors): Response {
  const stream = toEventStream(blocksOf(turn), { isOver: () => isRevoked(store, caller) })
  return new Response(stream, { headers: STREAM_HEADERS })
}

async function* blocksOf(turn: FollowedTurn | undefined): AsyncGenerator<string> {
  for await (const event of turn?.events() ?? []) yield dataBlock(event)
}

async function turnIn(doors: Doors, caller: Caller, session: string): Promise<FollowedTurn> {
  const turn = await agentOf(doors).running(doors.desk.idOf(caller, session))
  if (turn) return turn
  throw new PalimpsestError('NOT_FOUND', 'No turn is running in this session.', { session })
}
