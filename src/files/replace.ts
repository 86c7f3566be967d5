/**
 * The replacement of edit_file: exact, literal and unique. Pure.
 *
 * Nothing is interpreted: no pattern in the old text, no `$&` in the new one. Overlapping matches are counted,
 * because replacing either of them would be a guess. A mismatch is a value, not an exception.
 */

import { inLineEndingsOf, linesAt } from './text.ts'

type Replaced =
  | { type: 'replaced'; text: string; at: number; inserted: string }
  | { type: 'not-found' }
  | { type: 'ambiguous'; lines: number[] }

/**
 * In a file with CRLF throughout, line breaks of texts without carriage returns become CRLF (`inLineEndingsOf`).
 * Otherwise both texts are literal.
 */
export function replaceUnique(text: string, oldText: string, newText: string): Replaced {
  const wanted = inLineEndingsOf(text, oldText)
  const at = text.indexOf(wanted)
  if (at === -1) return { type: 'not-found' }
  if (text.indexOf(wanted, at + 1) !== -1) {
    return { type: 'ambiguous', lines: linesAt(text, matchesOf(text, wanted)) }
  }
  const inserted = oldText.includes('\r') ? newText : inLineEndingsOf(text, newText)
  return { type: 'replaced', text: text.slice(0, at) + inserted + text.slice(at + wanted.length), at, inserted }
}

/**
 * All offsets at which `part` occurs, overlapping ones too. Knuth, Morris and Pratt's search, so that a long
 * run of one character costs no more than any other text.
 */
export function matchesOf(text: string, part: string): number[] {
  const border = borders(part)
  const found: number[] = []
  let length = 0
  for (let i = 0; i < text.length; i++) {
    while (length > 0 && (length === part.length || text[i] !== part[length])) length = border[length - 1]!
    if (text[i] === part[length]) length++
    if (length === part.length) found.push(i - length + 1)
  }
  return found
}

/** For each prefix of `part`, the length of its longest proper prefix that is also its suffix. */
function borders(part: string): Int32Array {
  const border = new Int32Array(part.length)
  let length = 0
  for (let i = 1; i < part.length; i++) {
    while (length > 0 && part[i] !== part[length]) length = border[length - 1]!
    if (part[i] === part[length]) length++
    border[i] = length
  }
  return border
}
