/**
 * The replacement of edit_file: exact, literal and unique. Pure.
 *
 * Nothing is interpreted: no pattern in the old text, no `$&` in the new one. Overlapping matches are counted,
 * because replacing either of them would be a guess. A mismatch is a value, not an exception.
 */

import { placesOf } from '../model/search.ts'
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
  const places = placesOf(text, wanted)
  const [at] = places
  if (at === undefined) return { type: 'not-found' }
  if (places.length > 1) return { type: 'ambiguous', lines: linesAt(text, places) }
  const inserted = oldText.includes('\r') ? newText : inLineEndingsOf(text, newText)
  return { type: 'replaced', text: text.slice(0, at) + inserted + text.slice(at + wanted.length), at, inserted }
}
