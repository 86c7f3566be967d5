/**
 * Patches as agents write them: the `apply_patch` form (`*** Update File: …`) and unified diffs.
 *
 * `applyPatchTo` gives the content of one file after a patch. Every hunk must be found exactly: in a unified diff at
 * its line or the nearest place, else after the previous hunk and its anchor. Otherwise the result is unknown, never
 * a guess.
 */

import { replaceIn } from '../model/lists.ts'
import { normalizePath, sameFile } from '../model/paths.ts'

/** The replaced lines and their replacement. */
type Hunk = {
  before: string[]
  after: string[]
  /** First line in the old file, from 1; for a hunk that only adds, the line after which it adds. */
  line?: number
  /** A line somewhere before the hunk. */
  anchor?: string
}

type Section = {
  kind: 'add' | 'update' | 'delete'
  path: string
  movedTo?: string
  hunks: Hunk[]
  /** Whether the last line of the old and of the new file ends without a newline, if the patch says so. */
  bare: { old: boolean; new: boolean }
  /** The remaining lines of the current hunk, if the hunk says how many there are. */
  left: { old: number; new: number }
  /** The first character of the previous line: `+`, `-` or a blank. */
  side: string
}

/** The content after the patch, or `undefined` if it is unknown. */
export function applyPatchTo(patch: string, path: string, content: string | undefined): string | undefined {
  const sections = sectionsOf(patch)
  if (sections.some(({ movedTo }) => movedTo !== undefined && sameFile(movedTo, path))) return undefined
  const section = sections.find(candidate => sameFile(candidate.path, path))
  if (!section) return content
  if (section.kind === 'add') return addedContent(section)
  if (section.kind === 'delete' || section.movedTo !== undefined || content === undefined) return undefined
  return applyHunks(content, section)
}

/** The files that a patch touches, in `apply_patch` form or as a unified diff. */
export function patchPaths(patch: string): string[] {
  const paths = new Set<string>()
  for (const match of patch.matchAll(/^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+)$/gm))
    paths.add(match[1]!.trimEnd())
  if (paths.size > 0) return [...paths]
  for (const match of patch.matchAll(/^(?:\+\+\+|---) (?:[ab]\/)?([^\t\r\n]+)/gm))
    if (match[1] !== '/dev/null') paths.add(match[1]!)
  return [...paths]
}

/** The lines that name the files of an `apply_patch` form, as they were written; `undefined` for any other text. */
export function headLines(patch: string): string[] | undefined {
  if (!patch.startsWith('*** Begin Patch')) return undefined
  return patch.split('\n').filter(line => line.startsWith('*** ') && !line.startsWith('*** End'))
}

function addedContent({ hunks, bare }: Section): string {
  const lines = hunks.flatMap(hunk => hunk.after)
  return lines.length === 0 ? '' : lines.join('\n') + (bare.new ? '' : '\n')
}

/** The parts of a patch, one for each file. */
export function sectionsOf(patch: string): Section[] {
  const sections: Section[] = []
  const lines = patch.split('\n')
  if (lines.at(-1) === '') lines.pop()
  let section: Section | undefined
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!
    if (section && isInside(section, line)) {
      takeLine(section, line)
      continue
    }
    const header = headerOf(line, lines[i + 1])
    if (header) {
      section = newSection(header)
      sections.push(section)
      i += header.more
    } else if (isBetween(line)) section = section && between(section, line)
    else if (section) takeLine(section, line)
  }
  return sections
}

/** True for a line that cannot be a header: its hunk expects more lines, or it is a note about the line before. */
function isInside({ left }: Section, line: string): boolean {
  return left.old > 0 || left.new > 0 || line.startsWith('\\')
}

function newSection({ kind, path }: { kind: Section['kind']; path: string }): Section {
  return { kind, path, hunks: [], bare: { old: false, new: false }, left: { old: 0, new: 0 }, side: ' ' }
}

/** A line between sections ends the section, unless it only adds information to it. */
function between(section: Section, line: string): Section | undefined {
  const moved = /^\*\*\* Move to: (.+)$/.exec(line)
  if (moved) section.movedTo = normalizePath(moved[1]!.trim())
  return moved || line.startsWith('*** End of File') ? section : undefined
}

function takeLine(section: Section, line: string): void {
  const { left, bare, side } = section
  if (line.startsWith('\\')) {
    if (side !== '+') bare.old = true
    if (side !== '-') bare.new = true
  } else if (left.old <= 0 && left.new <= 0 && line.startsWith('@@')) startHunk(section, line)
  else addLine(section, line)
}

