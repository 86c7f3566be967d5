/**
 * Grounded edits: the text that each edit of a file replaces, or the context lines of a patch, wherever an earlier
 * result or input about the same file shows it. If a view still shows it, the agent could see the version of the file
 * that it then changed. Blanks and line numbers do not count. A long text is searched in windows of three lines,
 * because a view may show its halves in two places.
 */

import { describeCall } from '../src/calls/tool-kinds.ts'
import { sameFile } from '../src/model/paths.ts'
import type { Message, ToolCallPart } from '../src/model/types.ts'
import { type Evidence, gather, withoutLayout } from '../src/replay/measure/evidence.ts'

type Replaced = { path: string; text: string }

/** Shorter texts are in any file. */
const LEAST = 12
const WINDOW = 3
/** Calls and results that are searched for a copy, so that time stays linear in the session. */
const LOOK_BACK = 600

export function findEditedText(messages: readonly Message[]): Evidence {
  const copies: { paths: readonly string[]; text: string }[] = []
  const paths = new Map<string, readonly string[]>()
  return gather(messages, {
    normalize: toPlain,
    hear: () => undefined,
    learn: ({ part, text }) => {
      if (part.type === 'tool-call') paths.set(part.id, pathsOf(part))
      copies.push({ paths: paths.get(part.id) ?? [], text })
    },
    collect: message => {
      const replaced = message.parts.flatMap(part => (part.type === 'tool-call' ? replacedTexts(part) : []))
      return replaced.flatMap(windowsOf).flatMap(({ path, text }) => {
        const wanted = toPlain(text)
        if (wanted.length < LEAST) return []
        const first = Math.max(0, copies.length - LOOK_BACK)
        const recent = copies.slice(first)
        const known = recent.some(copy => isAbout(copy.paths, path) && copy.text.includes(wanted))
        const sources = known ? recent.flatMap((copy, i) => (copy.text.includes(wanted) ? [first + i] : [])) : []
        return sources.length > 0 ? [{ text: wanted, sources }] : []
      })
    },
  })
}

function windowsOf({ path, text }: Replaced): Replaced[] {
  const lines = text.split('\n')
  if (lines.length <= WINDOW) return [{ path, text }]
  const starts = lines.flatMap((_, i) => (i % (WINDOW - 1) === 0 && i + 1 < lines.length ? [i] : []))
  return starts.map(start => ({ path, text: lines.slice(start, start + WINDOW).join('\n') }))
}

function pathsOf({ name, input }: ToolCallPart): string[] {
  const { path, paths } = describeCall(name, input)
  return paths ?? (path === undefined ? [] : [path])
}

/** A copy is of the file, or of no one file: a search, a command that reads several. */
function isAbout(copy: readonly string[], path: string): boolean {
  return copy.length === 0 || copy.some(each => sameFile(each, path) || !/\.\w+$/.test(each))
}

/** Without layout, and without the signs of a patch before added lines. */
function toPlain(text: string): string {
  return withoutLayout(text.replace(/^\+/gm, ''))
}

function replacedTexts({ name, input }: ToolCallPart): Replaced[] {
  const { path, edits = [], patch } = describeCall(name, input)
  const direct = path === undefined ? [] : edits.map(({ oldText }) => ({ path, text: oldText }))
  return patch === undefined ? direct : [...direct, ...patchContexts(patch)]
}

/** The lines that the hunks of a patch expect to find, for each hunk. */
function patchContexts(patch: string): Replaced[] {
  const found: Replaced[] = []
  let path = ''
  let lines: string[] = []
  const close = () => {
    if (path && lines.length > 0) found.push({ path, text: lines.join('\n') })
    lines = []
  }
  for (const line of patch.split('\n')) {
    const header = /^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)(.+)$/.exec(line)
    if (header || line.startsWith('@@') || line.startsWith('***')) close()
    if (header) path = header[1]!.trim()
    else if (/^(?: |-(?!-- ))/.test(line)) lines.push(line.slice(1))
  }
  close()
  return found
}
