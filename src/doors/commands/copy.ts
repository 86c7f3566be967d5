/** `copy`: sessions from one home or database to another, proven by their hash chains. */
import { PalimpsestError } from '../../model/errors.ts'
import { amount, withCommas } from '../../model/text.ts'
import { type Context, defineCommand, type Report } from '../terminal/command.ts'
import { printable } from '../terminal/output.ts'
import { startProgress } from '../terminal/progress.ts'

const OPTIONS = {
  user: { type: 'string', value: 'NAME', about: 'only what belongs to this user' },
} as const

export const copy = defineCommand({
  name: 'copy',
  summary: 'copy sessions between a home and a PostgreSQL database',
  usage: 'FROM TO',
  details:
    'FROM and TO are folders of homes, or addresses like postgres://user@host:5432/palimpsest (a password is better in\n' +
    'PGPASSWORD or ~/.pgpass than in a command). Every session is verified where it was copied to: its hash chain must end\n' +
    'in the hash that it has at FROM. What is at TO already is not copied again, so a copy that was interrupted goes on\n' +
    'when it is started again. Nothing at TO is overwritten: a session that differs there ends the copy and is named.',
  examples: [
    'palimpsest copy .agent postgres://palimpsest@db.internal/palimpsest',
    'palimpsest copy postgres://palimpsest@db.internal/palimpsest alice-home --user alice',
  ],
  options: OPTIONS,
  run: copyAll,
})

async function copyAll({ args, values: { user }, io }: Context<typeof OPTIONS>): Promise<Report> {
  const [from, to] = [await placed(args[0]!), await placed(args[1]!)]
  if (from.name === to.name) throw new PalimpsestError('INVALID_INPUT', 'FROM and TO are the same.', { place: to.name })
  const { copyLedger } = await import('../../ledger/copying.ts')
  await using source = await openPlace(from, { mustExist: true })
  await using target = await openPlace(to, { mustExist: false })
  let progress: ReturnType<typeof startProgress> | undefined
  const copied = await copyLedger(source.ledger, target.ledger, {
    user,
    progress: (session, _, all) => {
      progress ??= startProgress(io, all)
      progress.step(session)
    },
  }).finally(() => progress?.done())
  return {
    json: { from: from.name, to: to.name, ...copied },
    *text() {
      yield `copied ${amount(copied.sessions, 'session')} (${withCommas(copied.events)} events) to ${printable(to.name)}`
      if (copied.already > 0) yield `${amount(copied.already, 'session')} were there already`
      if (copied.removed > 0) yield `and the record of ${amount(copied.removed, 'removed session')}`
      yield 'verified: each hash chain ends in the same hash as at the source'
    },
  }
}

/** A folder or a database, with the name that may be shown: without a password. */
type Place = { name: string; folder: string } | { name: string; url: string }

async function placed(given: string): Promise<Place> {
  if (!/^postgres(?:ql)?:/i.test(given)) return { name: given, folder: given }
  const { placeOf } = await import('../../ledger/postgres/errors.ts')
  return { name: placeOf(given).place, url: given }
}

async function openPlace(place: Place, { mustExist }: { mustExist: boolean }) {
  const { openLedger } = await import('../../ledger/open.ts')
  if ('folder' in place && mustExist) {
    const { existsSync } = await import('node:fs')
    const { join } = await import('node:path')
    if (!existsSync(join(place.folder, 'ledger.sqlite'))) {
      throw new PalimpsestError('FILE_NOT_FOUND', `There is no ledger in ${place.folder}.`, { path: place.folder })
    }
  }
  const ledger = 'folder' in place ? await openLedger(place.folder, false) : await openLedger('', place.url)
  return { ledger, [Symbol.asyncDispose]: () => ledger.close() }
}
