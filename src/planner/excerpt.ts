/**
 * Shorter forms of a text that say what is missing: an excerpt of the head, the tail and the lines that report errors,
 * and a string with its middle cut out. Both are deterministic and never longer than the original.
 */
import { characterStart, headOf, lineAt, tailOf } from '../model/text.ts'
import { type Keep, LINES_BEHIND, NOTE_CHARS, SHORT_NOTE_CHARS, TELLING_CHARS } from './tuning.ts'

const TELLING =
  /\b(errors?|fail(ed|ures?|ing)?|fatal|panic|exception|traceback|warnings?|assert\w*|expected|exit code|exited|cannot|not found|undefined)\b/i

/** The first line that reports an outcome; empty if there is none. */
export function firstTelling(text: string): string {
  const at = text.search(TELLING)
  return at < 0 ? '' : lineAt(text, at)
}

/** An excerpt; `undefined` when the text is too short to gain from it. */
export function excerpt(text: string, { head, tail, telling }: Keep): string | undefined {
  if (text.length <= head + tail + NOTE_CHARS) return undefined
  const from = characterStart(text, lineEndNear(text, head))
  const to = characterStart(text, lineStartNear(text, text.length - tail, tail))
  const middle = text.slice(from, to).split('\n')
  const kept = telling > 0 ? tellingLines(middle, telling) : ''
  const note = `\n[… ${middle.length} lines, ${to - from} chars cut${kept ? '; of these:' : ''}]`
  return text.slice(0, from) + note + kept + (text[to] === '\n' ? '' : '\n') + text.slice(to)
}

/** The string with its middle cut out; the same string when it is short. */
export function cutMiddle(text: string, { head, tail }: { head: number; tail: number }): string {
  if (text.length <= head + tail + SHORT_NOTE_CHARS) return text
  return `${headOf(text, head)}[… ${text.length - head - tail} chars cut]${tailOf(text, tail)}`
}

function lineEndNear(text: string, at: number): number {
  const end = text.lastIndexOf('\n', at)
  return end < at / 2 ? at : end
}

function lineStartNear(text: string, at: number, tail: number): number {
  const start = text.indexOf('\n', at)
  return start < 0 || start > text.length - tail / 2 ? at : start
}

function tellingLines(lines: readonly string[], most: number): string {
  let kept = ''
  let left = 0
  for (const line of lines) {
    if (TELLING.test(line)) left = 1 + LINES_BEHIND
    if (left-- <= 0) continue
    const shown = headOf(line, TELLING_CHARS)
    if (kept.length + shown.length > most) break
    kept += `\n${shown}`
  }
  return kept
}
