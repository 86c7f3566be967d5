/** `workspace`: the knowledge files that every session starts with. */
import type { FileStore } from '../../files/store.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { defineCommand, type Report } from '../terminal/command.ts'
import { oneLine, printable, table } from '../terminal/output.ts'

export const workspace = defineCommand({
  name: 'workspace',
  summary: 'create, show or find the knowledge files that every session starts with, and undo lines added by agents',
  usage: 'init|show|path|added|undo [ID]',
  details:
    'init creates missing files and leaves the others alone. show prints what a session is given at its start\n' +
    '(and creates missing files, as a session does). path prints the folder: ~/.agent/workspace, unless --dir or\n' +
    'PALIMPSEST_WORKSPACE names another. With PALIMPSEST_DATABASE_URL and neither of these, the files are in the database.\n' +
    'added lists the lines added by agents, with session and entry; undo ID removes one of them.',
  examples: ['palimpsest workspace init', 'palimpsest workspace show', 'cd "$(palimpsest workspace path)"'],
  options: { dir: { type: 'string', value: 'DIR', about: 'the folder of the knowledge files' } },
  async run({ args, values, home, io }) {
    const { databaseUrl } = await import('../../ledger/postgres/database.ts')
    const { openHomeFiles } = await import('../../files/open.ts')
    const { storeOf } = await import('../../files/folder.ts')
    const { workspaceIn } = await import('../../memory/workspace.ts')
    const files = await openHomeFiles(home, databaseUrl(io.env) ?? false)
    const store = storeOf(values.dir ?? workspaceIn(io.env, { files }))
    return act(store, args).finally(() => files.close())
  },
})

async function act(store: FileStore, [what, id]: readonly string[]): Promise<Report> {
  switch (what) {
    case 'init':
      return init(store)
    case 'show':
      return show(store)
    case 'path':
      return path(store)
    case 'added':
      return added(store)
    case 'undo':
      return undo(store, id)
    default:
      throw new PalimpsestError(
        'INVALID_INPUT',
        `Use workspace init, show, path, added or undo, not ${JSON.stringify(what)}.`,
      )
  }
}

async function init(folder: FileStore): Promise<Report> {
  const { initWorkspace } = await import('../../memory/workspace.ts')
  const made = await initWorkspace({ folder, now: Date.now })
  return {
    json: { folder: folder.folder, made },
    text: () => made.map(path => `${path}\n`).join(''),
    notes: [made.length > 0 ? `Created in ${folder.folder}.` : `All files already exist in ${folder.folder}.`],
  }
}

/** The folder for people to open; a workspace in a table has none. */
function path({ folder, isTable }: FileStore): Report {
  const notes = isTable ? ['These files are in the database. Read them with show; change them in the web UI.'] : []
  return { json: { folder, inDatabase: isTable }, text: () => (isTable ? '' : `${folder}\n`), notes }
}

async function show(folder: FileStore): Promise<Report> {
  const { loadWorkspace } = await import('../../memory/workspace.ts')
  const text = await loadWorkspace({ folder, now: Date.now })
  return { json: { folder: folder.folder, text }, text: () => `${printable(text)}\n` }
}

async function added(folder: FileStore): Promise<Report> {
  const { addedLines } = await import('../../memory/workspace.ts')
  const lines = await addedLines({ folder })
  return {
    json: { folder: folder.folder, lines },
    *text(paint) {
      const cells = lines.map(({ id, path, session, entry, text }) => [
        id,
        path,
        session,
        `#${entry}`,
        oneLine(text, 80),
      ])
      const rows = cells.map(row => row.map(printable))
      yield* table(['ID', 'FILE', 'SESSION', 'ENTRY', 'LINE'], rows, paint)
    },
    notes: lines.length === 0 ? ['Agents have added no lines.'] : [],
  }
}

async function undo(folder: FileStore, id: string | undefined): Promise<Report> {
  if (id === undefined) throw new PalimpsestError('INVALID_INPUT', 'Name the line: palimpsest workspace undo ID')
  const { removeLine } = await import('../../memory/workspace.ts')
  const line = await removeLine({ folder }, id)
  return {
    json: { folder: folder.folder, removed: line },
    text: () => `Removed from ${line.path}: ${printable(line.text)}\n`,
  }
}
