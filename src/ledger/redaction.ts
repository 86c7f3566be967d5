/**
 * Redacting replaces texts in events by a mask of the same length, so that the places that edits name do not move.
 *
 * The event that records a redaction never holds the redacted text. For each changed text of a message it has a salted
 * hash and the places in it: a client that continues the conversation sends the old text, and it is redacted in the
 * same way before it is compared. `link` is the hash of the conversation as the client knows it, for the proxy.
 */
import { hash } from 'node:crypto'
import { messageOf, PalimpsestError } from '../model/errors.ts'
import { isRecord } from '../model/json.ts'
import { separatePlacesOf } from '../model/search.ts'
import type { Event, Message } from '../model/types.ts'
import { apart, type Secret, secretsIn } from '../recall/secrets.ts'
import { keyOf } from '../view/sync.ts'
import { withinTime } from './time-limit.ts'

/**
 * The texts to redact: everything that looks like a secret, every occurrence of a text, or all matches of a regular
 * expression.
 */
export type ToRedact = { secrets: true } | { text: string } | { pattern: RegExp }

/** Shorter texts occur in every session. */
export const SHORTEST_TEXT = 4

export type RedactEvent = Extract<Event, { type: 'redact' }>
export type RedactedText = RedactEvent['texts'][number]

/** A redacted session, and how many of its own and shared events were changed. */
export type Redacted = { session: string; changed: number; kinds: Record<string, number> }

/** Keys whose values are names rather than texts, except inside the arguments of a tool. */
const STRUCTURE = new Set(
  'type role dialect provider by mark hash edit edits id name action mediaType media_type tool_use_id call_id tool_call_id model tier cause link head salt'.split(
    ' ',
  ),
)
const ARGUMENTS = new Set(['input', 'args', 'arguments'])

/** How long a pattern may take for an event, and by the length of its texts. It has a second more in all. */
const MS_PER_EVENT = 1
const CHARS_PER_MS = 10_000
const MAX_EXTRA_MS = 1000
const TOO_LONG = 'The pattern takes too long for these texts. Avoid a repetition inside a repetition.'
const extraOf = new WeakMap<RegExp, number>()

export function toPattern(source: string): RegExp {
  try {
    return new RegExp(source, 'gu')
  } catch (cause) {
    throw new PalimpsestError(
      'INVALID_INPUT',
      `The pattern is not a regular expression: ${messageOf(cause)}.`,
      {},
      cause,
    )
  }
}

export function placesIn(text: string, what: ToRedact): Secret[] {
  return looking(what, places => places(text))
}

/** Gives `work`, which has no effects, a function that finds the places in a text. Stops a pattern that takes too long. */
function looking<T>(what: ToRedact, work: (places: (text: string) => Secret[]) => T): T {
  if ('secrets' in what) return work(secretsIn)
  if ('text' in what) {
    const forms = [...formsOf(what.text)]
    return work(text => apart(forms.flatMap(form => occurrences(text, form))))
  }
  const { pattern } = what
  const before = extraOf.get(pattern) ?? 0
  const began = performance.now()
  let chars = 0
  const places = (text: string) => {
    chars += text.length
    const matches = [...text.matchAll(pattern)].filter(([match]) => match !== '')
    return matches.map(({ 0: match, index }) => ({ kind: 'pattern', start: index, end: index + match.length }))
  }
  try {
    return withinTime(Math.ceil(MAX_EXTRA_MS - before), TOO_LONG, () => work(places))
  } finally {
    const extra = performance.now() - began - MS_PER_EVENT - chars / CHARS_PER_MS
    extraOf.set(pattern, Math.min(MAX_EXTRA_MS - 1, Math.max(0, before + extra)))
  }
}

/** The text itself, and JSON-quoted once and twice. */
function formsOf(text: string): Set<string> {
  const quoted = (inner: string) => JSON.stringify(inner).slice(1, -1)
  return new Set([text, quoted(text), quoted(quoted(text))])
}

function occurrences(text: string, form: string): Secret[] {
  return separatePlacesOf(text, form).map(at => ({ kind: 'text', start: at, end: at + form.length }))
}

export function covered(text: string, places: readonly Secret[]): string {
  let done = ''
  let at = 0
  for (const { kind, start, end } of places) {
    done += text.slice(at, start) + mask(kind, end - start)
    at = end
  }
  return done + text.slice(at)
}

function mask(kind: string, length: number): string {
  const label = `[redacted: ${kind}]`
  return label.length > length ? '*'.repeat(length) : label.padEnd(length, '*')
}

/** A copy of a value with `change` applied to its texts. */
export function withTexts<T>(value: T, change: (text: string) => string, isData = false): T {
  if (typeof value === 'string') return change(value) as T
  if (Array.isArray(value)) return value.map(item => withTexts(item, change, isData)) as T
  if (!isRecord(value)) return value
  const entries = Object.entries(value).map(([name, item]): [string, unknown] => {
    const isNames = [item].flat().every(one => typeof one === 'string')
    if (!isData && isNames && STRUCTURE.has(name)) return [name, item]
    return [isData ? change(name) : name, withTexts(item, change, isData || ARGUMENTS.has(name))]
  })
  return Object.fromEntries(entries) as T
}

export type EventChange = { event: Event; kinds: string[]; texts: RedactedText[] }

/** The event with the texts redacted; `undefined` if it has none to redact. */
export function redactEvent(event: Event, what: ToRedact, salt: string): EventChange | undefined {
  if (event.type === 'redact') return undefined
  const kinds: string[] = []
  const texts: RedactedText[] = []
  const changed = looking(what, placesOf =>
    withTexts(event, text => {
      const places = placesOf(text)
      if (places.length === 0) return text
      for (const { kind } of places) kinds.push(kind)
      if (event.type === 'entry') texts.push({ length: text.length, hash: saltedHash(salt, text), places })
      return covered(text, places)
    }),
  )
  return kinds.length > 0 ? { event: changed, kinds, texts } : undefined
}

/** A client's messages with earlier redactions applied. Unaffected messages stay the same objects. */
export function redactAgain(messages: readonly Message[], redactions: readonly RedactEvent[]): readonly Message[] {
  return redactions.reduce<readonly Message[]>((before, { salt, texts }) => {
    const lengths = new Set(texts.map(({ length }) => length))
    const byHash = new Map(texts.map(text => [text.hash, text]))
    return before.map(message => {
      let isChanged = false
      const changed = withTexts(message, text => {
        const found = lengths.has(text.length) ? byHash.get(saltedHash(salt, text)) : undefined
        isChanged ||= found !== undefined
        return found ? covered(text, found.places) : text
      })
      return isChanged ? changed : message
    })
  }, messages)
}

function saltedHash(salt: string, text: string): string {
  return hash('sha256', salt + text)
}

/** The hash of a conversation up to a message, from the hash before it. */
export function linkOf(before: string, message: Message): string {
  return hash('sha1', before + keyOf(message))
}

/** The hash of a whole conversation as its client knows it, without a system prompt at the beginning. */
export function lastLink(events: Iterable<{ event: Event }>): string | undefined {
  let link = ''
  for (const { event } of events) {
    if (event.type === 'redact') link = event.link
    if (event.type !== 'entry') continue
    if (link !== '' || event.message.role !== 'system') link = linkOf(link, event.message)
  }
  return link === '' ? undefined : link
}
