/** JSON can contain half a character (`"\ud800"`). Providers refuse it, so it is replaced by U+FFFD. */

const SURROGATE = /\\u[dD][89a-fA-F]/
/** Deeper than any transcript. */
const MAX_DEPTH = 500

/** Replaces lone surrogates. `source` is the JSON of the value; without an escaped surrogate in it, nothing is done. */
export function repairUnicode(value: unknown, source: string): { value: unknown; repaired: boolean } {
  if (!SURROGATE.test(source)) return { value, repaired: false }
  let repaired = false
  const repair = (each: unknown, depth: number): unknown => {
    if (typeof each === 'string') {
      if (each.isWellFormed()) return each
      repaired = true
      return each.toWellFormed()
    }
    if (typeof each !== 'object' || each === null || depth > MAX_DEPTH) return each
    if (Array.isArray(each)) return each.map(item => repair(item, depth + 1))
    return Object.fromEntries(Object.entries(each).map(([key, item]) => [key.toWellFormed(), repair(item, depth + 1)]))
  }
  return { value: repair(value, 0), repaired }
}
