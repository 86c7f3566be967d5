/** `import`: recorded sessions of any known agent into the ledger. Doing it twice does no harm. */
import { amount, withCommas } from '../../model/text.ts'
import type { Imported } from '../../session/import-transcript.ts'
import { defineCommand } from '../terminal/command.ts'
import { printable } from '../terminal/output.ts'
import { startProgress } from '../terminal/progress.ts'
import { sessionsFound, transcriptFiles } from './transcript-files.ts'

const HEALED = 5

export const importFiles = defineCommand({
  name: 'import',
  summary: 'bring transcripts of other agents into the ledger',
  usage: 'FILE...',
  details:
    'FILE is a transcript of a known agent, or a folder with transcripts. What is wrong with a recording is healed, and\n' +
    'said. The same file again adds nothing; one that has grown adds what is new.',
  examples: ['palimpsest import session.jsonl --as fix-login', 'palimpsest import ~/.claude/projects/my-app'],
  options: {
    as: { type: 'string', value: 'NAME', about: 'the name of the session; of several, NAME, NAME-2, …' },
  },
  async run({ args, values, io, open }) {
    const { importSession } = await import('../../session/import-transcript.ts')
    const notes: string[] = []
    const found: { number: number; imported: Imported & { file: string; format: string } }[] = []
    const files = await transcriptFiles(args)
    const progress = startProgress(io, files.length)
    const pal = await open({ create: true })
    for (const file of files) {
      progress.step(printable(file.path))
      const before = found.length
      for await (const { format, session, place } of sessionsFound(file, notes)) {
        const number = before + place
        const name = values.as === undefined ? session.id : number === 1 ? values.as : `${values.as}-${number}`
        const done = await importSession(pal, session, { name, client: format })
        found.push({ number, imported: { ...done, file: file.path, format } })
      }
    }
    progress.done()
    const imported = found.sort((a, b) => a.number - b.number).map(one => one.imported)
    return {
      json: { sessions: imported, notes },
      *text(paint) {
        for (const { session, messages, added, healed, format } of imported) {
          const what = added === 0 ? paint.dim('nothing new') : `${amount(added, 'message')} added`
          yield `${paint.bold(printable(session))}  ${format}, ${withCommas(messages)} messages: ${what}`
          for (const line of healed.slice(0, HEALED)) yield `  ${paint.yellow('healed')}  ${printable(line)}`
          if (healed.length > HEALED) yield `  ${paint.dim(`… and ${healed.length - HEALED} more of this kind`)}`
        }
      },
      notes: imported.length === 0 ? [...notes, 'There is nothing to import.'] : notes,
    }
  },
})
