/**
 * Text for our tools: UTF-8 that is read and written byte for byte, with its BOM and line endings.
 *
 * Anything else (binary, other encodings, half a surrogate pair from a model) is refused.
 */

import { PalimpsestError } from '../model/errors.ts'
import { withCommas } from '../model/text.ts'

export const BOM = '\uFEFF'
export const MAX_FILE_BYTES = 32 * 1024 * 1024

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function decodeText(bytes: Uint8Array, path: string): string {
  const refuse = (what: string) =>
    new PalimpsestError('NOT_TEXT', `${path} is ${what}. Only UTF-8 text can be read or changed; nothing was done.`, {
      path,
    })
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    throw refuse('UTF-16 text')
  }
  if (bytes.includes(0)) throw refuse('a binary file')
  try {
    return decoder.decode(bytes)
  } catch {
    throw refuse('not valid UTF-8')
  }
}

/** Refuses text that would not survive writing and reading. */
export function checkFileText(argument: string, text: string): void {
  if (!text.isWellFormed()) {
    throw new PalimpsestError('INVALID_UNICODE', `${argument} contains a lone surrogate: not valid Unicode.`)
  }
  if (text.includes('\0')) {
    throw new PalimpsestError('NOT_TEXT', `${argument} contains a NUL character: only text can be written.`)
  }
  if (encoder.encode(text).length > MAX_FILE_BYTES) {
    throw new PalimpsestError('TOO_LARGE', `${argument} is larger than ${withCommas(MAX_FILE_BYTES)} bytes.`)
  }
}

type LineEndings = 'none' | 'lf' | 'crlf' | 'mixed'

export function lineEndings(text: string): LineEndings {
  let crlf = 0
  let lf = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    if (text[at - 1] === '\r') crlf++
    else lf++
  }
  if (crlf > 0 && lf > 0) return 'mixed'
  if (crlf > 0) return 'crlf'
  return lf > 0 ? 'lf' : 'none'
}

/**
 * Converts a model's text to the line endings of its target file: if the file has CRLF throughout and the text has no
 * carriage return, its line breaks become CRLF. Everything else stays as it is.
 */
export function inLineEndingsOf(file: string, text: string): string {
  if (text.includes('\r') || !text.includes('\n') || lineEndings(file) !== 'crlf') return text
  return text.replaceAll('\n', '\r\n')
}

/** The length in Unicode code points. */
export function countChars(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** Lines without their endings; a newline at the end of the text does not begin another line. */
export function splitLines(text: string): string[] {
  const lines = text.split(/\r\n|\n|\r/)
  if (lines.at(-1) === '') lines.pop()
  return lines
}

/** The line numbers, from 1, of ascending offsets. */
export function linesAt(text: string, offsets: readonly number[]): number[] {
  let line = 1
  let next = text.indexOf('\n')
  return offsets.map(offset => {
    while (next !== -1 && next < offset) {
      line++
      next = text.indexOf('\n', next + 1)
    }
    return line
  })
}

export function lineNumberAt(text: string, offset: number): number {
  return linesAt(text, [offset])[0] ?? 1
}
