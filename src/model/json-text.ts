/**
 * Finds values in a JSON text without parsing it. Only ASCII characters matter, so UTF-8 bytes may be passed as Latin
 * 1: positions in the text are then positions in the bytes. A text that ends early gives 0. Pure.
 */
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c

/** Whether JSON allows a character between its tokens. */
export function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

export function skipBlank(text: string, start: number): number {
  let at = start
  while (isBlank(text.charCodeAt(at))) at++
  return at
}

/** The position after the closing quote of the string that begins at `start`; 0 if there is none. */
export function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1)
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote + 1
}

/** The position after the value that begins at `start`; 0 if the text ends before. */
export function endOfValue(text: string, start: number): number {
  let depth = 0
  let at = start
  do {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = endOfString(text, at)
      if (at === 0) return 0
      continue
    }
    const step = stepOf(code)
    if (depth === 0 && step === 0) return endOfWord(text, at)
    depth += step
    at++
  } while (depth > 0 && at < text.length)
  return depth > 0 ? 0 : at
}

/** How many values a JSON text has inside others; the count ends when it is more than `most`. */
export function valuesIn(text: string, most: number): number {
  let found = 0
  for (let at = 0; at < text.length && found <= most; at++) {
    const code = text.charCodeAt(at)
    if (code === COMMA || stepOf(code) === 1) found++
    if (code !== QUOTE) continue
    const end = endOfString(text, at)
    if (end === 0) break
    at = end - 1
  }
  return found
}

/** How a character changes the depth. */
function stepOf(code: number): number {
  if (code === 0x7b || code === 0x5b) return 1
  return code === 0x7d || code === 0x5d ? -1 : 0
}

/** A number, true, false or null. */
function endOfWord(text: string, start: number): number {
  let at = start
  while (at < text.length && text[at] !== ',' && !isBlank(text.charCodeAt(at)) && stepOf(text.charCodeAt(at)) >= 0) at++
  return at
}

/** Whether an odd number of backslashes precedes a quote; false for the position −1. */
function isEscaped(text: string, quote: number): boolean {
  let at = quote - 1
  while (text.charCodeAt(at) === BACKSLASH) at--
  return (quote - at) % 2 === 0
}
