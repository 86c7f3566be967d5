/**
 * Finds the sections of a Markdown text, by the rules of CommonMark, and replaces one of them. Pure.
 *
 * Only headers of the document itself count: not a `#` in a code fence, a comment, front matter, an indented block, a
 * list item or a quotation. Replacing keeps every character outside the section, and is refused if the new content
 * would change the other headers.
 */

import { trimEndOf } from '../model/text.ts'
import { inLineEndingsOf, splitLines } from './text.ts'

export type Heading = {
  level: number
  title: string
  /** From 1. */
  line: number
  /** Where the header begins, where its content begins, and where the section ends. */
  start: number
  content: number
  end: number
  /** The section that it is in. */
  parent: Heading | undefined
}

type SectionResult =
  | { text: string; header: string; removed: string; inserted: string; subsections: string[] }
  | { problem: string; code: 'PATTERN_NOT_FOUND' | 'MATCH_AMBIGUOUS' | 'INVALID_INPUT' }

/** Replaces the content of the section that `wanted` names: a header, or a path "## A > ### B". */
export function replaceSection(text: string, wanted: string, content: string): SectionResult {
  const headings = readHeadings(text)
  const matches = findHeadings(headings, wanted)
  const [heading] = matches
  if (!heading) return { code: 'PATTERN_NOT_FOUND', problem: notThere(headings, wanted) }
  if (matches.length > 1) return { code: 'MATCH_AMBIGUOUS', problem: severalThere(matches, wanted) }

  const removed = text.slice(heading.content, heading.end)
  const clean = withoutOwnHeader(heading, inLineEndingsOf(text, content))
  const inserted = fitBody(text, heading, clean)
  const result = text.slice(0, heading.content) + inserted + text.slice(heading.end)
  const broken = brokenStructure(headings, heading, readHeadings(result))
  if (broken) return { code: 'INVALID_INPUT', problem: broken }
  const inside = headings.filter(({ start }) => start >= heading.content && start < heading.end)
  return { text: result, header: nameOf(heading), removed, inserted, subsections: inside.map(nameOf) }
}

/** All headers of the document, in order. */
export function readHeadings(text: string): Heading[] {
  const lines = readLines(text)
  const found: Heading[] = []
  const open: Heading[] = []
  const reader = new BlockReader()
  const begin = frontMatterLength(lines)
  for (const [index, line] of lines.entries()) {
    const header = index < begin ? undefined : reader.next(line.text, index)
    if (!header) continue
    const { level, title, from } = header
    const { start } = lines[from]!
    while (open.length > 0 && open.at(-1)!.level >= level) open.pop()!.end = start
    const parent = open.at(-1)
    const heading = { level, title, line: from + 1, start, content: line.end, end: text.length, parent }
    found.push(heading)
    open.push(heading)
  }
  return found
}

/** "## Title", for an underlined header too. */
export function nameOf({ level, title }: Pick<Heading, 'level' | 'title'>): string {
  return `${'#'.repeat(level)} ${title}`
}

type Line = { text: string; start: number; end: number }

function readLines(text: string): Line[] {
  const lines: Line[] = []
  const pattern = /([^\r\n]*)(\r\n|\n|\r|$)/g
  for (let start = text.startsWith('\uFEFF') ? 1 : 0; start < text.length; ) {
    pattern.lastIndex = start
    const [whole, line] = pattern.exec(text) as unknown as [whole: string, line: string]
    const end = start + whole.length
    lines.push({ text: line, start, end })
    start = end
  }
  return lines
}

/** The number of lines of the front matter; 0 if it has no end. */
function frontMatterLength(lines: Line[]): number {
  if (!/^---[ \t]*$/.test(lines[0]?.text ?? '')) return 0
  return lines.findIndex((line, index) => index > 0 && /^(---|\.\.\.)[ \t]*$/.test(line.text)) + 1
}

type Header = { level: number; title: string; from: number }

const FENCE = /^ {0,3}(`{3,}|~{3,})/
const ATX = /^ {0,3}(#{1,6})(?=[ \t]|$)/
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/
const QUOTE = /^ {0,3}>/
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])([ \t]+|$)/
const RAW_HTML = /^ {0,3}<(pre|script|style|textarea)(?=[\s>]|$)/i
const BLOCK_HTML = new RegExp(
  `^ {0,3}</?(?:${'address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead title tr track ul'.replaceAll(' ', '|')})(?=[\\s>]|/>|$)`,
  'i',
)

/** A line that is one tag and nothing else. */
const LONE_TAG =
  /^ {0,3}<(?:[a-z][a-z0-9-]*(?:\s+[a-z_:][\w.:-]*(?:\s*=\s*(?:[^\s"'=<>`]+|'[^']*'|"[^"]*"))?)*\s*\/?|\/[a-z][a-z0-9-]*\s*)>\s*$/i

