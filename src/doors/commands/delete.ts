/**
 * `delete`: permanently removes sessions, or everything of a user. It lists them first; each session leaves a
 * tombstone.
 */
import { PalimpsestError } from '../../model/errors.ts'
import { amount } from '../../model/text.ts'
import type { Palimpsest, SessionInfo } from '../../session/engine.ts'
import type { ToDelete } from '../server/deletions.ts'
import { type Context, defineCommand, type Report } from '../terminal/command.ts'
import { confirm } from '../terminal/confirm.ts'
import { printable, timeOf } from '../terminal/output.ts'

const OPTIONS = {
  user: { type: 'string', value: 'USER', about: 'delete everything of this user: sessions, memory, files and tokens' },
  before: { type: 'string', value: 'DATE', about: 'delete sessions last used before this day' },
  'dry-run': { type: 'boolean', about: 'show what would be deleted, and delete nothing' },
  yes: { type: 'boolean', short: 'y', about: 'do not ask' },
} as const

/** The author that a deletion records: a person with access to the home. */
export const BY = 'admin:cli'

type DeleteContext = Context<typeof OPTIONS>

export const deleteSessions = defineCommand({
  name: 'delete',
  summary: 'delete sessions permanently, or everything of a user',
  usage: '[SESSION...]',
  details:
    'Removes their events, texts that nothing else uses, files, and their entries in the search index. This cannot be\n' +
    'undone. Forks keep what they share. The ledger keeps a tombstone for each: name, time, author and last hash, so\n' +
    'that verify can still check the rest. With --user and --before: sessions of that user last used before that day.',
  examples: [
    'palimpsest delete fix-login',
    'palimpsest delete --before 2026-01-01 --dry-run',
    'palimpsest delete --user alice',
  ],
  options: OPTIONS,
  run: async context => deleteChosen(context, await choose(context)),
})

type Deleting = Pick<DeleteContext, 'values' | 'io' | 'open' | 'home'>

/** Lists what will be deleted, asks, and deletes it. */
export async function deleteChosen(context: Deleting, given: ToDelete): Promise<Report> {
  const { values, io, open } = context
  const pal = await open()
  const { chosenFor } = await import('../server/deletions.ts')
  const chosen = await chosenFor(pal, given)
  const whole = values.user !== undefined && values.before === undefined
  const scope = { whole, user: values.user }
  const report = reportOf(chosen, scope)
  if (values['dry-run'] || (chosen.length === 0 && !whole)) return { ...report, notes: ['Nothing was deleted.'] }
  if (!values.yes) {
    io.stderr.write(`${preview(chosen, scope).join('\n')}\n`)
    if (!(await confirm(io, 'Delete permanently?'))) return { ...report, notes: ['Nothing was deleted.'], exit: 1 }
  }
  const ids = chosen.map(({ id }) => id)
  await carryOut(pal, ids, { ...context, user: whole ? values.user : undefined })
  return { ...report, notes: [`Deleted ${amount(chosen.length, 'session')}.`] }
}

async function choose({ args, values: { user, before } }: DeleteContext): Promise<ToDelete> {
  const named = args.length > 0
  if (named === (user !== undefined || before !== undefined)) {
    throw new PalimpsestError('INVALID_INPUT', 'Name the sessions to delete, or use --user or --before.')
  }
  if (named) return { sessions: args }
  const owner = user === undefined ? {} : { owner: user }
  const { parseTime } = await import('../../session/recall.ts')
  return before === undefined ? { owner: user! } : { before: parseTime(before), ...owner }
}

type Scope = { whole: boolean; user: string | undefined }

function reportOf(chosen: readonly SessionInfo[], scope: Scope): Report {
  const sessions = chosen.map(({ id, length, updatedAt }) => ({ session: id, events: length, updatedAt }))
  return { json: { sessions, ...(scope.whole ? { user: scope.user } : {}) }, text: () => preview(chosen, scope) }
}

const SHOWN = 20

function preview(chosen: readonly SessionInfo[], { whole, user }: Scope): string[] {
  const events = chosen.reduce((sum, { length }) => sum + length, 0)
  const lines = chosen
    .slice(0, SHOWN)
    .map(
      ({ id, length, updatedAt }) => `  ${printable(id)}  ${amount(length, 'event')}, last used ${timeOf(updatedAt)}`,
    )
  const more = chosen.length - lines.length
  return [
    `${amount(chosen.length, 'session')} with ${amount(events, 'event')}`,
    ...lines,
    ...(more > 0 ? [`  … and ${amount(more, 'more session')}`] : []),
    ...(whole ? [`All memory, files and tokens of ${printable(user!)}`] : []),
  ]
}

/** Deletes the sessions and the user's data outside the ledger. */
async function carryOut(pal: Palimpsest, ids: readonly string[], { user, home, io }: Everything): Promise<void> {
  const { deleteSessions: remove, forgetUser } = await import('../server/deletions.ts')
  const { openServerStore } = await import('../server/server-store.ts')
  const { openMemory } = await import('../../memory/open.ts')
  const store = await openServerStore(home, io.env)
  try {
    await remove({ pal, store }, ids, { by: BY })
    if (user === undefined) return
    const memory = await openMemory({ home, env: io.env })
    await forgetUser({ pal, store, memory }, user, BY).finally(() => memory.close())
  } finally {
    await store.close()
  }
}

type Everything = Pick<DeleteContext, 'home' | 'io'> & { user: string | undefined }
