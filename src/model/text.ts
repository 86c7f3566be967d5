/** Shortens texts without splitting a surrogate pair, and writes numbers, amounts and times for people. */

/** Like `text.slice`, but leaves out a character that would be split. Use it for every text that is shortened. */
export function cut(text: string, from: number, to = text.length): string {
  const start = isLow(text.charCodeAt(from)) && isHigh(text.charCodeAt(from - 1)) ? from + 1 : from
  return text.slice(start, characterStart(text, to))
}

/** The position itself, or the one before it if it is in the middle of a character. */
export function characterStart(text: string, at: number): number {
  return isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1)) ? at - 1 : at
}

export function headOf(text: string, length: number): string {
  return cut(text, 0, Math.max(0, length))
}

export function tailOf(text: string, length: number): string {
  return cut(text, Math.max(0, text.length - length))
}

/** The text up to a length, with a mark if it was cut. */
export function boundedTo(text: string, length: number): string {
  return text.length <= length ? text : `${headOf(text, length - 1)}…`
}

/** Every run of white space with a line end in it becomes one space. */
export function onOneLine(text: string): string {
  return text.replace(/\s+/g, blank => (/[\r\n]/.test(blank) ? ' ' : blank)).trim()
}

/** The text on one line, with single spaces, up to a length. */
export function inOneLine(text: string, length: number): string {
  return boundedTo(text.replace(/\s+/g, ' ').trim(), length)
}

/** The text with a line break at its end; an empty one stays empty. */
export function endingLine(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}

/** The text without any of `chars` at its end. A pattern that ends with `+$` would try every run of them. */
export function trimEndOf(text: string, chars: string): string {
  let end = text.length
  while (end > 0 && chars.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** 45231 → 45,231. Most numbers need no comma, and `toLocaleString` takes 10 µs. */
export function withCommas(number: number): string {
  return Number.isInteger(number) && number >= 0 && number < 1000 ? String(number) : number.toLocaleString('en-US')
}

/** 2026-05-18, in the user's time zone. */
export function localDay(at: number): string {
  const date = new Date(at)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** 09:30, in the user's time zone. */
export function localTime(at: number): string {
  const date = new Date(at)
  return `${two(date.getHours())}:${two(date.getMinutes())}`
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}

/** 2026-05-18 09:30, in UTC. */
export function minuteOf(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replace('T', ' ')
}

/** "1 call", "2,000 calls". */
export function amount(count: number, thing: string, several = `${thing}s`): string {
  return `${withCommas(count)} ${count === 1 ? thing : several}`
}

export function linesIn(text: string): number {
  if (text === '') return 0
  let lines = text.endsWith('\n') ? 0 : 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

export function lineAt(text: string, at: number): string {
  const end = text.indexOf('\n', at)
  return text.slice(text.lastIndexOf('\n', at - 1) + 1, end < 0 ? undefined : end)
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}

/** Dollars for people: in cents, with more digits for small amounts. */
export function asDollars(amount: number): string {
  const digits = Math.abs(amount) < 0.1 && amount !== 0 ? 4 : 2
  return `${amount < 0 ? '−' : ''}$${Math.abs(amount).toFixed(digits)}`
}

const MINUTE = 60_000

/** The cause of a cache miss after a pause. */
export function pauseOf(ms: number): string {
  const minutes = Math.round(ms / MINUTE)
  const hours = Math.round(minutes / 60)
  const pause = minutes < 120 ? `${minutes} minutes` : hours < 48 ? `${hours} hours` : `${Math.round(hours / 24)} days`
  return `${pause} since the last answer: the cache had expired`
}
