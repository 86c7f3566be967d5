/** The shell of the UI: navigation, the state of the connection, light and dark, and the current page. */
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { onRefused, storedToken, storeToken } from './api.ts'
import { connectLive, useConnection } from './live.ts'
import { SessionsPage } from './pages/sessions/sessions-page.tsx'
import { hrefOf, type Route, useRoute } from './route.ts'
import { SignIn } from './sign-in.tsx'
import { chooseTheme, nextTheme, storedTheme } from './theme.ts'
import { Button } from './ui/button.tsx'
import { EmptyState } from './ui/empty-state.tsx'
import { ToastProvider } from './ui/toast.tsx'

const SessionPage = lazy(() => import('./pages/session/session-page.tsx').then(m => ({ default: m.SessionPage })))
const ComparePage = lazy(() => import('./pages/compare/compare-page.tsx').then(m => ({ default: m.ComparePage })))
const MemoryPage = lazy(() => import('./pages/memory/memory-page.tsx').then(m => ({ default: m.MemoryPage })))
const WorkspacePage = lazy(() =>
  import('./pages/workspace/workspace-page.tsx').then(m => ({ default: m.WorkspacePage })),
)
const SettingsPage = lazy(() => import('./pages/settings/settings-page.tsx').then(m => ({ default: m.SettingsPage })))
const ChatPage = lazy(() => import('./pages/chat/chat-page.tsx').then(m => ({ default: m.ChatPage })))

const NAVIGATION = [
  ['sessions', 'Sessions'],
  ['memory', 'Memory'],
  ['workspace', 'Workspace'],
  ['chat', 'Chat'],
  ['settings', 'Settings'],
] as const

export function App() {
  const [signedOut, setSignedOut] = useState(false)
  const route = useRoute()
  useEffect(() => onRefused(() => setSignedOut(true)), [])
  useEffect(() => (signedOut ? undefined : connectLive()), [signedOut])
  const signOut = () => {
    storeToken(undefined)
    setSignedOut(true)
  }
  return (
    <ToastProvider>
      <button type="button" className="skip" onClick={skipToMain}>
        Skip to content
      </button>
      <Header onSignOut={signOut} />
      <main id="main" tabIndex={-1}>
        {signedOut ? (
          <SignIn onSignedIn={() => setSignedOut(false)} />
        ) : (
          <Suspense fallback={<p className="loading">Loading…</p>}>
            <Page route={route} />
          </Suspense>
        )}
      </main>
    </ToastProvider>
  )
}

function Page({ route: { path } }: { route: Route }): ReactNode {
  const [first = 'sessions', name, more] = path
  useEffect(() => {
    document.title = [name, titleOf(first), 'Palimpsest'].filter(Boolean).join(' · ')
  }, [first, name])
  if (first === 'sessions' && name !== undefined && more === 'compare') return <ComparePage key={name} session={name} />
  if (first === 'sessions' && name !== undefined) return <SessionPage key={name} session={name} />
  if (first === 'sessions') return <SessionsPage />
  if (first === 'memory') return <MemoryPage />
  if (first === 'workspace') return <WorkspacePage />
  if (first === 'chat') return <ChatPage />
  if (first === 'settings') return <SettingsPage />
  return (
    <EmptyState title="This page does not exist.">
      <a href={hrefOf('sessions')}>To the sessions</a>
    </EmptyState>
  )
}

function Header({ onSignOut }: { onSignOut(): void }) {
  const [current = 'sessions'] = useRoute().path
  const [open, setOpen] = useState(false)
  return (
    <header className="top" data-sticks>
      <a className="brand" href={hrefOf('sessions')} aria-label="Palimpsest, to the sessions">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path d="M6 8h20M6 16h13" />
          <path className="brand-scraped" d="M6 24h20" />
        </svg>
        <span>Palimpsest</span>
      </a>
      <Button
        kind="quiet"
        small
        className="menu-button"
        label="Menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        ☰
      </Button>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a choice closes the menu; Enter on a link is a click */}
      <nav aria-label="Main" data-open={open} onClick={() => setOpen(false)}>
        {NAVIGATION.map(([key, label]) => (
          <a key={key} href={hrefOf(key)} aria-current={key === current ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <div className="top-end">
        <ConnectionState />
        <ThemeSwitch />
        {storedToken() && (
          <Button kind="quiet" small onClick={onSignOut}>
            Sign out
          </Button>
        )}
      </div>
    </header>
  )
}

/** Shows when live changes do not arrive, and briefly when they do again. */
function ConnectionState() {
  const connection = useConnection()
  const [wasLost, setWasLost] = useState(false)
  useEffect(() => {
    if (connection === 'lost') setWasLost(true)
    if (connection !== 'open') return
    const timer = setTimeout(() => setWasLost(false), RECONNECTED_MS)
    return () => clearTimeout(timer)
  }, [connection])
  const text = connection === 'lost' ? 'Connection lost' : connection === 'open' && wasLost ? 'Reconnected' : ''
  return (
    <span className={`connection connection-${connection}`} role="status" data-testid="connection">
      {text}
    </span>
  )
}

const RECONNECTED_MS = 4000

function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme)
  const change = () => {
    const next = nextTheme(theme)
    chooseTheme(next)
    setTheme(next)
  }
  return (
    <Button kind="quiet" small label={`Colours: ${theme}. Change`} onClick={change} className="theme">
      {theme === 'system' ? '◐' : theme === 'light' ? '○' : '●'}
    </Button>
  )
}

function titleOf(page: string): string | undefined {
  return NAVIGATION.find(([key]) => key === page)?.[1]
}

/** A button and not a link, because the fragment of the address names the page. */
function skipToMain(): void {
  document.getElementById('main')?.focus()
}
