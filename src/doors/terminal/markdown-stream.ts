/**
 * Markdown that comes in pieces: every block is output when it is complete, and never changes afterwards.
 *
 * The guarantee: the output is the same for every division of a text into pieces, because it is always read line by
 * line. A block is complete when another has begun after it or an empty line has ended it. `pending` is the incomplete
 * rest, for a screen that can erase it.
 */
import { Lexer, type Token } from 'marked'
import { isHard, type Layout, LONGEST_BLOCK, plainLines, renderBlock } from './markdown.ts'
import { printable } from './output.ts'
import { type Line, span } from './spans.ts'

/** A block is parsed again when it has grown by one part in this many. */
const OFTEN = 16

export class MarkdownStream {
  readonly #layout: () => Layout
  #lines = ''
  #rest = ''
  #begun = false
  #gap = ''
  #fence: string | undefined
  #wait = 0

  constructor(layout: () => Layout) {
    this.#layout = layout
  }

  /** The lines of the blocks that this piece completes. */
  push(text: string): Line[] {
    const end = text.lastIndexOf('\n') + 1
    const whole = end > 0 ? this.#rest + text.slice(0, end) : ''
    this.#rest = end > 0 ? text.slice(end) : this.#rest + text
    if (end === 0) return []
    return whole.split(/(?<=\n)/).flatMap(line => this.#line(printable(line)))
  }

  #line(line: string): Line[] {
    if (!this.#fence && isHard(line)) return [...this.#giveAll(), ...plainLines(line, this.#layout())]
    this.#lines += line
    if (!this.#fence && this.#lines.length > LONGEST_BLOCK) return this.#giveAll()
    // A long block of code is parsed once, when its fence is closed; any other long block from time to time.
    if (this.#fence ? !closesFence(line, this.#fence) : this.#wait-- > 0) return []
    const tokens = new Lexer().blockTokens(this.#lines)
    this.#fence = openFence(tokens.at(-1)?.raw ?? '')
    const given = this.#give(wholeBlocks(tokens, this.#lines))
    this.#wait = Math.floor(this.#lines.split('\n').length / OFTEN)
    return given
  }

  /** The lines of the rest. The next piece begins a new text. */
  end(): Line[] {
    const last = this.#rest === '' ? [] : this.#line(printable(this.#rest))
    this.#rest = ''
    const lines = [...last, ...this.#giveAll()]
    this.#begun = false
    this.#gap = ''
    return lines
  }

  #giveAll(): Line[] {
    const lines = this.#give(new Lexer().blockTokens(this.#lines).map(({ raw }) => raw))
    this.#lines = ''
    this.#fence = undefined
    this.#wait = 0
    return lines
  }

  /** The incomplete rest, as it is shown now. */
  pending(): Line[] {
    const text = this.#lines + printable(this.#rest.slice(-LONGEST_BLOCK))
    if (text.trim() === '') return []
    if (text.length >= LONGEST_BLOCK)
      return text
        .slice(-LONGEST_BLOCK)
        .split('\n')
        .slice(1)
        .map(line => [span(line)])
    const lines = renderBlock(text, this.#layout())
    return this.#begun && isGap(this.#gap) ? [[], ...lines] : lines
  }

  #give(raws: readonly string[]): Line[] {
    const lines: Line[] = []
    for (const raw of raws) {
      this.#lines = this.#lines.slice(raw.length)
      if (raw.trim() === '') {
        this.#gap += raw
        continue
      }
      if (this.#begun && isGap(this.#gap)) lines.push([])
      lines.push(...trimmed(renderBlock(raw, this.#layout())))
      this.#begun = true
      this.#gap = raw.slice(raw.trimEnd().length)
    }
    return lines
  }
}

/** The blocks that no later line can change: all but the last, and the last too if an empty line has ended it. */
function wholeBlocks(tokens: readonly Token[], text: string): string[] {
  const last = tokens.findLastIndex(token => token.type !== 'space')
  const isOver = last >= 0 && endsAtEmptyLine(tokens[last]!) && tokens.slice(last + 1).some(({ raw }) => isGap(raw))
  const whole = tokens.slice(0, isOver ? last + 1 : Math.max(0, last)).map(({ raw }) => raw)
  // The lexer merges some blocks. If the blocks together are not exactly the text, they wait for the end.
  return text.startsWith(whole.join('')) ? whole : []
}

/** Lists, quotes and indented code may continue after an empty line. */
function endsAtEmptyLine({ type, raw }: Token): boolean {
  if (type === 'code') return FENCE.test(raw)
  return type === 'paragraph' || type === 'heading' || type === 'table' || type === 'hr'
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/

/** The marks of the fence that a block has opened; undefined if it is closed, or none was opened. */
function openFence(raw: string): string | undefined {
  const fence = FENCE.exec(raw)?.[1]
  if (fence === undefined) return undefined
  const [, ...lines] = raw.trimEnd().split('\n')
  return lines.some(line => closesFence(line, fence)) ? undefined : fence
}

function closesFence(line: string, fence: string): boolean {
  const [found = '', marks = ''] = FENCE.exec(line) ?? []
  return marks.startsWith(fence) && line.slice(found.length).trim() === ''
}

function isGap(space: string): boolean {
  return (space.match(/\n/g)?.length ?? 0) > 1
}

function trimmed(lines: Line[]): Line[] {
  const isEmpty = (line: Line) => line.every(({ text }) => text.trim() === '')
  const first = lines.findIndex(line => !isEmpty(line))
  const last = lines.findLastIndex(line => !isEmpty(line))
  return lines.slice(Math.max(0, first), last + 1)
}
