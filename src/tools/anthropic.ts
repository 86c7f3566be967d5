/**
 * Handlers for two tools that Claude models are trained on: the text editor (`text_editor_20250728`) and the memory tool
 * (`memory_20250818`). They answer in the words that Anthropic's documentation recommends, and use the same functions
 * as our own file tools: exact matches over line breaks, literal replacements, atomic writes, confinement.
 */

import { lstat, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type Changed, changeFile, readWhole } from '../files/atomic.ts'
import { storeOf } from '../files/folder.ts'
import type { FileJournal } from '../files/journal.ts'
import { moveEntry, removeEntry } from '../files/move.ts'
import { replaceUnique } from '../files/replace.ts'
import { type Folder, isFolder, openRoot, type Root, withFolder } from '../files/root.ts'
import { BOM, checkFileText, inLineEndingsOf, lineNumberAt } from '../files/text.ts'
import { type Entry, walk } from '../files/walk.ts'
import { defaultWorkspaceFolder } from '../memory/workspace.ts'
import { isPalimpsestError, PalimpsestError } from '../model/errors.ts'
import { headOf, trimEndOf, withCommas } from '../model/text.ts'
import { unread } from './edit-files.ts'
import { defineTool, rootOf, type Tool, type ToolContext } from './tool.ts'

const MAX_LINES = 999_999

const shared = {
  path: z.string().optional(),
  view_range: z.array(z.number().int()).length(2).optional().describe('First and last line; -1 is the end.'),
  file_text: z.string().optional(),
  old_str: z.string().optional(),
  new_str: z.string().optional(),
  insert_line: z.number().int().optional().describe('Insert after this line; 0 is the beginning.'),
  insert_text: z.string().optional(),
}

/** `str_replace_based_edit_tool` on the context's root. */
export function textEditorTool({ maxCharacters }: { maxCharacters?: number } = {}): Tool {
  return defineTool({
    name: 'str_replace_based_edit_tool',
    description: 'View, create and edit text files: view, str_replace, create, insert.',
    anthropic: {
      type: 'text_editor_20250728',
      ...(maxCharacters ? { max_characters: maxCharacters } : {}),
    },
    input: z.object({ command: z.enum(['view', 'str_replace', 'create', 'insert']), ...shared }),
    annotations: { destructive: true },
    run: async (input, context) => {
      const target = { root: await rootOf(context), path: need(input, 'path'), journal: context.journal }
      return asEditorSays(() => runEditor(input, target, maxCharacters))
    },
  })
}

/** `memory`, where `/memories` names a folder: `memories` in the workspace unless one is given. */
export function memoryTool({ folder: given }: { folder?: string } = {}): Tool {
  return defineTool({
    name: 'memory',
    description: 'Your memory directory /memories: view, create, str_replace, insert, delete, rename files in it.',
    anthropic: { type: 'memory_20250818' },
    input: z.object({
      command: z.enum(['view', 'create', 'str_replace', 'insert', 'delete', 'rename']),
      ...shared,
      old_path: z.string().optional(),
      new_path: z.string().optional(),
    }),
    annotations: { destructive: true },
    run: async (input, context) => {
      const folder = given ?? join(storeOf(context.workspace ?? defaultWorkspaceFolder()).folder, 'memories')
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const root = await openRoot(folder, '/memories')
      if (input.command === 'rename') return renameMemory(root, input, context)
      const target = { root, path: memoryPath(need(input, 'path')), journal: context.journal }
      return asMemorySays(target.path, () => runMemory(input, target))
    },
  })
}

type Input = z.output<z.ZodObject<typeof shared>> & { command: string }
type Target = { root: Root; path: string; journal: FileJournal }

async function runEditor(input: Input, target: Target, max: number | undefined): Promise<string> {
  switch (input.command) {
    case 'view':
      return cutAt(max, await look(input, target, line => `${line.number}: ${line.text}`))
    case 'create':
      return createOrWarn(target, need(input, 'file_text'))
    case 'str_replace':
      await strReplace(input, target, {
        none: () => 'Error: No match found for replacement. Please check your text and try again.',
        several: lines =>
          `Error: Found ${lines.length} matches for replacement text. Please provide more context to make a unique match.`,
      })
      return 'Successfully replaced text at exactly one location.'
    default:
      await insert(input, target)
      return `Successfully inserted text in ${target.path}`
  }
}

