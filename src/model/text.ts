/** Cutting texts for display: never through a character of two halves, numbers as people read them. */

export function headOf(text: string, length: number): string {
  return isHigh(text.charCodeAt(length - 1)) ? text.slice(0, length - 1) : text.slice(0, length)
}

export function tailOf(text: string, length: number): string {
  const at = Math.max(0, text.length - length)
  return isLow(text.charCodeAt(at)) ? text.slice(at + 1) : text.slice(at)
}

/** The text up to a bound, with a sign where it was cut. */
export function boundedTo(text: string, length: number): string {
  return text.length <= length ? text : `${headOf(text, length - 1)}…`
}

/** Every run of white space with a line end in it becomes one space. */
export function onOneLine(text: string): string {
  return text.replace(/\s+/g, blank => (/[\r\n]/.test(blank) ? ' ' : blank)).trim()
}

/** The text without any of `chars` at its end. A pattern that ends with `+$` would try every run of them. */
export function trimEndOf(text: string, chars: string): string {
  let end = text.length
  while (end > 0 && chars.includes(text[end - 1]!)) end--
  return text.slice(0, end)
}

/** 45231 → 45,231 */
export function withCommas(number: number): string {
  return number.toLocaleString('en-US')
}

export function linesIn(text: string): number {
  if (text === '') return 0
  let lines = text.endsWith('\n') ? 0 : 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}
