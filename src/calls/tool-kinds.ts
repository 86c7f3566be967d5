/**
 * Describes tool calls. One table has the kind of each tool of the common agents and of our own. The arguments give the
 * file, the lines, the command, and the text that a call reads or changes.
 *
 * Names are compared without case and separators (`Read`, `read_file` and `readFile` need one row each at most),
 * and `mcp__server__name` counts as `name`. Arguments are found under the names that agents use for them. A tool
 * that is not in the table is 'other'. Nothing here throws: arguments of the wrong shape give fewer fields.
 */

import { isRecord, tryJson } from '../model/json.ts'
import { normalizePath } from '../model/paths.ts'
import type { ToolKind } from '../model/types.ts'
import { patchPaths } from './patches.ts'
import { describeShell, type ShellInfo } from './shell-kinds.ts'
import type { FileWrite, LineRange } from './shell-steps.ts'

export type CallInfo = {
  kind: ToolKind
  /** The file or folder, normalised; the first of `paths`. */
  path?: string
  paths?: string[]
  /** The lines asked for. Absent: all of them. For an insertion, the line after which it goes. */
  range?: LineRange
  command?: string
  /** The search text. On a read: only matching lines are shown. */
  query?: string
  /** The agent's stated reason for the call. */
  intent?: string
  /** The text that a write puts into the file, or that an append, prepend, insert or section edit adds. */
  content?: string
  how?: 'append' | 'prepend' | 'insert' | 'section'
  /** The first of `edits`. */
  oldText?: string
  newText?: string
  edits?: TextEdit[]
  /** A patch in `apply_patch` form or a unified diff. */
  patch?: string
  /** Files that a shell command visibly writes, whatever its kind. */
  writes?: FileWrite[]
  /** Effects of a shell command on git's index and HEAD, each after so many of the writes. */
  git?: ShellInfo['git']
}

type TextEdit = { oldText: string; newText: string; all?: boolean }

export type ToolSpec = {
  kind: ToolKind
  /** Names of arguments, if they are not the usual ones. */
  path?: string | readonly string[]
  query?: string | readonly string[]
  content?: string | readonly string[]
  command?: string | readonly string[]
  how?: CallInfo['how']
  /** The language of a shell tool's command, if it is not bash. */
  language?: 'powershell' | 'none'
  /** A tool of several commands: the argument `command` says which of these it is. */
  commands?: Readonly<Record<string, ToolSpec>>
}

export type ToolTable = ReadonlyMap<string, ToolSpec>

/** A table of the caller's own tools, for `describeCall`; its rows override the built-in ones. */
export function defineTools(tools: Record<string, ToolSpec>): ToolTable {
  return new Map(Object.entries(tools).map(([name, spec]) => [bareName(name), spec]))
}

/** `known`: the user's own tools, or the spec of this one. */
export function describeCall(name: string, input: unknown, known?: ToolTable | ToolSpec): CallInfo {
  const spec = known && 'kind' in known ? known : findSpec(name, known)
  const args = asArguments(input, spec.kind)
  const chosen = spec.commands?.[text(args, ['command', 'action']) ?? ''] ?? spec
  if (chosen.kind === 'shell') return describeShellCall(chosen, args)
  return describeArguments(chosen, args)
}

/** Whether an unknown tool takes a command, judged by its arguments. */
export function guessRun(input: unknown): boolean {
  const args = asArguments(input, 'other')
  return (
    text(args, ['command', 'cmd', 'bash_command', 'shell_command']) !== undefined && first(args, PATH) === undefined
  )
}

/** Whether an unknown tool may read a file: it takes one, and otherwise only lines, flags and the intent. */
export function mayRead(input: unknown): boolean {
  const args = asArguments(input, 'other')
  const file = pathArguments(args, undefined)[0]
  if (file === undefined || !/\.\w{1,10}$/.test(file)) return false
  return Object.entries(args).every(([name, value]) => {
    return typeof value !== 'string' || PATH.includes(name) || INTENT.includes(name)
  })
}

const names = (list: string): readonly string[] => list.split(' ')

