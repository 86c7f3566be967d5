/**
 * The data between two lines of `---` at the beginning of a text, in the part of YAML that people write by hand:
 * `key: value`, nested by indentation, lists with `- `, quoted strings and JSON values. Anything beyond that (anchors,
 * tags, block scalars) is a problem that is reported, never guessed at. Pure.
 */
import { parseJson } from '../model/json.ts'

type Line = { indent: number; text: string; number: number }
type Read = { value: unknown; next: number }

const FRONT_MATTER = /^---[ \t]*\r?\n([\s\S]*?)(?:^|\n)---[ \t]*(?:\r?\n|$)/m

class Problem extends Error {}

/** The data, or what is wrong with it; undefined if the text has no front matter. */
export function readFrontMatter(body: string): { value: unknown } | { problem: string } | undefined {
  const match = FRONT_MATTER.exec(body)
  if (match?.index !== 0) return undefined
  try {
    const lines = readLines(match[1] ?? '')
    if (lines.length === 0) return { value: {} }
    const { value, next } = readNode(lines, 0, lines[0]!.indent)
    const rest = lines[next]
    if (rest) throw new Problem(`line ${rest.number} is indented differently from the lines before it`)
    return { value }
  } catch (error) {
    if (error instanceof Problem) return { problem: `its front matter cannot be read: ${error.message}` }
    throw error
  }
}

/** The text after the front matter, if there is any. */
export function withoutFrontMatter(body: string): string {
  const match = FRONT_MATTER.exec(body)
  return match?.index === 0 ? body.slice(match[0].length) : body
}

function readLines(text: string): Line[] {
  return text.split(/\r?\n/).flatMap((line, i) => {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) return []
    if (line.slice(0, line.length - line.trimStart().length).includes('\t')) {
      throw new Problem(`line ${i + 2} is indented with a tab`)
    }
    return [{ indent: line.length - line.trimStart().length, text: trimmed, number: i + 2 }]
  })
}

function readNode(lines: readonly Line[], at: number, indent: number): Read {
  return isItem(lines[at]!) ? readList(lines, at, indent) : readMap(lines, at, indent)
}

function readList(lines: readonly Line[], at: number, indent: number): Read {
  const value: unknown[] = []
  let next = at
  for (let line = lines[next]; line && line.indent === indent && isItem(line); line = lines[next]) {
    const rest = line.text.slice(1).trim()
    if (rest === '') {
      const inner = readNested(lines, next + 1, indent)
      value.push(inner.value)
      next = inner.next
    } else {
      value.push(readScalar(rest, line))
      next++
    }
  }
  return { value, next }
}

function readMap(lines: readonly Line[], at: number, indent: number): Read {
  const value: Record<string, unknown> = Object.create(null)
  let next = at
  for (let line = lines[next]; line && line.indent === indent && !isItem(line); line = lines[next]) {
    const { key, rest } = readPair(line)
    if (Object.hasOwn(value, key)) throw new Problem(`line ${line.number} repeats the key ${JSON.stringify(key)}`)
    const inner = rest === '' ? readNested(lines, next + 1, indent) : { value: readScalar(rest, line), next: next + 1 }
    value[key] = inner.value
    next = inner.next
  }
  return { value: { ...value }, next }
}

function readPair(line: Line): { key: string; rest: string } {
  const quoted = /^"(?:[^"\\]|\\.)*"/.exec(line.text)?.[0]
  const colon = line.text.indexOf(':', quoted?.length)
  const key = line.text.slice(0, Math.max(0, colon)).trimEnd()
  const rest = line.text.slice(colon + 1)
  const isKey = quoted === undefined ? /^[^\s"'[{&*!|>%@`-]/.test(key) : key === quoted
  if (!isKey || !/^(?:\s|$)/.test(rest)) throw new Problem(`line ${line.number} is not of the form "key: value"`)
  return { key: quoted === undefined ? key : String(readScalar(quoted, line)), rest: rest.trim() }
}

/** The value below a key or a dash, or null. A list may have the indentation of its key. */
function readNested(lines: readonly Line[], at: number, indent: number): Read {
  const line = lines[at]
  if (!line) return { value: null, next: at }
  if (line.indent > indent) return readNode(lines, at, line.indent)
  return line.indent === indent && isItem(line) && !isItem(lines[at - 1]!)
    ? readList(lines, at, indent)
    : { value: null, next: at }
}

function readScalar(text: string, { number }: Line): unknown {
  if (/^[&*!|>%@`]/.test(text)) throw new Problem(`line ${number} uses a feature of YAML that is not supported here`)
  if (/^["[{]/.test(text)) {
    try {
      return parseJson(text)
    } catch {
      return flowList(text) ?? fail(`the quoted text on line ${number} is not valid JSON`)
    }
  }
  if (text.startsWith("'")) {
    if (!/^'(?:[^']|'')*'$/.test(text)) throw new Problem(`the quoted text on line ${number} is not closed`)
    return text.slice(1, -1).replaceAll("''", "'")
  }
  const comment = text.search(/\s#/)
  const plain = comment < 0 ? text : text.slice(0, comment).trimEnd()
  if (/^(?:null|~)$/i.test(plain)) return null
  if (/^true$/i.test(plain)) return true
  if (/^false$/i.test(plain)) return false
  return /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i.test(plain) ? Number(plain) : plain
}

/** `[a, b]` with plain words. */
function flowList(text: string): unknown[] | undefined {
  const inside = /^\[([^[\]{}"'&*!|>%@`:]*)\]$/.exec(text)?.[1]
  if (inside === undefined) return undefined
  return inside.split(',').map(word => readScalar(word.trim(), { indent: 0, text: '', number: 0 }))
}

function isItem({ text }: Line): boolean {
  return text === '-' || text.startsWith('- ')
}

function fail(message: string): never {
  throw new Problem(message)
}