/** Deeper lists and quotations are read as text. */
const MAX_DEPTH = 32

/** Reads a document, or a container in it, line by line and returns the header that a line completes. */
class BlockReader {
  readonly #depth: number
  /** Lines are skipped until this matches. */
  #until: ((line: string) => boolean) | undefined
  /** The lines of the running paragraph; a header may be underlined. */
  #paragraph: Paragraph | undefined
  #container: Container | undefined

  constructor(depth = 0) {
    this.#depth = depth
  }

  /** Whether the last line ends in a paragraph, at any depth. The next line may continue it without indentation. */
  get #endsInText(): boolean {
    if (this.#until) return false
    return this.#container ? this.#container.inner.#endsInText : this.#paragraph !== undefined
  }

  next(line: string, index: number): Header | undefined {
    if (this.#until) {
      if (this.#until(line)) this.#until = undefined
      return undefined
    }
    if (this.#container && this.#staysInside(this.#container, line)) return undefined
    this.#container = undefined
    return this.#block(line, index)
  }

  /** Whether a line belongs to the open container, which then reads it. */
  #staysInside(container: Container, line: string): boolean {
    const { inner, quote, indent } = container
    if (line.trim() === '') {
      inner.next('', 0)
      return !quote && !container.empty
    }
    if (quote ? !QUOTE.test(line) : indentOf(line) < indent) return inner.#endsInText && !interrupts(line)
    inner.next(quote ? quotedIn(line) : fromColumn(line, indent), 0)
    container.empty = false
    return true
  }

  #block(line: string, index: number): Header | undefined {
    if (line.trim() === '') return this.#endParagraph()
    const underline = UNDERLINE.exec(line)
    const words = underline && this.#paragraph && withoutDefinitions(this.#paragraph)
    if (words) {
      this.#endParagraph()
      const title = words.lines.map(part => part.trim()).join(' ')
      return { level: underline[1]![0] === '=' ? 1 : 2, title, from: words.from }
    }
    if (/^(?: {4}| {0,3}\t)/.test(line)) return this.#paragraph ? this.#addToParagraph(line, index) : undefined
    const atx = ATX.exec(line)
    if (atx) {
      this.#endParagraph()
      return { level: atx[1]!.length, title: titleOf(line.slice(atx[0].length)), from: index }
    }
    return this.#opener(line) ? undefined : this.#addToParagraph(line, index)
  }

  /** Whether the line opens a block other than a paragraph. */
  #opener(line: string): boolean {
    const fence = fenceOf(line)
    if (fence) this.#skipUntil(fence)
    else if (/^ {0,3}<!--/.test(line)) this.#html(line, text => text.includes('-->'))
    else if (RAW_HTML.test(line)) this.#html(line, text => /<\/(pre|script|style|textarea)>/i.test(text))
    else if (BLOCK_HTML.test(line)) this.#skipUntil(text => text.trim() === '')
    else if (!this.#paragraph && LONE_TAG.test(line)) this.#skipUntil(text => text.trim() === '')
    else if (isRule(line)) this.#endParagraph()
    else if (this.#depth < MAX_DEPTH && QUOTE.test(line)) this.#enter({ indent: 0, quote: true, first: quotedIn(line) })
    else if (this.#depth < MAX_DEPTH && startsItem(line, this.#paragraph !== undefined)) this.#enter(itemOf(line))
    else return false
    return true
  }

  #enter({ first, ...opened }: Opened): void {
    this.#endParagraph()
    const inner = new BlockReader(this.#depth + 1)
    inner.next(first, 0)
    this.#container = { ...opened, inner, empty: first.trim() === '' }
  }

  #html(line: string, until: (line: string) => boolean): void {
    this.#endParagraph()
    if (!until(line)) this.#until = until
  }

  #skipUntil(until: (line: string) => boolean): undefined {
    this.#endParagraph()
    this.#until = until
  }

  #endParagraph(): undefined {
    this.#paragraph = undefined
  }

  #addToParagraph(line: string, index: number): undefined {
    if (this.#paragraph) this.#paragraph.lines.push(line)
    else this.#paragraph = { from: index, lines: [line] }
  }
}

