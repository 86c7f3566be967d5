/**
 * Tables for a terminal: columns as wide as they need. If the table does not fit, the widest columns are narrowed and
 * their cells wrapped. If that leaves no readable column, each row becomes a record with a line for each cell.
 */
import { type Line, lineWidth, padLine, type Span, span, wrap } from './spans.ts'

type Align = 'left' | 'right' | 'center'
export type Table = { header: Span[][]; rows: Span[][][]; align: Align[] }

/** A column narrower than this is harder to read than a record. */
const NARROW = 6
const BETWEEN = ' │ '

export function tableLines(table: Table, width: number): Line[] {
  const natural = table.header.map((head, i) =>
    Math.max(1, ...[head, ...table.rows.map(row => row[i] ?? [])].map(cell => lineWidth(cell))),
  )
  const room = width - BETWEEN.length * (natural.length - 1)
  const widths = narrowed(natural, room)
  if (!widths) return recordLines(table, width)
  const rule = widths.map(size => '─'.repeat(size)).join('─┼─')
  return [
    ...rowLines(table.header, widths, table.align),
    [span(rule, 'dim')],
    ...table.rows.flatMap(row => rowLines(row, widths, table.align)),
  ]
}

/** Narrows the widest columns until all fit; undefined if that makes one unreadable. */
function narrowed(natural: readonly number[], room: number): number[] | undefined {
  const total = natural.reduce((sum, size) => sum + size, 0)
  if (total <= room) return [...natural]
  // The largest width limit under which the columns fit; all wider columns get it.
  let bound = Math.max(...natural)
  while (bound > 0 && natural.reduce((sum, size) => sum + Math.min(size, bound), 0) > room) bound--
  return bound < NARROW ? undefined : natural.map(size => Math.min(size, bound))
}

function rowLines(row: readonly Span[][], widths: readonly number[], align: readonly Align[]): Line[] {
  const cells = widths.map((size, i) => wrap(row[i] ?? [], size))
  const height = Math.max(...cells.map(lines => lines.length))
  return Array.from({ length: height }, (_, y) =>
    cells.flatMap((lines, i) => {
      const cell = padLine(lines[y] ?? [], widths[i]!, align[i])
      return i === 0 ? cell : [span(BETWEEN, 'dim'), ...cell]
    }),
  )
}

function recordLines({ header, rows }: Table, width: number): Line[] {
  return rows.flatMap((row, index) => {
    const lines = row.flatMap((cell, i) => wrap([...(header[i] ?? []), span(': '), ...cell], width))
    return index === 0 ? lines : [[span('─', 'dim')], ...lines]
  })
}
