/**
 * Porter's stemmer for English (M. F. Porter, "An algorithm for suffix stripping", 1980): "painting", "painted" and
 * "paints" become one term. Words of other languages pass through nearly unchanged; what matters is only that the
 * index and the query agree.
 */

type Rule = readonly [suffix: string, replacement: string]

const STEP_2: readonly Rule[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['abli', 'able'],
  ['alli', 'al'],
  ['entli', 'ent'],
  ['eli', 'e'],
  ['ousli', 'ous'],
  ['ization', 'ize'],
  ['ation', 'ate'],
  ['ator', 'ate'],
  ['alism', 'al'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['biliti', 'ble'],
]

const STEP_3: readonly Rule[] = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ful', ''],
  ['ness', ''],
]

const STEP_4 = 'al ance ence er ic able ible ant ement ment ent sion tion ou ism ate iti ous ive ize'
  .split(' ')
  .sort((a, b) => b.length - a.length)

/** The stem of a word in lower-case letters a to z. */
export function stem(word: string): string {
  if (word.length < 3) return word
  let w = withoutPlural(word)
  w = withoutPast(w)
  if (w.endsWith('y') && hasVowel(w.slice(0, -1))) w = `${w.slice(0, -1)}i`
  w = replaced(w, STEP_2)
  w = replaced(w, STEP_3)
  w = withoutSuffix(w)
  return withoutEnd(w)
}

function withoutPlural(w: string): string {
  if (!w.endsWith('s')) return w
  if (w.endsWith('sses') || w.endsWith('ies')) return w.slice(0, -2)
  return w.endsWith('ss') ? w : w.slice(0, -1)
}

function withoutPast(w: string): string {
  if (w.endsWith('eed')) return measure(w.slice(0, -3)) > 0 ? w.slice(0, -1) : w
  const cut = w.endsWith('ed') ? 2 : w.endsWith('ing') ? 3 : 0
  const root = w.slice(0, w.length - cut)
  if (cut === 0 || !hasVowel(root)) return w
  if (root.endsWith('at') || root.endsWith('bl') || root.endsWith('iz')) return `${root}e`
  if (endsDouble(root) && !/[lsz]$/.test(root)) return root.slice(0, -1)
  return measure(root) === 1 && endsShort(root) ? `${root}e` : root
}

function replaced(w: string, rules: readonly Rule[]): string {
  for (const [suffix, replacement] of rules) {
    if (!w.endsWith(suffix)) continue
    const root = w.slice(0, w.length - suffix.length)
    return measure(root) > 0 ? root + replacement : w
  }
  return w
}

function withoutSuffix(w: string): string {
  for (const suffix of STEP_4) {
    if (!w.endsWith(suffix)) continue
    // Of -sion and -tion only -ion is removed.
    const root = w.slice(0, w.length - (suffix.endsWith('ion') ? 3 : suffix.length))
    return measure(root) > 1 ? root : w
  }
  return w
}

function withoutEnd(w: string): string {
  let out = w
  if (out.endsWith('e')) {
    const root = out.slice(0, -1)
    const m = measure(root)
    if (m > 1 || (m === 1 && !endsShort(root))) out = root
  }
  return out.endsWith('ll') && measure(out) > 1 ? out.slice(0, -1) : out
}

/** How often a vowel is followed by a consonant. */
function measure(w: string): number {
  let count = 0
  for (let i = 1; i < w.length; i++) if (isVowel(w, i - 1) && !isVowel(w, i)) count++
  return count
}

function isVowel(w: string, at: number): boolean {
  const c = w[at]!
  return 'aeiou'.includes(c) || (c === 'y' && at > 0 && !isVowel(w, at - 1))
}

function hasVowel(w: string): boolean {
  for (let i = 0; i < w.length; i++) if (isVowel(w, i)) return true
  return false
}

function endsDouble(w: string): boolean {
  return w.length > 1 && w.at(-1) === w.at(-2) && !isVowel(w, w.length - 1)
}

/** Consonant, vowel, consonant other than w, x, y. */
function endsShort(w: string): boolean {
  const n = w.length
  return n > 2 && !isVowel(w, n - 3) && isVowel(w, n - 2) && !isVowel(w, n - 1) && !/[wxy]$/.test(w)
}
