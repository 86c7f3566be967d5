/**
 * The number of columns that a text takes on a terminal. Terminals disagree on the rarest characters; this follows most
 * of them: an emoji or an East Asian wide character takes two, a combining mark takes none. Pure.
 */

const PLAIN = /^[\x20-\x7e]*$/
const NOTHING = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u1160-\u11ff]+$/u
const EMOJI = /\p{Emoji_Presentation}|\ufe0f/u
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{17000}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const { segment } of segmenter.segment(text)) width += widthOfOne(segment)
  return width
}

/** The characters as a reader sees them, each with its columns. */
export function* charactersOf(text: string): Generator<{ text: string; width: number }> {
  if (PLAIN.test(text)) {
    for (const char of text) yield { text: char, width: 1 }
    return
  }
  for (const { segment } of segmenter.segment(text)) yield { text: segment, width: widthOfOne(segment) }
}

/** The beginning of a text, with `…` for the part that does not fit. */
export function clip(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  return width < 1 ? '' : `${fitting(charactersOf(text), width - 1).join('')}…`
}

/** The end of a text, with `…` for the part that does not fit: the last part of a path says the most. */
export function clipStart(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  return width < 1
    ? ''
    : `…${fitting([...charactersOf(text)].reverse(), width - 1)
        .reverse()
        .join('')}`
}

/** The first characters that fit into the columns. */
function fitting(characters: Iterable<{ text: string; width: number }>, columns: number): string[] {
  const kept: string[] = []
  let left = columns
  for (const { text, width } of characters) {
    if ((left -= width) < 0) break
    kept.push(text)
  }
  return kept
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - widthOf(text))) + text
}

function widthOfOne(segment: string): number {
  if (segment === '\t') return 4
  if (NOTHING.test(segment)) return 0
  return EMOJI.test(segment) || WIDE.test(segment) ? 2 : 1
}