async function runMemory(input: Input, target: Target): Promise<string> {
  const { path } = target
  switch (input.command) {
    case 'view':
      return viewMemory(input, target)
    case 'create':
      await create(target, need(input, 'file_text'), () => `Error: File ${path} already exists`)
      return `File created successfully at: ${path}`
    case 'str_replace':
      return replaceInMemory(input, target)
    case 'insert':
      await insert(input, target)
      return `The file ${path} has been edited.`
    default:
      if (path === '/memories') throw said('Error: Cannot delete the /memories directory itself')
      await removeEntry(target, target.journal)
      return `Successfully deleted ${path}`
  }
}

async function viewMemory(input: Input, target: Target): Promise<string> {
  const seen = await look(input, target, numberedLine)
  return (await isFolder(target)) ? seen : `Here's the content of ${target.path} with line numbers:\n${seen}`
}

async function replaceInMemory(input: Input, target: Target): Promise<string> {
  const { path } = target
  const old = need(input, 'old_str')
  const { text, at, inserted } = await strReplace(input, target, {
    none: () => `No replacement was performed, old_str \`${old}\` did not appear verbatim in ${path}.`,
    several: lines =>
      `No replacement was performed. Multiple occurrences of old_str \`${old}\` in lines: ${lines.join(', ')}. Please ensure it is unique`,
  })
  const first = lineNumberAt(text, at)
  const last = lineNumberAt(text, at + inserted.length)
  const snippet = numberLines(text)
    .filter(({ number }) => number >= first - 2 && number <= last + 2)
    .map(numberedLine)
  return `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet.join('\n')}`
}

async function renameMemory(root: Root, input: Input & RenameInput, context: ToolContext) {
  const from = memoryPath(need(input, 'old_path'))
  const to = memoryPath(need(input, 'new_path'))
  return asMemorySays(from, async () => {
    if (from === '/memories') throw said('Error: Cannot rename the /memories directory itself')
    const moved = await moveEntry(root, from, to, context.journal)
    if (!moved) throw said(`Error: The destination ${to} already exists`)
    return `Successfully renamed ${from} to ${to}`
  })
}

type RenameInput = { old_path?: string | undefined; new_path?: string | undefined }
type NumberedLine = { number: number; text: string }

async function look(input: Input, target: Target, show: (line: NumberedLine) => string): Promise<string> {
  return (await isFolder(target)) ? folderListing(target) : viewFile(input, target, show)
}

async function viewFile(input: Input, target: Target, show: (line: NumberedLine) => string): Promise<string> {
  const { text, hash, key } = await readWhole(target)
  const lines = numberLines(text)
  if (lines.length > MAX_LINES) {
    throw said(`File ${target.path} exceeds maximum line limit of ${withCommas(MAX_LINES)} lines.`)
  }
  const [from = 1, to = -1] = input.view_range ?? []
  const last = to === -1 ? lines.length : to
  if (from < 1 || from > Math.max(1, lines.length) || last < from - 1) {
    throw said(`Error: Invalid \`view_range\` parameter: [${from}, ${to}]. It should be within [1, ${lines.length}]`)
  }
  if (!input.view_range) await target.journal.record({ action: 'read', path: key, hash })
  return lines
    .slice(from - 1, last)
    .map(show)
    .join('\n')
}

async function folderListing({ root, path }: Target): Promise<string> {
  const base = trimEndOf(path, '/')
  return withFolder({ root, path }, async folder => {
    const lines = [`${await sizeOf(folder, '.')}\t${path}`]
    for await (const entry of walk(folder, 2)) {
      if (entry.parts.some(isHidden) || entry.kind === 'link' || entry.kind === 'special') continue
      lines.push(await listedEntry(base, entry))
    }
    const header = `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:`
    return [header, ...lines].join('\n')
  })
}

async function listedEntry(base: string, { folder, name, parts, kind }: Entry): Promise<string> {
  return `${await sizeOf(folder, name)}\t${base}/${parts.join('/')}${kind === 'folder' ? '/' : ''}`
}

function cutAt(max: number | undefined, text: string): string {
  if (!max || text.length <= max) return text
  return `${headOf(text, max)}\n[cut at ${max} characters; use view_range]`
}

function isHidden(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules'
}

/** Like `write_file`, replaces an existing file, and warns if it had not been read. */
async function createOrWarn(target: Target, text: string): Promise<string> {
  const { key, before } = await create(target, text, () => undefined)
  const done = `Successfully wrote ${target.path}`
  if (before === null || before === text || (await target.journal.wasRead(key))) return done
  return `${done}\n${unread(target.path, before, 'To change part of a file, use str_replace or insert.')}`
}

