/**
 * The tools that change files: edit_file, append_to_file, prepend_to_file, update_section, write_file, undo_edit.
 *
 * Each tool reads, changes and writes in one step, so a model needs only the text that it wants to change, and cannot
 * overwrite the rest by mistake. The texts for models are fixed, because agents and tests depend on them.
 */

import { z } from 'zod'
import { changeFile } from '../files/atomic.ts'
import { hashContent } from '../files/journal.ts'
import { replaceSection } from '../files/markdown.ts'
import { explainMiss } from '../files/nearest.ts'
import { replaceUnique } from '../files/replace.ts'
import { notFound, type Where } from '../files/root.ts'
import { BOM, checkFileText, countChars, inLineEndingsOf, lineEndings } from '../files/text.ts'
import { PalimpsestError } from '../model/errors.ts'
import { withCommas } from '../model/text.ts'
import { defineTool, rootOf, type ToolContext } from './tool.ts'

const path = z.string().describe('Path of the file, relative to the working folder.')

export const editFile = defineTool({
  name: 'edit_file',
  description: [
    'Change one place of an existing file: replaces old_string by new_string and leaves the rest alone.',
    'The first choice for changing a value, a line or a block. You need not have the whole file in view.',
    'old_string must match exactly, whitespace included, and occur exactly once; several lines are fine. Both strings',
    'are literal: no patterns, no escapes. If it occurs more often, include more of the surrounding text; to change',
    'every occurrence, call it once for each. To add text use append_to_file, to rewrite a Markdown section',
    'update_section, to create a file write_file.',
    'In a file with CRLF line endings throughout, write plain line breaks (\\n): they match and are kept as CRLF.',
  ].join(' '),
  input: z.object({
    path,
    old_string: z.string().describe('The exact text to replace; it must occur once.'),
    new_string: z.string().describe('The text to put in its place; empty to delete.'),
    intent: z.string().optional().describe('Why, in a few words; kept in the change log.'),
  }),
  annotations: { destructive: false },
  run: async ({ path, old_string, new_string, intent }, context) => {
    checkReplacement(old_string, new_string)
    await changeFile(await place(context, path), { journal: context.journal, ...(intent ? { intent } : {}) }, now => {
      if (now === null) throw notFound(path)
      const result = replaceUnique(now, old_string, new_string)
      if (result.type === 'replaced') return result.text
      throw result.type === 'not-found' ? missing(path, now, old_string) : ambiguous(path, result.lines)
    })
    return `Edited ${path}: replaced ${countChars(old_string)} chars with ${countChars(new_string)} chars`
  },
})

export const appendToFile = defineTool({
  name: 'append_to_file',
  description: [
    'Add text to the end of a file without reading it; creates the file if it does not exist.',
    'The first choice for new entries, notes and sections. The text is added as it is: begin it with a line break',
    'if it should start on a line of its own.',
  ].join(' '),
  input: z.object({ path, content: z.string().describe('The text to add at the end.') }),
  annotations: { destructive: false },
  run: async ({ path, content }, context) => {
    checkFileText('content', content)
    const { before } = await changeFile(
      await place(context, path, true),
      { journal: context.journal },
      now => (now ?? '') + inLineEndingsOf(now ?? '', content),
    )
    const done = `Appended ${countChars(content)} chars to ${path}`
    const joined = before && !/[\r\n]$/.test(before) && content !== '' && !/^[\r\n]/.test(content)
    return joined ? `${done}\nNote: the file did not end in a line break, so the text continues its last line.` : done
  },
})

export const prependToFile = defineTool({
  name: 'prepend_to_file',
  description: [
    'Add text to the beginning of a file without reading it; creates the file if it does not exist.',
    'For a header, or for logs that have the newest entry first. End the text with a line break if what follows',
    'should start on a line of its own.',
  ].join(' '),
  input: z.object({ path, content: z.string().describe('The text to add at the beginning.') }),
  annotations: { destructive: false },
  run: async ({ path, content }, context) => {
    checkFileText('content', content)
    await changeFile(await place(context, path, true), { journal: context.journal }, now => {
      const bom = now?.startsWith(BOM) ? BOM : ''
      return bom + inLineEndingsOf(now ?? '', content) + (now ?? '').slice(bom.length)
    })
    return `Prepended ${countChars(content)} chars to ${path}`
  },
})

export const updateSection = defineTool({
  name: 'update_section',
  description: [
    'Replace the content under one header of a Markdown file: everything until the next header of the same or a',
    'higher level, its sub-sections included. The header itself and all other sections stay as they are.',
    'The first choice for keeping a status or a summary section current. new_content comes without the header. A',
    'header that occurs twice is named with the headers above it: "## A > ### B".',
  ].join(' '),
  input: z.object({
    path,
    section_header: z.string().describe('The header, e.g. "## Current State", or its path "## A > ### B".'),
    new_content: z.string().describe('The new content under the header, without the header.'),
  }),
  annotations: { destructive: true },
  run: async ({ path, section_header, new_content }, context) => {
    checkFileText('new_content', new_content)
    let done = ''
    await changeFile(await place(context, path), { journal: context.journal }, now => {
      if (now === null) throw notFound(path)
      const result = replaceSection(now, section_header, new_content)
      if ('problem' in result) {
        const advice = result.code === 'PATTERN_NOT_FOUND' ? '\nTo add a section, use append_to_file.' : ''
        throw new PalimpsestError(result.code, `${result.problem} (in ${path})${advice}`, { path })
      }
      const { header, removed, inserted } = result
      done = `Updated ${header} in ${path}: replaced ${countChars(removed)} chars with ${countChars(inserted)} chars`
      if (result.subsections.length > 0) done += `\nReplaced with it: ${result.subsections.join(', ')}`
      return result.text
    })
    return done
  },
})