function isBetween(line: string): boolean {
  return /^(?:\*\*\* |diff --git |Index: |index [0-9a-f]+\.\.)/.test(line)
}

function headerOf(line: string, next?: string): { kind: Section['kind']; path: string; more: number } | undefined {
  const agent = /^\*\*\* (Add|Update|Delete) File: (.+)$/.exec(line)
  if (agent) {
    const kind = agent[1] === 'Add' ? 'add' : agent[1] === 'Delete' ? 'delete' : 'update'
    return { kind, path: normalizePath(agent[2]!.trim()), more: 0 }
  }
  if (!line.startsWith('--- ') || !next?.startsWith('+++ ')) return undefined
  const [from, to] = [fileName(line), fileName(next)]
  if (to === '/dev/null') return { kind: 'delete', path: withoutSide(from), more: 1 }
  return { kind: from === '/dev/null' ? 'add' : 'update', path: withoutSide(to), more: 1 }
}

function fileName(line: string): string {
  return line.slice(4).split('\t')[0]!.trim()
}

function withoutSide(path: string): string {
  return normalizePath(path.replace(/^[ab]\//, ''))
}

function startHunk(section: Section, line: string): void {
  const range = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line)
  const anchor = line.replace(/^@@ ?/, '').replace(/ ?@@$/, '')
  if (range) section.hunks.push({ before: [], after: [], line: Number(range[1]) })
  else section.hunks.push({ before: [], after: [], ...(anchor.trim() === '' ? {} : { anchor }) })
  section.left = range ? { old: Number(range[2] ?? 1), new: Number(range[3] ?? 1) } : { old: 0, new: 0 }
}

function addLine(section: Section, line: string): void {
  const { left } = section
  let hunk = section.hunks.at(-1)
  if (!hunk) section.hunks.push((hunk = { before: [], after: [] }))
  const side = line[0] ?? ' '
  if (side !== '+' && section.kind !== 'add') {
    hunk.before.push(line.slice(1))
    left.old--
  }
  if (side === '+' || (side !== '-' && section.kind !== 'add')) {
    hunk.after.push(line.slice(1))
    left.new--
  }
  section.side = side
}

function applyHunks(content: string, { hunks, bare }: Section): string | undefined {
  const endsBare = bare.new || (!bare.old && content !== '' && !content.endsWith('\n'))
  const lines = content === '' ? [] : content.replace(/\n$/, '').split('\n')
  let from = 0
  let shift = 0
  for (const hunk of hunks) {
    const { before, after, anchor } = hunk
    if (anchor !== undefined) from = findAnchor(lines, anchor, from) + 1
    if (anchor !== undefined && from === 0) return undefined
    if (before.length + after.length === 0) continue
    const at = placeOf(hunk, lines, { from, shift })
    if (at < 0) return undefined
    replaceIn(lines, { at, remove: before.length, insert: after })
    from = at + after.length
    shift += after.length - before.length
  }
  if (lines.length === 0) return ''
  return lines.join('\n') + (endsBare ? '' : '\n')
}

/** The index at which a hunk applies; −1: nowhere. `shift`: how many lines the hunks before it have added. */
function placeOf({ before, line }: Hunk, lines: readonly string[], { from, shift }: { from: number; shift: number }) {
  const expected = line === undefined ? undefined : line + shift
  if (before.length === 0) return Math.min(expected ?? Infinity, lines.length)
  return findLines(lines, before, { from, expected: expected === undefined ? undefined : expected - 1 })
}

function findAnchor(lines: readonly string[], anchor: string, from: number): number {
  const exact = lines.indexOf(anchor, from)
  return exact >= 0 ? exact : lines.findIndex((line, i) => i >= from && line.trim() === anchor.trim())
}

/** The index of some lines, nearest to the expected one; without an expected index, the first. −1: nowhere. */
function findLines(
  lines: readonly string[],
  wanted: readonly string[],
  { from, expected = from }: { from: number; expected?: number | undefined },
): number {
  const last = lines.length - wanted.length
  const isAt = (at: number) => at >= from && at <= last && wanted.every((line, i) => lines[at + i] === line)
  for (let distance = 0; distance <= lines.length; distance++) {
    if (isAt(expected - distance)) return expected - distance
    if (isAt(expected + distance)) return expected + distance
  }
  return -1
}
