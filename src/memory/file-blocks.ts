/**
 * Workspace files that change by proposal: the label `workspace:SOUL.md` names the file instead of a block. So these
 * files have the same queue, the same reviews and the same decisions as blocks.
 *
 * A decision writes the file if it still has the text that the decision was made for, and then records itself. If
 * recording fails, the file is put back. Otherwise such a label is not a block: it is in no list and in no prompt of
 * blocks, and the user's own writing goes to the file itself.
 */
import { storeOf } from '../files/folder.ts'
import { hashContent } from '../files/journal.ts'
import type { FileStore, Files } from '../files/store.ts'
import { isPalimpsestError, PalimpsestError } from '../model/errors.ts'
import type { Block, Change, Decision, MemoryStore } from './store.ts'
import { identityFile } from './workspace.ts'

export type WorkspaceOf = (userId: string) => Files

const PREFIX = 'workspace:'
/** The longest version name that every store accepts. */
const VERSION_CHARS = 40

/** The label of a file that changes by proposal; undefined for any other. */
export function fileLabel(path: string): string | undefined {
  const file = identityFile(path)
  return file && PREFIX + file
}

/** The file that a label names; undefined for the label of a block. */
export function fileBehind(label: string): string | undefined {
  const path = label.startsWith(PREFIX) ? label.slice(PREFIX.length) : ''
  return identityFile(path) === path ? path : undefined
}

export function withFiles(store: MemoryStore, workspaceOf: WorkspaceOf): MemoryStore {
  const block = async (userId: string, label: string, path: string): Promise<Block | undefined> => {
    const body = await readIfThere(storeOf(workspaceOf(userId)), path)
    if (body === undefined) return undefined
    return { userId, label, title: path, body, schemaRef: null, updatedAt: 0, version: versionOf(body) }
  }
  return {
    blocks: (userId, page) => store.blocks(userId, page),
    async block(userId, label) {
      const path = fileBehind(label)
      return path === undefined ? store.block(userId, label) : block(userId, label, path)
    },
    async write(changes, note) {
      for (const { label } of changes) if (fileBehind(label) !== undefined) throw notABlock(label)
      return store.write(changes, note)
    },
    versions: async (userId, label, page) =>
      fileBehind(label) === undefined ? store.versions(userId, label, page) : [],
    version: (userId, label, id) => store.version(userId, label, id),
    propose: proposal => store.propose(proposal),
    proposals: (userId, filter) => store.proposals(userId, filter),
    proposal: (userId, id) => store.proposal(userId, id),
    async decide(userId, id, decision) {
      const { change } = decision
      const path = change && fileBehind(change.label)
      if (path === undefined) return store.decide(userId, id, decision)
      return decideOnFile({ store, files: storeOf(workspaceOf(userId)), path }, id, { ...decision, change: change! })
    },
    users: page => store.users(page),
    forget: (userId, note) => store.forget(userId, note),
    ping: () => store.ping(),
    close: () => store.close(),
  }
}

type Place = { store: MemoryStore; files: FileStore; path: string }

async function decideOnFile(
  { store, files, path }: Place,
  id: string,
  { change, ...decision }: Decision & { change: Change },
): Promise<boolean> {
  const { userId, expected, content } = change
  const wanted = content?.body ?? null
  let isExpected = false
  const { before } = await files.change(path, now => {
    isExpected = (now === null ? null : versionOf(now)) === expected
    return isExpected ? wanted : now
  })
  if (!isExpected) return false
  const putBack = () => files.change(path, now => (now === wanted ? before : now))
  try {
    // The store records the decision and keeps no block for it.
    const recorded = { ...change, expected: null, content: null }
    const decided = await store.decide(userId, id, { ...decision, change: recorded })
    if (!decided) await putBack()
    return decided
  } catch (error) {
    await putBack()
    throw error
  }
}

async function readIfThere(files: FileStore, path: string): Promise<string | undefined> {
  try {
    return (await files.read(path))?.text
  } catch (error) {
    if (isPalimpsestError(error) && error.code === 'PATH_REFUSED') return undefined
    throw error
  }
}

function versionOf(text: string): string {
  return hashContent(text).slice(0, VERSION_CHARS)
}

function notABlock(label: string): PalimpsestError {
  const path = label.slice(PREFIX.length)
  return new PalimpsestError(
    'INVALID_INPUT',
    `${label} is the workspace file ${path}. Edit the file itself, on the Workspace page or in an editor.`,
    { label },
  )
}
