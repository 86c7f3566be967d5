/**
 * Shows a change to a block to the person who decides on it: word by word, with invisible characters made visible. A
 * proposal is written by a model that may have read a stranger's text, so zero-width characters, directional
 * overrides and control characters are named, never printed. Pure.
 */
import { diffWordsWithSpace } from 'diff'

export type DiffPart = { type: 'same' | 'added' | 'removed'; text: string }

/** An invisible character, and how often it occurs in the text. */
export type Hidden = { char: string; name: string; count: number }

/** If comparing words takes longer than this, the texts are shown whole. */
const MAX_MS = 500

/** The removed and added words; invisible characters are revealed. */
export function diffTexts(before: string, after: string): DiffPart[] {
  const changes = diffWordsWithSpace(before, after, { timeout: MAX_MS })
  if (!changes) return [part('removed', before), part('added', after)]
  return changes.map(({ added, removed, value }) => part(added ? 'added' : removed ? 'removed' : 'same', value))
}

/** The same text with each hidden character as `⟨U+200B⟩`. */
export function reveal(text: string): string {
  return text.replace(HIDDEN, char => (allowed(char) ? char : `⟨${codeOf(char)}⟩`))
}

/** The invisible characters in a text. */
export function hiddenIn(text: string): Hidden[] {
  const found = new Map<string, number>()
  for (const [char] of text.matchAll(HIDDEN)) if (!allowed(char)) found.set(char, (found.get(char) ?? 0) + 1)
  return [...found].map(([char, count]) => ({ char: codeOf(char), name: nameOf(char), count }))
}

function part(type: DiffPart['type'], text: string): DiffPart {
  return { type, text: reveal(text) }
}

/** An emoji with its joiners and variation selectors is one picture and is kept whole. */
const EMOJI = String.raw`\p{RGI_Emoji}`
const INVISIBLE = String.raw`[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Default_Ignorable_Code_Point}]`
const HIDDEN = new RegExp(`${EMOJI}|${INVISIBLE}`, 'gv')
const PLAIN = /^[\n\t]$/

function allowed(char: string): boolean {
  return PLAIN.test(char) || /^\p{RGI_Emoji}$/v.test(char)
}

function codeOf(char: string): string {
  return `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
}

const RANGES: readonly [first: number, last: number, name: string][] = [
  [0x00, 0x1f, 'control character'],
  [0x7f, 0x9f, 'control character'],
  [0xad, 0xad, 'soft hyphen'],
  [0x200b, 0x200b, 'zero-width space'],
  [0x200c, 0x200d, 'zero-width joiner or non-joiner'],
  [0x200e, 0x200f, 'direction mark'],
  [0x061c, 0x061c, 'direction mark'],
  [0x2028, 0x2029, 'line or paragraph separator'],
  [0x202a, 0x202e, 'direction override'],
  [0x2060, 0x2064, 'invisible operator'],
  [0x2066, 0x2069, 'direction isolate'],
  [0xfe00, 0xfe0f, 'variation selector'],
  [0xfeff, 0xfeff, 'zero-width no-break space'],
  [0xe0000, 0xe007f, 'tag character'],
  [0xe0100, 0xe01ef, 'variation selector'],
]

function nameOf(char: string): string {
  const code = char.codePointAt(0)!
  return RANGES.find(([first, last]) => code >= first && code <= last)?.[2] ?? 'invisible character'
}
