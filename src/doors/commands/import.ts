/**
 * `import`: imports recorded sessions of any known agent into the ledger, or undoes an import. Importing twice does
 * no harm; it asks before importing many sessions.
 */
import { stat } from 'node:fs/promises'
import { PalimpsestError } from '../../model/errors.ts'
import { amount, withCommas } from '../../model/text.ts'
import type { Imported } from '../../session/import-transcript.ts'
import { type Context, defineCommand, type Report } from '../terminal/command.ts'
import { confirm } from '../terminal/confirm.ts'
import { printable } from '../terminal/output.ts'
import { startProgress } from '../terminal/progress.ts'
import { type FoundFile, sessionsFound, transcriptFiles } from './transcript-files.ts'

const HEALED = 5
const SHOWN = 50

const OPTIONS = {
  as: { type: 'string', value: 'NAME', about: 'the name of the session; several become NAME, NAME-2, …' },
  undo: { type: 'string', value: 'ID', about: 'delete the sessions that this import created' },
  yes: { type: 'boolean', short: 'y', about: 'do not ask' },
} as const

type ImportContext = Context<typeof OPTIONS>
type Taken = Imported & { file: string; format: string }

export const importFiles = defineCommand({
  name: 'import',
  summary: 'import transcripts of other agents',
  usage: '[FILE...]',
  details:
    'FILE is a transcript of a known agent, an export of palimpsest, or a folder of such files; each may be compressed\n' +
    'with gzip. Errors in a recording are repaired and reported. Importing a file again adds only what is new in it.\n' +
    'An import of more than 20 sessions asks first. Every import has an id, for --undo.',
  examples: [
    'palimpsest import session.jsonl --as fix-login',
    'palimpsest import ~/.claude/projects/my-app',
    'palimpsest import --undo i-3f2a9c01',
  ],
  options: OPTIONS,
  async run(context) {
    const { args, values, io } = context
    if ((values.undo !== undefined) === args.length > 0) {
      throw new PalimpsestError('INVALID_INPUT', 'Name the files to import, or use --undo with the id of an import.')
    }
    if (values.undo !== undefined) {
      const { deleteChosen } = await import('./delete.ts')
      return deleteChosen(context, { import: values.undo })
    }
    const files = await transcriptFiles(args)
    if (!values.yes && !(await mayImport(files, io))) return { json: { sessions: [] }, text: () => '', exit: 1 }
    return takeIn(files, context)
  },
})

async function mayImport(files: readonly FoundFile[], io: ImportContext['io']): Promise<boolean> {
  const { MANY_SESSIONS } = await import('../../session/import-transcript.ts')
  let sessions = 0
  let bytes = 0
  for (const file of files) {
    bytes += await stat(file.path).then(
      ({ size }) => size,
      () => 0,
    )
    for await (const _ of sessionsFound(file, [])) sessions++
  }
  if (sessions <= MANY_SESSIONS) return true
  const size = bytes < MB ? `${withCommas(Math.ceil(bytes / 1024))} KB` : `${withCommas(Math.round(bytes / MB))} MB`
  return confirm(
    io,
    `There are ${amount(sessions, 'session')} in ${amount(files.length, 'file')} (${size}). Import them?`,
  )
}

const MB = 1024 * 1024

async function takeIn(files: readonly FoundFile[], { values, io, open }: ImportContext): Promise<Report> {
  const { importSession, newImportId } = await import('../../session/import-transcript.ts')
  const { settleCopies } = await import('../../session/copied-calls.ts')
  const importedBy = newImportId()
  const notes: string[] = []
  const found: { number: number; imported: Taken }[] = []
  const progress = startProgress(io, files.length)
  const pal = await open({ create: true })
  for (const file of files) {
    progress.step(printable(file.path))
    const before = found.length
    const written = await stat(file.path).then(
      ({ mtimeMs }) => Math.round(mtimeMs),
      () => undefined,
    )
    for await (const { format, session, place } of sessionsFound(file, notes)) {
      const number = before + place
      const name = values.as === undefined ? session.id : number === 1 ? values.as : `${values.as}-${number}`
      const done = await importSession(pal, session, { name, client: format, importedBy, written })
      found.push({ number, imported: { ...done, file: file.path, format } })
    }
  }
  const imported = found.sort((a, b) => a.number - b.number).map(one => one.imported)
  await settleCopies(pal, imported)
  progress.done()
  const { chosenFor } = await import('../server/deletions.ts')
  const made = (await chosenFor(pal, { import: importedBy })).length
  if (imported.length === 0) notes.push('There is nothing to import.')
  if (made > 1) notes.push(`To undo this import of ${made} sessions: palimpsest import --undo ${importedBy}`)
  return {
    json: { import: importedBy, sessions: imported, notes },
    *text(paint) {
      for (const { session, messages, added, healed, format } of imported.slice(0, SHOWN)) {
        const what = added === 0 ? paint.dim('nothing new') : `${amount(added, 'message')} added`
        yield `${paint.bold(printable(session))}  ${format}, ${amount(messages, 'message')}: ${what}`
        for (const line of healed.slice(0, HEALED)) yield `  ${paint.yellow('healed')}  ${printable(line)}`
        if (healed.length > HEALED) yield `  ${paint.dim(`… and ${healed.length - HEALED} more of this kind`)}`
      }
      if (imported.length > SHOWN) yield paint.dim(`… and ${amount(imported.length - SHOWN, 'more session')}`)
    },
    notes,
  }
}
