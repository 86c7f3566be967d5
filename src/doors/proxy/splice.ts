/**
 * Writes a changed JSON value into the text that it was read from: unchanged parts keep their bytes.
 *
 * `splice(text, from, to)` is JSON text of `to`, where `from` is `parseJson(text)`. Wherever a value in `to` equals its
 * counterpart in `from`, the original characters stay, including spacing, escapes and the spelling of numbers. The
 * choice of counterparts only decides how much is kept, never the value of the result.
 */
import { sameJson } from '../../formats/adapters/original.ts'
import { isRecord, unquoted } from '../../model/json.ts'
import { endOfString, endOfValue, skipBlank } from '../../model/json-text.ts'

export function splice(text: string, from: unknown, to: unknown): string {
  return rewrite(text, spanAt(text, skipBlank(text, 0)), from, to)
}

type Span = { start: number; end: number }
type Member = Span & { key: string }

function rewrite(text: string, span: Span, from: unknown, to: unknown): string {
  if (sameJson(from, to)) return text.slice(span.start, span.end)
  if (Array.isArray(from) && Array.isArray(to)) return rewriteList(text, span, from, to)
  if (isRecord(from) && isRecord(to)) return rewriteObject(text, span, from, to)
  return JSON.stringify(to)
}

function rewriteObject(text: string, span: Span, from: Record<string, unknown>, to: Record<string, unknown>): string {
  const members = membersOf(text, span.start)
  const keys = Object.keys(to).filter(key => to[key] !== undefined)
  const inPlace = keys.length === members.length && members.every(({ key }, i) => key === keys[i])
  if (inPlace) return replaceAll(text, span, members, i => rewrite(text, members[i]!, from[keys[i]!], to[keys[i]!]))
  const byKey = new Map(members.map(member => [member.key, member]))
  const written = keys.map(key => {
    const member = byKey.get(key)
    // A new key has no place in the text. Reading it could give something else: `__proto__` gives a prototype.
    const value = member ? rewrite(text, member, from[key], to[key]) : JSON.stringify(to[key])
    return `${JSON.stringify(key)}:${value}`
  })
  return `{${written.join(',')}}`
}

function rewriteList(text: string, span: Span, from: readonly unknown[], to: readonly unknown[]): string {
  const elements = elementsOf(text, span.start)
  if (from.length === to.length) {
    return replaceAll(text, span, elements, i => rewrite(text, elements[i]!, from[i], to[i]))
  }
  const { at } = counterparts(from, to)
  const written = to.map((value, i) => {
    const known = at(i)
    return known === undefined ? JSON.stringify(value) : rewrite(text, elements[known]!, from[known], value)
  })
  return `[${written.join(',')}]`
}

/**
 * The element of `from` that corresponds to one of `to`, if any: from the front as long as they are equal (`same` of
 * them), the others from the back.
 */
export function counterparts(from: readonly unknown[], to: readonly unknown[], says = sameJson) {
  let same = 0
  while (same < from.length && same < to.length && says(from[same], to[same])) same++
  const at = (i: number): number | undefined => {
    const known = i < same ? i : i + from.length - to.length
    return known >= Math.min(same, i) ? known : undefined
  }
  return { same, at }
}

/** The text of a value with its parts replaced, and everything between them unchanged. */
function replaceAll(text: string, span: Span, parts: readonly Span[], write: (index: number) => string): string {
  let out = ''
  let at = span.start
  for (const [i, part] of parts.entries()) {
    out += text.slice(at, part.start) + write(i)
    at = part.end
  }
  return out + text.slice(at, span.end)
}

function membersOf(text: string, start: number): Member[] {
  const members: Member[] = []
  let at = skipBlank(text, start + 1)
  while (text[at] !== '}') {
    const keyEnd = endOfString(text, at)
    const key = unquoted(text.slice(at, keyEnd))
    const value = spanAt(text, skipBlank(text, skipBlank(text, keyEnd) + 1))
    members.push({ key, ...value })
    at = skipBlank(text, value.end)
    if (text[at] === ',') at = skipBlank(text, at + 1)
  }
  return members
}

function elementsOf(text: string, start: number): Span[] {
  const elements: Span[] = []
  let at = skipBlank(text, start + 1)
  while (text[at] !== ']') {
    const element = spanAt(text, at)
    elements.push(element)
    at = skipBlank(text, element.end)
    if (text[at] === ',') at = skipBlank(text, at + 1)
  }
  return elements
}

/** The span of the value that begins at `start`. Contract: the text is valid JSON. */
function spanAt(text: string, start: number): Span {
  return { start, end: endOfValue(text, start) }
}
