/**
 * JSON can spell half a character (`"\ud800"`). No provider takes that, so it becomes U+FFFD.
 */

const SURROGATE = /\\u[dD][89a-fA-F]/
/** Deeper than any transcript. */
const MAX_DEPTH = 500

/** The value with lone surrogates replaced. `source` is the JSON it was parsed from: mostly there is nothing to do. */
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
