/**
 * The page of a session: the context map at the top, the conversation below it, and tabs with plots, edits, pending
 * edits and search. The selected call and entry are in the address, so that a link leads to the same place.
 */
import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import type { Bar, ContextMap as MapData } from '../../api-types.ts'
import { hrefOf, replaceQuery, useRoute } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Failure } from '../../ui/failure.tsx'
import { count } from '../../ui/format.ts'
import { useKeys } from '../../ui/keyboard.ts'
import { useMedia } from '../../ui/media.ts'
import { useHeight } from '../../ui/size.ts'
import { type Tab, Tabs } from '../../ui/tabs.tsx'
import { type Place, type Steering, SteeringContext, useActions } from './actions.ts'
import { ColdMoment } from './cold-moment.tsx'
import { CompactDialog } from './compact-dialog.tsx'
import { ContextMap } from './context-map.tsx'
import { ContextTab } from './context-tab.tsx'
import { Conversation, type Jump } from './conversation.tsx'
import { DistillDialog } from './distill-dialog.tsx'
import { EditsTab } from './edits-tab.tsx'
import { FilesTab } from './files-tab.tsx'
import { barsByPart } from './map-scope.ts'
import { PendingTab } from './pending-tab.tsx'
import { Scrubber } from './scrubber.tsx'
import { SearchTab } from './search-tab.tsx'
import { type SessionData, useSessionData } from './session-data.ts'
import { SessionHead } from './session-head.tsx'
import { TimelineTab } from './timeline-tab.tsx'
import { TurnTree } from './turn-tree.tsx'
import { WhyTab } from './why-tab.tsx'
import '../../ui/notice.css'
import './session.css'
import './conversation.css'

type TabKey = 'turns' | 'timeline' | 'why' | 'edits' | 'context' | 'files' | 'pending' | 'search'

export function SessionPage({ session }: { session: string }) {
  const { query: address } = useRoute()
  const at = numberIn(address.get('at'))
  const data = useSessionData(session, at)
  const jump = useRef<Jump>(undefined)
  const see = useRef<(visible: Visible) => void>(undefined)
  const [seen, setSeen] = useState<number>()
  const onVisible = useCallback((from: number, to: number) => {
    see.current?.({ from, to })
    setSeen(from)
  }, [])
  const onAt = useCallback((to: number | undefined) => replaceQuery({ at: to?.toString() }), [])
  const open = useCallback((entry: number) => {
    replaceQuery({ entry: String(entry) })
    jump.current?.(entry)
  }, [])
  const chosen = numberIn(address.get('entry'))
  const { total } = data
  const isWide = useMedia('(min-width: 1240px)')
  useJumps(jump, chosen, total)
  const { steering, dialogs } = useDialogs(session, data, total ?? 0)
  const bars = useMemo(() => barsByPart(data.now?.bars), [data.now])
  const [query, setQuery] = useState(address.get('q') ?? '')
  const [tab, setTab] = useState<TabKey>(query === '' ? 'timeline' : 'search')
  const [parts, setParts] = useState<readonly string[]>([])
  const choose = (ids: readonly string[]) => {
    setParts(ids)
    setTab('context')
  }
  const marks = useMemo(() => query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [], [query])
  if (data.isGone) return <Gone />
  if (data.info.error !== undefined) return <NotThere error={data.info.error} retry={data.reload} />
  const hasColumn = isWide && data.turns.length > 1
  const until = at === undefined ? Number.POSITIVE_INFINITY : (data.map?.entries ?? Number.POSITIVE_INFINITY)
  return (
    <SteeringContext value={steering}>
      <SessionHead {...{ session, data, bars }} onOpen={open} />
      <ColdMoment
        moment={data.moment.value}
        usedAt={data.info.value?.updatedAt}
        onChoose={choose}
        reload={data.moment.reload}
      />
      <MapPanel>
        {data.map && (
          <>
            <SeenMap map={data.map} data={data} see={see} onOpen={open} />
            <Scrubber calls={data.calls} map={data.now ?? data.map} at={at} onAt={onAt} />
          </>
        )}
      </MapPanel>
      <div className="session-columns" data-turns={hasColumn}>
        {hasColumn && <TurnTree session={session} turns={data.turns} calls={data.calls} seen={seen} onOpen={open} />}
        <SidePanel
          session={session}
          data={data}
          {...{ bars, at, onAt, open, seen, hasColumn, query, onQuery: setQuery, tab, setTab, parts, setParts }}
        />
        {total === 0 && <EmptyState title="There are no messages yet" />}
        {total !== undefined && total > 0 && (
          <Conversation
            session={session}
            total={total}
            pages={data.entries}
            edits={data.edits}
            marks={marks}
            settled={isSettled(data)}
            {...{ bars, chosen, until, jump, onVisible }}
          />
        )}
      </div>
      {dialogs}
    </SteeringContext>
  )
}

