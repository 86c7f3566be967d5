/**
 * A session: the context map at the top, the conversation below it, and beside that the calls as plots, the edits, what
 * the policy holds back, and a search. The call that is looked at and the entry are in the address, so that a link
 * leads back to the same place.
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
import type { Bar, ContextMap as MapData, Summary } from '../../api-types.ts'
import { hrefOf, replaceQuery, useRoute } from '../../route.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Failure } from '../../ui/failure.tsx'
import { count, money, percent, tokens } from '../../ui/format.ts'
import { useKeys } from '../../ui/keyboard.ts'
import { useHeight } from '../../ui/size.ts'
import { type Tab, Tabs } from '../../ui/tabs.tsx'
import { InlineText } from '../../ui/text.tsx'
import { type Place, type Steering, SteeringContext, useActions } from './actions.ts'
import { CompactDialog } from './compact-dialog.tsx'
import { ContextMap } from './context-map.tsx'
import { Conversation, type Jump } from './conversation.tsx'
import { DistillDialog } from './distill-dialog.tsx'
import { EditsTab } from './edits-tab.tsx'
import { PendingTab } from './pending-tab.tsx'
import { Scrubber } from './scrubber.tsx'
import { SearchTab } from './search-tab.tsx'
import { type SessionData, useSessionData } from './session-data.ts'
import { TimelineTab } from './timeline-tab.tsx'
import { WhyTab } from './why-tab.tsx'
import './session.css'
import './conversation.css'

type TabKey = 'timeline' | 'why' | 'edits' | 'pending' | 'search'

export function SessionPage({ session }: { session: string }) {
  const { query: address } = useRoute()
  const at = numberIn(address.get('at'))
  const data = useSessionData(session, at)
  const jump = useRef<Jump>(undefined)
  const see = useRef<(visible: Visible) => void>(undefined)
  const onVisible = useCallback((from: number, to: number) => see.current?.({ from, to }), [])
  const onAt = useCallback((to: number | undefined) => replaceQuery({ at: to?.toString() }), [])
  const open = useCallback((entry: number) => {
    replaceQuery({ entry: String(entry) })
    jump.current?.(entry)
  }, [])
  const chosen = numberIn(address.get('entry'))
  const { total } = data
  useJumps(jump, chosen, total)
  const { steering, dialogs } = useDialogs(session, data, total ?? 0)
  const bars = useMemo(() => barsByPart(data.now), [data.now])
  const [query, setQuery] = useState(address.get('q') ?? '')
  const marks = useMemo(() => query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [], [query])
  if (data.info.error !== undefined) return <Failure error={data.info.error} retry={data.reload} />
  const until = at === undefined ? Number.POSITIVE_INFINITY : (data.map?.entries ?? Number.POSITIVE_INFINITY)
  return (
    <SteeringContext value={steering}>
      <SessionHead session={session} data={data} />
      <MapPanel>
        {data.map && (
          <>
            <SeenMap map={data.map} see={see} onOpen={open} />
            <Scrubber calls={data.calls} map={data.now ?? data.map} at={at} onAt={onAt} />
          </>
        )}
      </MapPanel>
      <div className="session-columns">
        <SidePanel session={session} data={data} {...{ at, onAt, open, query, onQuery: setQuery }} />
        {total === 0 && <EmptyState title="Nothing was said yet" />}
        {total !== undefined && total > 0 && (
          <Conversation
            session={session}
            total={total}
            pages={data.entries}
            edits={data.edits}
            marks={marks}
            settled={data.map !== undefined && data.summary !== undefined}
            {...{ bars, chosen, until, jump, onVisible }}
          />
        )}
      </div>
      {dialogs}
    </SteeringContext>
  )
}

/** Stays at the top while one reads; what stands beside the conversation begins below it, however high it is. */
function MapPanel({ children }: { children: ReactNode }) {
  const { ref, height } = useHeight<HTMLElement>()
  useLayoutEffect(() => {
    document.documentElement.style.setProperty('--map-panel', `${height}px`)
  }, [height])
  return (
    <section ref={ref} className="map-panel card" aria-label="Context map" data-sticks>
      {children}
    </section>
  )
}

type Visible = { from: number; to: number }
type SeenMapProps = {
  map: MapData
  see: RefObject<((visible: Visible) => void) | undefined>
  onOpen(entry: number): void
}

/** The map with what is on the screen; scrolling draws this anew and nothing else. */
function SeenMap({ map, see, onOpen }: SeenMapProps) {
  const [visible, setVisible] = useState<Visible>()
  useEffect(() => {
    see.current = setVisible
  }, [see])
  return <ContextMap map={map} visible={visible} onChoose={bar => onOpen(bar.entry)} />
}

