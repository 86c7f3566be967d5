/**
 * The parts that the chat shows as one line and can expand: tool calls and thoughts, numbered through the chat. All
 * text in a line comes from models and tools, so it is made printable and cut to the width.
 */

import { type CallInfo, describeCall } from '../../calls/tool-kinds.ts'
import { exitCode } from '../../calls/tool-output.ts'
import { amount, linesIn, withCommas } from '../../model/text.ts'
import { beginning, oneLine } from '../terminal/output.ts'
import { clipLine, type Line, type Span, span } from '../terminal/spans.ts'
import { clip, clipStart, padStart, widthOf } from '../terminal/width.ts'

export type CollapsedCall = {
  type: 'call'
  number: number
  name: string
  input: unknown
  /** Undefined while the call runs. */
  result?: { text: string; isError: boolean }
}
export type CollapsedThought = { type: 'thought'; number: number; text: string }
export type CollapsedItem = CollapsedCall | CollapsedThought

/** The number of collapsed items whose texts are kept for `/show`; older texts are in the ledger. */
const KEPT = 500

export class Collapsed {
  readonly #items: CollapsedItem[] = []
  #next = 1

  call(name: string, input: unknown): CollapsedCall {
    return this.#keep({ type: 'call', number: this.#next++, name, input })
  }

  thought(text: string): CollapsedThought {
    return this.#keep({ type: 'thought', number: this.#next++, text })
  }

  find(number?: number): CollapsedItem | undefined {
    return number === undefined ? this.#items.at(-1) : this.#items.find(item => item.number === number)
  }

  get range(): string {
    const [first] = this.#items
    return first ? `${first.number}–${this.#next - 1}` : 'none yet'
  }

  #keep<F extends CollapsedItem>(item: F): F {
    this.#items.push(item)
    if (this.#items.length > KEPT) this.#items.shift()
    return item
  }
}

/** A call as one line: number, outcome, name, subject, size of the answer. */
export function callLine(item: CollapsedCall, { width, spinner = '…' }: { width: number; spinner?: string }): Line {
  const { number, name, result } = item
  const mark = result ? (result.isError ? span('✗', 'red') : span('✓', 'green')) : span(spinner, 'cyan')
  const head: Span[] = [span(`${padStart(String(number), 3)} `, 'dim'), mark, span(` ${oneLine(name, 40)} `, 'bold')]
  const outcome = result ? outcomeOf(item, result) : []
  const used = [...head, ...outcome].reduce((sum, { text }) => sum + widthOf(text), 0)
  const about = aboutOf(item, Math.max(12, width - used - 1))
  return clipLine([...head, span(about), ...(about === '' ? outcome.map(trimmed) : outcome)], width)
}

function aboutOf({ name, input }: CollapsedCall, width: number): string {
  const { path, command, query } = describeCall(name, input)
  if (command !== undefined) return clip(oneLine(command, 400), width)
  if (path !== undefined) return clipStart(oneLine(path, 400), width)
  return clip(oneLine(query ?? firstText(input), 400), width)
}

function firstText(input: unknown): string {
  if (typeof input === 'string') return input
  if (typeof input !== 'object' || input === null) return ''
  return Object.values(input).find(value => typeof value === 'string') ?? ''
}

function trimmed({ text, looks }: Span): Span {
  return { text: text.trimStart(), looks }
}

function outcomeOf({ name, input }: CollapsedCall, { text, isError }: { text: string; isError: boolean }): Span[] {
  if (isError) return [span(`  ${oneLine(text.replace(/^Error:\s*/i, ''), 70)}`, 'red')]
  const { kind } = describeCall(name, input)
  const code = exitCode(text)
  const exit = code === undefined || code === 0 ? [] : [span(`  exit ${code}`, 'yellow')]
  if (kind === 'edit' || kind === 'write') return [...exit, span(changeOf(describeCall(name, input)), 'dim')]
  return [...exit, span(`  ${sizeOf(text)}`, 'dim')]
}

function changeOf({ edits = [], content, how }: CallInfo): string {
  if (content !== undefined) return `  ${how ?? 'wrote'} ${amount(linesIn(content), 'line')}`
  const added = edits.reduce((sum, { newText }) => sum + linesIn(newText), 0)
  const removed = edits.reduce((sum, { oldText }) => sum + linesIn(oldText), 0)
  return edits.length === 0 ? '' : `  +${withCommas(added)} −${withCommas(removed)}`
}

function sizeOf(text: string): string {
  const lines = linesIn(text)
  const size = text.length < 1000 ? amount(text.length, 'char') : `${(text.length / 1000).toFixed(1)}k chars`
  return lines > 1 ? `${withCommas(lines)} lines, ${size}` : size
}

export function thoughtLine({ number, text }: CollapsedThought, width: number): Line {
  const words = text.split(/\s+/).filter(word => word !== '').length
  const head = `${padStart(String(number), 3)} ∴ thought, ${withCommas(words)} words: `
  return [span(head, 'dim'), span(clip(oneLine(text, 300), Math.max(12, width - widthOf(head))), 'dim', 'italic')]
}

const EXPANDED = { lines: 200, width: 500 }

/** The whole of an item: the input and the result. */
export function expandedLines(item: CollapsedItem, screen: { width: number }): Line[] {
  if (item.type === 'thought') return [thoughtLine(item, screen.width), ...textLines(item.text, 'italic')]
  const { input, name, result } = item
  const lines: Line[] = [callLine(item, screen), ...inputLines(name, input)]
  if (!result) return [...lines, [span('  no result yet', 'dim')]]
  return [...lines, [span('  ──', 'dim')], ...textLines(result.text, ...(result.isError ? (['red'] as const) : []))]
}

/** The effect of a call: the change to a file as a diff, or its arguments. */
export function inputLines(name: string, input: unknown): Line[] {
  const { edits = [], content } = describeCall(name, input)
  if (edits.length > 0)
    return edits.flatMap(({ oldText, newText }) => [...marked('-', oldText), ...marked('+', newText)])
  if (content !== undefined) return marked('+', content)
  return textLines(JSON.stringify(input, null, 2) ?? '', 'dim')
}

function marked(sign: '+' | '-', text: string): Line[] {
  if (text === '') return []
  return beginning(text.replace(/\n$/, ''), EXPANDED).map(line => [
    span(`  ${sign} ${line}`, sign === '+' ? 'green' : 'red'),
  ])
}

function textLines(text: string, ...looks: Span['looks']): Line[] {
  return beginning(text, EXPANDED).map(line => [{ text: `  ${line}`, looks }])
}