/**
 * Stays at the top, and shrinks when the page has scrolled past it. A placeholder below takes up the difference in
 * height, so that nothing moves.
 */
function MapPanel({ children }: { children: ReactNode }) {
  const { ref, height } = useHeight<HTMLElement>()
  const [full, setFull] = useState(0)
  const [compact, setCompact] = useState(false)
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    if (!compact) setFull(height)
    document.documentElement.style.setProperty('--map-panel', `${height}px`)
  }, [height, compact])
  useEffect(() => {
    const look = () => {
      const element = ref.current
      if (!element || !place.current) return
      const sticks = getComputedStyle(element).position === 'sticky'
      const { top } = place.current.getBoundingClientRect()
      setCompact(sticks && full > COMPACT && top < COMPACT - full)
    }
    look()
    addEventListener('scroll', look, { passive: true })
    addEventListener('resize', look)
    return () => {
      removeEventListener('scroll', look)
      removeEventListener('resize', look)
    }
  }, [full, ref])
  return (
    <>
      <div ref={place} />
      <section
        ref={ref}
        className={compact ? 'map-panel map-compact card' : 'map-panel card'}
        aria-label="Context map"
        data-sticks={COMPACT}
      >
        {children}
      </section>
      {compact && <div style={{ height: Math.max(0, full - COMPACT) }} />}
    </>
  )
}

/** The height of the map after the page has scrolled past it. */
const COMPACT = 90

type Visible = { from: number; to: number }
type SeenMapProps = {
  map: MapData
  data: SessionData
  see: RefObject<((visible: Visible) => void) | undefined>
  onOpen(entry: number): void
}

/** The map with the visible entries marked; only this is rendered again on scrolling. */
function SeenMap({ map, data: { turns, would }, see, onOpen }: SeenMapProps) {
  const [visible, setVisible] = useState<Visible>()
  useEffect(() => {
    see.current = setVisible
  }, [see])
  const ghost = useMemo(
    // A replay knows the view now, not at an earlier call.
    () => (would && map.at === null ? { name: would.policy, bars: would.bars, shown: would.tokens.shown } : undefined),
    [would, map.at],
  )
  return <ContextMap map={map} turns={turns} ghost={ghost} visible={visible} onChoose={bar => onOpen(bar.entry)} />
}

type SidePanelProps = {
  session: string
  data: SessionData
  bars: ReadonlyMap<string, Bar>
  at: number | undefined
  onAt(at: number | undefined): void
  open(entry: number): void
  seen: number | undefined
  hasColumn: boolean
  query: string
  onQuery(query: string): void
  tab: TabKey
  setTab(tab: TabKey): void
  /** The parts selected in the context editor. */
  parts: readonly string[]
  setParts(ids: readonly string[]): void
}

