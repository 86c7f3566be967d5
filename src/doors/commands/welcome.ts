/**
 * `palimpsest` without arguments: lists the agents and sessions on this machine, what the last session cost and could
 * have saved, and three next steps. It shows something before it asks anything; without a session it shows the
 * sample.
 */
import { dirname, join } from 'node:path'
import type { FoundFile, OwnSession } from '../../formats/transcripts/find-sessions.ts'
import { amount } from '../../model/text.ts'
import type { Pricing, SessionReport } from '../../replay/report.ts'
import { agentName } from '../../view/names.ts'
import { type Context, defineCommand, type Report } from '../terminal/command.ts'
import { askKey } from '../terminal/confirm.ts'
import { createPaint, type Paint, printable, timeOf, wantsColour } from '../terminal/output.ts'
import { programName } from '../terminal/program.ts'

export const welcome = defineCommand({
  name: 'welcome',
  summary: 'show what the last session on this machine cost, and what to do next',
  usage: '',
  details:
    'Runs if you call palimpsest without a command. Reads the sessions that agents keep; nothing leaves the machine.',
  examples: ['palimpsest', 'palimpsest welcome --json'],
  options: {},
  async run(context) {
    const { io, home } = context
    const { settingsFor } = await import('../../session/config.ts')
    const { models = {} } = await settingsFor(home)
    const seen = await look(io.env, { models })
    const told = { steps: nextSteps(seen), program: programName(io.env) }
    const asks = 'isTTY' in io.stdin && io.stdin.isTTY === true && io.stdout.isTTY === true && !context.values.json
    if (!asks) return { json: { ...seen, next: told.steps }, text: paint => lines(seen, { ...told, paint }) }
    const paint = createPaint(wantsColour(io.env, true))
    for (const line of lines(seen, { ...told, paint })) io.stdout.write(`${line}\n`)
    const key = await askKey(io, `${told.steps.map(step => step.key).join(', ')}, or any other key to leave: `)
    const step = told.steps.find(one => one.key === key)
    return step ? take(step.command, context) : undefined
  },
})

type Seen = {
  agents: { name: string; title: string; sessions: number; isHere: boolean }[]
  /** The last session, or the sample. */
  last: Pick<
    SessionReport,
    'id' | 'format' | 'model' | 'project' | 'calls' | 'at' | 'billedUsd' | 'savedUsd' | 'evidence'
  > & {
    file: string
    isSample: boolean
    isEstimated: boolean
  }
}

/** The names of agents by their transcript formats. */
const WRITTEN: Record<string, string> = { 'claude-code': 'claude', 'gemini-cli': 'gemini' }

async function look(env: Context['io']['env'], pricing: Pricing): Promise<Seen> {
  const { findOwnSessions } = await import('../../formats/transcripts/find-sessions.ts')
  const { AGENTS } = await import('./agents.ts')
  const { findProgram } = await import('../../files/programs.ts')
  const own = await findOwnSessions(env)
  const counts = new Map<string, number>()
  for (const { agent } of own) counts.set(WRITTEN[agent] ?? agent, (counts.get(WRITTEN[agent] ?? agent) ?? 0) + 1)
  const names = new Set([...Object.keys(AGENTS), ...counts.keys()])
  const agents = [...names]
    .map(name => ({
      name,
      title: AGENTS[name]?.title ?? agentName(name),
      sessions: counts.get(name) ?? 0,
      isHere: findProgram(name, env) !== undefined,
    }))
    .filter(({ sessions, isHere }) => sessions > 0 || isHere)
  return { agents, last: await lastOf(own, pricing) }
}

/** How many files are tried, newest first. A file that cannot be read, or without a model call, is skipped. */
const TRIED = 20

/** The cost of the newest session, with its segments and subagents. */
async function lastOf(own: readonly OwnSession[], pricing: Pricing): Promise<Seen['last']> {
  const { SAMPLE_FILE } = await import('../../session/sample.ts')
  for (const newest of [...own.slice(0, TRIED), { path: SAMPLE_FILE }]) {
    const [file, ...agents] = familyOf(newest, own)
    const reports = await reportsOn(file!, own, pricing)
    if (reports.length === 0) continue
    for (const agent of agents) reports.push(...(await reportsOn(agent, own, pricing)))
    const [main] = reports.toSorted((a, b) => Number(a.isSubagent) - Number(b.isSubagent) || b.calls - a.calls)
    if (!main) continue
    const { totalsOf } = await import('../../replay/report.ts')
    const { sum } = await import('../../replay/account.ts')
    const { calls, billedUsd, savedUsd, estimatedCalls } = totalsOf(reports)
    const [kept, quotes] = [sum(reports.map(one => one.evidence.kept)), sum(reports.map(one => one.evidence.quotes))]
    const { id, format, project, model } = main
    const at = Math.min(...reports.map(one => one.at))
    return {
      ...{ id, format, model, project, calls, at, billedUsd, savedUsd },
      evidence: { kept, quotes },
      file: file!.path,
      isSample: file!.path === SAMPLE_FILE,
      isEstimated: estimatedCalls > 0 || reports.some(({ assumed }) => assumed.length > 0),
    }
  }
  throw new Error('the sample cannot be read')
}

