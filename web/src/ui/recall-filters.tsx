/** The filters of a search: kind, tool, file and days. */
import { useDeferredValue, useState } from 'react'

export type RecallFilters = { type: string; tool: string; path: string; since: string; until: string }

const NOTHING: RecallFilters = { type: '', tool: '', path: '', since: '', until: '' }

const TYPES = [
  ['', 'everything'],
  ['tool-result', 'tool results'],
  ['tool-call', 'tool calls'],
  ['user', 'text of the user'],
  ['assistant', 'text of the agent'],
  ['reasoning', 'reasoning'],
] as const

/** The filters, and the ones that are set, as query parameters of the API. */
export function useRecallFilters() {
  const [filters, setFilters] = useState(NOTHING)
  const given = useDeferredValue(
    Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== '')) as Partial<RecallFilters>,
  )
  return { filters, setFilters, given }
}

type RecallFilterRowProps = { filters: RecallFilters; onChange(filters: RecallFilters): void }

export function RecallFilterRow({ filters, onChange }: RecallFilterRowProps) {
  const change = (name: keyof RecallFilters) => (event: { target: { value: string } }) =>
    onChange({ ...filters, [name]: event.target.value.trim() })
  return (
    <>
      <select aria-label="What to search" value={filters.type} onChange={change('type')}>
        {TYPES.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      <input aria-label="Tool" placeholder="tool" value={filters.tool} onChange={change('tool')} />
      <input aria-label="File" placeholder="file" value={filters.path} onChange={change('path')} />
      <label className="search-day">
        since
        <input type="date" value={filters.since} onChange={change('since')} />
      </label>
      <label className="search-day">
        until
        <input type="date" value={filters.until} onChange={change('until')} />
      </label>
    </>
  )
}
