/**
 * Applies the part of a patch that concerns one file: the `apply_patch` form that coding agents write, and
 * unified diffs. A hunk must be found exactly and in order; otherwise the result is unknown, never a guess.
 */
import { sameFile } from './paths.ts'

type Hunk = { before: string[]; after: string[] }

/** The content behind the patch, or `undefined` where it cannot be told. */
export function applyPatchTo(patch: string, path: string, content: string | undefined): string | undefined {
  const section = sectionFor(patch, path)
  if (!section) return content
  if (section.kind === 'add') return `${section.lines.map(line => line.slice(1)).join('\n')}\n`
  if (section.kind === 'delete' || content === undefined) return undefined
  return applyHunks(content, toHunks(section.lines))
}

type Section = { kind: 'add' | 'update' | 'delete'; lines: string[] }

function sectionFor(patch: string, path: string): Section | undefined {
  const lines = patch.split('\n')
  for (const [index, line] of lines.entries()) {
    const header = headerOf(line, lines[index + 1])
    if (!header || !sameFile(header.path, path)) continue
    const rest = lines.slice(index + header.skip)
    const end = rest.findIndex((next, i) => headerOf(next, rest[i + 1]) || next.startsWith('*** End Patch'))
    return { kind: header.kind, lines: end < 0 ? rest : rest.slice(0, end) }
  }
  return undefined
}

function headerOf(line: string, next?: string): { kind: Section['kind']; path: string; skip: number } | undefined {
  const agent = /^\*\*\* (Add|Update|Delete) File: (.+)$/.exec(line)
  if (agent) {
    const kind = agent[1] === 'Add' ? 'add' : agent[1] === 'Delete' ? 'delete' : 'update'
    return { kind, path: agent[2]!.trim(), skip: 1 }
  }
  if (!line.startsWith('--- ') || !next?.startsWith('+++ ')) return undefined
  const target = next.slice(4).split('\t')[0]!.trim()
  if (target === '/dev/null') return { kind: 'delete', path: stripSide(line.slice(4)), skip: 2 }
  const kind = line.slice(4).startsWith('/dev/null') ? 'add' : 'update'
  return { kind, path: stripSide(target), skip: 2 }
}

function stripSide(path: string): string {
  return path
    .split('\t')[0]!
    .trim()
    .replace(/^[ab]\//, '')
}

function toHunks(lines: readonly string[]): Hunk[] {
  const hunks: Hunk[] = []
  let hunk: Hunk = { before: [], after: [] }
  for (const line of lines) {
    if (line.startsWith('@@')) {
      hunk = { before: [], after: [] }
      hunks.push(hunk)
      continue
    }
    if (line.startsWith('***') || line.startsWith('\\')) continue
    if (hunks.length === 0) hunks.push(hunk)
    const text = line.slice(1)
    if (line.startsWith('-')) hunk.before.push(text)
    else if (line.startsWith('+')) hunk.after.push(text)
    else {
      hunk.before.push(text)
      hunk.after.push(text)
    }
  }
  return hunks.map(dropEmptyEnd).filter(({ before, after }) => before.length + after.length > 0)
}

/** The empty string behind the last newline of a patch is no context line. */
function dropEmptyEnd({ before, after }: Hunk): Hunk {
  if (before.at(-1) !== '' || after.at(-1) !== '') return { before, after }
  return { before: before.slice(0, -1), after: after.slice(0, -1) }
}

function applyHunks(content: string, hunks: readonly Hunk[]): string | undefined {
  const lines = content.split('\n')
  let from = 0
  for (const { before, after } of hunks) {
    const at = before.length === 0 ? lines.length : findLines(lines, before, from)
    if (at < 0) return undefined
    lines.splice(at, before.length, ...after)
    from = at + after.length
  }
  return lines.join('\n')
}

function findLines(lines: readonly string[], wanted: readonly string[], from: number): number {
  for (let at = from; at + wanted.length <= lines.length; at++) {
    if (wanted.every((line, i) => lines[at + i] === line)) return at
  }
  return -1
}