export const writeFile = defineTool({
  name: 'write_file',
  description: [
    'Create a new file, or replace a whole one. Use it for new files; replacing an existing file loses everything',
    'that you do not write again, so read it first, and prefer edit_file, append_to_file or update_section, which',
    'change only what you name. Missing folders are created. The content is written exactly as given.',
  ].join(' '),
  input: z.object({ path, content: z.string().describe('The whole content of the file.') }),
  annotations: { destructive: true },
  run: async ({ path, content }, context) => {
    checkFileText('content', content)
    const { journal } = context
    const { key, before } = await changeFile(await place(context, path, true), { journal }, () => content)
    const done = `Written: ${path} (${withCommas(Buffer.byteLength(content))} bytes)`
    if (before === null || before === content) return done
    const warnings = [...((await journal.wasRead(key)) ? [] : [unread(path, before)]), ...formChanges(before, content)]
    return [done, ...warnings].join('\n')
  },
})

export const undoEdit = defineTool({
  name: 'undo_edit',
  description: [
    'Take back the last change that this session made to a file with edit_file, write_file, append_to_file,',
    'prepend_to_file or update_section. Call it again to take back the change before that. Refuses if anything else',
    'has changed the file since.',
  ].join(' '),
  input: z.object({ path }),
  annotations: { destructive: true },
  run: async ({ path }, context) => {
    const { journal } = context
    const options = { journal, intent: 'undo_edit' }
    const { after } = await changeFile(await place(context, path, true), options, async (now, key) => {
      const last = await journal.lastWrite(key)
      if (!last) {
        throw new PalimpsestError('FILE_NOT_FOUND', `Nothing to undo: this session has not changed ${path}.`, { path })
      }
      if (hashContent(now) !== last.hash) {
        const message = `${path} has changed since this session's last change to it. Nothing was undone.`
        throw new PalimpsestError('FILE_CHANGED', `${message} Read it and use edit_file instead.`, { path })
      }
      return last.before
    })
    if (after === null) return `Undone: ${path} was removed again; it did not exist before.`
    return `Undone: ${path} is as it was before the last change (${withCommas(Buffer.byteLength(after))} bytes)`
  },
})

/** Refuses strings that make no replacement. */
function checkReplacement(oldText: string, newText: string): void {
  const invalid = (message: string) => new PalimpsestError('INVALID_INPUT', message)
  if (oldText === '') throw invalid('old_string is empty. To add text use append_to_file or prepend_to_file.')
  if (oldText === newText) throw invalid('old_string and new_string are the same: there is nothing to change.')
  checkFileText('old_string', oldText)
  checkFileText('new_string', newText)
}

async function place(context: ToolContext, path: string, make = false): Promise<Where> {
  return { root: await rootOf(context), path, make }
}

function missing(path: string, text: string, wanted: string): PalimpsestError {
  const message = `old_string not found in ${path}. Make sure it matches exactly (including whitespace).`
  return new PalimpsestError('PATTERN_NOT_FOUND', [message, ...explainMiss(text, wanted)].join('\n'), { path })
}

function ambiguous(path: string, lines: number[]): PalimpsestError {
  const message = `old_string appears ${lines.length} times in ${path}. Include more surrounding context to make it unique.`
  const shown = [...new Set(lines)].slice(0, 20)
  const more = lines.length > 20 ? ', …' : ''
  const text = `${message}\nIt begins in line${shown.length > 1 ? 's' : ''} ${shown.join(', ')}${more}.`
  return new PalimpsestError('MATCH_AMBIGUOUS', text, { path, lines })
}

/** The warning for a rewrite of a file that was not read. */
export function unread(path: string, before: string, advice = ADVICE): string {
  const bytes = withCommas(Buffer.byteLength(before))
  return `Warning: ${path} already existed (${bytes} bytes) and had not been read; its old content was replaced. ${advice}`
}

const ADVICE =
  'To change part of a file use edit_file, append_to_file or update_section. undo_edit brings the old content back.'

/** Notes on a changed byte order mark or changed line endings after a full rewrite. */
function formChanges(before: string, after: string): string[] {
  const notes: string[] = []
  if (before.startsWith(BOM) && !after.startsWith(BOM))
    notes.push('Note: the file had a byte order mark; now it has none.')
  if (lineEndings(before) === 'crlf' && lineEndings(after) === 'lf') {
    notes.push('Note: the file had CRLF line endings; now it has LF.')
  }
  return notes
}