/** For a line that opens a code fence: a test for the line that closes it. */
function fenceOf(line: string): ((line: string) => boolean) | undefined {
  const [start = '', marks = ''] = FENCE.exec(line) ?? []
  if (marks === '' || (marks[0] === '`' && line.includes('`', start.length))) return undefined
  return text => {
    const [found = '', closing = ''] = FENCE.exec(text) ?? []
    return closing.startsWith(marks) && text.slice(found.length).trim() === ''
  }
}

/** Whether a line is three or more of one mark, with blanks between them. A pattern for it would need the stack. */
function isRule(line: string): boolean {
  const marks = /^ {0,3}[-*_]/.test(line) ? line.replace(/[ \t]/g, '') : ''
  return marks.length >= 3 && marks === marks[0]!.repeat(marks.length)
}

/** Whether a line begins a list item. Inside a paragraph, an item must not be empty and, if numbered, begin at 1. */
function startsItem(line: string, inParagraph: boolean): boolean {
  const item = ITEM.exec(line)
  if (!item) return false
  return !inParagraph || (line.slice(item[0].length).trim() !== '' && /^(?:[-+*]|0*1[.)])$/.test(item[2]!))
}

function itemOf(line: string): Opened {
  const [all = '', lead = '', marker = '', gap = ''] = ITEM.exec(line) ?? []
  const rest = line.slice(all.length)
  const width = lead.length + marker.length
  const content = indentOf(gap, width)
  // After a wider gap, the item begins with a code block.
  const indent = rest === '' || content > width + 4 ? width + 1 : content
  return { indent, quote: false, first: rest === '' ? '' : ' '.repeat(content - indent) + rest }
}

/** A line of a quotation without its mark and the space after it. */
function quotedIn(line: string): string {
  const [mark = ''] = QUOTE.exec(line) ?? []
  const rest = line.slice(mark.length)
  return fromColumn(rest, Math.min(mark.length + 1, indentOf(rest, mark.length)), mark.length)
}

/** The text from a column on, of which only blanks come before; `from` is the column where the text begins. */
function fromColumn(text: string, column: number, from = 0): string {
  return ' '.repeat(indentOf(text, from) - column) + text.replace(/^[ \t]+/, '')
}

/**
 * An open list item or quotation, with the reader of its content. `indent`: the column from which lines belong to a list
 * item. `empty`: whether the item has no content yet.
 */
type Container = { indent: number; quote: boolean; inner: BlockReader; empty: boolean }

/** A container as its first line opens it; `first` is the content of that line. */
type Opened = Pick<Container, 'indent' | 'quote'> & { first: string }

type Paragraph = { from: number; lines: string[] }

/** A paragraph without the link definitions at its beginning; undefined if it has nothing else. */
function withoutDefinitions({ from, lines }: Paragraph): Paragraph | undefined {
  const words = lines.findIndex(line => !/^ {0,3}\[[^\]]+\]:\s*\S+\s*$/.test(line))
  return words === -1 ? undefined : { from: from + words, lines: lines.slice(words) }
}

/** Whether a line ends the paragraph of a container instead of continuing it. */
function interrupts(line: string): boolean {
  return (
    ATX.test(line) ||
    fenceOf(line) !== undefined ||
    isRule(line) ||
    QUOTE.test(line) ||
    startsItem(line, false) ||
    /^ {0,3}<!--/.test(line) ||
    RAW_HTML.test(line) ||
    BLOCK_HTML.test(line)
  )
}

/** The column after the blanks at the beginning of a line; `from` is the column where the text begins. */
function indentOf(line: string, from = 0): number {
  let column = from
  for (const char of line) {
    if (char === ' ') column++
    else if (char === '\t') column += 4 - (column % 4)
    else break
  }
  return column
}

/** The text of an ATX header, without closing marks; empty for `# #` and `#`. */
function titleOf(raw: string): string {
  const title = raw.trim()
  const open = trimEndOf(title, '#')
  return open === title || /[^ \t]$/.test(open) ? title : open.trimEnd()
}

function findHeadings(headings: Heading[], wanted: string): Heading[] {
  const whole = headings.filter(namedBy(wanted))
  const steps = wanted.split(/(?<=\s)>(?=\s)/)
  if (whole.length > 0 || steps.length === 1) return whole
  const [own, ...outer] = steps.map(namedBy).reverse() as [Names, ...Names[]]
  return headings.filter(heading => own(heading) && isBelow(heading, outer))
}

