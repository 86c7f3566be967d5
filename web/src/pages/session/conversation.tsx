/**
 * The conversation as a virtual list: only the entries on the screen are elements, and only entries near them are read.
 * The page itself scrolls, so that keys, phones and the browser's search in visible text work.
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

/** Scrolls the conversation to an entry. */
export type Jump = (entry: number) => void

export type ConversationProps = {
  session: string
  total: number
  pages: EntryPages
  edits: EditIndex
  bars: ReadonlyMap<string, Bar>
  chosen: number | undefined
  /** Entries from this number on did not exist at the selected call. */
  until: number
  marks: readonly string[]
  jump: RefObject<Jump | undefined>
  /** Whether the content above has its final size. */
  settled: boolean
  onVisible(from: number, to: number): void
}

const ESTIMATE = 150
const OVERSCAN = 4
/** Distance in pixels between the bars at the top and an entry that was jumped to. */
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

/** Follows a growing session while its end is on the screen; otherwise counts new entries. */
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
    // A session that fits on the screen is read from its beginning.
    if (grew && wasAtEnd && scrollY > 0) latest(total - 1)
  }, [total, last, isAtEnd])
  return isAtEnd ? 0 : total - seen
}

/**
 * Jumps to an entry. The rows there have no known size before they are rendered, so the jump is repeated until they
 * have, unless the user scrolls.
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
  // Repeats after every drawing, and two frames later, when the drawn rows have their sizes, until the row is in place.
  useEffect(() => {
    let left = MOST_FRAMES
    const settle = () => {
      if (goal.current === undefined) return
      latest(goal.current)
      if (!isThere) return
      if (isInPlace(goal.current) || left-- === 0) goal.current = undefined
      else frame = requestAnimationFrame(settle)
    }
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(settle)
    })
    return () => cancelAnimationFrame(frame)
  })
}

/**
 * The offset of the list on the page, and the height of the bars at the top of the window; both change with the content
 * above.
 */
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
    // An element that shrinks on scrolling declares its final height.
    const size = Number(element.dataset['sticks']) || element.offsetHeight
    if (getComputedStyle(element).position === 'sticky') height += Math.min(size, element.offsetHeight)
  }
  return height
}

type Item = { index: number; start: number; end: number }

/** The entries on the screen, without those rendered in advance. */
function seenRange(items: readonly Item[], scrolled: number, stuck: number): [number | undefined, number | undefined] {
  const bottom = scrolled + innerHeight
  const seen = items.filter(({ start, end }) => end > scrolled + stuck && start < bottom)
  return [seen[0]?.index, seen.at(-1)?.index]
}

/** A row that is not in place after so many frames without a drawing will not get there. */
const MOST_FRAMES = 30

/** Whether a jump to a row has ended: the row is just below the bars at the top, or the page cannot scroll further. */
function isInPlace(entry: number): boolean {
  const row = document.querySelector(`.conversation-row[data-index="${entry}"]`)
  if (!row) return false
  const page = document.documentElement
  const isAtEnd = scrollY + page.clientHeight >= page.scrollHeight - 1
  return isAtEnd || Math.abs(row.getBoundingClientRect().top - stuckHeight() - CLEAR) < 2
}
