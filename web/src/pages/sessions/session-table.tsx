/**
 * The list of sessions: one row for each family, with continuations and subagents collapsed under it. Sums are for the
 * family.
 */
import { Fragment, memo, useState } from 'react'
import { agentName, modelName } from '../../../../src/view/names.ts'
import type { Family, SessionRow, Summary } from '../../api-types.ts'
import { hrefOf, replaceQuery } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { ago, count, dateTime, money, percent, plural, tokens } from '../../ui/format.ts'
import { Info } from '../../ui/info.tsx'
import { Sparkline } from '../../ui/sparkline.tsx'
import { InlineText } from '../../ui/text.tsx'
import type { Wanted } from './session-filters.tsx'

export type TableProps = { rows: readonly Family[]; wanted: Wanted; onRename(row: SessionRow): void }

/** Widths in pixels; the name of the session takes the rest. */
const WIDTHS = { session: undefined, project: 128, agent: 196, calls: 74, spark: 124, cost: 104, saved: 116, used: 112 }
const COLUMNS = Object.entries(WIDTHS)

export function SessionTable({ rows, wanted, onRename }: TableProps) {
  const [now] = useState(() => Date.now())
  return (
    <table className="sessions card">
      <colgroup>
        {COLUMNS.map(([name, width]) => (
          <col key={name} style={{ width }} className={`column-${name}`} />
        ))}
      </colgroup>
      <thead>
        <tr>
          <Head name="title" label="Session" wanted={wanted} />
          <th scope="col">Project</th>
          <th scope="col" className="column-agent">
            Agent and model
          </th>
          <Head name="calls" label="Calls" wanted={wanted} number />
          <th scope="col" className="column-spark">
            Tokens by call
          </th>
          <Head
            name="cost"
            label="Billed"
            wanted={wanted}
            number
            info="Input, cache and output as reported by the provider, at list prices; calls without a report are estimated."
          />
          <Head name="saved" label="Saved" wanted={wanted} number />
          <Head name="used" label="Used" wanted={wanted} number />
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => {
          const group = wanted.sort === 'used' ? groupOf(row.total.updatedAt, now) : undefined
          const before = rows[i - 1]
          const isFirst = group !== undefined && (!before || groupOf(before.total.updatedAt, now) !== group)
          return (
            <Fragment key={row.id}>
              {isFirst && (
                <tr className="session-group">
                  <th colSpan={COLUMNS.length - 2} scope="colgroup">
                    {group}
                  </th>
                  {/* Hidden with their columns, so that the row is never wider than the table. */}
                  <td className="column-agent" />
                  <td className="column-spark" />
                </tr>
              )}
              <FamilyRows family={row} now={now} onRename={onRename} />
            </Fragment>
          )
        })}
      </tbody>
    </table>
  )
}

type HeadProps = { name: string; label: string; wanted: Wanted; number?: boolean; info?: string }

function Head({ name, label, wanted: { sort, order }, number, info }: HeadProps) {
  const isSorted = sort === name
  const isUp = order === 'up'
  const choose = () => replaceQuery({ sort: name, order: isSorted && !isUp ? 'up' : undefined })
  return (
    <th
      scope="col"
      className={number ? 'number' : undefined}
      aria-sort={isSorted ? (isUp ? 'ascending' : 'descending') : 'none'}
    >
      <button type="button" className="sort" onClick={choose}>
        {label}
        <span aria-hidden="true">{isSorted ? (isUp ? ' ↑' : ' ↓') : ''}</span>
      </button>
      {info && <Info text={info} />}
    </th>
  )
}

type RowsProps = { family: Family; now: number; onRename(row: SessionRow): void }

const FamilyRows = memo(function FamilyRows({ family, now, onRename }: RowsProps) {
  const { children, total, ...row } = family
  const [open, setOpen] = useState(false)
  return (
    <>
      <Row row={row} sums={total} now={now} onRename={onRename}>
        {children.length > 0 && (
          <button
            type="button"
            className="session-fold"
            aria-expanded={open}
            aria-label={`Show ${kindsOf(children)} of ${row.title || row.id}`}
            onClick={() => setOpen(!open)}
          >
            <span className="badge">
              <span aria-hidden="true">{open ? '▾' : '▸'}</span> {kindsOf(children)}
            </span>
          </button>
        )}
      </Row>
      {open &&
        [row, ...children].map(child => (
          <Row
            key={child.id}
            row={child}
            sums={child.summary && sumsOf(child.summary, child.updatedAt)}
            now={now}
            onRename={onRename}
            nested={child.id === row.id ? 'first' : kindOf(child)}
          />
        ))}
    </>
  )
})

type Sums = Omit<Family['total'], 'known'>

function sumsOf({ calls, money: sum }: Summary, updatedAt: number): Sums {
  return { calls, billed: sum.with, without: sum.without, saved: sum.saved, could: sum.could ?? 0, updatedAt }
}

