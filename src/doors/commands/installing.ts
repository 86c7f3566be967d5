/**
 * The steps of `install` and `uninstall`: choosing agents, planning the service, the diff, the test call, and the
 * end.
 */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { findProgram, freePort } from '../../files/programs.ts'
import { DEFAULT_PORT, type Environment } from '../../model/defaults.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { headOf, trimEndOf } from '../../model/text.ts'
import { PROVIDERS, type UpstreamName, type Upstreams } from '../proxy/upstream.ts'
import type { Io } from '../terminal/command.ts'
import { createPaint, wantsColour } from '../terminal/output.ts'
import { AGENTS, onlySet, textAt, upstreamsIn, upstreamsOf } from './agents.ts'
import { type Installed, type InstalledService, ownProgram, type SettingsChange, userFolder } from './installed.ts'
import {
  isPortTaken,
  lingerHint,
  type ServiceKind,
  type ServiceSpec,
  serviceKind,
  startService,
  stopService,
  untilHealthy,
} from './service.ts'

const FOLLOW_MS = 300

export const installable = Object.keys(AGENTS).filter(name => AGENTS[name]!.settings)

/** The chosen agents: by name, or all that are on this machine. */
export function chosen(args: readonly string[], all: boolean, env: Environment): string[] {
  const unknown = args.find(name => !installable.includes(name))
  if (unknown !== undefined) {
    const hint = Object.hasOwn(AGENTS, unknown)
      ? `${AGENTS[unknown]!.title} has no setting for the address of its provider: use palimpsest run -- ${unknown}`
      : `Supported agents: ${installable.join(', ')}.`
    throw new PalimpsestError('INVALID_INPUT', `${unknown} cannot be installed. ${hint}`, { unknown })
  }
  if (!all && args.length > 0) return [...new Set(args)]
  const here = installable.filter(name => findProgram(name, env))
  if (all && here.length > 0) return here
  const found = here.length > 0 ? `Found on this machine: ${here.join(', ')}.` : 'None of them was found on the PATH.'
  throw new PalimpsestError('INVALID_INPUT', `Name an agent (${installable.join(', ')}) or use --all. ${found}`, {
    here,
  })
}

type Planning = { names: readonly string[]; env: Environment; home: string | undefined; port: number | undefined }

/** The planned service: the existing one, with the upstreams of these agents. */
export async function planService(installed: Installed, given: Planning): Promise<InstalledService> {
  const { names, env, home, port } = given
  const before = installed.service
  const folder = userFolder(env)
  const chosenPort = port ?? before?.port ?? ((await isPortTaken(DEFAULT_PORT)) ? await freePort() : DEFAULT_PORT)
  const url = `http://127.0.0.1:${chosenPort}`
  const upstreams = joined(
    names.map(name => [name, ownUpstreams(name, env, [url, before?.url])]),
    before?.upstreams ?? {},
  )
  const at = resolve(home ?? before?.home ?? join(folder, 'home'))
  const flags = Object.entries(upstreams).flatMap(([name, upstream]) => [`--${name}-upstream`, upstream])
  const command = [...ownProgram(), 'serve', '--port', String(chosenPort), '--home', at, ...flags]
  const kind = before?.kind ?? (await serviceKind(env))
  return { url, port: chosenPort, home: at, kind, command, upstreams, ...(before?.pid ? { pid: before.pid } : {}) }
}

/** The agent's present address, if it is neither the provider's own nor ours. */
function ownUpstreams(name: string, env: Environment, ours: readonly (string | undefined)[]): Partial<Upstreams> {
  const providers = AGENTS[name]!.addresses(PROVIDERS).map(({ provider }) => provider)
  const named = { ...upstreamsIn(env), ...upstreamsOf(AGENTS[name]!, env) }
  const isOurs = (url: string) => ours.some(own => own !== undefined && url.startsWith(`${own}/`))
  return onlySet(
    Object.fromEntries(
      providers.map(provider => {
        const url = trimEndOf(named[provider] ?? '', '/')
        const isDefault = withoutVersion(url) === withoutVersion(PROVIDERS[provider])
        return [provider, isDefault || isOurs(url) ? undefined : url]
      }),
    ),
  )
}

function withoutVersion(url: string): string {
  return url.replace(/\/v1$/, '')
}

/** A service has one address per provider: two agents with different addresses cannot share it. */
function joined(wanted: [string, Partial<Upstreams>][], before: Partial<Upstreams>): Partial<Upstreams> {
  const all: Partial<Upstreams> = { ...before }
  for (const [name, upstreams] of wanted) {
    for (const [provider, url] of Object.entries(upstreams) as [UpstreamName, string][]) {
      const other = all[provider]
      if (other !== undefined && withoutVersion(other) !== withoutVersion(url)) {
        const message = `${name} uses ${url}, other agents use ${other}, and the service can have only one address for ${provider}.`
        throw new PalimpsestError('CONFLICT', `${message} Use palimpsest run -- ${name} for this one.`, { name, url })
      }
      all[provider] = url
    }
  }
  return all
}