/** The names under which agents pass an argument, the likeliest first. */
const PATH = names(
  'file_path filePath path absolute_path filename file_name target_file file notebook_path relative_workspace_path dir_path ' +
    'directory dir paths file_paths files',
)
const COMMAND = names('command cmd script code chars input bash_command')
const WORKDIR = names('workdir cwd working_directory dir_path directory')
const QUERY = names('pattern query regex search_term search_query q url urls glob question hash')
const INTENT = names('intent description instruction instructions explanation reasoning reason subject')
const CONTENT = names('content file_text contents text insert_text body new_body file_content fact')
const OLD_TEXT = names('old_string oldString old_str oldText old_text search old')
const NEW_TEXT = names('new_string newString new_str newText new_text replace replacement new')
const PATCH = names('patchText patch input diff patch_text')

const EDITOR: ToolSpec = {
  kind: 'edit',
  commands: {
    view: { kind: 'read' },
    create: { kind: 'write' },
    str_replace: { kind: 'edit' },
    insert: { kind: 'edit', how: 'insert', content: ['insert_text', 'new_str', 'text'] },
    undo_edit: { kind: 'edit' },
    delete: { kind: 'edit' },
    rename: { kind: 'edit', path: ['old_path', 'new_path'] },
  },
}
const FIND_FILE: ToolSpec = {
  kind: 'search',
  path: ['dir', 'directory', 'path'],
  query: ['file_name', 'pattern', 'query', 'name'],
}

/** Kinds whose tools have no further peculiarities, by bare name. */
const PLAIN: Partial<Record<ToolKind, string>> = {
  read:
    'read readfile readtextfile readmediafile readmultiplefiles readmanyfiles view viewfile open openfile cat notebookread ' +
    'goto scrollup scrolldown viewimage analyzeimage fsread readresource',
  write: 'write writefile create createfile writenewfile savefile fswrite filewrite',
  edit:
    'edit editfile multiedit replace replaceinfile strreplace searchreplace notebookedit editnotebook applypatch patch ' +
    'updatefile undoedit filechange applydiff insertedit deletefile',
  shell:
    'bash shell shellcommand execcommand exec runcommand runshellcommand runinterminal runterminalcmd terminal localshell ' +
    'executecommand executebash cmd bashcodeexecution run unifiedexec',
  list: 'ls list listfiles listdir listdirectory directorytree getfileinfo listalloweddirectories focus unfocus',
  search:
    'grep glob search searchfiles searchfilecontent grepsearch filesearch codebasesearch ripgrep searchcode rg find toolsearch',
  fetch:
    'webfetch fetch websearch googlewebsearch websearchcall browser browse navigate urlfetch fetchwebpage browservisit ' +
    'browserfetch browsereval browserscreenshot browsernavigate browserclick browsersnapshot browsertype desktopscreenshot ' +
    'dbquery dbschema javascripttool readconsolemessages previewlogs computer askquestion fetchurl',
  todo:
    'todowrite todoread updateplan writetodos taskcreate taskupdate tasklist taskget tasktracker listtodos getprogress ' +
    'updatetodos managetodolist reportintent think exitplanmode enterplanmode',
  agent:
    'task agent delegate subagent spawnagent spawntask sendmessage waitagent closeagent resumeagent sendinput delegatetoagent ' +
    'codebaseinvestigator explore listagents dispatchagent',
  memory:
    'listmemoryblocks readmemoryblock proposememoryedit proposememoryappend proposememoryprepend proposememorysection savememory ' +
    'workspacesavefact workspaceloglearning workspacelogerror workspacedailylog workspacelogfeature context recall storememory',
}

/** Shell tools whose input is not shell: Python cells, keys for a running program, its output, its end. */
const NO_SHELL = names(
  'writestdin bashoutput killbash killshell readbash writebash stopbash listbash executeipythoncell python ipython codeexecution ' +
    'taskoutput taskstop',
)

