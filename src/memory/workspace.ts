/**
 * The workspace: knowledge files that every session starts with and that agents extend, in a folder or in the
 * database that several servers share.
 *
 * A missing file is created from a template that explains its use. The loaded text is bounded: a file that is too long
 * is cut at a line and says so. An entry that exists is not added twice, and no entry is lost when several processes
 * write. The time is an argument; days are in the user's time zone.
 */

import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { storeOf } from '../files/folder.ts'
import { hashContent } from '../files/journal.ts'
import { notFound } from '../files/root.ts'
import type { Files, HomeFiles } from '../files/store.ts'
import { splitLines } from '../files/text.ts'
import { DEFAULT_HOME, type Environment } from '../model/defaults.ts'
import { PalimpsestError } from '../model/errors.ts'
import { boundedTo, endingLine, localDay, localTime, trimEndOf } from '../model/text.ts'
import type { EntryLink } from './store.ts'

export type Workspace = {
  folder: Files
  now: () => number
  /** The session and entry that a line comes from; the line is marked with them. */
  source?: EntryLink | undefined
}

/** Longest text of one file in the prompt. */
export const FILE_LIMIT = 12_000
const LEARNING_LINES = 20
const ENTRY_LIMIT = 2_000
const HEADING = '═══ WORKSPACE KNOWLEDGE ═══'
/** These files define the agent and its rules: they change only when the user approves. */
const IDENTITY_FILES = ['SOUL.md', 'TOOLS.md', 'AGENTS.md']
const ASKED = 'The user is asked before it changes.'
const PERSIST = 'Update it with edit_file() or append_to_file() to persist important information.'

type KnowledgeFile = {
  path: string
  template: string
  /** Which end is kept when it is too long: rules are at the beginning, the newest entry is at the end. */
  keep: 'beginning' | 'end'
  /** Only the last lines are loaded; 0 leaves the file out of the prompt. */
  lastLines?: number
}

const FILES: readonly KnowledgeFile[] = [
  {
    path: 'SOUL.md',
    keep: 'beginning',
    template: `# Soul\n\nWho you are and how you behave: character, rules, limits. Read at the start of every session. ${PERSIST} ${ASKED}\n\n- Stay with the task that the user gave; ask when it is unclear.\n- Say what you do not know. Do not invent results.\n`,
  },
  {
    path: 'TOOLS.md',
    keep: 'beginning',
    template: `# Tools\n\nHow tools are best used here: patterns that work, and what to watch out for. Read at the start of every session. ${PERSIST} ${ASKED}\n\n- Prefer edit_file, append_to_file and update_section to write_file: they change only what you name.\n`,
  },
  {
    path: 'AGENTS.md',
    keep: 'beginning',
    template: `# Agents\n\nWhat to delegate, to whom, and what to tell them. Read at the start of every session. ${PERSIST} ${ASKED}\n\n- Search: one subagent for each question over many files; ask for paths, names and exact lines.\n- Try out: a subagent that may fail, with what counts as success; ask for what worked and what did not.\n- Check: a subagent that sees only the result and the requirements; ask for what is wrong.\n- Keep for yourself: decisions, changes that depend on each other, and everything that the user must approve.\n`,
  },
  {
    path: 'MEMORY.md',
    keep: 'end',
    template: `# Memory\n\nFacts that stay true between sessions, one a line; workspace_save_fact adds one. Read at the start of every session. ${PERSIST}\n\n`,
  },
  {
    path: '.learnings/LEARNINGS.md',
    keep: 'end',
    lastLines: LEARNING_LINES,
    template: `# Learnings\n\nInsights, one a line; workspace_log_learning adds one. The last ${LEARNING_LINES} lines are read at the start of every session. ${PERSIST}\n\n`,
  },
  {
    path: '.learnings/ERRORS.md',
    keep: 'end',
    lastLines: 0,
    template: `# Errors\n\nErrors and what solved them, one a line; workspace_log_error adds one. Look here when something fails. ${PERSIST}\n\n`,
  },
  {
    path: '.learnings/FEATURE_REQUESTS.md',
    keep: 'end',
    lastLines: 0,
    template: `# Feature requests\n\nWhat the user or you would like to have, one a line; workspace_request_feature adds one. ${PERSIST}\n\n`,
  },
]