async function create(target: Target, text: string, taken: () => string | undefined): Promise<Changed> {
  checkFileText('file_text', text)
  return changeFile({ ...target, make: true }, target, now => {
    const refusal = now === null ? undefined : taken()
    if (refusal) throw said(refusal)
    return text
  })
}

async function strReplace(
  input: Input,
  target: Target,
  words: { none: () => string; several: (lines: number[]) => string },
): Promise<{ text: string; at: number; inserted: string }> {
  const old = need(input, 'old_str')
  const fresh = input.new_str ?? ''
  if (old === '') throw said('Error: `old_str` is empty. Use insert to add text.')
  checkFileText('new_str', fresh)
  let done = { text: '', at: 0, inserted: '' }
  await changeFile(target, target, now => {
    if (now === null) throw new PalimpsestError('FILE_NOT_FOUND', target.path)
    const result = replaceUnique(now, old, fresh)
    if (result.type === 'not-found') throw said(words.none())
    if (result.type === 'ambiguous') throw said(words.several(result.lines))
    done = result
    return result.text
  })
  return done
}

async function insert(input: Input, target: Target): Promise<void> {
  const after = input.insert_line ?? -1
  const text = input.insert_text ?? need(input, 'new_str', 'insert_text')
  checkFileText('insert_text', text)
  await changeFile(target, target, now => {
    if (now === null) throw new PalimpsestError('FILE_NOT_FOUND', target.path)
    const bom = now.startsWith(BOM) ? BOM : ''
    const lines = now.slice(bom.length).match(/[^\n]*\n|[^\n]+$/g) ?? []
    if (after < 0 || after > lines.length) {
      throw said(
        `Error: Invalid \`insert_line\` parameter: ${input.insert_line}. It should be within the range of lines of the file: [0, ${lines.length}]`,
      )
    }
    const [above, below] = [lines.slice(0, after).join(''), lines.slice(after).join('')]
    return bom + above + asLines(inLineEndingsOf(now, text), { now, above, below }) + below
  })
}

/** A text as whole lines between two others. */
function asLines(text: string, { now, above, below }: { now: string; above: string; below: string }): string {
  const eol = now.includes('\r\n') ? '\r\n' : '\n'
  const start = above !== '' && !above.endsWith('\n') ? eol : ''
  const end = text.endsWith('\n') || (below === '' && start !== '') ? '' : eol
  return start + text + end
}

/** Gives errors in the words of the text editor. */
async function asEditorSays(work: () => Promise<string>) {
  return work().catch(error => {
    if (!isPalimpsestError(error)) throw error
    if (error.code === 'FILE_NOT_FOUND') return { text: 'Error: File not found', isError: true }
    if (/^Permission denied/.test(error.message)) {
      return { text: 'Error: Permission denied. Cannot write to file.', isError: true }
    }
    return { text: error.message, isError: true }
  })
}

/** Gives errors in the words of the memory tool. */
async function asMemorySays(path: string, work: () => Promise<string>) {
  return work().catch(error => {
    if (!isPalimpsestError(error)) throw error
    const absent = `The path ${path} does not exist. Please provide a valid path.`
    return { text: error.code === 'FILE_NOT_FOUND' ? absent : error.message, isError: true }
  })
}

function numberLines(text: string): NumberedLine[] {
  return text
    .replace(BOM, '')
    .split('\n')
    .map((line, index) => ({ number: index + 1, text: line.replace(/\r$/, '') }))
}

function numberedLine({ number, text }: NumberedLine): string {
  return `${String(number).padStart(6)}\t${text}`
}

function memoryPath(path: string): string {
  if (!/^\/memories(\/|$)/.test(path)) throw said(`Error: Path must start with /memories, got: ${path}`)
  return path.length > '/memories'.length ? trimEndOf(path, '/') || '/memories' : path
}

function need<Name extends string>(input: Partial<Record<Name, unknown>>, name: Name, called: string = name): string {
  const value = input[name]
  if (typeof value !== 'string') throw said(`Error: Missing required parameter \`${called}\`.`)
  return value
}

function said(message: string): PalimpsestError {
  return new PalimpsestError('INVALID_INPUT', message)
}

async function sizeOf(folder: Folder, name: string): Promise<string> {
  const { size } = await lstat(folder.at(name))
  const units = ['B', 'K', 'M', 'G']
  const unit = size === 0 ? 0 : Math.min(3, Math.floor(Math.log(size) / Math.log(1024)))
  const amount = size / 1024 ** unit
  return `${Number.isInteger(amount) ? amount : amount.toFixed(1)}${units[unit]}`
}