type RowProps = {
  row: SessionRow
  sums: Sums | null
  now: number
  onRename(row: SessionRow): void
  nested?: string
  children?: React.ReactNode
}

function Row({ row, sums, now, onRename, nested, children }: RowProps) {
  const { summary, about, live } = row
  const project = about.project?.split(/[/\\]/).findLast(Boolean)
  const used = sums?.updatedAt ?? row.updatedAt
  return (
    <tr data-session={nested ? undefined : row.id} className={nested ? 'session-row session-nested' : 'session-row'}>
      <td className="session-name">
        <div>
          {live && (
            <span
              className="live-dot"
              role="img"
              aria-label="active"
              title="New entries in the last minute and a half"
            />
          )}
          {nested && <span className="session-kind">{nested}</span>}
          <a href={hrefOf('sessions', row.id)} title={`${row.title}\n${row.id}`.trim()}>
            <InlineText text={row.title || row.id} />
          </a>
          {children}
          {about.tags?.map(tag => (
            <a key={tag} className="chip" href={`${hrefOf('sessions')}?tag=${encodeURIComponent(tag)}`}>
              <InlineText text={tag} />
            </a>
          ))}
          {row.title && (
            <span className="session-id">
              <InlineText text={row.id} />
            </span>
          )}
          <Button kind="quiet" small className="session-rename" label="Rename and tag" onClick={() => onRename(row)}>
            ✎
          </Button>
        </div>
      </td>
      <td>
        {project && (
          <span className="chip" title={about.project}>
            <InlineText text={project} />
          </span>
        )}
      </td>
      <td className="column-agent">
        {about.client && (
          <span className="chip" title={about.client}>
            {agentName(about.client)}
          </span>
        )}{' '}
        <span className="dim" title={row.model}>
          {modelName(row.model)}
        </span>
      </td>
      {sums && summary ? (
        <Numbers sums={sums} summary={summary} />
      ) : (
        <>
          <td className="dim session-waiting" colSpan={3} aria-busy="true" />
          <td className="column-spark" />
        </>
      )}
      <td className="number dim session-used" title={dateTime(used)}>
        {live ? <span className="live">now</span> : ago(used, now)}
      </td>
    </tr>
  )
}

function Numbers({ sums, summary: { series } }: { sums: Sums; summary: Summary }) {
  return (
    <>
      <td className="number">
        <span className="on-phone">{plural(sums.calls, 'call')}</span>
        <span className="on-desk">{count(sums.calls)}</span>
      </td>
      <td className="session-spark column-spark">
        {series.shown.length > 1 && (
          <Sparkline
            values={series.shown}
            under={series.raw}
            label={`Tokens by call: up to ${tokens(Math.max(...series.raw))} raw, ${tokens(Math.max(...series.shown))} sent`}
          />
        )}
      </td>
      <td className="number session-cost">{money(sums.billed)}</td>
      <SavedCell {...sums} />
    </>
  )
}

const CENT = 0.005

/** The saving of edits; for a recording, the possible saving. */
function SavedCell({ billed, without, saved, could }: Sums) {
  if (saved <= -CENT) return <td className="number session-saved lost">{money(-saved)} more</td>
  if (saved >= CENT) {
    return (
      <td className="number session-saved saved" title={`${money(without)} without edits`}>
        {money(saved)} <small>{percent(saved / without)}</small>
      </td>
    )
  }
  if (could < CENT) return <td className="number session-saved dim">–</td>
  return (
    <td className="number session-saved dim">
      <span
        className="session-could"
        title={`Recorded without Palimpsest. With thrifty it would have cost ${money(billed - could)}: ${percent(could / billed)} less.`}
      >
        could {money(could)}
      </span>
    </td>
  )
}

const NAMES: Record<string, [one: string, many: string]> = {
  compaction: ['segment', 'segments'],
  rewind: ['rewind', 'rewinds'],
  'sub-agent': ['subagent', 'subagents'],
  fork: ['fork', 'forks'],
}

function reasonOf({ parent, about }: SessionRow): string {
  return parent ? 'fork' : (about.reason ?? 'sub-agent')
}

function kindOf(row: SessionRow): string {
  return NAMES[reasonOf(row)]?.[0] ?? ''
}

/** `4 segments, 1 fork`. */
function kindsOf(children: readonly SessionRow[]): string {
  const kinds = Map.groupBy(children, reasonOf)
  return [...kinds].map(([kind, own]) => plural(own.length, ...(NAMES[kind] ?? ['more', 'more']))).join(', ')
}

const DAY = 24 * 60 * 60 * 1000

function groupOf(at: number, now: number): string {
  const today = new Date(now).setHours(0, 0, 0, 0)
  if (at >= today) return 'Today'
  if (at >= today - DAY) return 'Yesterday'
  if (at >= today - 6 * DAY) return 'Last 7 days'
  return new Date(at).toLocaleDateString('en', { month: 'long', year: 'numeric' })
}
