/**
 * How the CLI writes: colours, tables, short forms of long texts.
 *
 * Colour is for terminals only, unless FORCE_COLOR asks for it; NO_COLOR always wins. The texts in a ledger are not
 * trusted: control characters are made visible, never sent to the terminal.
 */

import { styleText } from 'node:util'
import { amount, boundedTo, headOf, inOneLine, localDay, localTime } from '../../model/text.ts'
import { padEnd, padStart, widthOf } from './width.ts'

type Style = (text: string) => string
export type Paint = { bold: Style; dim: Style; red: Style; green: Style; yellow: Style; cyan: Style }

export function createPaint(colour: boolean): Paint {
  const style = (format: Parameters<typeof styleText>[0]): Style =>
    colour ? text => styleText(format, text, { validateStream: false }) : text => text
  return {
    bold: style('bold'),
    dim: style('dim'),
    red: style('red'),
    green: style('green'),
    yellow: style('yellow'),
    cyan: style('cyan'),
  }
}

export function wantsColour(env: Record<string, string | undefined>, isTerminal: boolean): boolean {
  if (env['NO_COLOR']) return false
  const forced = env['FORCE_COLOR']
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  return isTerminal && env['TERM'] !== 'dumb'
}

/** Control characters as symbols, because an escape sequence in a tool's output must not reach the terminal. */
export function printable(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f]/g, char => String.fromCharCode(0x2400 + char.charCodeAt(0)))
    .replace(/[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
}

/** JSON that a terminal may show: invisible and direction-changing characters become escapes of the same meaning. */
export function printableJson(value: unknown, indent = 2): string {
  const escaped = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value, null, indent).replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    escaped,
  )
}

export function oneLine(text: string, most: number): string {
  return inOneLine(printable(headOf(text, most * 4)), most)
}

/** The first lines of a text, and how much more there is. */
export function beginning(text: string, { lines, width }: { lines: number; width: number }): string[] {
  const all = printable(text).split('\n')
  const kept = all.slice(0, lines).map(line => boundedTo(line, width))
  const more = all.length - lines
  return more > 0 ? [...kept, `… ${amount(more, 'more line')}`] : kept
}

/** A time in the local format, to the minute. */
export function timeOf(ms: number): string {
  return `${localDay(ms)} ${localTime(ms)}`
}

/**
 * Rows under a heading, in columns as wide as their widest cell; nothing if there are no rows. The name of a column may
 * begin with `>` (numbers, aligned to the right) or `*` (bold).
 */
export function* table(columns: readonly string[], rows: readonly string[][], paint: Paint): Generator<string> {
  if (rows.length === 0) return
  const names = columns.map(column => column.replace(/^[*>]+/, ''))
  const widths = names.map((name, i) => Math.max(...[name, ...rows.map(row => row[i] ?? '')].map(widthOf)))
  const line = (cells: readonly string[], bold: Style) =>
    columns
      .map((column, i) => {
        const cell = cells[i] ?? ''
        const [, marks = ''] = /^([*>]*)/.exec(column) ?? []
        const padded = (marks.includes('>') ? padStart : padEnd)(cell, widths[i]!)
        return marks.includes('*') ? bold(padded) : padded
      })
      .join('  ')
      .trimEnd()
  yield paint.dim(line(names, text => text))
  for (const row of rows) yield line(row, paint.bold)
}

const STEPS = '▁▂▃▄▅▆▇█'

/** Values as a line of blocks; `most` gets the highest block. */
export function sparkline(values: readonly number[], most: number): string {
  const top = STEPS.length - 1
  return values.map(value => STEPS[most > 0 ? Math.round((Math.min(value, most) / most) * top) : 0]).join('')
}
