/** The planner and the knob of each agent and each project. */

import { agentName } from '../../../../src/view/names.ts'
import type { Named, Setting, Settings } from '../../api-types.ts'
import { Button } from '../../ui/button.tsx'
import { DataTable, type Head } from '../../ui/data-table.tsx'
import { money, percent, plural } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { LIMIT } from '../compare/costs.ts'
import { type Keep, type KnobOf, previewAt } from './knob.ts'
import type { Policies } from './knob-card.tsx'
import type { Change } from './settings-api.ts'
import { SourceChip } from './source-chip.tsx'

type ChoicesProps = {
  settings: Settings
  change: Change
  knobs: readonly KnobOf[]
  policies: Policies
  agents: readonly Named[]
  projects: readonly Named[]
}

type Group = 'byAgent' | 'byProject'
type RowProps = Omit<ChoicesProps, 'agents' | 'projects'> & { group: Group; name: string; sessions: number }

const HEADS: Head[] = [
  'For',
  'Planner',
  'Kept',
  { label: 'Would cost', number: true },
  { label: 'Still visible', number: true },
  'Comes from',
  { label: 'Reset', hidden: true },
]

export function Choices({ agents, projects, ...common }: ChoicesProps) {
  const rows = [
    ...rowsOf('byAgent', agents, common.settings.settings),
    ...rowsOf('byProject', projects, common.settings.settings),
  ]
  return (
    <section id="choices" aria-labelledby="choices-title">
      <header className="settings-head">
        <h2 id="choices-title">By agent and project</h2>
        <p>A flag takes precedence, then the project, then the agent, then the settings above.</p>
      </header>
      {rows.length === 0 && <p className="dim">No agent has a session yet.</p>}
      {rows.length > 0 && (
        <DataTable label="Settings by agent and project" heads={HEADS}>
          {rows.map(row => (
            <Row key={`${row.group} ${row.name}`} {...common} {...row} />
          ))}
        </DataTable>
      )}
    </section>
  )
}

/** Agents or projects that sessions name, and those that have a setting. */
function rowsOf(group: Group, known: readonly Named[], settings: readonly Setting[]) {
  const set = settings.filter(({ path }) => path[0] === group).map(({ path }) => path[1]!)
  const names = [...new Set([...known.map(({ name }) => name), ...set])].filter(name => name !== '')
  return names.map(name => ({ group, name, sessions: known.find(one => one.name === name)?.sessions ?? 0 }))
}

function Row({ group, name, sessions, settings, change, knobs, policies }: RowProps) {
  const find = (what: 'policy' | 'keep') =>
    settings.settings.find(({ path }) => path[0] === group && path[1] === name && path[2] === what)
  const general = (key: string) => settings.settings.find(setting => setting.key === key)
  const policy = find('policy')
  const keep = find('keep')
  const label = group === 'byAgent' ? 'Agent' : 'Project'
  const own = knobs.filter(({ session }) => isOf(session, group, name))
  const there = previewAt(own, (keep?.value ?? general('keep')?.value ?? 'normal') as Keep, settings.keep)
  const reset = async () => {
    if (policy) await change(policy.path, null)
    if (keep) await change(keep.path, null)
  }
  const set = (what: string, value: string) => {
    const number = Number(value)
    const to = value === '' ? null : Number.isNaN(number) ? value : number
    void change([group, name, what], to)
  }
  return (
    <tr>
      <th scope="row">
        <span className="dim">{label}</span>{' '}
        <b title={name}>
          <InlineText text={group === 'byAgent' ? agentName(name) : name} />
        </b>
        {sessions > 0 && <span className="dim settings-count">{plural(sessions, 'session')}</span>}
      </th>
      <td data-label="Planner">
        <select
          aria-label={`Planner of ${name}`}
          value={String(policy?.value ?? '')}
          onChange={event => set('policy', event.target.value)}
        >
          <option value="">as above</option>
          {policies.map(one => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
        </select>
      </td>
      <td data-label="Kept">
        <select
          aria-label={`How much is kept for ${name}`}
          value={String(keep?.value ?? '')}
          onChange={event => set('keep', event.target.value)}
        >
          <option value="">as above</option>
          {Object.keys(settings.keep).map(word => (
            <option key={word}>{word}</option>
          ))}
          {typeof keep?.value === 'number' && <option value={keep.value}>× {keep.value}</option>}
        </select>
      </td>
      <td className="number" data-label="Would cost">
        {there ? <b>{money(there.dollars)}</b> : '–'}
      </td>
      <td className="number" data-label="Still visible">
        {there ? <span className={there.evidence < LIMIT ? 'lost' : undefined}>{percent(there.evidence)}</span> : '–'}
      </td>
      <td data-label="Comes from">
        <SourceChip setting={keep ?? policy ?? general('keep')} />
      </td>
      <td>
        {(keep || policy) && (
          <Button small kind="quiet" label={`Reset ${name}`} onClick={() => void reset()}>
            Reset
          </Button>
        )}
      </td>
    </tr>
  )
}

function isOf({ about }: KnobOf['session'], group: Group, name: string): boolean {
  if (group === 'byAgent') return about.client === name
  return about.project?.split(/[/\\]/).findLast(Boolean) === name
}
