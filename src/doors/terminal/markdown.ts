/**
 * Markdown as a terminal shows it: a block becomes lines of spans, laid out to a width.
 *
 * Without colours (`marks`), the signs of Markdown stay, so that a heading can be recognised. A link is shown with its
 * address, because its text may not say where it leads. Definitions of links are not resolved, because in a text that
 * comes in pieces they may come later. Contract: the text has no control characters.
 */
import { Lexer, type Token, type Tokens } from 'marked'
import { type Line, type Look, lineWidth, type Span, span, wrap } from './spans.ts'
import { tableLines } from './table.ts'

export type Layout = { width: number; marks: boolean }

/** The lexer's time grows with the square of a block's length. Longer blocks are rare, and shown unformatted. */
export const LONGEST_BLOCK = 20_000
const LONGEST_LINE = 4000
/** Quotations and lists that one line may open: the lexer's time and memory grow with the cube of the number. */
const DEEPEST = 16
const LONG_RUN = /_{32}|\*{32}|!{32}/
const FENCED = /^ {0,3}(?:`{3}|~{3})/

export function renderBlock(raw: string, layout: Layout): Line[] {
  return isReadable(raw) ? blockLines(lexed(raw), layout) : plainLines(raw, layout)
}

/** As `lex` does it, but a long paragraph stays plain: the time for its emphasis grows with the square of its length. */
function lexed(raw: string): Token[] {
  const lexer = new Lexer()
  const blocks = lexer.blockTokens(raw)
  for (const { src, tokens } of lexer.inlineQueue) {
    if (src.length > LONGEST_LINE) tokens.push({ type: 'text', raw: src, text: src })
    else lexer.inlineTokens(src, tokens)
  }
  return blocks
}

export function plainLines(text: string, { width }: Layout): Line[] {
  return text
    .trimEnd()
    .split('\n')
    .flatMap(line => wrap([span(line)], width))
}

function isReadable(raw: string): boolean {
  if (FENCED.test(raw)) return true
  return raw.length <= LONGEST_BLOCK && !LONG_RUN.test(raw) && !raw.split('\n').some(isHard)
}

/** Whether a line is too long for the lexer, or nested too deep. */
export function isHard(line: string): boolean {
  const [marks] = /^[\s\d>*+.)-]*/.exec(line)!
  return line.length > LONGEST_LINE || (marks.match(/>|[*+.)-](?=\s)/g)?.length ?? 0) > DEEPEST
}

function blockLines(tokens: readonly Token[], layout: Layout): Line[] {
  const lines: Line[] = []
  let run: Token[] = []
  const endRun = () => {
    if (run.length > 0) lines.push(...wrap(inlineSpans(run, [], layout.marks), layout.width))
    run = []
  }
  for (const token of tokens) {
    // The text of a tight list item is beside its blocks, not in a paragraph.
    if (token.type === 'text' || token.type === 'checkbox') {
      run.push(token)
      continue
    }
    endRun()
    lines.push(...linesOf(token, layout))
  }
  endRun()
  return lines
}

function linesOf(token: Token, layout: Layout): Line[] {
  const { width, marks } = layout
  switch (token.type) {
    case 'space':
      return /\n[ \t]*\n/.test(token.raw) ? [[]] : []
    case 'heading':
      return wrap(headingSpans(token as Tokens.Heading, layout), width)
    case 'code':
      return codeLines(token as Tokens.Code, marks)
    case 'blockquote':
      return prefixed(span('│ ', 'dim'), tokensOf(token), layout)
    case 'list':
      return listLines(token as Tokens.List, layout)
    case 'table':
      return tableOf(token as Tokens.Table, layout)
    case 'hr':
      return [[span('─'.repeat(Math.min(width, 40)), 'dim')]]
    case 'html':
      return wrap([span(token.raw.trimEnd(), 'dim')], width)
    case 'def':
      return wrap([span(token.raw.trimEnd())], width)
    default:
      return wrap(inlineSpans(tokensOf(token), [], marks), width)
  }
}

function headingSpans(token: Tokens.Heading, { marks }: Layout): Span[] {
  if (marks) return [span(`${'#'.repeat(token.depth)} `), ...inlineSpans(token.tokens, [], marks)]
  const looks: Look[] = token.depth === 1 ? ['bold', 'underline'] : ['bold']
  return inlineSpans(token.tokens, looks, marks)
}

/** Code is not wrapped: the terminal wraps it, and copied code stays whole. */
function codeLines({ text, lang = '', raw }: Tokens.Code, marks: boolean): Line[] {
  const lines = text.split('\n').map(line => [span(`  ${line}`, 'cyan')])
  if (!FENCED.test(raw)) return lines
  const name = lang.split(/\s/)[0] ?? ''
  if (marks) return [[span(`\`\`\`${name}`)], ...text.split('\n').map(line => [span(line)]), [span('```')]]
  return name === '' ? lines : [[span(`  ${name}`, 'dim')], ...lines]
}

