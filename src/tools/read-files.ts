/**
 * The tools that only read: read_file, list_files, search_files. Their output is bounded, and says how to see the
 * rest. Text comes without line numbers, so that it can be copied into old_string as it is.
 */

import { z } from 'zod'
import { find, readWhole } from '../files/atomic.ts'
import { type Folder, withFolder } from '../files/root.ts'
import type { FileStore } from '../files/store.ts'
import { BOM, lineEndings, splitLines } from '../files/text.ts'
import { type Entry, globFilter, walk } from '../files/walk.ts'
import { isPalimpsestError, PalimpsestError } from '../model/errors.ts'
import { amount, boundedTo, cut, withCommas } from '../model/text.ts'
import { defineTool, rootOf } from './tool.ts'

const READ_LINES = 2_000
const READ_CHARS = 50_000
const MAX_LISTED_FILES = 500
const MAX_FOUND_LINES = 100
const MAX_FOUND_CHARS = 200
const MAX_DEPTH = 40

export const readFile = defineTool({
  name: 'read_file',
  description: [
    `Read a text file: up to ${withCommas(READ_LINES)} lines or ${withCommas(READ_CHARS)} characters at once, without line`,
    'numbers. For a longer file the result says how to read on; give offset and limit to see one part. You need not',
    'read a file to change it with edit_file, append_to_file or update_section, but read it before write_file.',
  ].join(' '),
  input: z.object({
    path: z.string().describe('Path of the file, relative to the working folder.'),
    offset: z.number().int().min(1).optional().describe('The first line to read, counted from 1.'),
    limit: z.number().int().min(1).optional().describe('How many lines to read.'),
  }),
  annotations: { readOnly: true },
  run: async ({ path, offset = 1, limit = READ_LINES }, context) => {
    const { text, hash, key } = await readWhole({ root: await rootOf(context), path })
    const page = pageOf(text, offset, limit)
    if (page.lines === 0 && offset > 1) {
      const message = `offset ${offset} is past the end: ${path} has ${withCommas(page.of)} lines.`
      throw new PalimpsestError('INVALID_INPUT', message, { path, lines: page.of })
    }
    const whole = page.lines === page.of && !page.cut
    if (whole) await context.journal.record({ action: 'read', path: key, hash })
    const notes = text === '' ? [`[${path} is empty]`] : [...pageNotes(page, path, offset), ...formNotes(text)]
    return [page.text, ...notes].filter(part => part !== '').join(page.text.endsWith('\n') ? '' : '\n')
  },
})

export const listFiles = defineTool({
  name: 'list_files',
  description: [
    'List files and folders (folders end in /). Use it to find your way; use search_files to find text. With a glob',
    '("*.ts", "src/**/*.md") it lists only the files that fit, at any depth.',
  ].join(' '),
  input: z.object({
    path: z.string().optional().describe('The folder; the working folder unless given.'),
    depth: z.number().int().min(1).max(MAX_DEPTH).optional().describe('How many levels to show; 2 unless given.'),
    glob: z.string().optional().describe('Only files whose path fits.'),
  }),
  annotations: { readOnly: true },
  run: async ({ path = '.', depth, glob }, context) => {
    const root = await rootOf(context)
    if (root.store) return (await storedPaths(root.store, path, glob)).join('\n') || 'There are no such files.'
    return withFolder({ root, path }, async folder => {
      const lines: string[] = []
      let more = 0
      for await (const entry of glob ? fittingFiles(folder, glob, depth) : walk(folder, depth ?? 2)) {
        if (lines.length < MAX_LISTED_FILES) lines.push(listed(folder, entry))
        else more++
      }
      if (lines.length === 0) return glob ? `No file fits ${glob}.` : 'The folder is empty.'
      if (more > 0) lines.push(`[${withCommas(more)} more; give a path, a depth or a glob to see fewer]`)
      return lines.join('\n')
    })
  },
})

export const searchFiles = defineTool({
  name: 'search_files',
  description: [
    'Find text in files: every line that contains the query, as path:line: text. The query is literal, not a pattern,',
    'and is on one line. Narrow it down with path and glob. Binary files, .git and node_modules are left out.',
  ].join(' '),
  input: z.object({
    query: z.string().min(1).describe('The text to find.'),
    path: z.string().optional().describe('The folder to search; the working folder unless given.'),
    glob: z.string().optional().describe('Only files whose path fits, e.g. "*.ts".'),
    ignore_case: z.boolean().optional().describe('Whether upper and lower case are the same.'),
  }),
  annotations: { readOnly: true },
  run: async ({ query, path = '.', glob, ignore_case = false }, context) => {
    if (/[\r\n]/.test(query)) throw new PalimpsestError('INVALID_INPUT', 'query must be one line.')
    const hits: string[] = []
    const seen = { files: 0, skipped: 0, more: 0 }
    const root = await rootOf(context)
    const found = (where: string, text: string) => {
      for (const hit of matchesIn(text, query, ignore_case)) {
        if (hits.length < MAX_FOUND_LINES) hits.push(`${where}:${hit}`)
        else seen.more++
      }
    }
    if (root.store) {
      for (const one of await storedPaths(root.store, path, glob)) {
        seen.files++
        found(one, (await root.store.read(one))?.text ?? '')
      }
      return searchReport(query, hits, seen)
    }
    await withFolder({ root, path }, async folder => {
      for await (const entry of fittingFiles(folder, glob)) {
        context.signal?.throwIfAborted()
        const text = await textOf(entry)
        if (text === undefined) seen.skipped++
        else seen.files++
        found(listed(folder, entry), text ?? '')
      }
    })
    return searchReport(query, hits, seen)
  },
})

