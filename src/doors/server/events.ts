/**
 * Route: live events as a stream (server-sent events). Each listener gets only the events that it may see; regular
 * comments keep the connection open. A listener that does not read is disconnected, so that its queue cannot grow
 * without limit.
 */
import { z } from 'zod'
import { PalimpsestError } from '../../model/errors.ts'
import type { Placed } from './event-hub.ts'
import { type Caller, isRevoked, mayActFor } from './gate.ts'
import type { LiveEvent } from './live-event.ts'
import { type Doors, defineRoute, EVERYBODY, type Route } from './route.ts'

const ALIVE_MS = 15_000
/** The most events that may wait for one listener. */
const MOST_WAITING = 1000
const MOST_LISTENERS = 1000
/** One user must not take the places of all. */
const MOST_OF_ONE = 100

const events = defineRoute({
  method: 'get',
  path: '/events',
  summary: 'Live events: sessions that grew, blocks that changed, proposals opened or decided',
  description:
    'Server-sent events. With Last-Event-ID the stream continues after that event; if it cannot, the first ' +
    'event is `reset`: read the state again. The data of an event names what changed, but does not contain the change.',
  roles: EVERYBODY,
  type: 'text/event-stream',
  answer: z.string(),
  async run({ caller, doors, request }) {
    if (doors.hub.listening >= MOST_LISTENERS || doors.hub.listeningFor(ownerOf(caller)) >= MOST_OF_ONE) {
      throw new PalimpsestError('RATE_LIMITED', 'There are too many listeners already.', { retryAfter: 10 })
    }
    await doors.desk.look()
    await doors.hub.refresh()
    const stream = streamFor(doors, caller, request)
    return new Response(stream, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' } })
  },
})

export const eventRoutes: readonly Route[] = [events]

function ownerOf({ user, id }: Caller): string {
  return user ?? id
}

function streamFor(doors: Doors, caller: Caller, request: Request): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let stop = () => {}
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const end = () => {
          if (ended) return
          ended = true
          stop()
          controller.close()
        }
        /** Events are sent one after the other, only while the token is valid and the listener reads. */
        let last = Promise.resolve()
        let ended = false
        const send = (text: string) => {
          last = last.then(async () => {
            const isOver = ended || (await isRevoked(doors.store, caller)) || ended
            if (!isOver && (controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(text))
            else end()
          })
        }
        const take = (placed: Placed) => {
          const event = eventFor(caller, placed.event, doors)
          if (event) send(toText({ ...placed, event }))
        }
        const alive = setInterval(() => send(': still here\n\n'), ALIVE_MS)
        const leave = doors.hub.listen({ take, end, of: ownerOf(caller) })
        stop = () => {
          clearInterval(alive)
          leave()
        }
        for (const line of beginning(doors, request)) send(line)
        const missed = doors.hub.since(request.headers.get('last-event-id') ?? '') ?? []
        for (const placed of missed) take(placed)
      },
      cancel: () => stop(),
    },
    { highWaterMark: MOST_WAITING },
  )
}

/** The first lines name the start of the stream, so that a listener that gets no event can still continue from it. */
function* beginning({ hub }: Doors, request: Request): Generator<string> {
  const last = request.headers.get('last-event-id')
  if (last !== null && hub.since(last) === undefined) {
    yield `event: reset\nid: ${hub.last}\ndata: {"type":"reset"}\n\n`
  } else if (last === null) {
    yield `event: open\nid: ${hub.last}\ndata: {"type":"open"}\n\n`
  }
}

/** The event as this caller may see it; undefined if the caller may not see it. */
function eventFor(caller: Caller, event: LiveEvent, { desk }: Doors): LiveEvent | undefined {
  if (event.type !== 'session.changed') return mayActFor(caller, event.user) ? event : undefined
  const session = desk.nameFor(caller, event.session)
  return session === undefined ? undefined : { ...event, session }
}

function toText({ id, event }: Placed): string {
  return `event: ${event.type}\nid: ${id}\ndata: ${JSON.stringify(event)}\n\n`
}