function prefixed(prefix: Span, tokens: readonly Token[], layout: Layout): Line[] {
  const room = Math.max(8, layout.width - lineWidth([prefix]))
  return blockLines(tokens, { ...layout, width: room }).map(line => [prefix, ...line])
}

function listLines({ items, ordered, start, loose }: Tokens.List, layout: Layout): Line[] {
  const first = typeof start === 'number' ? start : 1
  const size = ordered ? String(first + items.length - 1).length + 2 : 2
  return items.flatMap((item, index) => {
    const mark = ordered ? `${String(first + index).padStart(size - 2)}. ` : '• '
    const body = blockLines(item.tokens, { ...layout, width: Math.max(8, layout.width - size) })
    const lines = body.map((line, i) => [i === 0 ? span(mark, 'dim') : span(' '.repeat(size)), ...line])
    const own = lines.length > 0 ? lines : [[span(mark, 'dim')]]
    return loose && index < items.length - 1 ? [...own, []] : own
  })
}

function tableOf({ header, rows, align }: Tokens.Table, { width, marks }: Layout): Line[] {
  const cells = (row: readonly Tokens.TableCell[], looks: Look[] = []) =>
    row.map(cell => inlineSpans(cell.tokens, looks, marks))
  return tableLines(
    {
      header: cells(header, ['bold']),
      rows: rows.map(row => cells(row)),
      align: align.map(side => side ?? 'left'),
    },
    width,
  )
}

function inlineSpans(tokens: readonly Token[], looks: readonly Look[], marks: boolean): Span[] {
  return tokens.flatMap(token => inlineOf(token, looks, marks))
}

function inlineOf(token: Token, looks: readonly Look[], marks: boolean): Span[] {
  const plain = (text: string): Span => ({ text, looks })
  const styled = (mark: string, look: Look): Span[] => {
    const inner = inlineSpans(tokensOf(token), also(looks, look), marks)
    return marks ? [plain(mark), ...inner, plain(mark)] : inner
  }
  switch (token.type) {
    case 'strong':
      return styled('**', 'bold')
    case 'em':
      return styled('*', 'italic')
    case 'del':
      return styled('~~', 'strikethrough')
    case 'codespan':
      return marks ? [plain(token.raw)] : [{ text: (token as Tokens.Codespan).text, looks: also(looks, 'cyan') }]
    case 'br':
      return [plain('\n')]
    case 'link':
      return linkSpans(token as Tokens.Link, looks, marks)
    case 'image':
      return [plain(`[image: ${token['text'] || 'no description'}] `), { text: `(${token['href']})`, looks: ['dim'] }]
    case 'checkbox':
      return [plain((token as Tokens.Checkbox).checked ? '☑ ' : '☐ ')]
    case 'html':
      return [{ text: token.raw, looks: also(looks, 'dim') }]
    case 'escape':
      return [plain(unescaped((token as Tokens.Escape).text))]
    default:
      return tokensOf(token).length > 0 ? inlineSpans(tokensOf(token), looks, marks) : [plain(textOfToken(token))]
  }
}

function textOfToken(token: Token): string {
  return unescaped('text' in token ? String(token.text) : token.raw).replace(/\n/g, ' ')
}

function linkSpans({ tokens, href, text }: Tokens.Link, looks: readonly Look[], marks: boolean): Span[] {
  const inner = inlineSpans(tokens, also(looks, 'underline'), marks)
  const isSame = text === href || `mailto:${text}` === href || `http://${text}` === href
  return isSame ? inner : [...inner, { text: ` (${href})`, looks: ['dim'] }]
}

function also(looks: readonly Look[], look: Look): readonly Look[] {
  return looks.includes(look) ? looks : [...looks, look]
}

function tokensOf(token: Token): readonly Token[] {
  return 'tokens' in token && token.tokens ? token.tokens : []
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", '#39': "'", nbsp: ' ' }

/** The few entities that models write. Others stay as they are: a number could be any character. */
function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos|#39|nbsp);/g, (_, name: string) => ENTITIES[name] ?? '')
}
