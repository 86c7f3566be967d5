/**
 * `report`: what the user's own sessions cost, where the waste is, and what Palimpsest would have saved. Everything
 * is computed on this machine, and the generated page loads nothing from the network.
 */

import { stat } from 'node:fs/promises'
import { PalimpsestError } from '../../model/errors.ts'
import { amount, withCommas } from '../../model/text.ts'
import type { Pricing, SessionReport, Totals } from '../../replay/report.ts'
import type { Copied } from '../../session/copied-calls.ts'
import type { Palimpsest } from '../../session/engine.ts'
import type { KnobPoint } from '../../view/figures.ts'
import type { Rent } from '../../view/rent.ts'
import { defineCommand, type Io, numberOption, writeOutput } from '../terminal/command.ts'
import { type Paint, printable, table } from '../terminal/output.ts'
import { type Progress, startProgress } from '../terminal/progress.ts'
import { copiesIn, type FoundFile, readFound, transcriptFiles } from './transcript-files.ts'

const PAGE = 'palimpsest-report.html'

type Found = { report: SessionReport; file: FoundFile; copied: Copied | undefined }

export const report = defineCommand({
  name: 'report',
  summary: 'write a page about the cost of your sessions, the most expensive habits, and possible savings',
  usage: '[DIR...]',
  details:
    'Looks at the sessions of Claude Code, Codex, pi, opencode, Gemini CLI and Copilot CLI on this machine, or in DIR.\n' +
    'Nothing leaves this machine: no network is used, and the page loads nothing. See docs/report.md.',
  examples: [
    'palimpsest report',
    'palimpsest report ~/.codex/sessions --out codex.html --hide-names',
    'palimpsest report --json',
  ],
  options: {
    out: { type: 'string', value: 'FILE', about: `the page to write (${PAGE})` },
    'hide-names': { type: 'boolean', about: 'leave out requests and the names of projects, files and servers' },
    model: { type: 'string', value: 'NAME', about: 'use the prices of this model instead of the recorded ones' },
    'min-calls': { type: 'string', value: 'N', about: 'skip sessions with fewer model calls (1)' },
    limit: {
      type: 'string',
      value: 'N',
      about: 'stop after the file that reaches this many sessions, newest files first (200)',
    },
    seconds: {
      type: 'string',
      value: 'N',
      about: "seconds to spend on replays for the page's slider, most expensive sessions first (until all are done)",
    },
  },
  async run({ args, values, io, home, openIfThere }) {
    const { settingsFor } = await import('../../session/config.ts')
    const { billsBy, totalRent, totalsOf, withoutNames, withTitles } = await import('../../replay/report.ts')
    const notes: string[] = []
    const files = args.length > 0 ? await newestFirst(args) : await ownFiles(io.env)
    const { models = {} } = await settingsFor(home)
    const given = { models, ...(values.model ? { model: values.model } : {}) }
    const minCalls = numberOption(values['min-calls'], '--min-calls') ?? 1
    const limit = numberOption(values.limit, '--limit') ?? 200
    const seconds = numberOption(values.seconds, '--seconds')
    const progress = startProgress(io, files.length)
    const { found, left } = await readReports(files, { given, minCalls, limit, notes, progress })
    const titled = withTitles(found.map(one => one.report))
    const sessions = values['hide-names'] ? withoutNames(titled) : titled
    if (sessions.length === 0) notes.push(`There is no session with at least ${amount(minCalls, 'call')}.`)
    const onlyJson = values.json && values.out === undefined
    if (sessions.length > 0 && !onlyJson) {
      const { toHtml } = await import('../../replay/report-page.ts')
      const knob = await readKnob(found, { given, seconds, progress: startProgress(io, found.length) })
      if (knob.sessions < found.length) notes.push(`The slider covers ${knob.sessions} of ${found.length} sessions.`)
      const savedSoFar = args.length > 0 ? 0 : await savedIn(await openIfThere())
      const out = values.out ?? PAGE
      await writeOutput(out, toHtml(sessions, { savedSoFar, knob, left, hidesNames: values['hide-names'] === true }))
      notes.push(`Written to ${out}. Open it in a browser.`)
    }
    notes.push(...new Set(sessions.flatMap(({ assumed }) => assumed)))
    const totals = totalsOf(sessions)
    const rent = totalRent(sessions)
    const listed = sessions.map(({ rent: { kind }, ...session }) => ({ ...session, rent: kind }))
    return {
      json: { totals, ...billsBy(sessions), rent, sessions: listed, left },
      text: paint => lines(sessions, { totals, rent }, paint),
      notes,
    }
  },
})

type Reading = {
  given: Pricing
  minCalls: number
  limit: number
  notes: string[]
  progress: Progress
}

