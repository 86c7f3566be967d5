/**
 * The conversation, virtualised: of ten thousand entries only those on the screen are elements, and only those near it
 * are read. The page itself scrolls, so that keys, phones and the browser's own search of what is visible work.
 */
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import {
  memo,
  type RefObject,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import type { Bar } from '../../api-types.ts'
import { Button } from '../../ui/button.tsx'
import { Failure } from '../../ui/failure.tsx'
import { count } from '../../ui/format.ts'
import { CallNames } from './call-names.ts'
import type { EditIndex } from './edit-index.ts'
import type { EntryPages } from './entry-pages.ts'
import { EntryRow } from './entry-row.tsx'

/** How a jump is asked for from elsewhere on the page. */
export type Jump = (entry: number) => void

export type ConversationProps = {
  session: string
  total: number
  pages: EntryPages
  edits: EditIndex
  bars: ReadonlyMap<string, Bar>
  chosen: number | undefined
  /** Entries from here on were not there yet at the call that is looked at. */
  until: number
  marks: readonly string[]
  jump: RefObject<Jump | undefined>
  /** Whether the content above has its final size. */
  settled: boolean
  onVisible(from: number, to: number): void
}

const ESTIMATE = 150
const OVERSCAN = 4
/** Rows above a jump stay clear of what sticks to the top. */
const CLEAR = 24

export const Conversation = memo(function Conversation(props: ConversationProps) {
  const { session, total, pages, edits, bars, chosen, until, marks, jump, settled, onVisible } = props
  const list = useRef<HTMLDivElement>(null)
  const [names] = useState(() => new CallNames())
  const { margin, stuck } = useMeasures(list)
  useSyncExternalStore(pages.subscribe, pages.version)
  const rows = useWindowVirtualizer({
    count: total,
    estimateSize: () => ESTIMATE,
    overscan: OVERSCAN,
    scrollMargin: margin,
    scrollPaddingStart: stuck + CLEAR,
    useFlushSync: false,
  })
  const items = rows.getVirtualItems()
  const isRead = items.every(({ index }) => pages.get(index) !== undefined)
  useJump(jump, entry => rows.scrollToIndex(entry, { align: 'start' }), isRead && settled)
  const first = items[0]?.index
  const last = items.at(-1)?.index
  useEffect(() => {
    if (first !== undefined && last !== undefined) pages.need(first, last)
  }, [first, last, pages])
  const [from, to] = seenRange(items, rows.scrollOffset ?? 0, stuck)
  useEffect(() => {
    if (from !== undefined && to !== undefined) onVisible(from, to)
  }, [from, to, onVisible])
  const fresh = useFresh(total, to, entry => jump.current?.(entry))
  return (
    <section className="conversation" aria-label="Conversation">
      {fresh > 0 && (
        <Button kind="primary" className="follow" onClick={() => jump.current?.(total - 1)}>
          ↓ {count(fresh)} new
        </Button>
      )}
      {pages.error !== undefined && <Failure error={pages.error} retry={() => pages.refresh()} />}
      <div ref={list} className="conversation-list" style={{ height: rows.getTotalSize() }} data-total={total}>
        {items.map(({ index, key, start }) => (
          <div
            key={key}
            ref={rows.measureElement}
            data-index={index}
            className="conversation-row"
            style={{ transform: `translateY(${start - margin}px)` }}
          >
            <EntryRow
              session={session}
              number={index}
              entry={pages.get(index)}
              edits={edits}
              bars={bars}
              names={names}
              chosen={index === chosen}
              later={index >= until}
              marks={marks}
            />
          </div>
        ))}
      </div>
    </section>
  )
})

/** Follows a session that grows while its end is on the screen; counts what is new while it is not. */
function useFresh(total: number, last: number | undefined, follow: Jump): number {
  const [seen, setSeen] = useState(total)
  const before = useRef(total)
  const latest = useEffectEvent(follow)
  const isAtEnd = last !== undefined && last >= total - 1
  useEffect(() => {
    const wasAtEnd = last !== undefined && last >= before.current - 1
    const grew = total > before.current
    before.current = total
    if (isAtEnd) setSeen(total)
    // A session of which all fits on the screen is read from its beginning.
    if (grew && wasAtEnd && scrollY > 0) latest(total - 1)
  }, [total, last, isAtEnd])
  return isAtEnd ? 0 : total - seen
}

/**
 * A leap lands on rows whose size is not known before they are read and drawn, below a map that is still to come: it is
 * made again until they are there, unless the reader takes over.
 */
function useJump(jump: ConversationProps['jump'], leap: Jump, isThere: boolean): void {
  const goal = useRef<number>(undefined)
  const latest = useEffectEvent(leap)
  useEffect(() => {
    const stop = new AbortController()
    const forget = () => {
      goal.current = undefined
    }
    for (const type of ['wheel', 'touchstart', 'pointerdown', 'keydown']) {
      addEventListener(type, forget, { signal: stop.signal, passive: true })
    }
    jump.current = entry => {
      goal.current = entry
      latest(entry)
    }
    return () => stop.abort()
  }, [jump])
  // After every drawing, and two frames later, when the sizes of what was drawn are known; until it moves nothing more.
  useEffect(() => {
    const settle = () => {
      if (goal.current === undefined) return
      const before = scrollY
      latest(goal.current)
      if (!isThere) return
      if (Math.abs(scrollY - before) < 1) goal.current = undefined
      else frame = requestAnimationFrame(settle)
    }
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(settle)
    })
    return () => cancelAnimationFrame(frame)
  })
}

/** How far down the page the list begins, and how much stays at the top of the window; both change with what is above. */
function useMeasures(element: RefObject<HTMLElement | null>): { margin: number; stuck: number } {
  const [measures, setMeasures] = useState({ margin: 0, stuck: 0 })
  useLayoutEffect(() => {
    const measure = () => {
      const top = element.current?.getBoundingClientRect().top
      if (top === undefined) return
      const next = { margin: Math.round(top + scrollY), stuck: stuckHeight() }
      setMeasures(old => (old.margin === next.margin && old.stuck === next.stuck ? old : next))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    return () => observer.disconnect()
  }, [element])
  return measures
}

/** The height of the bars that stay at the top of the window. */
function stuckHeight(): number {
  let height = 0
  for (const element of document.querySelectorAll<HTMLElement>('[data-sticks]')) {
    // What shrinks when one scrolls says to what.
    const size = Number(element.dataset['sticks']) || element.offsetHeight
    if (getComputedStyle(element).position === 'sticky') height += Math.min(size, element.offsetHeight)
  }
  return height
}

type Item = { index: number; start: number; end: number }

/** The entries that the reader sees, without those that are only prepared. */
function seenRange(items: readonly Item[], scrolled: number, stuck: number): [number | undefined, number | undefined] {
  const bottom = scrolled + innerHeight
  const seen = items.filter(({ start, end }) => end > scrolled + stuck && start < bottom)
  return [seen[0]?.index, seen.at(-1)?.index]
}
