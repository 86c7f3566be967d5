/**
 * `JSON.parse` without a bug of V8. V8 13.6 to 14.6 (Node 24 to 26) may take a key for another one that it has seen at
 * the same place of an object, if both have the same length and the other one equals the beginning of this one's
 * spelling:
 *
 *     JSON.parse('{"a":1,"\\\\":2}')     // { a: 1, '\\': 2 }
 *     JSON.parse('{"a":1,"\\n":2}')      // { a: 1, '\\': 2 } too, instead of { a: 1, '\n': 2 }
 *
 * An engine that reads the second text correctly does not have this bug. Only keys written with an escape can be
 * misread; texts without one are parsed directly. In other texts those keys are rewritten without escapes: a character
 * that needs one (a quote, a line feed) becomes a mark and its code until the text is parsed. Pure.
 */

import { endOfString, skipBlank } from './json-text.ts'

/** Called with each key and value, innermost first, as by `JSON.parse`, but without `this`. */
export type Reviver = (key: string, value: unknown) => unknown

/** The value of a JSON text, of the type that the caller expects. Throws a `SyntaxError` if the text is not JSON. */
export function parseJson<T = unknown>(text: string, reviver?: Reviver): T {
  const respelled = hasEscapedKey(text) ? respell(text) : undefined
  if (!respelled) return JSON.parse(text, reviver)
  const { plain, mark } = respelled
  const keyOf = (key: string) => (mark !== undefined && key.startsWith(mark) ? keyBehind(mark, key) : key)
  try {
    if (!reviver) return (mark === undefined ? JSON.parse(plain) : unmarked(JSON.parse(plain), keyOf)) as T
    return JSON.parse(plain, (key, value: unknown) =>
      reviver(keyOf(key), isRecord(value) ? renameKeys(value, keyOf) : value),
    )
  } catch (error) {
    // Parse the original text, so that the error refers to it.
    if (error instanceof SyntaxError) JSON.parse(text)
    throw error
  }
}

/** The same; `undefined` if the text is not JSON. */
export function tryJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** The value with the right keys, inside too. A walk of our own: a reviver costs ten times the parsing. */
function unmarked(value: unknown, keyOf: (key: string) => string): unknown {
  const top = [value]
  const open: object[] = [top]
  for (let parent = open.pop(); parent; parent = open.pop()) {
    for (const key in parent) {
      const inner: unknown = parent[key as keyof typeof parent]
      if (typeof inner !== 'object' || inner === null) continue
      const right = isRecord(inner) ? renameKeys(inner, keyOf) : inner
      // An assignment to `__proto__` would not make a key.
      if (right !== inner) Object.defineProperty(parent, key, { value: right })
      open.push(right)
    }
  }
  return top[0]
}

/** The value of a string as JSON writes it, quotes included. */
export function unquoted(string: string): string {
  return string.includes('\\') ? JSON.parse(string) : string.slice(1, -1)
}

/**
 * Whether a key has an escape. Looks only at the strings around backslashes. For a text that is not JSON the answer may
 * be wrong, and no parser accepts such a text.
 */
function hasEscapedKey(text: string): boolean {
  for (let at = text.indexOf('\\'); at >= 0; ) {
    const end = endOfString(text, text.lastIndexOf('"', at))
    if (end === 0) return false
    if (isKey(text, end)) return true
    at = text.indexOf('\\', Math.max(end, at + 1))
  }
  return false
}

/** Whether the string that ends here is a key. */
function isKey(text: string, end: number): boolean {
  return text[skipBlank(text, end)] === ':'
}

/**
 * The same text with keys that need no escapes, and the mark that some of them carry. The new text is JSON exactly when
 * the old one is; `undefined` if a string is not closed or a key cannot be read.
 */
function respell(text: string): { plain: string; mark: string | undefined } | undefined {
  const mark = freeMark(text)
  let plain = ''
  let isMarked = false
  let done = 0
  let backslash = text.indexOf('\\')
  for (let start = text.indexOf('"'); backslash >= 0; start = text.indexOf('"', start)) {
    const end = endOfString(text, start)
    if (start < 0 || end === 0 || backslash < start) return undefined
    if (backslash < end) {
      if (isKey(text, end)) {
        const key = tryJson(text.slice(start, end))
        if (typeof key !== 'string') return undefined
        const spelling = spelled(key, mark)
        isMarked ||= spelling !== key
        plain += `${text.slice(done, start)}"${spelling}"`
        done = end
      }
      backslash = text.indexOf('\\', end)
    }
    start = end
  }
  return { plain: plain + text.slice(done), mark: isMarked ? mark : undefined }
}

const NOT_PLAIN = /[\0-\x1f"\\]/

/** A prefix that no string of the text has. */
function freeMark(text: string): string {
  if (!text.includes('"~')) return '~'
  const taken = new Set(text.match(/"~\d+~/g))
  let n = 0
  while (taken.has(`"~${n}~`)) n++
  return `~${n}~`
}

/** The key without escapes; with the mark and codes if it needs escapes, or if it begins with the mark. */
function spelled(key: string, mark: string): string {
  if (!NOT_PLAIN.test(key) && !key.startsWith(mark)) return key
  return mark + key.replace(/[\0-\x1f"\\~]/g, char => `~${char.charCodeAt(0).toString(16).padStart(2, '0')}`)
}

function keyBehind(mark: string, key: string): string {
  const spelling = key.slice(mark.length)
  return spelling.replace(/~(..)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** The value with other keys, in their order; the same object if no key changes. */
export function renameKeys(value: Record<string, unknown>, rename: (key: string) => string): Record<string, unknown> {
  const keys = Object.keys(value)
  if (keys.every(key => rename(key) === key)) return value
  return Object.fromEntries(keys.map(key => [rename(key), value[key]]))
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