/** The planned changes, as diffs. */
export async function shownChanges(
  changes: readonly [string, SettingsChange][],
  service: InstalledService,
  io: Io,
): Promise<string> {
  const { createTwoFilesPatch } = await import('diff')
  const paint = createPaint(wantsColour(io.env, io.stdout.isTTY === true))
  const lines = changes.flatMap(([, { file, before, after }]) =>
    createTwoFilesPatch(before === undefined ? '/dev/null' : file, file, before ?? '', after, undefined, undefined, {
      context: 2,
    })
      .split('\n')
      .filter(line => !/^=+$|^Index: /.test(line)),
  )
  const painted = lines.map(line => {
    if (line.startsWith('+')) return paint.green(line)
    return line.startsWith('-') ? paint.red(line) : line
  })
  const what = changes.length === 0 ? ['The settings need no change.', ''] : painted
  return [`Service: ${service.url}, home ${service.home} (${service.kind})`, ...what].join('\n')
}

export const serviceLog = (env: Environment) => join(userFolder(env), 'service.log')

const specOf = ({ command }: InstalledService, env: Environment): ServiceSpec => ({ command, log: serviceLog(env) })

/** Starts the service as planned, unless it already runs. Gives a message about it. */
export async function startIt(service: InstalledService, installed: Installed, env: Environment): Promise<string[]> {
  const spec = specOf(service, env)
  const isSame = installed.service?.command.join('\0') === service.command.join('\0')
  if (!isSame || !(await isPortTaken(service.port))) {
    const { pid: before, ...planned } = service
    const pid = await startService(service.kind, spec, { env, before })
    installed.service = { ...planned, ...(pid === undefined ? {} : { pid }) }
  }
  if (!(await untilHealthy(service.url))) {
    const said = textAt(spec.log).trimEnd().split('\n').slice(-3).join(' / ')
    throw new PalimpsestError('UNSUPPORTED', `The service does not answer at ${service.url}: ${said}`, {
      log: spec.log,
    })
  }
  const notes = [lingerHint(service.kind)].filter(note => note !== undefined)
  if (service.command[1]!.includes('_npx')) {
    notes.push(
      'It runs from the cache of npx, which may be emptied. For a permanent installation: npm install -g palimpsest',
    )
  }
  return notes
}

export async function endService(installed: Installed, env: Environment): Promise<void> {
  const { service } = installed
  if (!service) return
  await stopService(service.kind, specOf(service, env), { env, pid: service.pid })
  delete installed.service
}

const LISTS: Record<UpstreamName, string> = { anthropic: '/v1/models', openai: '/models', gemini: '/v1beta/models' }

/** Asks each provider for its models, through the service, without a key. Any answer counts as success. */
export async function testCalls(changes: readonly [string, SettingsChange][], bases: Upstreams): Promise<string[]> {
  const providers = new Set(changes.flatMap(([, { addresses }]) => addresses.map(({ provider }) => provider)))
  const said: string[] = []
  for (const provider of providers) {
    const url = bases[provider] + LISTS[provider]
    const answer = await fetch(url, { headers: provider === 'anthropic' ? { 'anthropic-version': '2023-06-01' } : {} })
    const text = await answer.text()
    if (answer.status === 502) {
      const reason = /"message":"([^"]+?)\.?"/.exec(text)?.[1] ?? headOf(text, 200)
      const message = `The test call to ${provider} through the service failed: ${reason}.`
      throw new PalimpsestError(
        'UNSUPPORTED',
        `${message} Nothing was changed. To install without this test: --no-test`,
        { url },
      )
    }
    said.push(`${provider} answered through the service (${answer.status})`)
  }
  return said
}

export function* fallbackLines(names: readonly string[], kind: ServiceKind, bin: string): Generator<string> {
  if (kind === 'process') yield 'This machine has no service manager, so the service is not restarted when it dies.'
  yield 'If an agent makes a call while the service is down, it:'
  for (const name of names) yield `  ${AGENTS[name]!.title}: ${AGENTS[name]!.whenDown}`
  if (process.platform !== 'win32') {
    yield `An agent started from ${bin} goes straight to the provider then. Put this folder first: export PATH="${bin}:$PATH"`
  }
}

/** Prints what is added to a file, until the process is ended. */
export async function follow(path: string, from: number, io: Io): Promise<never> {
  for (let at = from; ; await wait(FOLLOW_MS)) {
    const { size } = await stat(path)
    if (size < at) at = 0
    if (size === at) continue
    for await (const chunk of createReadStream(path, { start: at, end: size - 1 })) io.stdout.write(String(chunk))
    at = size
  }
}
