/**
 * Chat with the agent of this server, next to the context that its model sees. The conversation is an ordinary session:
 * it is in the ledger before anything is sent, and every other door can read, edit and continue it.
 */
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react'
import { getJson } from '../../api.ts'
import type { Entry, EntryPage, Personas } from '../../api-types.ts'
import { useLive } from '../../live.ts'
import { type Resource, useResource } from '../../resource.ts'
import { hrefOf, navigate, useRoute } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Failure } from '../../ui/failure.tsx'
import { plural } from '../../ui/format.ts'
import { useKeys } from '../../ui/keyboard.ts'
import { useToasts } from '../../ui/toast.tsx'
import { ChatItemView } from './chat-item.tsx'
import { itemsOf, openQuestion } from './chat-items.ts'
import { Composer } from './composer.tsx'
import { ContextSide } from './context-side.tsx'
import { useTurn } from './use-turn.ts'
import { Waiting } from './waiting.tsx'
import '../../ui/notice.css'
import './chat.css'

/** The client name that our own agent records. */
const CLIENT = 'palimpsest'
const RECENT = 100
const PAGE = 200
/** The number of entries shown here; the page of the session shows the rest. */
const LAST = 400
/** Distance from the end in pixels within which the view follows new messages. */
const NEAR = 160

export function ChatPage() {
  const [, session] = useRoute().path
  const [fresh, setFresh] = useState(newName)
  const begin = () => {
    setFresh(newName())
    navigate(hrefOf('chat'))
  }
  return <Chat key={session ?? fresh} session={session} fresh={fresh} onNew={begin} />
}

type ChatProps = {
  session: string | undefined
  /** The name for a new session. */
  fresh: string
  onNew(): void
}

function Chat({ session, fresh, onNew }: ChatProps) {
  const name = session ?? fresh
  const personas = useResource('personas', signal => getJson('/agent/personas', { signal }))
  const [persona, setPersona] = useState<string>()
  const { round, turn, exists, entries } = useConversation(session, name)
  const before = useMemo(() => itemsOf(entries.value?.entries ?? []), [entries.value])
  // The events of a running turn replace its ledger entries: only entries from before the turn are shown.
  const [kept, setKept] = useState<number>()
  const told = before.slice(0, kept ?? before.findLastIndex(({ kind }) => kind === 'user') + 1)
  const items = turn.items.length > 0 ? [...told, ...turn.items] : before
  useSettled(turn, entries.loading)
  const send = (text: string) => {
    setKept(before.length)
    turn.send({ session: name, text, persona })
    if (session === undefined) history.replaceState(null, '', hrefOf('chat', name))
  }
  const answer = useAnswer(turn)
  const list = useFollow()
  const question = openQuestion(items)
  useKeys(question ? { y: () => answer(question.id, true), n: () => answer(question.id, false) } : {})
  if (personas.error !== undefined) return <Failure error={personas.error} retry={personas.reload} />
  return (
    <>
      <ChatHead
        session={exists ? name : undefined}
        personas={personas.value?.personas ?? []}
        persona={persona ?? personas.value?.chosen}
        onPersona={setPersona}
        onNew={onNew}
      />
      <div className="chat">
        <section className="chat-main" aria-label="Conversation">
          {items.length === 0 && !(exists && entries.loading) && <Beginning demo={personas.value?.demo === true} />}
          <Earlier session={name} entries={entries.value?.earlier ?? 0} />
          <div ref={list} className="chat-items" role="log" aria-live="polite" aria-busy={turn.running}>
            {items.map((item, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: items are only added at the end
              <ChatItemView key={i} item={item} onAnswer={answer} />
            ))}
            {turn.running && !question && <p className="chat-busy">Working …</p>}
          </div>
          {turn.error !== undefined && <Failure error={turn.error} />}
          {session !== undefined && <Unread entries={entries} />}
          <Waiting />
          <Composer running={turn.running} onSend={send} onStop={turn.stop} />
        </section>
        {exists && <ContextSide session={name} round={round} />}
      </div>
    </>
  )
}

function Unread({ entries: { error, reload } }: { entries: Resource<unknown> }) {
  return error === undefined ? null : <Failure error={error} retry={reload} />
}

/** The chat shows the end of a long session; this links to the rest. */
function Earlier({ session, entries }: { session: string; entries: number }) {
  if (entries === 0) return null
  return (
    <a className="chat-earlier" href={hrefOf('sessions', session)}>
      {plural(entries, 'earlier entry', 'earlier entries')}
    </a>
  )
}

