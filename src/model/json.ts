/**
 * `JSON.parse`, but right. V8 13.6 to 14.6 (Node 24 to 26) takes a key for another one that it has seen at that place in
 * an object, if the two are of one length and the other reads like the beginning of this one's spelling:
 *
 *     JSON.parse('{"a":1,"\\\\":2}')     // { a: 1, '\\': 2 }
 *     JSON.parse('{"a":1,"\\n":2}')      // { a: 1, '\\': 2 } too, where { a: 1, '\n': 2 } is right
 *
 * An engine that reads the second line right has no such fault. Only keys that are written with an escape can be
 * misread; texts without one are parsed as they are. In the others those keys are spelled without escapes, and what
 * cannot stand in a text otherwise (a quote, a line feed) as a tilde and its code, until it is read. Pure.
 */

/** Gets each value with its key, innermost first, as from `JSON.parse`; but no `this`. */
export type Reviver = (key: string, value: unknown) => unknown

/** The value of a JSON text; whoever asks knows its type. A `SyntaxError` where the text is none. */
export function parseJson<T = unknown>(text: string, reviver?: Reviver): T {
  if (!hasEscapedKey(text)) return JSON.parse(text, reviver)
  JSON.parse(text) // An error speaks of the text as it came, and what follows is valid.
  const { plain, hasMarks } = respell(text)
  if (!reviver) return (hasMarks ? unmarked(JSON.parse(plain)) : JSON.parse(plain)) as T
  return JSON.parse(plain, (key, value: unknown) =>
    reviver(keyOf(key), isRecord(value) ? renameKeys(value, keyOf) : value),
  )
}

/** The value with the right keys, inside too. A walk of our own: a reviver costs ten times the parsing. */
function unmarked(value: unknown): unknown {
  const top = { value }
  const open: object[] = [top]
  for (let parent = open.pop(); parent; parent = open.pop()) {
    for (const [key, inner] of Object.entries(parent)) {
      if (typeof inner !== 'object' || inner === null) continue
      const right = isRecord(inner) ? renameKeys(inner, keyOf) : inner
      // An assignment to `__proto__` would not make a key.
      if (right !== inner) Object.defineProperty(parent, key, { value: right })
      open.push(right)
    }
  }
  return top.value
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Behind the quote that closes the string which begins at `start`. The text is known to be valid JSON. */
export function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1)
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote + 1
}

/** What stands between two quotes of JSON. */
export function unquoted(string: string): string {
  return string.includes('\\') ? JSON.parse(string) : string.slice(1, -1)
}

/**
 * From each colon back to the quote before it, and through the key that it closes. The text may be anything, and
 * a colon or a quote may stand inside a string: then the answer may be yes without need, but never no.
 */
function hasEscapedKey(text: string): boolean {
  if (!text.includes('\\')) return false
  for (let colon = text.indexOf(':'); colon >= 0; colon = text.indexOf(':', colon + 1)) {
    let at = colon - 1
    while (isBlank(text.charCodeAt(at))) at--
    if (text.charCodeAt(at) === QUOTE && !isEscaped(text, at) && hasEscapeBefore(text, at)) return true
  }
  return false
}

/** Whether a backslash stands between the quote and the one before it, or makes that one a character of the key. */
function hasEscapeBefore(text: string, quote: number): boolean {
  for (let at = quote - 1; at >= 0; at--) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) return true
    if (code === QUOTE) return text.charCodeAt(at - 1) === BACKSLASH
  }
  return false
}

/** The same text with keys that need no escapes, and whether any of them carries our mark. */
function respell(text: string): { plain: string; hasMarks: boolean } {
  let out = ''
  let hasMarks = false
  let done = 0
  for (let start = text.indexOf('"'); start >= 0; ) {
    const end = endOfString(text, start)
    COLON.lastIndex = end
    if (COLON.test(text)) {
      const key = plainKey(unquoted(text.slice(start, end)))
      hasMarks ||= key.startsWith(TILDE)
      out += `${text.slice(done, start)}"${key}"`
      done = end
    }
    start = text.indexOf('"', end)
  }
  return { plain: out + text.slice(done), hasMarks }
}

const COLON = /\s*:/y
const NOT_PLAIN = /[\0-\x1f"\\]|^~/
const TILDE = '~'

/** A key is written as it is, unless it cannot be or looks like one that could not. */
function plainKey(key: string): string {
  if (!NOT_PLAIN.test(key)) return key
  return TILDE + key.replace(/[\0-\x1f"\\~]/g, char => TILDE + char.charCodeAt(0).toString(16).padStart(2, '0'))
}

function keyOf(plain: string): string {
  if (!plain.startsWith(TILDE)) return plain
  return plain.slice(1).replace(/~(..)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** The value with other keys, in their order; itself where none changes. */
export function renameKeys(value: Record<string, unknown>, rename: (key: string) => string): Record<string, unknown> {
  const keys = Object.keys(value)
  if (keys.every(key => rename(key) === key)) return value
  return Object.fromEntries(keys.map(key => [rename(key), value[key]]))
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether an odd number of backslashes stands before a quote. */
function isEscaped(text: string, quote: number): boolean {
  let at = quote - 1
  while (text.charCodeAt(at) === BACKSLASH) at--
  return (quote - at) % 2 === 0
}

/** Whether JSON allows a character between its tokens. */
export function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}
