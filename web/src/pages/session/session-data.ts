/**
 * All data of the page of a session. When the session grows or an action changes it, the data is read again; the old
 * data stays on the screen until then.
 */
import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { getJson } from '../../api.ts'
import type {
  ContextMap,
  EditState,
  Moment,
  Session,
  Summary,
  Timeline,
  TimelineCall,
  Turn,
  Verdict,
  Would,
} from '../../api-types.ts'
import { useLive } from '../../live.ts'
import { type Resource, useResource } from '../../resource.ts'
import { type EditIndex, indexEdits } from './edit-index.ts'
import { EntryPages } from './entry-pages.ts'
import { isBookkeeping } from './reasons.ts'

/** Several bars for each pixel of a screen, so that a zoomed stretch still has its single parts. */
const BARS = 4000
const CALLS_AT_ONCE = 2000

export type SessionData = {
  info: Resource<Session>
  summary: Summary | undefined
  /** The current map, and the map on the screen, which may be of an earlier call. */
  now: ContextMap | undefined
  map: ContextMap | undefined
  calls: readonly TimelineCall[]
  edits: EditIndex
  turns: readonly Turn[]
  verdict: Verdict | undefined
  /** What `thrifty` would have done with a recording. */
  would: Would | undefined
  /** The cost of the next call now, part by part. */
  moment: Resource<Moment>
  entries: EntryPages
  /** The number of entries, once it is known. */
  total: number | undefined
  /** The session was deleted while it was on the screen. */
  isGone: boolean
  reload(): void
}

export function useSessionData(session: string, at: number | undefined): SessionData {
  // Entries are requested first, because the user reads them while the rest loads.
  const [entries] = useState(() => new EntryPages(session))
  useSyncExternalStore(entries.subscribe, entries.version)
  useEffect(() => {
    entries.need(0, 0)
    return () => entries.close()
  }, [entries])
  const params = { session }
  const info = useResource(session, signal => getJson('/sessions/{session}', { params, signal }))
  // Data that grows with the session waits until the entries are painted, so that a long session appears as fast as a
  // short one.
  const then = usePainted(entries.total !== undefined || entries.error !== undefined) ? session : undefined
  const readMap = (signal: AbortSignal, at?: number) =>
    getJson('/sessions/{session}/map', { params, query: { at, max: BARS }, signal })
  const summary = useResource(then, signal => getJson('/sessions/{session}/summary', { params, signal }))
  const now = useResource(then, signal => readMap(signal))
  const asked = useDeferredValue(at)
  const past = useResource(
    asked === undefined ? undefined : `${session}\n${asked}`,
    signal => settled(signal).then(() => readMap(signal, asked)),
    { keep: true },
  )
  const timeline = useResource(then, signal => readCalls(session, signal))
  const edits = useResource(then, signal => getJson('/sessions/{session}/edits', { params, signal }))
  const turns = useResource(then, signal => getJson('/sessions/{session}/turns', { params, signal }))
  const verdict = useResource(summary.value && then, signal =>
    getJson('/sessions/{session}/verdict', { params, signal }),
  )
  const moment = useResource(summary.value && then, signal => getJson('/sessions/{session}/now', { params, signal }))
  const isOnlyRecorded = (summary.value?.calls ?? 0) > 0 && isUnedited(edits.value?.edits, info.value?.about.recorded)
  const would = useResource(isOnlyRecorded && verdict.value ? session : undefined, signal =>
    getJson('/sessions/{session}/would', { params, query: { max: BARS }, signal }),
  )
  const index = useMemo(() => indexEdits(edits.value?.edits ?? []), [edits.value])
  const again = [
    info.reload,
    summary.reload,
    now.reload,
    timeline.reload,
    edits.reload,
    turns.reload,
    verdict.reload,
    moment.reload,
  ]
  const latest = useRef(again)
  latest.current = again
  const reload = useCallback(() => {
    for (const readAgain of latest.current) readAgain()
    entries.refresh()
  }, [entries])
  const total = largest(entries.total, now.value?.entries)
  const [isGone, setGone] = useState(false)
  useLive(event => {
    const isOurs = event.type === 'session.changed' && event.session === session
    // A session only grows, so one without events was deleted, and reading it again would fail.
    if (isOurs && event.length === 0 && total) setGone(true)
    else if (isOurs || event.type === 'reset') reload()
  })
  return {
    info,
    summary: summary.value,
    now: now.value,
    map: at === undefined ? now.value : (past.value ?? now.value),
    calls: timeline.value ?? NONE,
    edits: index,
    turns: turns.value?.turns ?? NO_TURNS,
    verdict: verdict.value,
    would: isOnlyRecorded ? would.value : undefined,
    moment,
    entries,
    total,
    isGone,
    reload,
  }
}

/** A session only grows, so the larger of two numbers is the newer one. */
function largest(...values: (number | undefined)[]): number | undefined {
  const known = values.filter(value => value !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

const HIDDEN_MS = 100

/** Whether new content is on the screen. A hidden tab paints nothing, so there it is assumed after a moment. */
function usePainted(isThere: boolean): boolean {
  const [painted, setPainted] = useState(false)
  useEffect(() => {
    if (!isThere) return
    const done = () => setPainted(true)
    const timer = setTimeout(done, HIDDEN_MS)
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(done)
    })
    return () => {
      clearTimeout(timer)
      cancelAnimationFrame(frame)
    }
  }, [isThere])
  return painted
}

const NONE: readonly TimelineCall[] = []
const NO_TURNS: readonly Turn[] = []

/** Whether an imported session has no edits except repairs. */
function isUnedited(edits: readonly EditState[] | undefined, isRecorded = false): boolean {
  return isRecorded && edits?.every(isBookkeeping) === true
}

async function readCalls(session: string, signal: AbortSignal): Promise<TimelineCall[]> {
  const calls: TimelineCall[] = []
  for (let from: number | null = 1; from !== null; ) {
    const query = { from, limit: CALLS_AT_ONCE }
    const page: Timeline = await getJson('/sessions/{session}/timeline', { params: { session }, query, signal })
    calls.push(...page.calls)
    from = page.next
  }
  return calls
}

const SETTLE_MS = 40

/** While the user drags through the calls, only calls where they pause are read. */
function settled(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, SETTLE_MS)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}