function SessionHead({ session, data: { info, summary } }: { session: string; data: SessionData }) {
  const { value } = info
  return (
    <header className="session-head">
      <p className="crumbs">
        <a href={hrefOf('sessions')}>Sessions</a>
      </p>
      <div className="page-head">
        <h1>
          <InlineText text={session} />
        </h1>
        {value && (
          <p className="session-about">
            {value.about.client && <span className="badge badge-accent">{value.about.client}</span>}
            <span>{value.model}</span>
            <span>{value.policy === 'none' ? 'no policy' : `policy ${value.policy}`}</span>
            {value.parent && (
              <span>
                fork of <a href={hrefOf('sessions', value.parent.id)}>{value.parent.id}</a>
              </span>
            )}
          </p>
        )}
        <div className="page-actions">
          <a className="button button-plain" href={hrefOf('sessions', session, 'compare')}>
            Compare policies
          </a>
        </div>
      </div>
      {summary ? <Numbers summary={summary} /> : <div className="numbers numbers-waiting" />}
    </header>
  )
}

function Numbers({ summary }: { summary: Summary }) {
  const { turns, calls, edits, tokens: size, money: cost } = summary
  const less = size.raw > 0 ? 1 - size.shown / size.raw : 0
  const cheaper = cost.without > 0 ? 1 - cost.with / cost.without : 0
  return (
    <dl className="numbers">
      <Figure name="Turns" value={count(turns)} note={`${count(calls)} calls`} />
      <Figure
        name="Tokens"
        value={size.raw === size.shown ? tokens(size.shown) : `${tokens(size.raw)} → ${tokens(size.shown)}`}
        note={Math.abs(less) >= 0.001 ? `${percent(less)} fewer shown` : 'all shown'}
      />
      <Figure name="Window" value={percent(size.shown / Math.max(1, size.window))} note={`of ${tokens(size.window)}`} />
      <Figure
        name="Cost"
        value={cost.without === cost.with ? money(cost.with) : `${money(cost.without)} → ${money(cost.with)}`}
        note={
          cheaper >= 0.001
            ? `${percent(cheaper)} less`
            : cheaper <= -0.001
              ? `${percent(-cheaper)} more`
              : paidNote(cost.estimated, calls)
        }
        title={`Input, cache and output. ${paidNote(cost.estimated, calls)}.`}
      />
      <Figure name="Edits" value={count(edits)} note="in force" />
    </dl>
  )
}

function paidNote(estimated: number, calls: number): string {
  if (estimated === 0) return 'as the provider reported it'
  return estimated === calls
    ? 'estimated: nothing was reported'
    : `${count(estimated)} of ${count(calls)} calls estimated`
}

function Figure({ name, value, note, title }: { name: string; value: string; note: string; title?: string }) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd>
        {value} <span>{note}</span>
      </dd>
    </div>
  )
}

type SidePanelProps = {
  session: string
  data: SessionData
  at: number | undefined
  onAt(at: number | undefined): void
  open(entry: number): void
  query: string
  onQuery(query: string): void
}

function SidePanel({ session, data, at, onAt, open, query, onQuery }: SidePanelProps) {
  const [tab, setTab] = useState<TabKey>(query === '' ? 'timeline' : 'search')
  const input = useRef<HTMLInputElement>(null)
  useKeys({
    '/': () => {
      setTab('search')
      requestAnimationFrame(() => input.current?.focus())
    },
  })
  const { now, calls, edits } = data
  const active = edits.all.filter(edit => edit.active).length
  const length = now?.length ?? 0
  const project = data.info.value?.about.project
  const tabs: Tab<TabKey>[] = [
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
      content: <EditsTab edits={edits.all} onOpen={open} />,
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
      <Tabs<TabKey> label="About this session" tabs={tabs} chosen={tab} onChoose={setTab} />
    </aside>
  )
}

/** The dialogs of the page, and what opens them. */
function useDialogs(session: string, data: SessionData, total: number) {
  const actions = useActions(session, data.reload)
  const [compactFrom, startCompact] = useState<number>()
  const [stretch, setStretch] = useState<{ from: number; to: number }>()
  const [part, setPart] = useState<{ place: Place; text: string }>()
  const steering: Steering = useMemo(
    () => ({
      actions,
      compactFrom,
      startCompact,
      openCompact: (from, to) => setStretch({ from, to }),
      openDistill: (place, text) => setPart({ place, text }),
    }),
    [actions, compactFrom],
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

/** A link to an entry leads to it, as soon as there is a list. */
function useJumps(jump: { readonly current: Jump | undefined }, entry: number | undefined, total = 0): void {
  const isThere = entry !== undefined && entry < total
  useEffect(() => {
    if (isThere) jump.current?.(entry)
  }, [jump, entry, isThere])
}

/** The bars that stand for one part each. */
function barsByPart(map: MapData | undefined): Map<string, Bar> {
  const single = (map?.bars ?? []).filter(({ part, parts }) => part !== null && parts === 1)
  return new Map(single.map(bar => [`${bar.entry}.${bar.part}`, bar]))
}

function numberIn(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
