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
import { InlineText } from '../../ui/text.tsx'
import { RenameDialog } from '../sessions/rename-dialog.tsx'
import { type Place, type Steering, SteeringContext, useActions } from './actions.ts'
import { ColdMoment } from './cold-moment.tsx'
import { CompactDialog } from './compact-dialog.tsx'
import { ContextMap } from './context-map.tsx'
import { ContextTab } from './context-tab.tsx'
import { Conversation, type Jump } from './conversation.tsx'
import { DistillDialog } from './distill-dialog.tsx'
import { EditsTab } from './edits-tab.tsx'
import { FilesTab } from './files-tab.tsx'
import { HeadActions } from './head-actions.tsx'
import { PendingTab } from './pending-tab.tsx'
import { Scrubber } from './scrubber.tsx'
import { SearchTab } from './search-tab.tsx'
import { type SessionData, useSessionData } from './session-data.ts'
import { TimelineTab } from './timeline-tab.tsx'
import { TurnTree } from './turn-tree.tsx'
import { VerdictLine } from './verdict-line.tsx'
import { WhyTab } from './why-tab.tsx'
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
  const bars = useMemo(() => barsByPart(data.now), [data.now])
  const [query, setQuery] = useState(address.get('q') ?? '')
  const [tab, setTab] = useState<TabKey>(query === '' ? 'timeline' : 'search')
  const [parts, setParts] = useState<readonly string[]>([])
  const choose = (ids: readonly string[]) => {
    setParts(ids)
    setTab('context')
  }
  const marks = useMemo(() => query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [], [query])
  if (data.info.error !== undefined) return <NotThere error={data.info.error} retry={data.reload} />
  const hasColumn = isWide && data.turns.length > 1
  const until = at === undefined ? Number.POSITIVE_INFINITY : (data.map?.entries ?? Number.POSITIVE_INFINITY)
  return (
    <SteeringContext value={steering}>
      <SessionHead session={session} data={data} onOpen={open} />
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
        {hasColumn && <TurnTree session={session} turns={data.turns} seen={seen} onOpen={open} />}
        <SidePanel
          session={session}
          data={data}
          {...{ at, onAt, open, seen, hasColumn, query, onQuery: setQuery, tab, setTab, parts, setParts }}
        />
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

/**
 * Stays at the top while one reads, and shrinks once the page has moved past it. What it gives up in height an empty
 * place below it takes, so that nothing moves.
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

/** The height of the map once the page has moved past it. */
const COMPACT = 90

type Visible = { from: number; to: number }
type SeenMapProps = {
  map: MapData
  data: SessionData
  see: RefObject<((visible: Visible) => void) | undefined>
  onOpen(entry: number): void
}

/** The map with what is on the screen; scrolling draws this anew and nothing else. */
function SeenMap({ map, data: { turns, would }, see, onOpen }: SeenMapProps) {
  const [visible, setVisible] = useState<Visible>()
  useEffect(() => {
    see.current = setVisible
  }, [see])
  const ghost = useMemo(
    // A replay knows what would be shown now, not at an earlier call.
    () => (would && map.at === null ? { name: would.policy, bars: would.bars, shown: would.tokens.shown } : undefined),
    [would, map.at],
  )
  return <ContextMap map={map} turns={turns} ghost={ghost} visible={visible} onChoose={bar => onOpen(bar.entry)} />
}

type HeadProps = { session: string; data: SessionData; onOpen(entry: number): void }

function SessionHead({ session, data: { info, summary, verdict, would, reload }, onOpen }: HeadProps) {
  const [renaming, setRenaming] = useState(false)
  const { value } = info
  const title = value?.about.title || summary?.title || ''
  const project = value?.about.project?.split(/[/\\]/).findLast(Boolean)
  return (
    <header className="session-head">
      <p className="crumbs">
        <a href={hrefOf('sessions')}>Sessions</a>
        {project && (
          <>
            {' / '}
            <a href={`${hrefOf('sessions')}?project=${encodeURIComponent(project)}`}>
              <InlineText text={project} />
            </a>
          </>
        )}
      </p>
      <div className="page-head">
        <h1>
          <InlineText text={title || session} />{' '}
          <Button kind="quiet" small label="Rename and tag" onClick={() => setRenaming(true)}>
            ✎
          </Button>
        </h1>
        <HeadActions session={session} onChanged={reload} />
      </div>
      {value && (
        <p className="session-about">
          {value.about.client && <span className="chip">{value.about.client}</span>}
          <span className="chip">{value.model}</span>
          {value.about.recorded ? (
            <span className="chip chip-recorded" title="Imported: Palimpsest had no part in it">
              recorded
            </span>
          ) : (
            <span className="chip">{value.policy === 'none' ? 'sends everything' : value.policy}</span>
          )}
          {value.about.tags?.map(tag => (
            <a key={tag} className="chip" href={`${hrefOf('sessions')}?tag=${encodeURIComponent(tag)}`}>
              <InlineText text={tag} />
            </a>
          ))}
          {value.parent && (
            <span>
              fork of <a href={hrefOf('sessions', value.parent.id)}>{value.parent.id}</a>
            </span>
          )}
          {value.about.parent && (
            <span>
              {LINKS[value.about.reason ?? 'sub-agent']}{' '}
              <a href={hrefOf('sessions', value.about.parent)}>{value.about.parent}</a>
            </span>
          )}
          <code className="dim session-own-id">
            <InlineText text={session} />
          </code>
        </p>
      )}
      <VerdictLine {...{ verdict, summary, would, onOpen }} />
      {renaming && (
        <RenameDialog
          session={{ id: session, title, about: value?.about ?? {} }}
          onClose={renamed => {
            setRenaming(false)
            if (renamed) reload()
          }}
        />
      )}
    </header>
  )
}

const LINKS = { compaction: 'goes on from', rewind: 'goes back in', 'sub-agent': 'started by', fork: 'fork of' }

type SidePanelProps = {
  session: string
  data: SessionData
  at: number | undefined
  onAt(at: number | undefined): void
  open(entry: number): void
  seen: number | undefined
  hasColumn: boolean
  query: string
  onQuery(query: string): void
  tab: TabKey
  setTab(tab: TabKey): void
  /** The parts that are ticked in the context editor. */
  parts: readonly string[]
  setParts(ids: readonly string[]): void
}

function SidePanel(props: SidePanelProps) {
  const { session, data, at, onAt, open, seen, hasColumn, query, onQuery, tab, setTab, parts, setParts } = props
  const input = useRef<HTMLInputElement>(null)
  useKeys({
    '/': () => {
      setTab('search')
      requestAnimationFrame(() => input.current?.focus())
    },
  })
  const { now, calls, edits, turns, verdict } = data
  const worth = useMemo(() => new Map(verdict?.edits.map(({ id, dollars }) => [id, dollars])), [verdict])
  const active = edits.all.filter(edit => edit.active).length
  const length = now?.length ?? 0
  const project = data.info.value?.about.project
  const tree: Tab<TabKey> = {
    key: 'turns',
    label: 'Turns',
    content: <TurnTree session={session} turns={turns} seen={seen} onOpen={open} />,
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
      content: <EditsTab edits={edits.all} worth={worth} onOpen={open} />,
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
      <Tabs<TabKey> label="About this session" tabs={tabs} chosen={tab} onChoose={setTab} />
    </aside>
  )
}

/** A session that cannot be read: why, and the way back to the list. */
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

/** The dialogs of the page, and what opens them. */
function useDialogs(session: string, data: SessionData, total: number) {
  const scale = data.now?.scale ?? 1
  const actions = useActions(session, data.reload, scale)
  const [compactFrom, startCompact] = useState<number>()
  const [stretch, setStretch] = useState<{ from: number; to: number }>()
  const [part, setPart] = useState<{ place: Place; text: string }>()
  const steering: Steering = useMemo(
    () => ({
      actions,
      scale,
      compactFrom,
      startCompact,
      openCompact: (from, to) => setStretch({ from, to }),
      openDistill: (place, text) => setPart({ place, text }),
    }),
    [actions, scale, compactFrom],
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

/** The bars of single parts. */
function barsByPart(map: MapData | undefined): Map<string, Bar> {
  const single = (map?.bars ?? []).filter(({ part, parts }) => part !== null && parts === 1)
  return new Map(single.map(bar => [`${bar.entry}.${bar.part}`, bar]))
}

function numberIn(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}
