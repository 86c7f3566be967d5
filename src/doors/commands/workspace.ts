/** `workspace`: the knowledge files that every session starts with. */
import { PalimpsestError } from '../../model/errors.ts'
import { defineCommand, type Report } from '../terminal/command.ts'
import { oneLine, printable, table } from '../terminal/output.ts'

export const workspace = defineCommand({
  name: 'workspace',
  summary: 'make, show or find the knowledge files that every session starts with, and undo what agents added',
  usage: 'init|show|path|added|undo [ID]',
  details:
    'init makes the files that are missing and leaves the others alone. show prints what a session is given at its start\n' +
    '(and makes missing files, as a session does). path prints the folder: ~/.agent/workspace, unless --dir or\n' +
    'PALIMPSEST_WORKSPACE names another. added lists the lines that agents added, with their session and entry; undo ID\n' +
    'takes one out again.',
  examples: ['palimpsest workspace init', 'palimpsest workspace show', 'cd "$(palimpsest workspace path)"'],
  options: { dir: { type: 'string', value: 'DIR', about: 'the folder of the knowledge files' } },
  async run({ args, values, io }) {
    const { resolve } = await import('node:path')
    const { workspaceIn } = await import('../../memory/workspace.ts')
    const folder = resolve(values.dir ?? workspaceIn(io.env))
    switch (args[0]) {
      case 'init':
        return init(folder)
      case 'show':
        return show(folder)
      case 'path':
        return { json: { folder }, text: () => `${folder}\n` }
      case 'added':
        return added(folder)
      case 'undo':
        return undo(folder, args[1])
      default:
        throw new PalimpsestError(
          'INVALID_INPUT',
          `Say init, show, path, added or undo, not ${JSON.stringify(args[0])}.`,
        )
    }
  },
})

async function init(folder: string): Promise<Report> {
  const { initWorkspace } = await import('../../memory/workspace.ts')
  const made = await initWorkspace({ folder, now: Date.now })
  return {
    json: { folder, made },
    text: () => made.map(path => `${path}\n`).join(''),
    notes: [made.length > 0 ? `Made in ${folder}.` : `Everything is there already, in ${folder}.`],
  }
}

async function show(folder: string): Promise<Report> {
  const { loadWorkspace } = await import('../../memory/workspace.ts')
  const text = await loadWorkspace({ folder, now: Date.now })
  return { json: { folder, text }, text: () => `${printable(text)}\n` }
}

async function added(folder: string): Promise<Report> {
  const { addedLines } = await import('../../memory/workspace.ts')
  const lines = await addedLines({ folder })
  return {
    json: { folder, lines },
    *text(paint) {
      const names = ['ID', 'FILE', 'SESSION', 'ENTRY', 'LINE']
      const rows = lines.map(({ id, path, session, entry, text }) => [
        id,
        path,
        session,
        `#${entry}`,
        oneLine(text, 80),
      ])
      if (rows.length > 0)
        yield* table(
          names.map(name => ({ name })),
          rows.map(row => row.map(printable)),
          paint,
        )
    },
    notes: lines.length === 0 ? ['Agents have added nothing.'] : [],
  }
}

async function undo(folder: string, id: string | undefined): Promise<Report> {
  if (id === undefined) throw new PalimpsestError('INVALID_INPUT', 'Say which line: palimpsest workspace undo ID')
  const { removeLine } = await import('../../memory/workspace.ts')
  const line = await removeLine({ folder }, id)
  return { json: { folder, removed: line }, text: () => `Taken out of ${line.path}: ${printable(line.text)}\n` }
}
