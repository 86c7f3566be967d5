/**
 * `report`: what one's own sessions cost, where the waste is, and what Palimpsest would have saved. Everything
 * happens on this machine, and the page that it writes loads nothing from anywhere.
 */

import { stat, writeFile } from 'node:fs/promises'
import { PalimpsestError } from '../../model/errors.ts'
import { amount, withCommas } from '../../model/text.ts'
import type { SessionReport } from '../../replay/report.ts'
import { defineCommand, type Io, numberOption, reasonOf } from '../terminal/command.ts'
import { type Paint, printable, table } from '../terminal/output.ts'
import { startProgress } from '../terminal/progress.ts'
import { type FoundFile, readFound, transcriptFiles } from './transcript-files.ts'

export const report = defineCommand({
  name: 'report',
  summary: 'what your own sessions cost, where the waste is, and what would have been saved',
  usage: '[DIR...]',
  details:
    'Looks at the sessions of Claude Code, Codex, pi, opencode, Gemini CLI and Copilot CLI in your home folder, or in DIR.\n' +
    'Nothing leaves this machine: no network is used, and the page loads nothing. Explained in docs/benchmarks.md.',
  examples: ['palimpsest report', 'palimpsest report ~/.codex/sessions --out codex.html', 'palimpsest report --json'],
  options: {
    out: { type: 'string', value: 'FILE', about: 'the page to write (palimpsest-report.html)' },
    model: { type: 'string', value: 'NAME', about: 'price everything by this model instead of the recorded ones' },
    'min-calls': { type: 'string', value: 'N', about: 'leave out sessions with fewer calls of the model (1)' },
    limit: { type: 'string', value: 'N', about: 'look at no more sessions than this, the newest files first (200)' },
  },
  async run({ args, values, io }) {
    const { billsBy, reportOn, toHtml, totalsOf } = await import('../../replay/report.ts')
    const notes: string[] = []
    const files = args.length > 0 ? await newestFirst(args) : await ownFiles(io.env)
    const minCalls = numberOption(values['min-calls'], '--min-calls') ?? 1
    const limit = numberOption(values.limit, '--limit') ?? 200
    const sessions: SessionReport[] = []
    const progress = startProgress(io, files.length)
    for (const file of files) {
      progress.step(printable(file.path))
      if (sessions.length >= limit) break
      const transcript = await readFound(file, notes)
      for (const session of transcript?.sessions ?? []) {
        const calls = session.messages.filter(({ role }) => role === 'assistant').length
        if (calls < minCalls || sessions.length >= limit) continue
        const model = values.model ?? session.model
        sessions.push(await reportOn(session, { format: transcript!.format, ...(model ? { model } : {}) }))
      }
    }
    progress.done()
    if (sessions.length === 0) notes.push(`There is no session with ${amount(minCalls, 'call')} or more to report on.`)
    const totals = totalsOf(sessions)
    const out = values.out ?? 'palimpsest-report.html'
    const onlyJson = 'json' in values && values.json === true && values.out === undefined
    if (sessions.length > 0 && !onlyJson) {
      await writePage(out, toHtml(sessions))
      notes.push(`The page is ${out}. Open it in a browser.`)
    }
    return { json: { totals, ...billsBy(sessions), sessions }, text: paint => lines(sessions, totals, paint), notes }
  },
})

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

async function writePage(path: string, html: string): Promise<void> {
  await writeFile(path, html).catch(cause => {
    throw new PalimpsestError('PATH_REFUSED', `Cannot write ${path}: ${reasonOf(cause)}.`, { path }, cause)
  })
}

function* lines(
  sessions: readonly SessionReport[],
  totals: ReturnType<typeof import('../../replay/report.ts').totalsOf>,
  paint: Paint,
): Generator<string> {
  if (sessions.length === 0) return
  const { calls, billedUsd, savedUsd, estimatedCalls, waste } = totals
  const bill = `${amount(sessions.length, 'session')}, ${amount(calls, 'call')}`
  const estimated = estimatedCalls === 0 ? '' : `, ${amount(estimatedCalls, 'call')} estimated`
  yield estimatedCalls === calls
    ? `${bill}, about $${billedUsd.toFixed(2)}, estimated: the recordings have no usage`
    : `${bill}, $${billedUsd.toFixed(2)} as reported by providers${estimated}`
  const share = billedUsd > 0 ? Math.round((100 * savedUsd) / billedUsd) : 0
  yield `With thrifty about $${(billedUsd - savedUsd).toFixed(2)}, ${paint.bold(`${share} % less`)}, with ${(totals.evidence * 100).toFixed(1)} % of what was quoted later still in view.`
  yield ''
  const columns = [
    { name: 'WASTE' },
    { name: 'TIMES', right: true },
    { name: 'TOKENS', right: true },
    { name: 'DOLLARS', right: true },
  ]
  const rows = Object.values(waste).map(({ name, times, tokens, dollars: cost }) => [
    name,
    withCommas(times),
    withCommas(tokens),
    cost.toFixed(2),
  ])
  yield* table(columns, rows, paint)
}
