/** `stats`: what sessions cost, and how much edits saved. The provider's caching never counts as our saving. */
import { amount, asDollars, withCommas } from '../../model/text.ts'
import type { Palimpsest, SessionInfo } from '../../session/engine.ts'
import { everySession } from '../../session/every-session.ts'
import type { Statistics } from '../../view/statistics.ts'
import { defineCommand, numberOption } from '../terminal/command.ts'
import { type Paint, printable, table } from '../terminal/output.ts'

export const stats = defineCommand({
  name: 'stats',
  summary: 'show what sessions cost and what edits saved',
  usage: '[SESSION]',
  details: [
    'Sums what the provider reported for each call; calls without a report are estimated. The savings of edits',
    'are net of the cache that they made the provider write again. With a holdout (see',
    'palimpsest run --holdout), edited conversations are compared with unedited ones.',
  ].join('\n'),
  examples: ['palimpsest stats', 'palimpsest stats fix-login --json', 'palimpsest stats --days 7'],
  options: {
    days: { type: 'string', value: 'N', about: 'only sessions used in the last N days' },
  },
  async run({ args: [only], values, open, openIfThere, home }) {
    const pal = only === undefined ? await openIfThere() : await open()
    const days = numberOption(values.days, '--days')
    const since = days === undefined ? 0 : Date.now() - days * 86_400_000
    const read = pal ? await readAll(pal, { only, since }) : []
    const { addStatistics, noStatistics } = await import('../../view/statistics.ts')
    const sum = (list: readonly Read[]) => list.map(({ of }) => of).reduce(addStatistics, noStatistics())
    const groups = {
      all: sum(read),
      edited: sum(read.filter(({ holdout }) => !holdout)),
      holdout: sum(read.filter(({ holdout }) => holdout)),
    }
    const sessions = read.map(({ id, holdout, of }) => ({ session: id, holdout, ...of }))
    return {
      json: { sessions, ...groups },
      text: paint => describe(groups, read, paint),
      notes: [
        ...(groups.all.calls === 0 ? [`There are no calls in ${home} yet.`] : []),
        ...new Set(read.flatMap(({ assumed }) => assumed)),
      ],
    }
  },
})

type Read = { id: string; holdout: boolean; of: Statistics; assumed: string[] }

async function readAll(pal: Palimpsest, { only, since }: { only: string | undefined; since: number }): Promise<Read[]> {
  const { statisticsOf } = await import('../../view/statistics.ts')
  const { readTimeline } = await import('../../session/timelines.ts')
  const { assumedPrices } = await import('../../replay/account.ts')
  const read: Read[] = []
  for await (const info of sessionsOf(pal, only)) {
    if (info.updatedAt < since) continue
    const timeline = await readTimeline(pal, info)
    const holdout = timeline.calls.some(({ decision }) => decision?.endsWith('Holdout: never edited.'))
    read.push({ id: info.id, holdout, of: statisticsOf(timeline), assumed: assumedPrices([timeline]) })
  }
  return read
}

async function* sessionsOf(pal: Palimpsest, only: string | undefined): AsyncGenerator<SessionInfo> {
  if (only !== undefined) {
    const { id } = await pal.session(only, { mustExist: true })
    const found = await pal.find(id)
    if (found) yield found
    return
  }
  yield* everySession(pal)
}

type Groups = Record<'all' | 'edited' | 'holdout', Statistics>

function* describe({ all, edited, holdout }: Groups, read: readonly Read[], paint: Paint): Generator<string> {
  const less = all.tokensIn > 0 ? Math.round((1 - all.tokensSent / all.tokensIn) * 100) : 0
  yield `${amount(read.length, 'session')}, ${amount(all.calls, 'call')}`
  yield `messages      ${withCommas(all.tokensIn)} tokens came in, ${withCommas(all.tokensSent)} were sent (${Math.abs(less)}% ${less < 0 ? 'more' : 'less'})`
  yield `reported      ${withCommas(all.input)} input, ${withCommas(all.cacheRead)} from the cache, ${withCommas(all.cacheWrite)} to it, ${withCommas(all.output)} output`
  yield `paid          ${asDollars(all.cost)}`
  yield `edits saved   ${paint.bold(asDollars(all.saved))}, net of what the provider had to write again`
  yield `edits         ${counts(all.edits)}`
  yield `cache lost    ${counts(all.busts)}`
  if (holdout.calls === 0) return
  yield ''
  const columns = ['GROUP', '>CALLS', '>TOKENS/CALL', '>DOLLARS/CALL']
  yield* table(columns, [perCall('edited', edited), perCall('holdout', holdout)], paint)
}

function perCall(name: string, { calls, tokensSent, cost }: Statistics): string[] {
  const each = (amount: number) => (calls > 0 ? amount / calls : 0)
  return [name, withCommas(calls), withCommas(Math.round(each(tokensSent))), each(cost).toFixed(4)]
}

function counts(of: Record<string, number>): string {
  const some = Object.entries(of).filter(([, count]) => count > 0)
  return some.length === 0 ? 'none' : some.map(([name, count]) => `${printable(name)} ${withCommas(count)}`).join(', ')
}
