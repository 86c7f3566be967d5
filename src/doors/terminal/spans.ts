/**
 * Text with styles, before it becomes bytes. Text being laid out (wrapped, padded, cut) has no escape sequences in it,
 * and every line is painted separately. So a style never continues into the next line, and widths are always those of
 * the text.
 */
import { styleText } from 'node:util'
import { charactersOf, clip, widthOf } from './width.ts'

export type Look =
  | 'bold'
  | 'dim'
  | 'italic'
  | 'underline'
  | 'strikethrough'
  | 'red'
  | 'green'
  | 'yellow'
  | 'blue'
  | 'magenta'
  | 'cyan'

export type Span = { text: string; looks: readonly Look[] }
export type Line = readonly Span[]

export function span(text: string, ...looks: Look[]): Span {
  return { text, looks }
}

export function lineWidth(line: Line): number {
  return line.reduce((sum, { text }) => sum + widthOf(text), 0)
}

/** The line as the terminal gets it. */
export function paintLine(line: Line, colour: boolean): string {
  const whole = joined(line)
  if (!colour)
    return whole
      .map(({ text }) => text)
      .join('')
      .trimEnd()
  return whole
    .map(({ text, looks }, i) => {
      const ink = i === whole.length - 1 ? text.trimEnd() : text
      return looks.length > 0 && ink !== '' ? styleText([...looks], ink, { validateStream: false }) : ink
    })
    .join('')
}

/** Joins neighbours with the same style, so that a line has no unnecessary escape sequences. */
function joined(line: Line): Span[] {
  const spans: Span[] = []
  for (const { text, looks } of line) {
    const last = spans.at(-1)
    if (last && last.looks.join() === looks.join()) last.text += text
    else if (text !== '') spans.push({ text, looks })
  }
  return spans
}

export function clipLine(line: Line, width: number): Line {
  if (lineWidth(line) <= width) return line
  const kept: Span[] = []
  let used = 0
  for (const { text, looks } of line) {
    const fits = clip(text, width - used)
    kept.push({ text: fits, looks })
    used += widthOf(fits)
    // If the line is full, the next span would have no room for its `…`.
    if (fits !== text || used >= width) break
  }
  return kept
}

export function padLine(line: Line, width: number, align: 'left' | 'right' | 'center' = 'left'): Line {
  const free = Math.max(0, width - lineWidth(line))
  const before = align === 'left' ? 0 : align === 'right' ? free : Math.floor(free / 2)
  return [span(' '.repeat(before)), ...line, span(' '.repeat(free - before))]
}

/** Lines of at most `width` columns, broken at spaces if possible; `\n` always breaks. */
export function wrap(spans: Line, width: number): Line[] {
  const page = new Page(Math.max(1, width))
  let space: Span | undefined
  for (const word of wordsOf(spans)) {
    if (word.type === 'word') page.add(word.spans, space)
    if (word.type === 'break') page.newLine()
    space = word.type === 'space' ? word.spans[0] : undefined
  }
  return page.lines
}

/** Lines that are filled word by word. */
class Page {
  readonly lines: Span[][] = [[]]
  readonly #width: number
  #used = 0

  constructor(width: number) {
    this.#width = width
  }

  newLine(): void {
    this.lines.push([])
    this.#used = 0
  }

  add(word: readonly Span[], space: Span | undefined): void {
    if (this.#used > 0 && this.#used + (space ? 1 : 0) + lineWidth(word) > this.#width) this.newLine()
    if (space && this.#used > 0) this.#put(space)
    for (const { text, looks } of word) {
      for (const [index, piece] of piecesOf(text, this.#width - this.#used, this.#width).entries()) {
        if (index > 0) this.newLine()
        this.#put({ text: piece, looks })
      }
    }
  }

  #put(span: Span): void {
    this.lines.at(-1)!.push(span)
    this.#used += widthOf(span.text)
  }
}

type Word = { type: 'word' | 'space' | 'break'; spans: Span[] }

/** Letters without a space between them are one word, in any styles. */
function* wordsOf(spans: Line): Generator<Word> {
  let word: Span[] = []
  for (const { text, looks } of spans) {
    for (const part of text.split(/(\n|[ \t]+)/).filter(part => part !== '')) {
      if (!/^[ \t\n]/.test(part)) {
        word.push({ text: part, looks })
        continue
      }
      if (word.length > 0) yield { type: 'word', spans: word }
      word = []
      yield { type: part === '\n' ? 'break' : 'space', spans: [{ text: ' ', looks }] }
    }
  }
  if (word.length > 0) yield { type: 'word', spans: word }
}

/** Cuts a text that is wider than a line into a piece that fits in the rest of this line and pieces of whole lines. */
function piecesOf(text: string, rest: number, width: number): string[] {
  if (widthOf(text) <= rest) return [text]
  const pieces = ['']
  let free = rest
  for (const char of charactersOf(text)) {
    if (char.width > free && free < width) {
      pieces.push('')
      free = width
    }
    pieces[pieces.length - 1] += char.text
    free -= char.width
  }
  return pieces
}
