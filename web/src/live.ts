/**
 * Live events of the server (server-sent events), read with fetch because EventSource cannot send a token.
 *
 * The whole page shares one connection. When it breaks, it is opened again after a growing pause, and continues after
 * the last event received. After a `reset`, all listeners read their state again.
 */
import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'
import type { LiveEvent as ServerEvent } from '../../src/doors/server/live-event.ts'
import { ApiError, fetchApi } from './api.ts'

export type LiveEvent = { type: 'open' | 'reset' } | ServerEvent

export type Connection = 'connecting' | 'open' | 'lost'

const FIRST_WAIT = 500
const LONGEST_WAIT = 10_000

const listeners = new Set<(event: LiveEvent) => void>()
const watchers = new Set<() => void>()
let connection: Connection = 'connecting'
let lastId: string | undefined
let running: AbortController | undefined

/** Calls `take` for every live event while the component is shown. */
export function useLive(take: (event: LiveEvent) => void): void {
  const latest = useEffectEvent(take)
  useEffect(() => {
    const listener = (event: LiveEvent) => latest(event)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
}

export function useConnection(): Connection {
  return useSyncExternalStore(watch, () => connection)
}

/** Opens the connection; returns a function that closes it. */
export function connectLive(): () => void {
  const stop = new AbortController()
  running = stop
  void keepOpen(stop.signal)
  return () => stop.abort()
}

async function keepOpen(signal: AbortSignal): Promise<void> {
  let wait = FIRST_WAIT
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId }
      const response = await fetchApi('/events', { headers, signal })
      change('open', signal)
      wait = FIRST_WAIT
      await readEvents(response, signal)
    } catch (error) {
      // Without a valid token there is nothing to wait for: signing in opens a new connection.
      if (error instanceof ApiError && error.status === 401) return
    }
    change('lost', signal)
    await pause(wait, signal)
    wait = Math.min(wait * 2, LONGEST_WAIT)
  }
}

async function readEvents(response: Response, signal: AbortSignal): Promise<void> {
  for await (const { id, data } of blocksIn(response)) {
    if (signal.aborted) return
    if (id !== undefined) lastId = id
    if (data === undefined) continue
    const event = JSON.parse(data) as LiveEvent
    for (const listener of listeners) listener(event)
  }
}

/** The events of a stream; comments have neither id nor data. */
export async function* blocksIn({ body }: Response): AsyncGenerator<{ id?: string; data?: string }> {
  let rest = ''
  for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() ?? ''
    yield* blocks.map(parseBlock)
  }
}

function parseBlock(block: string): { id?: string; data?: string } {
  const fields: Record<string, string> = {}
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, '')
  }
  return fields
}

function change(next: Connection, signal: AbortSignal): void {
  if (signal !== running?.signal || signal.aborted || next === connection) return
  connection = next
  for (const watcher of watchers) watcher()
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher)
  return () => void watchers.delete(watcher)
}

/** Waits; ends early when the network is back or the user returns to the page. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      removeEventListener('online', done)
      document.removeEventListener('visibilitychange', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    addEventListener('online', done)
    document.addEventListener('visibilitychange', done)
    signal.addEventListener('abort', done)
  })
}
