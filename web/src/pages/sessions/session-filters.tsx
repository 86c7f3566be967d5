/** The filters and the order of the list. All of them are in the address, so that a link leads to the same list. */
import type { RefObject } from 'react'
import { agentName } from '../../../../src/view/names.ts'
import type { Named, Overview } from '../../api-types.ts'
import { replaceQuery } from '../../route.ts'

export type Wanted = {
  contains: string | undefined
  agent: string | undefined
  project: string | undefined
  model: string | undefined
  tag: string | undefined
  /** A day, or a number of days back from now. */
  when: string | undefined
  sort: string
  order: string
}

type Sort = keyof typeof SORTS

export const SORTS = { used: 'Last used', cost: 'Cost', saved: 'Saved', calls: 'Calls', title: 'Title' } as const

const WHEN: Record<string, string> = { '1': 'Last 24 hours', '7': 'Last 7 days', '30': 'Last 30 days' }

export function wantedIn(query: URLSearchParams): Wanted {
  const get = (name: string) => query.get(name) || undefined
  return {
    contains: get('q'),
    agent: get('agent'),
    project: get('project'),
    model: get('model'),
    tag: get('tag'),
    when: get('when'),
    sort: get('sort') ?? 'used',
    order: get('order') ?? 'down',
  }
}

export function isNarrowed({ contains, agent, project, model, tag, when }: Wanted): boolean {
  return [contains, agent, project, model, tag, when].some(one => one !== undefined)
}

export function clearFilters(): void {
  replaceQuery({
    q: undefined,
    agent: undefined,
    project: undefined,
    model: undefined,
    tag: undefined,
    when: undefined,
  })
}

function isSort(name: string): name is Sort {
  return Object.hasOwn(SORTS, name)
}

const DAY = 24 * 60 * 60 * 1000

/** The filters as query parameters of the API. */
export function toQuery({ when, contains, sort, order, ...rest }: Wanted, now: number) {
  const days = when !== undefined && /^\d{1,3}$/.test(when) ? Number(when) : undefined
  const [year = 0, month = 1, day = 1] = when?.split('-').map(Number) ?? []
  const start = new Date(year, month - 1, day).getTime()
  const time = days !== undefined ? { from: now - days * DAY } : when ? { from: start, to: start + DAY - 1 } : {}
  return {
    ...rest,
    ...time,
    contains: contains?.slice(0, 200),
    ...(isSort(sort) ? { sort } : {}),
    ...(order === 'up' ? { order: 'up' as const } : {}),
  }
}

export type FiltersProps = {
  wanted: Wanted
  overview: Overview | undefined
  query: string
  onQuery(query: string): void
  search: RefObject<HTMLInputElement | null>
}

export function SessionFilters({ wanted, overview, query, onQuery, search }: FiltersProps) {
  return (
    <search className="filters" aria-label="Filter the sessions">
      <input
        ref={search}
        type="search"
        className="sessions-search"
        placeholder="Title, project or any text"
        aria-label="Search sessions"
        value={query}
        onChange={event => onQuery(event.target.value)}
      />
      <Choice label="Project" name="project" all="All projects" chosen={wanted.project} options={overview?.projects} />
      <Choice
        label="Agent"
        name="agent"
        all="All agents"
        chosen={wanted.agent}
        options={overview?.agents}
        nameOf={agentName}
      />
      <Choice label="Model" name="model" all="All models" chosen={wanted.model} options={overview?.models} />
      <Choice label="Tag" name="tag" all="All tags" chosen={wanted.tag} options={overview?.tags} />
      <select
        aria-label="Used"
        value={wanted.when ?? ''}
        onChange={event => replaceQuery({ when: event.target.value || undefined })}
      >
        <option value="">Any time</option>
        {Object.entries(WHEN).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
        {wanted.when !== undefined && !(wanted.when in WHEN) && <option value={wanted.when}>{wanted.when}</option>}
      </select>
      <select
        className="filters-sort"
        aria-label="Sort by"
        value={wanted.sort}
        onChange={event => replaceQuery({ sort: event.target.value, order: undefined })}
      >
        {Object.entries(SORTS).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </search>
  )
}

type ChoiceProps = {
  label: string
  name: string
  all: string
  chosen: string | undefined
  options: readonly Named[] | undefined
  nameOf?: (name: string) => string
}

function Choice({ label, name, all, chosen, options = [], nameOf = name => name }: ChoiceProps) {
  if (options.length === 0 && chosen === undefined) return null
  return (
    <select
      aria-label={label}
      value={chosen ?? ''}
      onChange={event => replaceQuery({ [name]: event.target.value || undefined })}
    >
      <option value="">{all}</option>
      {chosen !== undefined && !options.some(option => option.name === chosen) && (
        <option value={chosen}>{nameOf(chosen)}</option>
      )}
      {options.map(option => (
        <option key={option.name} value={option.name}>
          {nameOf(option.name)} ({option.sessions})
        </option>
      ))}
    </select>
  )
}
