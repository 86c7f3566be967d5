/** A turn of the agent as the page follows it: sends the request, receives the events, can stop the turn. */
import { useCallback, useEffect, useEffectEvent, useRef, useState } from 'react'
import type { AgentEvent } from '../../../../src/agent/events.ts'
import { ApiError, addressOf, fetchApi, sendJson } from '../../api.ts'
import { blocksIn } from '../../live.ts'
import { type ChatItem, withEvent } from './chat-items.ts'

export type Turn = {
  items: readonly ChatItem[]
  running: boolean
  /** Whether the agent has answered; from then on the session exists. */
  begun: boolean
  error: unknown
  /** The cost of the turn so far, in dollars. */
  cost: number
  send(request: { session: string; text: string; persona: string | undefined }): void
  stop(): void
  answer(id: string, yes: boolean): Promise<void>
  clear(): void
}

type TurnOptions = {
  /** Whether a turn may already be running. */
  follows: boolean
  /** Called when the whole turn is in the ledger. */
  onEnd(): void
}

export function useTurn(session: string, { follows, onEnd }: TurnOptions): Turn {
  const [items, setItems] = useState<readonly ChatItem[]>([])
  const [running, setRunning] = useState(false)
  const [begun, setBegun] = useState(false)
  const [error, setError] = useState<unknown>()
  const [cost, setCost] = useState(0)
  const stream = useRef<AbortController>(null)
  // Leaving the page stops following the turn, but not the agent.
  useEffect(() => () => stream.current?.abort(), [])
  const take = (event: AgentEvent) => {
    setBegun(true)
    setItems(old => withEvent(old, event))
    if (event.type === 'usage') setCost(old => old + event.cost)
  }
  const run = (start: readonly ChatItem[], open: (signal: AbortSignal) => Promise<Response | undefined>) => {
    const own = new AbortController()
    stream.current?.abort()
    stream.current = own
    setError(undefined)
    setCost(0)
    const begin = (response: Response | undefined) => {
      if (!response || own.signal.aborted) return undefined
      setItems(start)
      setRunning(true)
      return follow(response, take).then(() => {
        setRunning(false)
        onEnd()
      })
    }
    open(own.signal)
      .then(begin)
      .catch(failed => {
        if (own.signal.aborted) return
        setError(failed)
        setRunning(false)
        onEnd()
      })
  }
  const send: Turn['send'] = ({ text, ...request }) => {
    const start: ChatItem[] = [{ kind: 'user', text }]
    setItems(start)
    setRunning(true)
    run(start, signal => startTurn({ text, ...request }, signal))
  }
  const attach = useEffectEvent(() => {
    run([], signal => findTurn(session, signal))
  })
  // A turn continues without listeners: opening its session again follows it from its beginning.
  useEffect(() => {
    if (follows) attach()
  }, [follows])
  const clear = useCallback(() => setItems([]), [])
  return {
    items,
    running,
    begun,
    error,
    cost,
    send,
    clear,
    stop: () => void sendJson('POST', '/agent/sessions/{session}/stop', { params: { session } }).catch(setError),
    answer: async (id, yes) => {
      // Shown at once, so that pressing a key twice answers only once.
      take({ type: 'approved', id, yes })
      await sendJson('POST', '/agent/sessions/{session}/approvals/{id}', { params: { session, id }, body: { yes } })
    },
  }
}

const TURNS = '/agent/sessions/{session}/turns'

type Request = Parameters<Turn['send']>[0]

function startTurn({ session, text, persona }: Request, signal: AbortSignal): Promise<Response> {
  const body = JSON.stringify({ text, persona })
  const headers = { 'content-type': 'application/json' }
  return fetchApi(addressOf(TURNS, { session }), { method: 'POST', body, headers, signal })
}

/** The running turn of a session, if there is one. */
async function findTurn(session: string, signal: AbortSignal): Promise<Response | undefined> {
  try {
    return await fetchApi(addressOf(TURNS, { session }), { signal })
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}

async function follow(response: Response, take: (event: AgentEvent) => void): Promise<void> {
  for await (const { data } of blocksIn(response)) if (data !== undefined) take(JSON.parse(data) as AgentEvent)
}