const SPECIAL: Record<string, ToolSpec> = {
  powershell: { kind: 'shell', language: 'powershell' },
  pwsh: { kind: 'shell', language: 'powershell' },
  strreplaceeditor: EDITOR,
  strreplacebasededittool: EDITOR,
  texteditor: EDITOR,
  fileeditor: EDITOR,
  memory: EDITOR,
  appendtofile: { kind: 'edit', how: 'append' },
  appendfile: { kind: 'edit', how: 'append' },
  prependtofile: { kind: 'edit', how: 'prepend' },
  updatesection: { kind: 'edit', how: 'section', query: ['section', 'header', 'heading', 'section_header', 'title'] },
  insert: { kind: 'edit', how: 'insert' },
  movefile: { kind: 'edit', path: ['source', 'destination', 'old_path', 'new_path'] },
  findfile: FIND_FILE,
  searchdir: { kind: 'search', query: ['search_term', 'query'], path: ['dir', 'path'] },
  searchfile: { kind: 'search', query: ['search_term', 'query'], path: ['file', 'path'] },
}

const TOOLS: ReadonlyMap<string, ToolSpec> = builtIn()
const OTHER: ToolSpec = { kind: 'other' }

function builtIn(): Map<string, ToolSpec> {
  const table = new Map(Object.entries(SPECIAL))
  for (const name of NO_SHELL) table.set(name, { kind: 'shell', language: 'none' })
  for (const [kind, list] of Object.entries(PLAIN)) {
    const spec: ToolSpec = { kind: kind as ToolKind }
    for (const name of names(list)) table.set(name, spec)
  }
  return table
}

const MCP_PREFIX = /^mcp__.*?__/

/** A tool's name as it is compared: lower case, no separators, no prefix of an MCP server. */
export function bareName(name: string): string {
  return name
    .replace(MCP_PREFIX, '')
    .replace(/^functions\./, '')
    .replace(/[-_. ]/g, '')
    .toLowerCase()
}

function findSpec(name: string, extra: ToolTable | undefined): ToolSpec {
  const bare = bareName(name)
  const found = extra?.get(bare) ?? TOOLS.get(bare)
  if (found) return found
  if (bare.startsWith('workspace') || bare.startsWith('proposememory')) return { kind: 'memory' }
  if (bare.startsWith('browser')) return { kind: 'fetch' }
  return OTHER
}

type Arguments = Record<string, unknown>

function asArguments(input: unknown, kind: ToolKind): Arguments {
  if (isRecord(input)) return input
  if (typeof input !== 'string') return Array.isArray(input) && kind === 'shell' ? { command: input } : {}
  const parsed = input.startsWith('{') ? tryJson(input) : undefined
  if (isRecord(parsed)) return parsed
  return kind === 'shell' ? { command: input } : { input }
}

function describeShellCall(spec: ToolSpec, args: Arguments): CallInfo {
  const value = first(args, named(spec.command, COMMAND))
  const command = Array.isArray(value) ? value.filter(word => typeof word === 'string') : value
  const intent = text(args, INTENT)
  if (spec.language === 'none' || (typeof command !== 'string' && !Array.isArray(command)))
    return compact({ kind: 'shell', command: typeof command === 'string' ? command : undefined, intent })
  const shell = describeShell(command, text(args, WORKDIR), { powershell: spec.language === 'powershell' })
  const only = shell.kind === 'shell-write' && shell.writes.length === 1 ? shell.writes[0] : undefined
  return compact({
    kind: shell.kind,
    ...placed(shell.paths),
    range: shell.range,
    command: typeof command === 'string' ? command : command.join(' '),
    query: shell.query,
    intent,
    content: only?.content,
    how: only?.append ? 'append' : undefined,
    patch: shell.patch,
    writes: shell.writes.length > 0 ? shell.writes : undefined,
    git: shell.git.length > 0 ? shell.git : undefined,
  })
}

