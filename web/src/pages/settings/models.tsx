/** What is known about the models of the sessions. */

import type { ModelRow } from '../../api-types.ts'
import { DataTable, type Head } from '../../ui/data-table.tsx'
import { count, plural, tokens } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'

const MINUTE = 60_000
const FROM: Record<ModelRow['from'], string> = {
  table: 'built-in table',
  file: 'palimpsest.json',
  family: 'not in the table: the strictest row of its family',
}

const HEADS: Head[] = [
  'Model',
  { label: 'Window', number: true },
  { label: '$ per 1M in, out', number: true },
  { label: 'Cache read, write', number: true },
  'Cache kept for',
  'Learned from',
]

export function Models({ models, asOf }: { models: readonly ModelRow[]; asOf: string }) {
  return (
    <section id="models" aria-labelledby="models-title">
      <header className="settings-head">
        <h2 id="models-title">Models, as learned</h2>
        <p>
          The models used by your sessions. Built-in prices are from {asOf}; <code>palimpsest models update</code>{' '}
          updates them.
        </p>
      </header>
      {models.length === 0 && <p className="dim">There are no sessions yet.</p>}
      {models.length > 0 && (
        <DataTable label="Models" heads={HEADS}>
          {models.map(row => (
            <tr key={row.model}>
              <th scope="row">
                <code>
                  <InlineText text={row.model} />
                </code>
              </th>
              <td className="number" data-label="Window">
                {tokens(row.window)}
              </td>
              <td className="number" data-label="$ per 1M in, out">
                {row.input}, {row.output}
              </td>
              <td className="number" data-label="Cache read, write">
                × {row.read}, × {row.write}
              </td>
              <td data-label="Cache kept for">
                {minutes(row.ttl)}
                {row.kept !== null && <span className="dim"> seen for {minutes(row.kept)}</span>}
              </td>
              <td data-label="Learned from">
                <span>
                  <b>{row.calls > 0 ? plural(row.calls, 'call') : plural(row.sessions, 'session')}</b>
                  <span className="dim">
                    {row.largest > 0 && `, largest accepted ${tokens(row.largest)}`}; {FROM[row.from]}
                  </span>
                </span>
              </td>
            </tr>
          ))}
        </DataTable>
      )}
    </section>
  )
}

function minutes(ms: number): string {
  return ms < 60 * MINUTE ? `${count(ms / MINUTE)} min` : plural(Math.round(ms / (60 * MINUTE)), 'hour')
}