function SidePanel(props: SidePanelProps) {
  const { session, data, bars, at, onAt, open, seen, hasColumn, query, onQuery, tab, setTab, parts, setParts } = props
  const input = useRef<HTMLInputElement>(null)
  useKeys({
    '/': () => {
      setTab('search')
      requestAnimationFrame(() => input.current?.focus())
    },
  })
  const { now, calls, edits, turns } = data
  const active = edits.all.filter(edit => edit.active).length
  const length = now?.length ?? 0
  const project = data.info.value?.about.project
  const tree: Tab<TabKey> = {
    key: 'turns',
    label: 'Turns',
    content: <TurnTree session={session} turns={turns} calls={calls} seen={seen} onOpen={open} />,
  }
  const tabs: Tab<TabKey>[] = [
    ...(hasColumn || turns.length < 2 ? [] : [tree]),
    {
      key: 'timeline',
      label: 'Calls',
      content: <TimelineTab calls={calls} window={now?.window ?? 0} at={at} onAt={onAt} />,
    },
    { key: 'why', label: 'Why', content: <WhyTab {...{ session, length, onAt }} /> },
    {
      key: 'edits',
      label: 'Edits',
      badge: active > 0 ? count(active) : '',
      content: <EditsTab edits={edits.all} bars={bars} onOpen={open} />,
    },
    {
      key: 'context',
      label: 'Context',
      content: (
        <ContextTab
          {...{ session, length }}
          moment={data.moment.value}
          chosen={parts}
          onChosen={setParts}
          onOpen={open}
        />
      ),
    },
    {
      key: 'files',
      label: 'Files',
      content: <FilesTab {...{ session, length }} calls={calls.length} />,
    },
    {
      key: 'pending',
      label: 'Pending',
      content: <PendingTab session={session} length={length} onOpen={open} />,
    },
    {
      key: 'search',
      label: 'Search',
      content: <SearchTab {...{ session, project, length, query, onQuery, input }} onOpen={open} />,
    },
  ]
  return (
    <aside className="side" aria-label="About this session">
      <h2 className="visually-hidden">About this session</h2>
      <Button small kind="quiet" className="side-skip" onClick={toConversation}>
        To the conversation ↓
      </Button>
      <Tabs<TabKey> label="About this session" tabs={tabs} chosen={tab} onChoose={setTab} />
    </aside>
  )
}

/** Whether everything above the conversation is loaded, so that the conversation no longer moves. */
function isSettled({ map, verdict, moment }: SessionData): boolean {
  return map !== undefined && verdict !== undefined && (moment.value !== undefined || moment.error !== undefined)
}

/** On a narrow screen the conversation is below the tabs about the session. */
function toConversation(): void {
  document.querySelector('.conversation')?.scrollIntoView()
}

/** Why a session cannot be read, with a link to the list. */
function NotThere({ error, retry }: { error: unknown; retry(): void }) {
  return (
    <>
      <p className="crumbs">
        <a href={hrefOf('sessions')}>Sessions</a>
      </p>
      <Failure error={error} retry={retry} />
      <p>
        <a href={hrefOf('sessions')}>To the list of sessions</a>
      </p>
    </>
  )
}

function Gone() {
  return (
    <EmptyState title="This session was deleted">
      <a href={hrefOf('sessions')}>To the list of sessions</a>
    </EmptyState>
  )
}

/** The dialogs of the page, and the functions that open them. */
function useDialogs(session: string, data: SessionData, total: number) {
  const scale = data.now?.scale ?? 1
  const { verdict } = data
  const worth = useMemo(() => new Map(verdict?.edits.map(({ id, dollars }) => [id, dollars])), [verdict])
  const actions = useActions(session, data.reload, scale)
  const [compactFrom, startCompact] = useState<number>()
  const [stretch, setStretch] = useState<{ from: number; to: number }>()
  const [part, setPart] = useState<{ place: Place; text: string }>()
  const steering: Steering = useMemo(
    () => ({
      actions,
      scale,
      worth,
      compactFrom,
      startCompact,
      openCompact: (from, to) => setStretch({ from, to }),
      openDistill: (place, text) => setPart({ place, text }),
    }),
    [actions, scale, worth, compactFrom],
  )
  const closeStretch = () => {
    setStretch(undefined)
    startCompact(undefined)
  }
  const dialogs = (
    <>
      {stretch && <CompactDialog {...{ session, actions }} {...stretch} last={total - 1} onClose={closeStretch} />}
      {part && <DistillDialog {...part} actions={actions} onClose={() => setPart(undefined)} />}
    </>
  )
  return { steering, dialogs }
}

/** Jumps to the entry in the address as soon as the list exists. */
function useJumps(jump: { readonly current: Jump | undefined }, entry: number | undefined, total = 0): void {
  const isThere = entry !== undefined && entry < total
  useEffect(() => {
    if (isThere) jump.current?.(entry)
  }, [jump, entry, isThere])
}

function numberIn(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
