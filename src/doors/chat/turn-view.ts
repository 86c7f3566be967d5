/**
 * One turn of the agent on the screen: its words as Markdown, each tool call and each change of the engine as one
 * line, and below it, if the screen can move, the current activity.
 *
 * It uses nothing of the agent but its events. Printed text is never erased.
 */

import type { AgentEvent, ContextUse, DoneReason } from '../../agent/events.ts'
import { amount } from '../../model/text.ts'
import { MarkdownStream } from '../terminal/markdown-stream.ts'
import { oneLine, printable } from '../terminal/output.ts'
import type { Screen } from '../terminal/screen.ts'
import { type Line, lineWidth, type Span, span, wrap } from '../terminal/spans.ts'
import { clip } from '../terminal/width.ts'
import { type Collapsed, type CollapsedCall, callLine, thoughtLine } from './collapsed.ts'
import { dollars } from './status.ts'

const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'
const FRAME_MS = 100
const REDRAW_MS = 40

type Done = Extract<AgentEvent, { type: 'done' }>

export class TurnView {
  readonly #screen: Screen
  readonly #collapsed: Collapsed
  readonly #typed: () => string
  readonly #markdown: MarkdownStream
  readonly #running = new Map<string, CollapsedCall>()
  readonly #subagents = new Map<string, Map<string, CollapsedCall>>()
  #plainLine = ''
  #thought = ''
  #note = ''
  #question: readonly Line[] | undefined
  #frame = 0
  #drawnAt = 0
  #timer: NodeJS.Timeout | undefined
  /** The kind of the last output, so that there is a blank line between words and tool lines. */
  #last: 'nothing' | 'words' | 'lines' = 'nothing'
  context: ContextUse | undefined
  done: Done | undefined

