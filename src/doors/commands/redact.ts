/**
 * `redact`: permanently redacts secrets, a text, or all matches of a pattern in the ledger. It lists the matches first.
 */
import { SHORTEST_TEXT, type ToRedact, toPattern } from '../../ledger/redaction.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { amount } from '../../model/text.ts'
import { allNames } from '../../session/every-session.ts'
import { defineCommand, type Report } from '../terminal/command.ts'
import { confirm } from '../terminal/confirm.ts'
import { printable } from '../terminal/output.ts'
import { BY } from './delete.ts'

type Covered = { session: string; kinds: Record<string, number> }

export const redact = defineCommand({
  name: 'redact',
  summary: 'redact secrets, a text or a pattern in the ledger permanently',
  usage: '[SESSION]',
  details:
    'In one session or in all. A mask of the same length replaces the text in messages, edits, kept files and the search\n' +
    'index. This cannot be undone. Hashes are computed anew from there on, and an event records time and author. Forks that\n' +
    'share the text are changed too. Clients can continue the conversation. Remember to replace a leaked key.',
  examples: [
    'palimpsest redact --secrets',
    'palimpsest redact fix-login --text "the passphrase" --dry-run',
    "palimpsest redact --pattern 'AB-[0-9]{6}'",
  ],
  options: {
    secrets: { type: 'boolean', about: 'redact everything that palimpsest secrets finds' },
    text: { type: 'string', value: 'STRING', about: `redact this text, of at least ${SHORTEST_TEXT} characters` },
    pattern: { type: 'string', value: 'REGEXP', about: 'redact what this JavaScript regular expression matches' },
    'dry-run': { type: 'boolean', about: 'show what would be redacted, and change nothing' },
    yes: { type: 'boolean', short: 'y', about: 'do not ask' },
  },
  async run({ args: [only], values, open, io, home }) {
    const what = toRedact(values)
    const pal = await open()
    const names = only === undefined ? await allNames(pal) : [only]
    const { redactSessions, toBeRedacted } = await import('../server/redactions.ts')
    const found = await toBeRedacted(pal, names, what)
    const report = reportOf(found)
    if (values['dry-run'] || found.length === 0) return { ...report, notes: ['Nothing was redacted.'] }
    if (!values.yes) {
      io.stderr.write(`${linesOf(found).join('\n')}\n`)
      if (!(await confirm(io, 'Redact permanently?'))) return { ...report, notes: ['Nothing was redacted.'], exit: 1 }
    }
    const { openServerStore } = await import('../server/server-store.ts')
    const store = await openServerStore(home, io.env)
    const sessions = found.map(({ session }) => session)
    const redacted = await redactSessions({ pal, store }, sessions, what, { by: BY }).finally(() => store.close())
    const done = reportOf(redacted.map(({ session, kinds }) => ({ session, kinds })))
    return { ...done, notes: [`Redacted ${amount(redacted.length, 'session')}.`] }
  },
})

type Given = { secrets?: boolean | undefined; text?: string | undefined; pattern?: string | undefined }

function toRedact({ secrets, text, pattern }: Given): ToRedact {
  if ([secrets === true, text !== undefined, pattern !== undefined].filter(Boolean).length !== 1) {
    throw new PalimpsestError('INVALID_INPUT', 'Use --secrets, --text STRING or --pattern REGEXP.')
  }
  if (text !== undefined && text.length < SHORTEST_TEXT) {
    throw new PalimpsestError('INVALID_INPUT', `--text needs at least ${SHORTEST_TEXT} characters.`)
  }
  if (pattern !== undefined) return { pattern: toPattern(pattern) }
  return text === undefined ? { secrets: true } : { text }
}

function reportOf(sessions: readonly Covered[]): Report {
  return { json: { sessions }, text: () => linesOf(sessions) }
}

function linesOf(sessions: readonly Covered[]): string[] {
  return sessions.map(({ session, kinds }) => {
    return `${printable(session)}  ${Object.entries(kinds)
      .map(([kind, times]) => `${kind} (${times})`)
      .join(', ')}`
  })
}
