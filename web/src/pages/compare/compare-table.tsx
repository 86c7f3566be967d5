/** The table of a comparison: sums of each policy, and on request the decisions behind them. */
import { useState } from 'react'
import { Bar } from '../../ui/bar.tsx'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { count, money, percent, plural, tokens } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import type { Costs } from './compare-page.tsx'

export function CompareTable({ rows }: { rows: readonly Costs[] }) {
  const [open, setOpen] = useState<Costs>()
  const least = Math.min(...rows.map(row => row.effectiveShare))
  const isBest = (row: Costs) => rows.length > 1 && row.effectiveShare === least && least < 1
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that is scrolled sideways must be reached by the keyboard
    <section className="compare-scroll card" aria-label="Sums of each policy" tabIndex={0}>
      <table className="compare-table">
        <thead>
          <tr>
            <th scope="col">Policy</th>
            <th scope="col" className="number">
              Cost
            </th>
            <th scope="col">of sending everything</th>
            <th scope="col" className="number">
              Effective
            </th>
            <th scope="col" className="number">
              Evidence kept
            </th>
            <th scope="col" className="number">
              Tokens sent
            </th>
            <th scope="col" className="number">
              Largest call
            </th>
            <th scope="col" className="number">
              Cache broken
            </th>
            <th scope="col" className="number">
              Edits
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(row => (
            <tr key={row.policy} data-best={isBest(row)}>
              <th scope="row">
                {row.policy} {isBest(row) && <span className="badge badge-good">least effective cost</span>}
              </th>
              <td className="number">{money(row.dollars)}</td>
              <td>
                <span className="compare-share">
                  <Bar
                    share={row.costShare}
                    label={`${percent(row.costShare)} of what sending everything costs`}
                    tone={row.costShare > 1 ? 'warn' : 'plain'}
                  />
                  <span className="number">{percent(row.costShare)}</span>
                </span>
              </td>
              <td className="number">{percent(row.effectiveShare)}</td>
              <td className="number">{percent(row.evidence)}</td>
              <td className="number">{tokens(row.tokens)}</td>
              <td className="number">{tokens(row.peak)}</td>
              <td className="number">{count(row.busts)}</td>
              <td className="number">
                {row.decisions.length > 0 ? (
                  <Button small kind="quiet" onClick={() => setOpen(row)}>
                    {count(row.edits)}
                  </Button>
                ) : (
                  count(row.edits)
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {open && <Decisions row={open} onClose={() => setOpen(undefined)} />}
    </section>
  )
}

function Decisions({ row, onClose }: { row: Costs; onClose(): void }) {
  return (
    <Dialog title={`What ${row.policy} would have done`} onClose={onClose} wide>
      <ol className="compare-decisions">
        {row.decisions.map(({ call, edits, saved, text }) => (
          <li key={call}>
            <b>call {call}</b>
            <span className="dim">
              {plural(edits, 'edit')}, {tokens(saved)} tokens
            </span>
            <InlineText text={text} />
          </li>
        ))}
      </ol>
    </Dialog>
  )
}
