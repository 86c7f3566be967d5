/**
 * `palimpsest run -- claude …`: runs an agent with the proxy in front of its model, for this one run. The proxy takes
 * a free port, the agent gets the terminal, and at the end one line reports the savings. The agent's exit code is
 * ours.
 */
import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { PalimpsestError } from '../../model/errors.ts'
import { amount, asDollars } from '../../model/text.ts'
import type { Totals } from '../proxy/proxy.ts'
import { defineCommand } from '../terminal/command.ts'
import { warnOfReaders } from '../terminal/home-readers.ts'
import type { Agent, Launch } from './agents.ts'
import { waitingNote } from './memory-desk.ts'
import { PROXY_OPTIONS, proxyOptionsFrom } from './proxy-options.ts'

export const runAgent = defineCommand({
  name: 'run',
  summary: 'run an agent through the proxy',
  usage: 'AGENT [ARGUMENTS...]',
  details: [
    'Knows claude, codex, opencode, pi, gemini, aider and qwen; other programs get the usual environment variables.',
    'Put -- before the agent, so that its own options are not read as options of palimpsest.',
  ].join('\n'),
  examples: ['palimpsest run -- claude', 'palimpsest run --policy thrifty -- codex exec "fix the tests"'],
  options: PROXY_OPTIONS,
  async run({ args: [command = '', ...args], values, io, open, home }) {
    const { mkdtemp, rm } = await import('node:fs/promises')
    const { tmpdir } = await import('node:os')
    const { join } = await import('node:path')
    const { createProxy } = await import('../proxy/proxy.ts')
    const { serveProxy } = await import('../proxy/front.ts')
    const { agentNamed, basesAt, launchOf, upstreamsOf } = await import('./agents.ts')
    const { upstreamsBehind } = await import('./installed.ts')
    const { openMemory } = await import('../../memory/open.ts')
    const { workspacesSeen } = await import('../../session/workspaces.ts')
    warnOfReaders(home, io)
    const agent = agentNamed(command)
    const faults: string[] = []
    const { workspaceIn } = await import('../../memory/workspace.ts')
    const opened = await open({ create: true, threaded: true })
    const place = { home, env: io.env, files: opened.files }
    const memory =
      values.memory === undefined ? undefined : await openMemory({ ...place, workspaceOf: await workspacesSeen(place) })
    const proxy = createProxy({
      pal: values.workspace ? opened.with({ workspace: workspaceIn(io.env, { files: opened.files }) }) : opened,
      log: line => faults.push(line),
      ...(await proxyOptionsFrom(values, {
        env: io.env,
        files: opened.files,
        settings: opened.settings,
        memory: async () => memory!,
        upstreams: await upstreamsBehind(agent ? upstreamsOf(agent, io.env) : {}, io.env),
      })),
    })
    const front = await serveProxy(proxy)
    const folder = await mkdtemp(join(tmpdir(), 'palimpsest-run-'))
    try {
      const launch = await launchOf(command, { bases: basesAt(front.url), args, env: io.env, folder })
      const exit = await runIt(launch, agent)
      await proxy.idle()
      const totals = await proxy.totals()
      const waiting = memory && (await memory.proposals(values.memory!, { state: 'open', limit: 100 })).length
      const notes = [runSummary(totals), ...(waiting ? [waitingNote(waiting)] : []), ...faults.slice(0, 5)]
      return { json: { exit, ...totals, faults }, text: () => '', notes, exit }
    } finally {
      await front.close()
      await memory?.close()
      await rm(folder, { recursive: true, force: true })
    }
  },
})

/** The savings of a run in one line. The provider's own caching does not count. */
export function runSummary({
  calls,
  passed,
  tokensIn,
  tokensSent,
  saved,
  edits,
  cost,
}: Pick<Totals, 'calls' | 'passed' | 'tokensIn' | 'tokensSent' | 'saved' | 'edits' | 'cost'>): string {
  if (calls === 0 && passed === 0) return 'palimpsest: no model calls went through the proxy'
  if (calls === 0) return `palimpsest: ${amount(passed, 'request')} passed through the proxy unrecorded`
  const less = tokensIn > 0 ? Math.round((1 - tokensSent / tokensIn) * 100) : 0
  const money = `${saved < 0 ? 'lost' : 'saved'} ${asDollars(Math.abs(saved))} of ${asDollars(cost + Math.max(0, saved))}`
  const sums = `${short(tokensIn)} tokens came in, ${short(tokensSent)} were sent (${Math.abs(less)}% ${less < 0 ? 'more' : 'less'})`
  return `palimpsest: ${amount(calls, 'call')}, ${amount(edits, 'edit')}; ${sums}; ${money} by the price table, including cache costs`
}

function short(tokens: number): string {
  if (tokens < 1000) return `${Math.round(tokens)}`
  return tokens < 1_000_000 ? `${(tokens / 1000).toFixed(1)}k` : `${(tokens / 1_000_000).toFixed(2)}M`
}

function runIt({ command, args, env }: Launch, agent: Agent | undefined): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: 'inherit' })
    // Ctrl-C reaches the agent directly, and the agent decides what to do.
    const stay = () => {}
    const end = () => child.kill('SIGTERM')
    process.on('SIGINT', stay).on('SIGTERM', end)
    child.on('error', cause => reject(notStarted(command, agent, cause)))
    child.on('exit', (code, signal) => {
      process.off('SIGINT', stay).off('SIGTERM', end)
      resolve(code ?? 128 + (signal ? constants.signals[signal] : 0))
    })
  })
}

function notStarted(command: string, agent: Agent | undefined, cause: Error): PalimpsestError {
  const isMissing = 'code' in cause && cause.code === 'ENOENT'
  const message =
    isMissing && agent
      ? `${agent.title} is not installed: ${command} was not found. Get it with: ${agent.get}`
      : `Cannot start ${command}: ${isMissing ? 'there is no such program' : cause.message}.`
  return new PalimpsestError('INVALID_INPUT', message, { command }, cause)
}