/** Claude Code keeps the files of subagents in a folder with the name of the session: `<session>/subagents/…`. */
function familyOf(newest: FoundFile, own: readonly OwnSession[]): FoundFile[] {
  const folder = /^(.*)[/\\]subagents[/\\][^/\\]+$/.exec(newest.path)?.[1]
  const main = folder === undefined ? newest : (own.find(({ path }) => path === `${folder}.jsonl`) ?? newest)
  const agents = join(main.path.replace(/\.jsonl$/, ''), 'subagents')
  return [main, ...own.filter(({ path }) => dirname(path) === agents)]
}

/** Reports on the sessions of a file that made calls. Calls that were copied from another file do not count. */
async function reportsOn(file: FoundFile, own: readonly OwnSession[], pricing: Pricing): Promise<SessionReport[]> {
  const { copiesIn, readFound } = await import('./transcript-files.ts')
  const { withCopies } = await import('../../session/copied-calls.ts')
  const { reportOn } = await import('../../replay/report.ts')
  const asked = { ...file, named: false }
  const read = await readFound(asked, []).catch(() => undefined)
  if (!read) return []
  const isCopy = read.sessions.some(({ forkedAt }) => forkedAt !== undefined)
  const beside = own.filter(({ path }) => path !== file.path && dirname(path) === dirname(file.path))
  const kin = isCopy ? beside.map(other => ({ ...other, named: false })) : []
  const copies = (await copiesIn([asked, ...kin])).get(asked)
  const sessions = read.sessions.map((session, i) => withCopies(session, copies?.[i]))
  const reports: SessionReport[] = []
  for (const session of sessions.filter(({ messages }) => messages.some(({ role }) => role === 'assistant')))
    reports.push(await reportOn(session, { format: read.format, ...pricing }))
  return reports.filter(({ calls }) => calls > 0)
}

type Step = { key: string; what: string; command: string[] }

function nextSteps({ agents, last }: Seen): Step[] {
  const agent = agents.find(({ name, isHere }) => isHere && name !== 'aider')?.name ?? 'claude'
  return [
    { key: 'l', what: 'look at it', command: last.isSample ? ['serve', '--sample'] : ['import', last.file] },
    { key: 't', what: 'try one run', command: ['run', '--', agent] },
    { key: 'i', what: 'install', command: ['install', agent] },
  ]
}

type Told = { steps: readonly Step[]; program: string; paint: Paint }

function* lines({ agents, last }: Seen, { steps, program, paint }: Told): Generator<string> {
  const named = agents.map(({ title, sessions }) =>
    sessions > 0 ? `${title} (${amount(sessions, 'session')})` : title,
  )
  yield named.length > 0 ? `On this machine: ${named.join(', ')}` : 'No agents were found on this machine.'
  yield ''
  const { calls, billedUsd, savedUsd, evidence, isEstimated } = last
  const where = last.project === '' ? '' : ` in ${printable(last.project)}`
  const when = last.at > 0 ? `, ${timeOf(last.at)}` : ''
  yield last.isSample
    ? `No agent has a session here yet, so this is the sample: ${amount(calls, 'call')} of ${printable(last.model)}.`
    : `The last session: ${agentName(last.format)}${where}${when}, ${amount(calls, 'call')} of ${printable(last.model)}.`
  const share = billedUsd > 0 ? Math.round((100 * savedUsd) / billedUsd) : 0
  const kept =
    evidence.quotes > 0
      ? ` ${((100 * evidence.kept) / evidence.quotes).toFixed(1)} % of what it quoted later stays in view.`
      : ''
  yield `It cost ${isEstimated ? 'about ' : ''}$${billedUsd.toFixed(2)}. With Palimpsest ${paint.bold(`$${(billedUsd - savedUsd).toFixed(2)}, ${share} % less`)}.${kept}`
  if (share <= 0) yield 'Short sessions have little to save; the saving grows with their length.'
  yield ''
  for (const { key, what, command } of steps) {
    yield `  ${paint.bold(key)}  ${what.padEnd(12)} ${paint.dim(`${program} ${command.join(' ')}`)}`
  }
}

/** Runs the chosen command in this process. A session to look at is imported and served. */
async function take([name, ...args]: readonly string[], context: Context): Promise<Report | undefined> {
  if (name === 'run') return (await import('./run.ts')).runAgent.run({ ...context, args: args.slice(1) })
  if (name === 'install') return (await import('./install.ts')).install.run({ ...context, args: [...args] })
  const { serve } = await import('./serve.ts')
  if (name === 'serve')
    return serve.run({ ...context, args: [], values: { sample: true } as unknown as Context['values'] })
  await (await import('./import.ts')).importFiles.run({ ...context, args: [...args] })
  return serve.run({ ...context, args: [], values: {} })
}
