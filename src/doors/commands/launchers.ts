/**
 * Starts an agent when the service is down: a script of the agent's name in `~/.palimpsest/bin`. It checks the
 * service first; if there is no answer, it starts the agent with its former addresses for that run. It does not use
 * Palimpsest, so it works when Palimpsest itself is gone.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findProgram } from '../../files/programs.ts'
import type { Environment } from '../../model/defaults.ts'
import { PROVIDERS } from '../proxy/upstream.ts'
import { launchOf } from './agents.ts'
import { type Installed, userFolder } from './installed.ts'

export async function writeLaunchers({ service, agents }: Installed, env: Environment): Promise<string> {
  const bin = join(userFolder(env), 'bin')
  if (!service || process.platform === 'win32') return bin
  await mkdir(bin, { recursive: true, mode: 0o700 })
  for (const name of Object.keys(agents)) {
    const folder = join(userFolder(env), 'direct', name)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const around = { ...env, PATH: env['PATH']?.replaceAll(`${bin}:`, '') }
    const bases = { ...PROVIDERS, ...service.upstreams }
    const launch = await launchOf(name, { bases, args: [], env: around, folder })
    const told = Object.entries(launch.env).filter(([key, value]) => around[key as keyof typeof around] !== value)
    const script = scriptOf({
      url: service.url,
      name,
      bin,
      told,
      args: launch.args,
      program: findProgram(name, around),
    })
    await rm(join(bin, name), { force: true })
    await writeFile(join(bin, name), script, { mode: 0o755 })
  }
  return bin
}

export async function removeLaunchers(names: readonly string[], env: Environment): Promise<void> {
  for (const name of names) {
    await rm(join(userFolder(env), 'bin', name), { force: true })
    await rm(join(userFolder(env), 'direct', name), { recursive: true, force: true })
  }
}

type Script = {
  url: string
  name: string
  bin: string
  told: [string, string | undefined][]
  args: readonly string[]
  program: string | undefined
}

function scriptOf({ url, name, bin, told, args, program }: Script): string {
  const check = `fetch("${url}/healthz").then(a => process.exit(a.ok ? 0 : 1), () => process.exit(1))`
  const variables = told.map(([key, value]) => `export ${key}=${quoted(value ?? '')}`)
  return [
    '#!/bin/sh',
    `# Written by palimpsest install: ${name} through the service, or straight to the provider while it is down.`,
    `PATH=$(printf %s ":$PATH:" | sed 's#:${bin.replaceAll(/[#&\\.*[\]^$]/g, '\\$&').replaceAll("'", "'\\''")}:#:#g; s#^:##; s#:$##')`,
    `program=$(command -v ${name} || echo ${quoted(program ?? name)})`,
    `if ${quoted(process.execPath)} -e ${quoted(check)} 2>/dev/null; then exec "$program" "$@"; fi`,
    `echo 'palimpsest: the service does not answer, so ${name} goes straight to its provider' >&2`,
    ...variables,
    `exec "$program" ${args.map(word => `${quoted(word)} `).join('')}"$@"`,
    '',
  ].join('\n')
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}
