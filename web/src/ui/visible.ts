/**
 * Makes untrusted text safe to display: removes terminal escape sequences, and names characters that are invisible or
 * change the direction of text (bidi overrides, zero-width, tags). For display only: the result is never stored. Pure.
 */
import { reveal } from '../../../src/memory/diff.ts'

/** Terminal escape sequences: colours and cursor moves (CSI), titles and links (OSC), and the short ones. */
const ANSI = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[PX^_][^\x1b]{0,4096}\x1b\\|[ -/]*[0-~])/g
const PLAIN = /^[\x20-\x7e\n\t]*$/

export function visibleText(text: string): string {
  if (PLAIN.test(text)) return text
  return reveal(text.replace(ANSI, '').replace(/\r\n?/g, '\n').toWellFormed())
}

const NAMED = /(⟨U\+[0-9A-F]{4,6}⟩)/

/** Splits text into plain stretches and named characters; those at odd positions are named characters. */
export function splitNamed(text: string): string[] {
  return text.split(NAMED)
}

const FIRST_LINES = 24
const FIRST_CHARS = 3000

/** The beginning of a long text, up to the end of a line if possible. */
export function cutText(text: string): string {
  let end = 0
  for (let line = 0; line < FIRST_LINES; line++) {
    const next = text.indexOf('\n', end)
    if (next < 0) {
      end = text.length
      break
    }
    end = next + 1
  }
  return end - FIRST_CHARS > FIRST_CHARS / 2 ? text.slice(0, FIRST_CHARS) : text.slice(0, end)
}

/** Addresses that may be opened; everything else (javascript:, data:, paths of this server) stays text. */
export function safeHref(href: string): string | undefined {
  if (!URL.canParse(href)) return undefined
  const url = new URL(href)
  return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : undefined
}
