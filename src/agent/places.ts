/**
 * Decides where a call of a file tool works, and whether it needs approval.
 *
 * Calls inside the root, in the agent's workspace and in allowed folders need no approval. A path elsewhere does, and
 * so does a change to Palimpsest's own files (ledger, memory, personas, configuration): an agent must not widen its
 * own rights. (The workspace files that define the agent change by proposal: tools/identity.ts.) The tools confine
 * every path again, links included, to the folder that is chosen here.
 */
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { storeOf } from '../files/folder.ts'
import type { FileJournal } from '../files/journal.ts'
import type { FileStore, Files } from '../files/store.ts'
import { CONFIG_FILE } from '../session/config.ts'
import type { Concern } from './approval.ts'

export type Folders = {
  root: string
  workspace: Files
  /** Folders outside the root that the user has allowed. */
  allowed: readonly string[]
  /** Where the ledger is; undefined for one in memory. */
  home?: string | undefined
  /** Where the files are to which this session's edits point: the home, or the user's folder in it. */
  kept?: Files | undefined
}

const WRITES = new Set(['edit_file', 'append_to_file', 'prepend_to_file', 'update_section', 'write_file', 'undo_edit'])
const FOLDER_TOOLS = new Set(['list_files', 'search_files'])
const EDITOR = 'str_replace_based_edit_tool'
const FILE_TOOLS = new Set(['read_file', EDITOR, ...FOLDER_TOOLS, ...WRITES])
/** The folders with files to which edits point. An agent may read them without approval. */
const READABLE = ['overflow', 'archive']

type PlacedCall = {
  root: string
  /** Set if the files of that folder are in a table. */
  store?: FileStore
  input: Record<string, unknown>
  /** Whether the folder is not the root; then the journal uses full paths. */
  elsewhere: boolean
  concern?: Concern
}

/** The place of a call; `undefined` for a tool without a path, or a path that the tool itself refuses. */
export function placeCall(name: string, input: Record<string, unknown>, folders: Folders): PlacedCall | undefined {
  const { path } = input
  if (!FILE_TOOLS.has(name) || !isPath(path)) return undefined
  const whole = resolve(folders.root, path.replace(/^~(?=\/|$)/, homedir()))
  const writes = WRITES.has(name) || (name === EDITOR && input['command'] !== 'view')
  const { root, allowed, home } = folders
  const [workspace, kept] = [storeOf(folders.workspace), folders.kept ?? home]
  if (isIn(workspace.folder, whole)) return inStore(workspace, at(workspace.folder, whole, input))
  if (writes && isOwn(whole, home)) return { ...at(dirname(whole), whole, input), concern: own(whole) }
  if (isIn(root, whole)) return { root, input, elsewhere: false }
  const pointedTo = writes ? undefined : keptAt(kept, whole, input)
  if (pointedTo) return pointedTo
  const known = allowed.find(folder => isIn(folder, whole))
  if (known !== undefined) return at(known, whole, input)
  const folder = FOLDER_TOOLS.has(name) ? whole : dirname(whole)
  return { ...at(folder, whole, input), concern: { kind: 'file', path: whole, writes, where: 'outside' } }
}

function isPath(path: unknown): path is string {
  return typeof path === 'string' && path.trim() !== '' && !path.includes('\0')
}

/** A journal for a folder other than the root: the same files under their full paths. */
export function journalFor(folder: string, journal: FileJournal): FileJournal {
  const whole = (path: string) => join(folder, path)
  return {
    record: event => journal.record({ ...event, path: whole(event.path) }),
    wasRead: path => journal.wasRead(whole(path)),
    lastWrite: path => journal.lastWrite(whole(path)),
  }
}

function at(root: string, whole: string, input: Record<string, unknown>): PlacedCall {
  return { root, input: { ...input, path: whole }, elsewhere: true }
}

/** The place of a call whose path leads to one of the kept files. */
function keptAt(kept: Files | undefined, whole: string, input: Record<string, unknown>): PlacedCall | undefined {
  if (kept === undefined) return undefined
  const store = storeOf(kept)
  const folder = READABLE.map(name => join(store.folder, name)).find(readable => isIn(readable, whole))
  return folder === undefined ? undefined : inStore(store, at(store.isTable ? store.folder : folder, whole, input))
}

function inStore(store: FileStore, placed: PlacedCall): PlacedCall {
  return store.isTable ? { ...placed, store } : placed
}

function isOwn(path: string, home: string | undefined): boolean {
  return home !== undefined && (isIn(home, path) || path === join(dirname(resolve(home)), CONFIG_FILE))
}

function own(path: string): Concern {
  return { kind: 'file', path, writes: true, where: 'own' }
}

function isIn(folder: string, path: string): boolean {
  const way = relative(resolve(folder), path)
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}