/** Files in a table: their paths, without the folders. */
async function storedPaths(store: FileStore, path: string, glob: string | undefined): Promise<string[]> {
  const fits = globFilter(glob)
  return (await store.list(path)).filter(one => fits(one.split('/')))
}

async function* fittingFiles(folder: Folder, glob: string | undefined, depth = MAX_DEPTH): AsyncGenerator<Entry> {
  const fits = globFilter(glob)
  for await (const entry of walk(folder, depth)) if (entry.kind === 'file' && fits(entry.parts)) yield entry
}

/** The lines that contain a query, each with its number. */
function* matchesIn(text: string, query: string, ignoreCase: boolean): Generator<string> {
  const fold = (given: string) => (ignoreCase ? given.toLowerCase() : given)
  const wanted = fold(query)
  if (!fold(text).includes(wanted)) return
  for (const [index, line] of splitLines(text).entries()) {
    const at = fold(line).indexOf(wanted)
    if (at >= 0) yield `${index + 1}: ${aroundMatch(line, at)}`
  }
}

type Page = {
  text: string
  lines: number
  of: number
  /** The length of a line that was too long to be shown whole. */
  cut?: number
}

/** Lines from `offset`, as many as fit. */
function pageOf(text: string, offset: number, limit: number): Page {
  const clean = text.startsWith(BOM) ? text.slice(BOM.length) : text
  const plain = lineEndings(clean) === 'crlf' ? clean.replaceAll('\r\n', '\n') : clean
  const lines = plain.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const wanted = lines.slice(offset - 1, offset - 1 + Math.min(limit, READ_LINES))
  let chars = 0
  let count = 0
  while (count < wanted.length && chars + (wanted[count]?.length ?? 0) <= READ_CHARS) {
    chars += wanted[count]?.length ?? 0
    count++
  }
  const [first] = wanted
  if (count === 0 && first !== undefined) {
    return { text: boundedTo(first, READ_CHARS), lines: 1, of: lines.length, cut: first.length }
  }
  return { text: wanted.slice(0, count).join(''), lines: count, of: lines.length }
}

function pageNotes({ lines, of, cut }: Page, path: string, offset: number): string[] {
  const last = offset + lines - 1
  const notes: string[] = []
  if (cut)
    notes.push(`[Line ${offset} has ${withCommas(cut)} characters; the first ${withCommas(READ_CHARS)} are shown.]`)
  if (lines === of) return notes
  const on = last < of ? ` Read on with read_file(path=${JSON.stringify(path)}, offset=${last + 1}).` : ''
  return [...notes, `[Lines ${withCommas(offset)}-${withCommas(last)} of ${withCommas(of)}.${on}]`]
}

function formNotes(text: string): string[] {
  const endings = lineEndings(text)
  if (endings === 'crlf') return ['[The file has CRLF line endings; edit_file keeps them.]']
  return endings === 'mixed' ? ['[The file has mixed line endings; edit_file matches them literally.]'] : []
}

function listed(base: Folder, { parts, kind, closed, name }: Entry): string {
  const path = [...base.parts, ...parts].join('/')
  if (kind === 'folder') return `${path}/${closed && name === 'node_modules' ? ' (not listed)' : ''}`
  if (kind === 'link') return `${path} (link)`
  return kind === 'special' ? `${path} (not a file)` : path
}

/** The text of a file; undefined when it cannot be searched. */
async function textOf({ folder, name }: Entry): Promise<string | undefined> {
  try {
    return (await find({ folder, name, given: name, key: name }))?.text
  } catch (error) {
    if (isPalimpsestError(error) || (error instanceof Error && 'syscall' in error)) return undefined
    throw error
  }
}

function aroundMatch(line: string, at: number): string {
  if (line.length <= MAX_FOUND_CHARS) return line
  const from = Math.max(0, at - MAX_FOUND_CHARS / 2)
  return (from > 0 ? '…' : '') + boundedTo(cut(line, from), MAX_FOUND_CHARS)
}

function searchReport(query: string, hits: string[], seen: { files: number; skipped: number; more: number }): string {
  const skipped = seen.skipped > 0 ? ` (${withCommas(seen.skipped)} binary or unreadable files left out)` : ''
  if (hits.length === 0) return `No match for ${JSON.stringify(query)} in ${amount(seen.files, 'file')}${skipped}.`
  if (seen.more > 0) hits.push(`[${amount(seen.more, 'more matching line')}; narrow the search with path or glob]`)
  return hits.join('\n')
}