/**
 * The knowledge files of the home itself: in the folder that the environment or the configuration names, else in the
 * ledger's database if there is one, else in the default folder.
 */
export function workspaceIn(env: Environment, { files, configured }: WorkspaceSources = {}): Files {
  const named = env['PALIMPSEST_WORKSPACE'] ?? configured
  if (named !== undefined) return resolve(named)
  return files?.isTable ? files.of(undefined, 'workspace') : defaultWorkspaceFolder()
}

type WorkspaceSources = { files?: HomeFiles; configured?: string | undefined }

/** `~/.agent/workspace`. */
export function defaultWorkspaceFolder(): string {
  return join(homedir(), DEFAULT_HOME, 'workspace')
}

/**
 * The file that a path in the workspace names, if only the user may change it. Ignores case, because some file
 * systems do.
 */
export function identityFile(path: string): string | undefined {
  return IDENTITY_FILES.find(file => file.toLowerCase() === path.toLowerCase())
}

/** Today's log, relative to the workspace. */
function dailyLogPath(now: number): string {
  return `memory/${localDay(now)}.md`
}

/** Creates the missing files, including today's log; gives their paths. Existing files are not touched. */
export async function initWorkspace(workspace: Workspace): Promise<string[]> {
  const made: string[] = []
  for await (const { file, isNew } of knowledgeOf(workspace, [...FILES, dailyLog(workspace.now())])) {
    if (isNew) made.push(file.path)
  }
  return made
}

/** The texts of the files, in order; missing files are created. */
async function* knowledgeOf({ folder }: Workspace, files: readonly KnowledgeFile[]) {
  const store = storeOf(folder)
  for (const file of files) {
    const { before, after } = await store.change(file.path, now => now ?? file.template)
    yield { file, text: after ?? '', isNew: before === null }
  }
}

/** The workspace's text for a session's system prompt. Creates missing files. */
export async function loadWorkspace(workspace: Workspace): Promise<string> {
  const sections: string[] = []
  const files = [...FILES.slice(0, 4), dailyLog(workspace.now()), ...FILES.slice(4)]
  for await (const { file, text } of knowledgeOf(workspace, files)) {
    if (file.lastLines === 0) continue
    sections.push(`--- ${file.path} ---\n${boundedText(text, file)}`)
  }
  return [HEADING, ...sections].join('\n\n')
}

/** The text files of a workspace, knowledge files first; creates none. */
export async function workspaceFiles({ folder }: Pick<Workspace, 'folder'>): Promise<string[]> {
  const found = await storeOf(folder).list()
  const known = FILES.map(({ path }) => path).filter(path => found.includes(path))
  return [...known, ...found.filter(path => path.endsWith('.md') && !known.includes(path))]
}

export async function readWorkspaceFile({ folder }: Pick<Workspace, 'folder'>, path: string): Promise<string> {
  const found = await storeOf(folder).read(path)
  if (!found) throw notFound(path)
  return found.text
}

/** A line that an agent added, with its file and its place in it. */
type AddedLine = { id: string; path: string; text: string; session: string; entry: number }

/** The lines that agents have added, in file and line order. */
export async function addedLines(workspace: Pick<Workspace, 'folder'>): Promise<AddedLine[]> {
  const found: AddedLine[] = []
  for (const path of await workspaceFiles(workspace)) {
    for (const line of splitLines(await readWorkspaceFile(workspace, path))) {
      const [, session, entry] = MARK.exec(line) ?? []
      const text = line.replace(MARK, '').replace(/^- /, '')
      const id = hashContent(`${path}\n${line}`).slice(0, 8)
      if (session !== undefined) found.push({ id, path, text, session, entry: Number(entry) })
    }
  }
  return found
}

export async function removeLine(workspace: Pick<Workspace, 'folder'>, id: string): Promise<AddedLine> {
  const line = (await addedLines(workspace)).find(added => added.id === id)
  if (!line)
    throw new PalimpsestError('ENTRY_NOT_FOUND', `No line ${id} was added. See: palimpsest workspace added`, { id })
  await storeOf(workspace.folder).change(line.path, now => {
    const isIt = (row: string) => hashContent(`${line.path}\n${trimEndOf(row, '\r')}`).slice(0, 8) === id
    const rows = now?.split('\n').filter(row => !isIt(row))
    return rows?.join('\n') ?? null
  })
  return line
}