  constructor(screen: Screen, collapsed: Collapsed, typed: () => string = () => '') {
    this.#screen = screen
    this.#collapsed = collapsed
    this.#typed = typed
    this.#markdown = new MarkdownStream(() => ({ width: screen.width, marks: !screen.colour }))
    if (!screen.moves) return
    this.#timer = setInterval(() => {
      this.#frame++
      this.draw()
    }, FRAME_MS)
    this.#timer.unref()
    this.draw()
  }

  show(event: AgentEvent): void {
    if (event.type !== 'reasoning') this.#endThought()
    if (event.type !== 'text' && event.type !== 'usage') this.#endWords()
    if (event.type !== 'retry') this.#note = ''
    this.#take(event)
    if (Date.now() - this.#drawnAt >= REDRAW_MS) this.draw()
  }

  /** Ends everything that is open and frees the screen. Call it once, whatever happened. */
  end(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#endThought()
    this.#endWords()
    this.#screen.live([])
    for (const item of this.#running.values()) this.#lines([callLine(item, { ...this.#screen, spinner: '·' })])
    this.#running.clear()
  }

  /**
   * Shows a question until the returned function is called with the answer; `record` is the line that stays with it.
   */
  ask(question: readonly Line[], record: Line): (answer: Span) => void {
    this.#endThought()
    this.#endWords()
    if (!this.#screen.moves) this.#lines(question)
    this.#question = question
    this.draw()
    return answer => {
      this.#question = undefined
      this.#lines([[...(this.#screen.moves ? record : [span('    ')]), answer]])
      this.draw()
    }
  }

  #take(event: AgentEvent): void {
    switch (event.type) {
      case 'text':
        return this.#words(event.text)
      case 'reasoning':
        this.#thought += event.text
        return
      case 'call':
        this.#running.set(event.id, this.#collapsed.call(event.name, event.input))
        return
      case 'result':
        return this.#result(event)
      case 'edits':
        return this.#lines([editsLine(event, this.#screen.width)])
      case 'usage':
        this.context = event.context
        return
      case 'retry':
        this.#note = `no answer from the model (${oneLine(event.reason, 80)}): retrying, attempt ${event.attempt}`
        return this.#lines([[span(`    ${this.#note}, after ${(event.wait / 1000).toFixed(1)} s`, 'yellow')]])
      case 'interrupted':
        return this.#lines(interruptedLines(event.calls))
      case 'delegated':
        return this.#delegated(event.session, event.event)
      case 'done':
        this.done = event
        return this.#lines(doneLines(event, this.#screen.width))
      case 'approval':
      case 'approved':
      // The chat itself reports waiting proposals.
      case 'proposals':
        return
    }
  }

  #words(text: string): void {
    if (!this.#screen.laidOut) return this.#plain(text)
    const lines = this.#markdown.push(text)
    if (lines.length > 0) this.#print('words', lines)
  }

  /** In a pipe, Markdown passes as it is written, line by line. */
  #plain(text: string): void {
    const end = text.lastIndexOf('\n') + 1
    const whole = this.#plainLine + text.slice(0, end)
    this.#plainLine = end > 0 ? text.slice(end) : this.#plainLine + text
    if (end > 0) this.#print('words', plainLines(whole))
  }

  #endWords(): void {
    const lines = this.#screen.laidOut ? this.#markdown.end() : plainLines(this.#plainLine)
    const isSomething = this.#screen.laidOut || this.#plainLine !== ''
    this.#plainLine = ''
    if (isSomething && lines.length > 0) this.#print('words', lines)
  }

  #endThought(): void {
    if (this.#thought.trim() === '') return
    const item = this.#collapsed.thought(this.#thought.trim())
    this.#thought = ''
    this.#lines([thoughtLine(item, this.#screen.width)])
  }

  #result({ id, name, text, isError }: Extract<AgentEvent, { type: 'result' }>): void {
    const item = this.#running.get(id) ?? this.#collapsed.call(name, {})
    this.#running.delete(id)
    item.result = { text, isError }
    this.#lines([callLine(item, this.#screen)])
  }

  /** For a subagent: shows its calls and how it ended; its words come back as the result of the call. */
  #delegated(session: string, event: AgentEvent): void {
    const calls = this.#subagents.get(session) ?? new Map<string, CollapsedCall>()
    if (!this.#subagents.has(session)) this.#lines([[span(`    ⤷ ${oneLine(session, 60)}`, 'magenta')]])
    this.#subagents.set(session, calls)
    if (event.type === 'call') calls.set(event.id, this.#collapsed.call(event.name, event.input))
    if (event.type === 'result') {
      const item = calls.get(event.id) ?? this.#collapsed.call(event.name, {})
      item.result = { text: event.text, isError: event.isError }
      this.#lines([[span('  '), ...callLine(item, { width: this.#screen.width - 2 })]])
    }
    if (event.type === 'done') {
      const cost = event.cost > 0 ? `, ${dollars(event.cost)}` : ''
      this.#lines([[span(`    ⤷ ${event.reason} after ${amount(event.steps, 'step')}${cost}`, 'magenta')]])
    }
  }

  #lines(lines: readonly Line[]): void {
    if (lines.length > 0) this.#print('lines', lines)
  }

  #print(kind: 'words' | 'lines', lines: readonly Line[]): void {
    const apart = this.#apart(kind)
    this.#last = kind
    this.#screen.print(...apart, ...lines)
    this.#drawnAt = 0
  }

  #apart(kind: 'words' | 'lines'): Line[] {
    const isFirst = this.#last === 'nothing'
    return this.#last === kind || (isFirst && !this.#screen.laidOut) ? [] : [[]]
  }

  /** Shows the current activity at the bottom. */
  draw(): void {
    if (!this.#timer || this.done) return
    this.#drawnAt = Date.now()
    const spinner = FRAMES[this.#frame % FRAMES.length]!
    const typed = this.#typed()
    const ahead: Line[] = typed === '' ? [] : [[span(`› ${oneLine(typed, 200)}`, 'dim')]]
    if (this.#question) return this.#screen.live([...this.#apart('lines'), ...this.#question, ...ahead])
    const pending = this.#markdown.pending()
    const running = [...this.#running.values()].map(item => callLine(item, { ...this.#screen, spinner }))
    const now = running.length > 0 ? running : [this.#doing(spinner)]
    const apart = pending.length > 0 ? [[]] : this.#apart('lines')
    const begun = pending.length > 0 ? this.#apart('words') : []
    this.#screen.live([...begun, ...pending, ...apart, ...now, ...ahead])
  }

  #doing(spinner: string): Line {
    const thought = oneLine(this.#thought.slice(-300), 1000)
    const what = this.#note || (thought === '' ? 'working' : clip(thought, Math.max(20, this.#screen.width - 30)))
    const head: Line = [span(`  ${spinner} `, 'cyan'), span(what, 'dim')]
    const hint = ' · Ctrl-C stops'
    return lineWidth(head) + hint.length < this.#screen.width ? [...head, span(hint, 'dim')] : head
  }
}

function plainLines(text: string): Line[] {
  return printable(text)
    .replace(/\n$/, '')
    .split('\n')
    .map(line => [span(line)])
}

function editsLine({ ids, saved, decision }: Extract<AgentEvent, { type: 'edits' }>, width: number): Line {
  const gain = saved >= 0 ? `${amount(saved, 'token')} saved` : `${amount(-saved, 'token')} added`
  const head = `    ~ ${amount(ids.length, 'edit')} (${idsOf(ids)}), ${gain}`
  const why = decision === '' ? '' : `: ${oneLine(decision, 600)}`
  return [span(clip(`${head}${why}`, width), 'dim')]
}

function idsOf(ids: readonly string[]): string {
  return ids.length > 3 ? `${ids[0]} … ${ids.at(-1)}` : ids.join(', ')
}

function interruptedLines(calls: readonly { name: string }[]): Line[] {
  if (calls.length === 0) return []
  const names = calls.map(({ name }) => oneLine(name, 40)).join(', ')
  return [[span(`    ↯ interrupted last time and not run again: ${names}`, 'yellow')]]
}

const REASONS: Record<DoneReason, string> = {
  answered: '',
  aborted: 'Stopped. The session is kept; type your next request.',
  steps: 'Stopped at the step limit. Type "go on" to continue.',
  tokens: 'Stopped at the token limit. Type "go on" to continue.',
  money: 'Stopped at the spending limit.',
  failed: 'The model could not be reached.',
}

function doneLines({ reason, message }: Done, width: number): Line[] {
  if (reason === 'answered') return []
  const said = reason === 'failed' && message !== '' ? message : REASONS[reason]
  return wrap([span(printable(said), reason === 'failed' ? 'red' : 'yellow')], width)
}
