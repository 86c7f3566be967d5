/**
 * The table of a comparison: results of each planner, and its decisions on request. On a phone it is a list of cards.
 */

import { useState } from 'react'
import type { Costs } from '../../api-types.ts'
import { Bar } from '../../ui/bar.tsx'
import { Button } from '../../ui/button.tsx'
import { DataTable, type Head } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { count, fewer, money, percent, plural, tokens } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { inOrder, LIMIT, nameOf } from './costs.ts'

type TableProps = { rows: readonly Costs[]; best: Costs | undefined; own: string | undefined }

const HEADS: readonly [label: string, info?: string][] = [
  ['Cost of the session', 'The actual bill, minus the savings of the planner; output included.'],
  ['Saved'],
  ['Later quotes still visible', 'The share of later quotes from tool results whose source was still visible.'],
  ['Cost incl. fetching again', 'With the cost of reading lost passages again.'],
  ['Largest call'],
  ['Cache lost by it', 'How often its edits made the provider write a cached prompt again.'],
  ['Edits'],
]

const COLUMNS: Head[] = ['Planner', ...HEADS.map(([label, info], i): Head => ({ label, info, number: i > 0 }))]

export function CompareTable({ rows, best, own }: TableProps) {
  const [open, setOpen] = useState<Costs>()
  const { good, below } = inOrder(rows)
  const common = { best, own, onOpen: setOpen }
  return (
    <>
      <DataTable label="Results of each planner" heads={COLUMNS} className="compare-table">
        {good.map(row => (
          <Row key={nameOf(row)} row={row} {...common} />
        ))}
        {below.length > 0 && (
          <tr className="compare-below">
            <th scope="colgroup" colSpan={HEADS.length + 1}>
              Less than {percent(LIMIT)} still visible
            </th>
          </tr>
        )}
        {below.map(row => (
          <Row key={nameOf(row)} row={row} {...common} isBelow />
        ))}
      </DataTable>
      {open && <Decisions row={open} onClose={() => setOpen(undefined)} />}
    </>
  )
}

type RowProps = Omit<TableProps, 'rows'> & { row: Costs; onOpen(row: Costs): void; isBelow?: boolean }

function Row({ row, best, own, onOpen, isBelow = false }: RowProps) {
  const isOwn = row.policy === own && (row.keep === null || row.keep === 'normal')
  return (
    <tr data-best={row === best} data-below={isBelow}>
      <th scope="row">
        {nameOf(row)} {row === best && <span className="badge badge-good">cheapest that keeps ≥ {percent(LIMIT)}</span>}
        {isBelow && <span className="badge badge-bad">loses {percent(1 - row.evidence)}</span>}
        {isOwn && <span className="badge badge-accent">in use</span>}
      </th>
      <td data-label="Cost of the session">
        <span className="compare-share">
          <b>{money(row.dollars)}</b>
          <Bar
            share={row.costShare}
            label={`${percent(row.costShare)} of the input cost when everything is sent`}
            tone={row.costShare > 1 ? 'warn' : 'plain'}
          />
        </span>
      </td>
      <td className="number" data-label="Saved">
        {Math.abs(row.saved) < 0.005 ? '–' : money(row.saved)}
      </td>
      <td className="number" data-label="Later quotes still visible">
        {percent(row.evidence)}
      </td>
      <td className="number" data-label="Cost incl. fetching again">
        {money(row.effectiveDollars)}
      </td>
      <td className="number" data-label="Largest call">
        {tokens(row.peak)}
      </td>
      <td className="number" data-label="Cache lost by it">
        {row.busts === 0 ? '–' : count(row.busts)}
      </td>
      <td className="number" data-label="Edits">
        {row.decisions.length > 0 ? (
          <Button
            small
            kind="quiet"
            label={`${plural(row.edits, 'edit')} of ${nameOf(row)}`}
            onClick={() => onOpen(row)}
          >
            {count(row.edits)}
          </Button>
        ) : (
          '–'
        )}
      </td>
    </tr>
  )
}

function Decisions({ row, onClose }: { row: Costs; onClose(): void }) {
  return (
    <Dialog title={`What ${nameOf(row)} would have done`} onClose={onClose} wide>
      <ol className="compare-decisions">
        {row.decisions.map(({ call, edits, saved, text }) => (
          <li key={call}>
            <b>call {call}</b>
            <span className="dim">
              {plural(edits, 'edit')}, {fewer(saved)}
            </span>
            <InlineText text={text} />
          </li>
        ))}
      </ol>
    </Dialog>
  )
}
