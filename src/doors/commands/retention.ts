/**
 * `retention`: lists or deletes sessions that are old or take too much space, by rules from palimpsest.json or the
 * command line.
 */
import { resolve } from 'node:path'
import { PalimpsestError } from '../../model/errors.ts'
import { amount } from '../../model/text.ts'
import type { Retention, Retired, Rule } from '../../session/retention.ts'
import { type Context, defineCommand, type Report } from '../terminal/command.ts'
import { printable, table, timeOf } from '../terminal/output.ts'
import { startProgress } from '../terminal/progress.ts'

const OPTIONS = {
  days: { type: 'string', value: 'N', about: 'delete sessions not used for this many days' },
  megabytes: { type: 'string', value: 'N', about: 'delete sessions beyond this total size, least recently used first' },
  per: { type: 'string', value: 'WHAT', about: 'apply the size per user or per project' },
  user: { type: 'string', value: 'USER', about: 'only sessions of this user' },
  project: { type: 'string', value: 'FOLDER', about: 'only sessions in this folder' },
  tag: { type: 'string', value: 'TAG', about: 'only sessions with this tag' },
  except: { type: 'string', value: 'TAG', about: 'keep sessions with this tag' },
  archive: {
    type: 'string',
    value: 'FOLDER',
    about: 'write each session to this folder, compressed, before it is deleted',
  },
  yes: { type: 'boolean', short: 'y', about: 'delete them; without this, only show what would be deleted' },
} as const

export const retention = defineCommand({
  name: 'retention',
  summary: 'delete old sessions, and archive them first if wanted',
  usage: '',
  details:
    'Uses the rules in palimpsest.json (`retention`), or one rule on the command line. Only shows what would be deleted unless\n' +
    'you use --yes. A server applies the rules in palimpsest.json when it starts, and once a day. Archives can be read with\n' +
    'palimpsest import. See docs/privacy.md.',
  examples: [
    'palimpsest retention',
    'palimpsest retention --days 90 --except keep --archive old-sessions --yes',
    'palimpsest retention --megabytes 500 --per user',
  ],
  options: OPTIONS,
  async run({ values, open, io, home }) {
    const pal = await open()
    const { rules, archive } = await wanted(values, pal.settings.retention)
    const { retire, retiredNow } = await import('../server/retention.ts')
    const retired = await retiredNow(pal, rules, Date.now())
    if (!values.yes || retired.length === 0) {
      const notes =
        retired.length === 0
          ? 'No session is old or large enough to be deleted.'
          : 'Nothing was deleted. Use --yes to delete.'
      return { ...reportOf(retired), notes: [notes] }
    }
    const { openServerStore } = await import('../server/server-store.ts')
    const store = await openServerStore(home, io.env)
    const progress = startProgress(io, retired.length)
    const step = (session: string) => progress.step(printable(session))
    await retire({ pal, store }, retired, { archive, step }).finally(() => store.close())
    progress.done()
    const where = archive === undefined ? '' : ` Archives are in ${archive}.`
    return { ...reportOf(retired), notes: [`Deleted ${amount(retired.length, 'session')}.${where}`] }
  },
})

type Given = Context<typeof OPTIONS>['values']

/** A rule on the command line replaces the rules in the file. */
async function wanted(
  { archive, yes: _, days, megabytes, ...scope }: Given,
  set: Retention | undefined,
): Promise<Retention> {
  const folder = archive === undefined ? set?.archive : resolve(archive)
  const where = folder === undefined ? {} : { archive: folder }
  const numbers = { ...numberIn('days', days), ...numberIn('megabytes', megabytes) }
  const { retentionSchema } = await import('../../session/retention.ts')
  const chosen = Object.fromEntries(
    Object.entries(scope).filter(([key, value]) => key in OPTIONS && value !== undefined),
  )
  const rule = { ...chosen, ...numbers } as Rule
  if (Object.keys(rule).length > 0) {
    const parsed = retentionSchema.safeParse({ rules: [rule] })
    if (parsed.success) return { ...parsed.data, ...where }
    const message = 'A rule needs --days or --megabytes, both over 0; --per must be user or project.'
    throw new PalimpsestError('INVALID_INPUT', message, { rule })
  }
  if (set) return { ...set, ...where }
  const message = 'No rule is set. Add `retention` to palimpsest.json, or use --days or --megabytes.'
  throw new PalimpsestError('INVALID_INPUT', message)
}

function numberIn(name: 'days' | 'megabytes', text: string | undefined): Partial<Rule> {
  return text === undefined ? {} : { [name]: Number(text) }
}

function reportOf(retired: readonly Retired[]): Report {
  const sessions = retired.map(({ info: { id, length, updatedAt }, why }) => ({
    session: id,
    events: length,
    updatedAt,
    why,
  }))
  const rows = sessions.map(({ session, updatedAt, why }) => [printable(session), timeOf(updatedAt), why])
  return { json: { sessions }, text: paint => table(['SESSION', 'LAST USED', 'WHY'], rows, paint) }
}
