/**
 * `install`, `uninstall`, `status` and `logs`: agents that always go through Palimpsest. Changes to an agent's
 * settings are shown as a diff first, and a copy is kept. Nothing is changed before the service answers and a call
 * through it has reached the provider.
 */
import { DEFAULT_PORT } from '../../model/defaults.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { defineCommand, numberOption } from '../terminal/command.ts'
import { confirm } from '../terminal/confirm.ts'
import type { Paint } from '../terminal/output.ts'
import { programName } from '../terminal/program.ts'
import type { Installed, SettingsChange, TakenBack } from './installed.ts'

export const install = defineCommand({
  name: 'install',
  summary: 'connect agents to Palimpsest permanently',
  usage: '[AGENT...]',
  details: [
    'Agents are claude, codex, opencode, pi, gemini and qwen; --all means those found on this machine. Shows what',
    'changes in the settings of each, asks, starts the server as a service of your user, makes a test call through it, and',
    'only then writes the settings. palimpsest uninstall restores them byte for byte.',
  ].join('\n'),
  examples: ['palimpsest install claude', 'palimpsest install --all --yes', 'palimpsest install codex --dry-run'],
  options: {
    all: { type: 'boolean', about: 'every agent found on this machine' },
    yes: { type: 'boolean', short: 'y', about: 'do not ask' },
    'dry-run': { type: 'boolean', about: 'only show what would change' },
    'no-test': { type: 'boolean', about: 'skip the test call, if the provider cannot be reached now' },
    port: {
      type: 'string',
      short: 'p',
      value: 'N',
      about: `the port of the service (${DEFAULT_PORT}, or a free one)`,
    },
  },
  async run({ args, values, io }) {
    const { AGENTS, basesAt } = await import('./agents.ts')
    const { readInstalled, writeInstalled, changeFor, applyChange } = await import('./installed.ts')
    const steps = await import('./installing.ts')
    const names = steps.chosen(args, values.all === true, io.env)
    const installed = await readInstalled(io.env)
    const home = values.home ?? io.env['PALIMPSEST_HOME']
    const port = numberOption(values.port, '--port')
    const service = await steps.planService(installed, { names, env: io.env, home, port })
    const bases = basesAt(service.url)
    const changes: [string, SettingsChange][] = []
    for (const name of names) changes.push([name, await changeFor(AGENTS[name]!, bases, io.env)])
    const differs = changes.filter(([, { before, after }]) => before !== after)
    io.stderr.write(await steps.shownChanges(differs, service, io))
    const isRefused = values['dry-run'] || (!values.yes && !(await confirm(io, 'Change these settings?')))
    if (isRefused) return { json: { agents: [], url: service.url }, text: () => 'Nothing was changed.\n', exit: 1 }
    const notes = await steps.startIt(service, installed, io.env)
    await writeInstalled(io.env, installed)
    const tested = values['no-test']
      ? []
      : await steps.testCalls(changes, bases).catch(async error => {
          if (Object.keys(installed.agents).length === 0) await steps.endService(installed, io.env)
          await writeInstalled(io.env, installed)
          throw error
        })
    for (const [name] of differs) {
      const given = { agent: AGENTS[name]!, bases, env: io.env, earlier: installed.agents[name] }
      installed.agents[name] = await applyChange(name, given)
      await writeInstalled(io.env, installed)
    }
    const { writeLaunchers } = await import('./launchers.ts')
    const bin = await writeLaunchers(installed, io.env)
    return {
      json: { agents: names, url: service.url, tested, launchers: bin },
      *text(paint) {
        yield* tested
        for (const name of names)
          yield `${paint.green('installed')}: ${AGENTS[name]!.title} goes through ${service.url}`
        yield* steps.fallbackLines(names, service.kind, bin)
        yield `Web UI: ${service.url}    To remove it: ${programName(io.env)} uninstall`
      },
      notes,
    }
  },
})