export type Added = { path: string; added: boolean }

export async function saveFact(workspace: Workspace, fact: string): Promise<Added> {
  return addEntry(workspace, 'MEMORY.md', '', fact)
}

export async function logLearning(workspace: Workspace, insight: string): Promise<Added> {
  return addEntry(workspace, '.learnings/LEARNINGS.md', `${localDay(workspace.now())}: `, insight)
}

export async function logError(workspace: Workspace, error: string, solution: string): Promise<Added> {
  const entry = `${oneLine(error)} → ${oneLine(solution)}`
  return addEntry(workspace, '.learnings/ERRORS.md', `${localDay(workspace.now())}: `, entry)
}

export async function requestFeature(workspace: Workspace, request: string): Promise<Added> {
  return addEntry(workspace, '.learnings/FEATURE_REQUESTS.md', `${localDay(workspace.now())}: `, request)
}

/** Adds a line to today's log. The same words at another time are another line. */
export async function logDay(workspace: Workspace, text: string): Promise<Added> {
  const now = workspace.now()
  return addEntry(workspace, dailyLogPath(now), `${localTime(now)} `, text)
}

async function addEntry(workspace: Workspace, path: string, stamp: string, text: string): Promise<Added> {
  const entry = oneLine(text)
  const file = [...FILES, dailyLog(workspace.now())].find(known => known.path === path)
  const { before, after } = await storeOf(workspace.folder).change(path, now => {
    const known = now ?? file?.template ?? ''
    const wanted = comparable(`- ${stamp}${entry}`)
    if (splitLines(known).some(line => line.startsWith('- ') && comparable(line) === wanted)) return now
    return `${endingLine(known)}- ${stamp}${entry}${markOf(workspace.source)}\n`
  })
  return { path, added: after !== before }
}

/** The mark at the end of a line that an agent added: readers of the file see its source; prompts leave it out. */
const MARK = / <!-- from (.{1,200}) #(\d{1,9}) -->$/

function markOf(source: EntryLink | undefined): string {
  return source ? ` <!-- from ${oneLine(source.session).replaceAll('--', '-')} #${source.entry} -->` : ''
}

/** Normalises an entry for comparison: without bullet, date, mark, letter case, spaces and the final full stop. */
function comparable(line: string): string {
  const words = line
    .replace(MARK, '')
    .replace(/^- (?:\d{4}-\d{2}-\d{2}: )?/, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/\s+/g, ' ')
  return trimEndOf(words, '. ')
}

function oneLine(text: string): string {
  const line = text
    .replace(/\0/g, '')
    .toWellFormed()
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/^[-*] /, '')
  return boundedTo(line, ENTRY_LIMIT)
}

function dailyLog(now: number): KnowledgeFile {
  return {
    path: dailyLogPath(now),
    keep: 'end',
    template: `# ${localDay(now)}\n\nWhat happened today, one line each; workspace_daily_log adds one. ${PERSIST}\n\n`,
  }
}

/** The part of a file for the prompt, in whole lines. */
function boundedText(text: string, { path, keep, lastLines }: KnowledgeFile): string {
  const all = splitLines(text.replace(/^\uFEFF/, '').trimEnd()).map(line => line.replace(MARK, ''))
  const wanted = lastLines ? all.slice(-lastLines) : all
  const kept = withinLimit(wanted, keep)
  if (kept.length === wanted.length) return wanted.join('\n')
  const note = `[${path} is too long: the ${keep === 'end' ? 'last' : 'first'} ${kept.length} of ${all.length} lines]`
  return (keep === 'end' ? [note, ...kept] : [...kept, note]).join('\n')
}

function withinLimit(lines: string[], keep: 'beginning' | 'end'): string[] {
  const ordered = keep === 'end' ? lines.toReversed() : lines
  let length = 0
  const fitting = ordered.findIndex(line => (length += line.length + 1) > FILE_LIMIT)
  const kept = fitting === -1 ? ordered : ordered.slice(0, fitting)
  return keep === 'end' ? kept.toReversed() : kept
}