/** The earlier messages, and the running turn. */
function useConversation(session: string | undefined, name: string) {
  const [round, setRound] = useState(0)
  const [ended, setEnded] = useState(0)
  const onEnd = () => {
    setRound(old => old + 1)
    setEnded(old => old + 1)
  }
  const turn = useTurn(name, { follows: session !== undefined, onEnd })
  const exists = session !== undefined || turn.begun
  const key = exists && !(turn.running && ended === 0 && session === undefined) ? `${name} ${ended}` : undefined
  const entries = useResource(key, signal => readLast(name, signal), { keep: true })
  useLive(event => {
    const isOurs = event.type === 'reset' || (event.type === 'session.changed' && event.session === name)
    if (!isOurs || !exists) return
    setRound(old => old + 1)
    // Another tab or another door wrote to this session.
    if (!turn.running) setEnded(old => old + 1)
  })
  return { round, turn, exists, entries }
}

type ChatHeadProps = {
  session: string | undefined
  personas: Personas['personas']
  persona: string | undefined
  onPersona(name: string): void
  onNew(): void
}

function ChatHead({ session, personas, persona, onPersona, onNew }: ChatHeadProps) {
  const recent = useResource('recent', readRecent)
  const others = (recent.value ?? []).filter(({ id }) => id !== session)
  return (
    <header className="page-head">
      <h1>Chat</h1>
      {personas.length > 1 && (
        <label className="chat-choice">
          <span>with</span>
          <select value={persona} onChange={event => onPersona(event.target.value)}>
            {personas.map(({ name, description }) => (
              <option key={name} value={name} title={description}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <div className="page-actions">
        {others.length > 0 && (
          <select aria-label="Earlier chats" value="" onChange={event => navigate(hrefOf('chat', event.target.value))}>
            <option value="" disabled>
              Earlier chats
            </option>
            {others.map(({ id, about, summary }) => (
              <option key={id} value={id}>
                {about.title ?? (summary?.title || id)}
              </option>
            ))}
          </select>
        )}
        {session !== undefined && <Button onClick={onNew}>New chat</Button>}
      </div>
    </header>
  )
}

function Beginning({ demo }: { demo: boolean }) {
  return (
    <EmptyState title="What should it do?">
      {demo ? (
        <p>
          No model is set up, so a script answers: it shows the whole loop on a sample project, with real files,
          commands and edits. For a model of yours set ANTHROPIC_API_KEY or OPENAI_API_KEY and start the server again.
        </p>
      ) : (
        <p>
          The agent works in the folder where the server was started. It asks before it writes or runs anything that you
          have not allowed.
        </p>
      )}
    </EmptyState>
  )
}

/** Keeps the end of the conversation in view as it grows, unless the user has scrolled away from it. */
function useFollow(): RefObject<HTMLDivElement | null> {
  const items = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const page = document.documentElement
    let near = true
    const look = () => {
      near = page.scrollHeight - page.clientHeight - page.scrollTop < NEAR
    }
    const observer = new ResizeObserver(() => near && page.scrollTo(0, page.scrollHeight))
    if (items.current) observer.observe(items.current)
    addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      removeEventListener('scroll', look)
    }
  }, [])
  return items
}

/** After the turn, once the ledger has been read again, the entries replace the events. */
function useSettled(turn: ReturnType<typeof useTurn>, loading: boolean): void {
  const { running, items, clear } = turn
  const hasNote = items.some(({ kind }) => kind === 'done')
  const [over, setOver] = useState(false)
  useEffect(() => {
    if (running) setOver(false)
    else if (items.length > 0 && loading) setOver(true)
    else if (over && !loading && !hasNote) {
      clear()
      setOver(false)
    }
  }, [running, loading, items.length, over, hasNote, clear])
}

function useAnswer(turn: ReturnType<typeof useTurn>): (id: string, yes: boolean) => void {
  const toasts = useToasts()
  return (id, yes) => void turn.answer(id, yes).catch(toasts.fail)
}

/** The last entries of the session. */
async function readLast(session: string, signal: AbortSignal): Promise<{ entries: Entry[]; earlier: number }> {
  const read = (cursor: number, limit: number) =>
    getJson('/sessions/{session}/entries', { params: { session }, query: { cursor, limit }, signal })
  const { total } = await read(0, 1)
  const entries: Entry[] = []
  const from = Math.max(0, total - LAST)
  for (let next: number | null = from; next !== null && next < total; ) {
    const page: EntryPage = await read(next, PAGE)
    entries.push(...page.entries)
    next = page.next
  }
  return { entries, earlier: from }
}

async function readRecent(signal: AbortSignal) {
  const { sessions } = await getJson('/sessions', { query: { limit: RECENT }, signal })
  return sessions.filter(({ about }) => about.client?.startsWith(CLIENT) && about.parent === undefined).slice(0, 20)
}

function newName(): string {
  const day = new Date().toISOString().slice(0, 16).replace('T', '-').replace(':', '')
  return `chat-${day}-${crypto.randomUUID().slice(0, 4)}`
}