export const uninstall = defineCommand({
  name: 'uninstall',
  summary: 'restore the settings of agents',
  usage: '[AGENT...]',
  details: 'Without a name: every agent, and the service. Recorded sessions stay in the home of the service.',
  examples: ['palimpsest uninstall', 'palimpsest uninstall claude --yes'],
  options: { yes: { type: 'boolean', short: 'y', about: 'do not ask' } },
  async run({ args, values, io }) {
    const { readInstalled, takeBack, writeInstalled } = await import('./installed.ts')
    const installed = await readInstalled(io.env)
    const there = Object.keys(installed.agents)
    const names = args.length === 0 ? there : args
    const missing = names.find(name => !there.includes(name))
    if (missing !== undefined) {
      throw new PalimpsestError('INVALID_INPUT', `${missing} is not installed. See: palimpsest status`, { missing })
    }
    if (names.length === 0 && !installed.service) {
      return { json: { agents: {} }, text: () => 'Nothing is installed.\n' }
    }
    const files = names.map(name => `  ${installed.agents[name]!.file}`).join('\n')
    io.stderr.write(`These settings will be restored:\n${files}\n`)
    if (!values.yes && !(await confirm(io, 'Restore them?'))) {
      return { json: { agents: {} }, text: () => 'Nothing was changed.\n', exit: 1 }
    }
    const done: Record<string, TakenBack> = {}
    for (const name of names) {
      done[name] = await takeBack(installed.agents[name]!)
      delete installed.agents[name]
      await writeInstalled(io.env, installed)
    }
    const { removeLaunchers } = await import('./launchers.ts')
    await removeLaunchers(names, io.env)
    const kept = installed.service?.home
    if (Object.keys(installed.agents).length === 0)
      await (await import('./installing.ts')).endService(installed, io.env)
    await writeInstalled(io.env, installed)
    return {
      json: { agents: done },
      *text() {
        for (const [name, how] of Object.entries(done)) yield `${name}: ${TAKEN_BACK[how]}`
        if (kept !== undefined && !installed.service)
          yield `The service was stopped. Its recorded sessions are in ${kept}`
      },
    }
  },
})

const TAKEN_BACK: Record<TakenBack, string> = {
  restored: 'settings restored, byte for byte',
  removed: 'settings file removed; Palimpsest had created it',
  'taken out': 'settings have changed since; only the addresses of Palimpsest were removed',
  'changed since': 'settings have changed since and were left alone',
}

export const status = defineCommand({
  name: 'status',
  summary: 'show the state of the service and which agents use it',
  usage: '',
  examples: ['palimpsest status', 'palimpsest status --json'],
  options: {},
  async run({ io }) {
    const { readInstalled, isInPlace } = await import('./installed.ts')
    const { isHealthy } = await import('./service.ts')
    const { AGENTS } = await import('./agents.ts')
    const { findProgram } = await import('../../files/programs.ts')
    const { service, agents } = await readInstalled(io.env)
    const healthy = service ? await isHealthy(service.url) : false
    const rows: StatusRow[] = []
    for (const [name, { title, settings }] of Object.entries(AGENTS)) {
      if (!settings) continue
      const of = agents[name]
      const state = !of ? 'not installed' : (await isInPlace(of)) ? 'installed' : 'changed since'
      rows.push({ name, title, state, program: findProgram(name, io.env) ?? null, file: settings(io.env).path })
    }
    return {
      json: { service: service ? { ...service, healthy } : null, agents: rows },
      text: paint => statusLines({ service, healthy, rows, paint, program: programName(io.env) }),
      exit: service && !healthy ? 1 : 0,
    }
  },
})

type StatusRow = { name: string; title: string; state: string; program: string | null; file: string }

function* statusLines(given: {
  service: Installed['service']
  healthy: boolean
  rows: StatusRow[]
  paint: Paint
  program: string
}): Generator<string> {
  const { service, healthy, rows, paint, program } = given
  if (!service) yield `service  none. Install it: ${program} install --all`
  else {
    yield `service  ${healthy ? paint.green('running') : paint.red('does not answer')} at ${service.url} (${service.kind})`
    yield `home     ${service.home}`
    if (!healthy) yield `See why: ${program} logs    Restart it: ${program} install AGENT`
  }
  for (const { name, title, state, program: found } of rows) {
    if (state === 'not installed' && found === null) continue
    const hint = state === 'not installed' ? `  ${program} install ${name}` : ''
    yield `${title.padEnd(12)} ${state === 'installed' ? paint.green(state) : state}${paint.dim(hint)}`
  }
}

export const logs = defineCommand({
  name: 'logs',
  summary: 'show the log of the service',
  usage: '',
  examples: ['palimpsest logs', 'palimpsest logs --lines 200 --follow'],
  options: {
    lines: { type: 'string', short: 'n', value: 'N', about: 'the last N lines (50)' },
    follow: { type: 'boolean', short: 'f', about: 'keep printing until Ctrl-C' },
  },
  async run({ values, io }) {
    const { existsSync } = await import('node:fs')
    const { readFile } = await import('node:fs/promises')
    const { follow, serviceLog } = await import('./installing.ts')
    const log = serviceLog(io.env)
    if (!existsSync(log)) {
      throw new PalimpsestError('FILE_NOT_FOUND', `There is no log at ${log}: no service is installed.`, { log })
    }
    const { printable } = await import('../terminal/output.ts')
    const text = await readFile(log, 'utf8')
    const last = text
      .trimEnd()
      .split('\n')
      .slice(-(numberOption(values.lines, '--lines') ?? 50))
    if (!values.follow) return { json: last, text: () => last.map(line => printable(line)) }
    io.stdout.write(`${last.join('\n')}\n`)
    await follow(log, Buffer.byteLength(text), io)
    return undefined
  },
})
