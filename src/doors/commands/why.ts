/**
 * `why`: predicted and billed cost of each call with the reason, the most expensive moments, the rent, and free
 * edits.
 */
import { stat } from 'node:fs/promises'
import { amount, asDollars, withCommas } from '../../model/text.ts'
import type { CauseSum, Free, Why, WhyCause } from '../../replay/why.ts'
import type { Palimpsest } from '../../session/engine.ts'
import type { Rent, RentRow } from '../../view/rent.ts'
import type { Timeline } from '../../view/timeline.ts'
import { defineCommand } from '../terminal/command.ts'
import { oneLine, type Paint, printable, table } from '../terminal/output.ts'

const ROWS = 9
const FILES = 6

export const why = defineCommand({
  name: 'why',
  summary: 'explain the cost of a session, call by call, and where the money went',
  usage: 'SESSION',
  details:
    'SESSION is a session of the ledger, or a transcript of a known agent. The predicted cost comes from our cost model, the\n' +
    'billed cost from the usage that the provider reported. Free edits cause no cache miss: the cache is cold, or the part\n' +
    'was never sent.\n' +
    'See docs/report.md.',
  examples: [
    'palimpsest why fix-login',
    'palimpsest why ~/.claude/projects/my-app/session.jsonl --calls',
    'palimpsest why fix-login --json',
  ],
  options: {
    calls: { type: 'boolean', about: 'list every call, not only the most expensive ones' },
  },
  async run({ args: [name = ''], values, home, open }) {
    const { freeEditsOf, whyOf } = await import('../../replay/why.ts')
    const { assumedPrices } = await import('../../replay/account.ts')
    const { largestRows, rentOf } = await import('../../view/rent.ts')
    const { timeline, isSubagent, notes } = await timelineFor(name, { home, open: () => open() })
    const found = whyOf(timeline)
    const rent = rentOf(timeline, { isSubagent })
    const few: Listed = {
      dollars: rent.dollars,
      kind: largestRows(rent.kind, ROWS),
      tool: largestRows(rent.tool, FILES),
      file: largestRows(rent.file, FILES),
    }
    const free = await freeEditsOf(timeline)
    return {
      json: { session: name, ...found, rent, free },
      text: paint => lines({ found, rent: few, free, all: values.calls === true }, paint),
      notes: [...notes, ...notesOn(timeline, found), ...assumedPrices([timeline])],
    }
  },
})

function notesOn({ calls }: Timeline, found: Why): string[] {
  const copied = calls.length - found.calls.length
  return [
    ...(found.calls.length === 0 ? ['This session has no calls yet.'] : []),
    ...(copied > 0
      ? [`${amount(copied, 'call')} at the beginning came from another session, where they are counted.`]
      : []),
  ]
}

type Looked = { timeline: Timeline; isSubagent: boolean; notes: string[] }

/** Takes the longest session of a file with several (segments, subagents), and names the others in a note. */
async function timelineFor(
  name: string,
  { home, open }: { home: string; open: () => Promise<Palimpsest> },
): Promise<Looked> {
  const isFile = await stat(name).then(
    found => found.isFile(),
    () => false,
  )
  if (!isFile) return ledgerTimeline(await open(), name)
  const { readTranscript } = await import('../../formats/transcripts/read-transcript.ts')
  const { recordedTimeline } = await import('../../replay/account.ts')
  const { settingsFor } = await import('../../session/config.ts')
  const { sessions } = await readTranscript(name)
  const longest = sessions.reduce((best, one) => (one.messages.length > best.messages.length ? one : best))
  const { models = {} } = await settingsFor(home)
  const rest = sessions.filter(one => one !== longest).map(({ id }) => printable(id))
  const notes =
    rest.length === 0
      ? []
      : [`This is the longest of ${sessions.length} sessions in the file, ${printable(longest.id)}. ${othersOf(rest)}`]
  return { timeline: await recordedTimeline(longest, { models }), isSubagent: longest.reason === 'sub-agent', notes }
}

const MOST_NAMES = 5