async function readReports(
  files: readonly FoundFile[],
  { given, minCalls, limit, notes, progress }: Reading,
): Promise<{ found: Found[]; left: number }> {
  const { reportOn } = await import('../../replay/report.ts')
  const { withCopies } = await import('../../session/copied-calls.ts')
  const found: Found[] = []
  let left = 0
  const copies = await copiesIn(files, limit)
  for (const file of files) {
    if (found.length >= limit) {
      left++
      continue
    }
    progress.step(printable(file.path))
    const transcript = await readFound(file, notes)
    for (const [i, recorded] of transcript?.sessions.entries() ?? []) {
      const copied = copies.get(file)?.[i]
      const session = withCopies(recorded, copied)
      const calls = session.messages.slice(session.carried).filter(({ role }) => role === 'assistant').length
      if (calls < minCalls) continue
      found.push({ report: await reportOn(session, { format: transcript!.format, ...given }), file, copied })
    }
  }
  const repeated = [...copies.values()].flat().filter(copied => copied !== undefined).length
  if (repeated > 0)
    notes.push(`${amount(repeated, 'session')} started as a copy of another; copied calls are counted once.`)
  if (left > 0)
    notes.push(`${amount(left, 'older file')} left out of all sums: raise --limit, which is ${limit} sessions.`)
  progress.done()
  return { found, left }
}

type Trying = { given: Reading['given']; seconds: number | undefined; progress: Progress }

/** Replays each setting of the knob, file by file, most expensive first; each file is read once more. */
async function readKnob(found: readonly Found[], { given, seconds, progress }: Trying) {
  const { addKnobs, billOf, knobOn } = await import('../../replay/report.ts')
  const { withCopies } = await import('../../session/copied-calls.ts')
  const costOf = (own: readonly Found[]) => billOf(own.flatMap(one => one.report.bill)).billedUsd
  const files = [...Map.groupBy(found, one => one.file).values()].sort((a, b) => costOf(b) - costOf(a))
  const until = seconds === undefined ? Number.POSITIVE_INFINITY : performance.now() + seconds * 1000
  const knobs: KnobPoint[][] = []
  for (const own of files) {
    if (performance.now() >= until) break
    const transcript = await readFound(own[0]!.file, [])
    for (const { report: one, file, copied } of own) {
      if (performance.now() >= until) break
      progress.step(`replaying for the slider  ${printable(file.path)}`)
      const session = transcript?.sessions.find(({ id }) => id === one.id)
      if (session) knobs.push(await knobOn(withCopies(session, copied), one, given))
    }
  }
  progress.done()
  return { points: addKnobs(knobs), sessions: knobs.length }
}

/** Dollars that edits have saved in the sessions of a home. */
async function savedIn(pal: Palimpsest | undefined): Promise<number> {
  if (!pal) return 0
  const { readTimeline } = await import('../../session/timelines.ts')
  const { summaryOf } = await import('../../view/totals.ts')
  let saved = 0
  for (const info of await pal.sessions({ limit: 1000 })) saved += summaryOf(await readTimeline(pal, info)).money.saved
  return Math.max(0, saved)
}

async function ownFiles(env: Io['env']): Promise<FoundFile[]> {
  const { findOwnSessions, ownFolders } = await import('../../formats/transcripts/find-sessions.ts')
  const own = await findOwnSessions(env)
  if (own.length > 0) return own.map(file => ({ ...file, named: false }))
  const places = ownFolders(env)
  throw new PalimpsestError(
    'FILE_NOT_FOUND',
    `No sessions of an agent were found in ${places.join(', ')}. Name a folder: palimpsest report DIR`,
    { places },
  )
}

async function newestFirst(paths: readonly string[]): Promise<FoundFile[]> {
  const timed = (await transcriptFiles(paths)).map(async file => {
    const time = await stat(file.path).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    )
    return { file, time }
  })
  return (await Promise.all(timed)).sort((a, b) => b.time - a.time).map(({ file }) => file)
}

type Sums = { totals: Totals; rent: Rent }

function* lines(sessions: readonly SessionReport[], { totals, rent }: Sums, paint: Paint): Generator<string> {
  if (sessions.length === 0) return
  const { calls, billedUsd, savedUsd, estimatedCalls, waste } = totals
  const bill = `${amount(sessions.length, 'session')}, ${amount(calls, 'call')}`
  const estimated = estimatedCalls === 0 ? '' : `, ${amount(estimatedCalls, 'call')} estimated`
  yield estimatedCalls === calls
    ? `${bill}, about $${billedUsd.toFixed(2)}, estimated: the recordings have no usage`
    : `${bill}, $${billedUsd.toFixed(2)} as reported by providers${estimated}`
  const share = billedUsd > 0 ? Math.round((100 * savedUsd) / billedUsd) : 0
  yield `With thrifty about $${(billedUsd - savedUsd).toFixed(2)}, ${paint.bold(`${share} % less`)}, with ${(totals.evidence * 100).toFixed(1)} % of later quotes still visible.`
  yield ''
  const habits = Object.values(waste).sort((a, b) => b.dollars - a.dollars)
  const habitRows = habits.map(({ name, times, tokens, dollars }) => {
    return [name, withCommas(times), withCommas(Math.round(tokens)), dollars.toFixed(2)]
  })
  yield* table(['HABIT', '>TIMES', '>TOKENS', '>DOLLARS'], habitRows, paint)
  yield ''
  const rentRows = rent.kind.slice(0, RENT_ROWS).map(({ name, dollars }) => [name, dollars.toFixed(2)])
  yield* table(['RENT', '>DOLLARS'], rentRows, paint)
}

const RENT_ROWS = 8