/** Whether a section is inside others of these names, the innermost first. */
function isBelow({ parent }: Heading, outer: readonly Names[]): boolean {
  let at = parent
  return outer.every(names => {
    while (at && !names(at)) at = at.parent
    const found = at
    at = at?.parent
    return found !== undefined
  })
}

type Names = (heading: Heading) => boolean

/** Whether a text names a header, with its level ("## A") or by its title alone. */
function namedBy(text: string): Names {
  const first = splitLines(text.trim())[0] ?? ''
  const [, marks = ''] = ATX.exec(first) ?? []
  const title = squeezed(marks === '' ? first : titleOf(first.slice(marks.length)))
  return heading => (marks === '' || heading.level === marks.length) && squeezed(heading.title) === title
}

function squeezed(title: string): string {
  return title.replace(/\s+/g, ' ').trim()
}

/** New content with the blank lines around the old content, or one on each side if the section was empty. */
function fitBody(text: string, heading: Heading, content: string): string {
  const old = text.slice(heading.content, heading.end)
  const core = content.replace(BLANK_LINES, '').trimEnd()
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const followed = heading.end < text.length
  if (old.trim() === '') {
    const headerEnd = /[\r\n]$/.test(text.slice(heading.start, heading.content)) ? '' : eol
    return core === '' ? old : headerEnd + eol + core + eol + (followed ? eol : '')
  }
  if (core === '') return followed ? eol : ''
  const lead = BLANK_LINES.exec(old)?.[0] ?? ''
  const trail = old.slice(old.trimEnd().length)
  // An underlined header must not run on from the new content's last paragraph.
  const apart = followed && !/^ {0,3}#/.test(text.slice(heading.end)) && trail.split(eol).length < 3 ? eol : ''
  return lead + core + trail + apart
}

const BLANK_LINES = /^(?:[ \t]*(?:\r\n|\n|\r))+/

/** Removes the header if the new content repeats it, as models often do. */
function withoutOwnHeader(heading: Heading, content: string): string {
  const [first] = readHeadings(content)
  const repeats = first && content.slice(0, first.start).trim() === '' && first.level === heading.level
  return repeats && squeezed(first.title) === squeezed(heading.title) ? content.slice(first.content) : content
}

/** The error if headers outside the section have changed. */
function brokenStructure(before: Heading[], heading: Heading, after: Heading[]): string | undefined {
  const outside = before.filter(other => other.start <= heading.start || other.start >= heading.end)
  const rest = outside.map(nameOf)
  const tail = rest.length - outside.findIndex(other => other.start === heading.start) - 1
  const inside = after.slice(rest.length - tail, after.length - tail)
  const kept = [...after.slice(0, rest.length - tail), ...after.slice(after.length - tail)].map(nameOf)
  const intruder = inside.find(other => other.level <= heading.level)
  if (intruder) {
    return (
      `new_content contains the header "${nameOf(intruder)}", which would end the section "${nameOf(heading)}". ` +
      'Give only the content under the header; add other sections with append_to_file or edit_file.'
    )
  }
  if (kept.length === rest.length && kept.every((name, index) => name === rest[index])) return undefined
  return 'new_content would change the headers around the section: it leaves a code fence or a comment open. Close it.'
}

function notThere(headings: Heading[], wanted: string): string {
  if (headings.length === 0) return `Section "${wanted}" not found: there are no headers.`
  const list = headings.map(heading => `${'  '.repeat(heading.level - 1)}${nameOf(heading)}`)
  return `Section "${wanted}" not found. The headers are:\n${listed(list)}`
}

function severalThere(matches: Heading[], wanted: string): string {
  const ways = matches.map(wayTo)
  const list = matches.map((heading, index) => `line ${heading.line}: ${ways[index]}`)
  const advice =
    new Set(ways).size === ways.length
      ? 'Give the path of the section that you mean, as listed.'
      : 'Some have the same path: replace a unique piece of their text instead.'
  return `Section "${wanted}" occurs ${matches.length} times. ${advice}\n${listed(list)}`
}

function wayTo(heading: Heading): string {
  return heading.parent ? `${wayTo(heading.parent)} > ${nameOf(heading)}` : nameOf(heading)
}

function listed(lines: readonly string[]): string {
  return [...lines.slice(0, 100), ...(lines.length > 100 ? [`… and ${lines.length - 100} more`] : [])].join('\n')
}