function describeArguments(spec: ToolSpec, args: Arguments): CallInfo {
  const edits = spec.kind === 'edit' ? textEdits(args) : []
  const patch = spec.kind === 'edit' && edits.length === 0 ? text(args, PATCH) : undefined
  const paths = pathArguments(args, spec.path)
  const takesText = spec.kind === 'write' || spec.kind === 'edit' || spec.kind === 'memory'
  return compact({
    kind: spec.kind,
    ...placed(paths.length === 0 && patch !== undefined ? patchPaths(patch).map(path => normalizePath(path)) : paths),
    range: lineRange(args, spec),
    query: text(args, named(spec.query, QUERY)),
    intent: text(args, INTENT),
    content: takesText ? text(args, named(spec.content, CONTENT)) : undefined,
    how: spec.how,
    oldText: edits[0]?.oldText,
    newText: edits[0]?.newText,
    edits: edits.length > 0 ? edits : undefined,
    patch,
  })
}

function placed(paths: string[]): Pick<CallInfo, 'path' | 'paths'> {
  return paths.length > 0 ? { path: paths[0], paths } : {}
}

function textEdits(args: Arguments): TextEdit[] {
  const list = Array.isArray(args['edits']) ? args['edits'] : [args]
  return list.filter(isRecord).flatMap(edit => {
    const oldText = text(edit, OLD_TEXT)
    const newText = text(edit, NEW_TEXT)
    if (oldText === undefined) return []
    const all = edit['replace_all'] === true || edit['replaceAll'] === true || edit['allow_multiple'] === true
    return [{ oldText, newText: newText ?? '', ...(all ? { all } : {}) }]
  })
}

/** The first of the usual arguments that is present; for a tool that names its own, all of them. */
function pathArguments(args: Arguments, own: string | readonly string[] | undefined): string[] {
  const values = own === undefined ? [first(args, PATH)] : named(own, PATH).map(name => args[name])
  const paths = values
    .flat()
    .map(value => (isRecord(value) ? value['path'] : value))
    .filter(value => typeof value === 'string' && value !== '')
  return [...new Set(paths.map(path => normalizePath(String(path))))]
}

/** `offset` + `limit`, `start_line` + `end_line`, `view_range` or `line_number`, as agents have it. */
function lineRange(args: Arguments, spec: ToolSpec): LineRange | undefined {
  if (spec.how === 'insert') {
    const line = number(args, ['insert_line', 'line'])
    return line === undefined ? undefined : [line, line]
  }
  if (spec.kind !== 'read') return undefined
  const view = args['view_range']
  if (Array.isArray(view) && typeof view[0] === 'number') {
    const end = typeof view[1] === 'number' && view[1] >= 0 ? view[1] : Infinity
    return [Math.max(1, view[0]), end]
  }
  const start = number(args, START) ?? 0
  const end = number(args, END) ?? -1
  const limit = number(args, LIMIT)
  if (start <= 0 && limit === undefined && end < 0) return undefined
  const from = Math.max(1, start)
  if (end >= 0) return [from, end]
  return [from, limit === undefined ? Infinity : from + limit - 1]
}

const START = ['start_line', 'startLine', 'offset', 'line_number', 'start_line_one_indexed', 'line_start', 'start']
const END = ['end_line', 'endLine', 'end_line_one_indexed_inclusive', 'line_end', 'end']
const LIMIT = ['limit', 'lines', 'max_lines']

function number(args: Arguments, names: readonly string[]): number | undefined {
  const value = first(args, names)
  const parsed = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof parsed === 'number' && Number.isFinite(parsed) ? parsed : undefined
}

function named(own: string | readonly string[] | undefined, usual: readonly string[]): readonly string[] {
  if (own === undefined) return usual
  return typeof own === 'string' ? [own] : own
}

function first(args: Arguments, names: readonly string[]): unknown {
  for (const name of names) if (args[name] !== undefined && args[name] !== null) return args[name]
  return undefined
}

function text(args: Arguments, names: readonly string[]): string | undefined {
  for (const name of names) if (typeof args[name] === 'string') return args[name]
  return undefined
}

/** Without undefined fields. A copy: deleting the keys takes eight times as long, and reading twice as long after it. */
function compact(info: CallInfo): CallInfo {
  const compacted: Record<string, unknown> = {}
  for (const key of Object.keys(info)) {
    const value = info[key as keyof CallInfo]
    if (value !== undefined) compacted[key] = value
  }
  return compacted as CallInfo
}