function othersOf(rest: readonly string[]): string {
  const named = rest.slice(0, MOST_NAMES).join(', ')
  const more = rest.length > MOST_NAMES ? ` and ${rest.length - MOST_NAMES} more` : ''
  return `Import it to look at ${named}${more}; palimpsest report adds them up.`
}

async function ledgerTimeline(pal: Palimpsest, name: string): Promise<Looked> {
  const { readTimeline } = await import('../../session/timelines.ts')
  const info = await pal.mustFind(name)
  return { timeline: await readTimeline(pal, info), isSubagent: info.about.reason === 'sub-agent', notes: [] }
}

const CAUSES: Record<WhyCause, string> = {
  edit: 'our edit',
  pause: 'cache expired',
  client: "the client's change",
  model: 'model switch',
  server: "the server's edit",
  provider: "the provider's miss",
  start: 'first call',
  none: 'nothing lost',
}

type Listed = Pick<Rent, 'dollars' | 'kind' | 'tool' | 'file'>
type Shown = { found: Why; rent: Listed; free: Free; all: boolean }

function* lines({ found, rent, free, all }: Shown, paint: Paint): Generator<string> {
  const { billedUsd, predictedUsd, calls, causes, moments } = found
  if (calls.length === 0) return
  const estimated = calls.filter(call => call.estimated).length
  const note = estimated === 0 ? '' : `, ${withCommas(estimated)} of them estimated`
  yield `${amount(calls.length, 'call')}${note}: ${paint.bold(asDollars(billedUsd))} billed, ${asDollars(predictedUsd)} predicted`
  yield ''
  yield* table(CAUSE_COLUMNS, causes.map(causeRow), paint)
  yield ''
  yield paint.bold(all ? 'Every call' : 'The most expensive calls')
  yield* table(CALL_COLUMNS, (all ? calls : moments).map(callRow), paint)
  yield ''
  yield paint.bold('Where the money went, as rent')
  yield* table(['KIND', ...RENT_COLUMNS], rentRows(rent.kind, rent.dollars), paint)
  yield ''
  yield* table(['TOOL', ...RENT_COLUMNS], rentRows(rent.tool, rent.dollars), paint)
  yield ''
  yield* table(['FILE', ...RENT_COLUMNS], rentRows(rent.file, rent.dollars), paint)
  yield ''
  yield `Free edits: ${amount(free.edits, 'edit')} without a cache miss (the cache was cold in ${amount(free.coldCalls, 'call')}) would have saved ${paint.bold(asDollars(free.savedUsd))}, with ${(free.evidence * 100).toFixed(1)} % of later quotes still visible.`
}

const CAUSE_COLUMNS = ['CAUSE', '>CALLS', '>TOKENS LOST', '>COST OF IT', '>BILLED − PREDICTED']
const CALL_COLUMNS = ['>CALL', '>PREDICTED', '>BILLED', '>DIFFERENCE', 'CAUSE', 'WHY']
const RENT_COLUMNS = ['>DOLLARS', '>SHARE', '>TOKENS × CALLS']

function causeRow({ cause, times, lost, extraUsd, differenceUsd }: CauseSum): string[] {
  return [CAUSES[cause], withCommas(times), withCommas(Math.round(lost)), asDollars(extraUsd), asDollars(differenceUsd)]
}

function callRow({
  call,
  predictedUsd,
  billedUsd,
  differenceUsd,
  cause,
  text,
  estimated,
}: Why['calls'][number]): string[] {
  const billed = estimated ? 'estimated' : asDollars(billedUsd)
  return [withCommas(call), asDollars(predictedUsd), billed, asDollars(differenceUsd), CAUSES[cause], oneLine(text, 90)]
}

function rentRows(rows: readonly RentRow[], whole: number): string[][] {
  return rows.map(({ name, dollars, tokens }) => [
    oneLine(printable(name), 60),
    asDollars(dollars),
    `${whole > 0 ? ((100 * dollars) / whole).toFixed(1) : '0.0'} %`,
    withCommas(Math.round(tokens)),
  ])
}
