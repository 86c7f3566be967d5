/**
 * Settings: the knob with its effect on the user's sessions, settings by agent and project, models, and all settings
 * with their sources. Changes are written to palimpsest.json. For admins only.
 */
import { ApiError, getJson } from '../../api.ts'
import { useResource } from '../../resource.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Failure } from '../../ui/failure.tsx'
import { AllSettings } from './all-settings.tsx'
import { Choices } from './choices.tsx'
import { Deletions } from './deletions.tsx'
import { mostExpensive, useKnobs } from './knob.ts'
import { KnobCard } from './knob-card.tsx'
import { Models } from './models.tsx'
import { useSettings } from './settings-api.ts'
import { Tokens } from './tokens.tsx'
import './settings.css'

const SECTIONS = [
  ['planner', 'Planner'],
  ['choices', 'Agents and projects'],
  ['models', 'Models'],
  ['upstreams', 'Providers'],
  ['storage', 'Memory and workspace'],
  ['tuning', 'Everything else'],
  ['users', 'Users and tokens'],
  ['deleting', 'Deleting'],
] as const

const MOST_LISTED = 200

export function SettingsPage() {
  const { settings, change } = useSettings()
  const overview = useResource('overview', signal => getJson('/overview', { signal }))
  const policies = useResource('policies', signal => getJson('/policies', { signal }).then(found => found.policies))
  const sessions = useResource(settings.value ? 'sessions' : undefined, signal =>
    getJson('/sessions', { query: { limit: MOST_LISTED }, signal }).then(found => mostExpensive(found.sessions)),
  )
  const { knobs, left } = useKnobs(sessions.value)
  if (settings.error instanceof ApiError && settings.error.status === 403) {
    return (
      <EmptyState title="Only admins can change settings.">
        <p>Sign in with an admin token, or ask the person who runs this server.</p>
      </EmptyState>
    )
  }
  if (settings.error !== undefined) return <Failure error={settings.error} retry={settings.reload} />
  if (!settings.value) return <p className="loading">Loading…</p>
  const all = settings.value
  const common = { settings: all, change, knobs, policies: policies.value ?? [] }
  return (
    <div className="settings">
      <nav className="settings-nav" aria-label="Settings">
        {SECTIONS.map(([id, label]) => (
          <button key={id} type="button" className="link" onClick={() => document.getElementById(id)?.scrollIntoView()}>
            {label}
          </button>
        ))}
      </nav>
      <div>
        <h1 className="visually-hidden">Settings</h1>
        <KnobCard {...common} left={left} />
        <Choices {...common} agents={overview.value?.agents ?? []} projects={overview.value?.projects ?? []} />
        <Models models={all.models} asOf={all.asOf} />
        <AllSettings {...common} />
        <Tokens />
        <Deletions />
      </div>
    </div>
  )
}
