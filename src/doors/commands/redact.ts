/**
 * `redact`: permanently redacts secrets, a text, or all matches of a pattern in the ledger. It lists the matches first.
 */
import { SHORTEST_TEXT, type ToRedact, toPattern } from '../../ledger/redaction.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { amount } from '../../model/text.ts'
import { allNames } from '../../session/every-session.ts'
import type { Covered } from '../server/redactions.ts'
import { defineCommand, type Report } from '../terminal/command.ts'
import { confirm } from '../terminal/confirm.ts'
import { printable } from '../terminal/output.ts'
import { BY } from './delete.ts'

export const redact = defineCommand({
  name: 'redact',
  summary: 'redact secrets, a text or a pattern in the ledger permanently',
  usage: '[SESSION]',
  details:
    'In one session or in all, and in the history of the chat. A mask of the same length replaces the text in messages,\n' +
    'edits, kept files and the search index. This cannot be undone. Later hashes are recomputed, and an event\n' +
    'records time and author. Forks that share the text are changed too. Clients can continue the conversation. Remember to\n' +
    'replace a leaked key.',
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
    const scope = { pal, names: only === undefined ? await allNames(pal) : [only], history: true }
    const { isNothing, redactSessions, toBeRedacted } = await import('../server/redactions.ts')
    const found = await toBeRedacted(scope, what)
    const report = reportOf(found)
    if (values['dry-run'] || isNothing(found)) return { ...report, notes: ['Nothing was redacted.'] }
    if (!values.yes) {
      io.stderr.write(`${linesOf(found).join('\n')}\n`)
      if (!(await confirm(io, 'Redact permanently?'))) return { ...report, notes: ['Nothing was redacted.'], exit: 1 }
    }
    const { openServerStore } = await import('../server/server-store.ts')
    const store = await openServerStore(home, io.env)
    const names = found.sessions.map(({ session }) => session)
    const done = await redactSessions({ ...scope, names }, what, { store, by: BY }).finally(() => store.close())
    const history = done.history ? ' and the history of the chat' : ''
    return { ...reportOf(done), notes: [`Redacted ${amount(done.sessions.length, 'session')}${history}.`] }
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

function reportOf(covered: Covered): Report {
  return { json: covered, text: () => linesOf(covered) }
}

function linesOf({ sessions, history }: Covered): string[] {
  const line = (name: string, kinds: Record<string, number>) =>
    `${name}  ${Object.entries(kinds)
      .map(([kind, times]) => `${kind} (${times})`)
      .join(', ')}`
  const ofSessions = sessions.map(({ session, kinds }) => line(printable(session), kinds))
  return history ? [...ofSessions, line('chat-history.jsonl', history)] : ofSessions
}
