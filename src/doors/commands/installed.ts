/**
 * The record of what `install` changed, so that `uninstall` can undo it: in `~/.palimpsest`, the old settings of each
 * agent, and which service was started.
 *
 * Guarantee: settings that were not changed since are restored byte for byte. If they were changed, only the
 * addresses that we wrote are removed, each if it is still ours.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile, realpath, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import {
  depthOfSetting,
  rawSetting,
  readSetting,
  removeSetting,
  type SettingPath,
  type SettingsForm,
  writeRawSetting,
} from '../../files/settings-text.ts'
import type { Environment } from '../../model/defaults.ts'
import { parseJson } from '../../model/json.ts'
import type { Upstreams } from '../proxy/upstream.ts'
import { type Address, type Agent, homeOf, withAddresses } from './agents.ts'
import type { ServiceKind } from './service.ts'

export type InstalledService = {
  url: string
  port: number
  home: string
  kind: ServiceKind
  command: string[]
  /** The agents' former addresses, if they were not the providers' own. */
  upstreams: Partial<Upstreams>
  /** Set if no service manager runs the service. */
  pid?: number
}

export type InstalledAgent = {
  file: string
  form: SettingsForm
  /** The copy of the old file; null if there was none. */
  backup: string | null
  /** Folders that were created for it, innermost first. */
  made: string[]
  /** The hash of the file as we wrote it. */
  after: string
  /** `depth`: how many of the objects around a value existed before. */
  settings: { at: SettingPath; value: string; before: string | null; depth: number }[]
}

export type Installed = { service?: InstalledService; agents: Record<string, InstalledAgent> }

export function userFolder(env: Environment): string {
  return join(homeOf(env), '.palimpsest')
}

const stateFile = (env: Environment) => join(userFolder(env), 'installed.json')

export async function readInstalled(env: Environment): Promise<Installed> {
  const path = stateFile(env)
  return existsSync(path) ? parseJson<Installed>(await readFile(path, 'utf8')) : { agents: {} }
}

export async function writeInstalled(env: Environment, installed: Installed): Promise<void> {
  const path = stateFile(env)
  if (installed.service || Object.keys(installed.agents).length > 0) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeWhole(path, Buffer.from(`${JSON.stringify(installed, null, 2)}\n`))
  } else await rm(path, { force: true })
}

/** Addresses from an agent's settings. The address of our own service is replaced by the service's upstream. */
export async function upstreamsBehind(upstreams: Partial<Upstreams>, env: Environment): Promise<Partial<Upstreams>> {
  const { service } = await readInstalled(env)
  const isOurs = (url: string) => service !== undefined && url.startsWith(`${service.url}/`)
  const behind = Object.entries(upstreams).filter(([, url]) => !isOurs(url))
  return { ...service?.upstreams, ...Object.fromEntries(behind) }
}

export type SettingsChange = {
  file: string
  form: SettingsForm
  before: string | undefined
  after: string
  addresses: Address[]
  /** Everything that is written, including the addresses. */
  settings: { at: SettingPath; value: string }[]
}

/** The command that calls this program from anywhere. */
export function ownProgram(): [node: string, program: string] {
  return [process.execPath, createRequire(import.meta.url).resolve('../../../bin/palimpsest.js')]
}

export async function changeFor(agent: Agent, bases: Upstreams, env: Environment): Promise<SettingsChange> {
  const { form, path: file } = agent.settings!(env)
  const before = existsSync(file) ? await readFile(file, 'utf8') : undefined
  const addresses = agent.addresses(bases)
  const program = ownProgram()
    .map(word => JSON.stringify(word))
    .join(' ')
  const isFree = ({ at }: { at: SettingPath }) => rawSetting(form, before ?? '', at.slice(0, 1)) === undefined
  const settings = [...addresses, ...(agent.extras?.(program).filter(isFree) ?? [])]
  return { file, form, before, after: withAddresses(form, before ?? '', settings), addresses, settings }
}

/** Writes the change, and gives the record for undoing it. Changes of an earlier `install` are undone first. */
export async function applyChange(
  name: string,
  given: { agent: Agent; bases: Upstreams; env: Environment; earlier: InstalledAgent | undefined },
): Promise<InstalledAgent> {
  const { agent, bases, env, earlier } = given
  if (earlier) await takeBack(earlier)
  const { file, form, before, after, settings } = await changeFor(agent, bases, env)
  const backups = join(userFolder(env), 'backups')
  const backup = before === undefined ? null : join(backups, `${name}-${hashOf(Buffer.from(before)).slice(0, 12)}`)
  await mkdir(backups, { recursive: true, mode: 0o700 })
  if (backup !== null) await writeFile(backup, await readFile(file), { mode: 0o600 })
  const made = missingFolders(dirname(file))
  await mkdir(dirname(file), { recursive: true })
  await writeWhole(file, Buffer.from(after))
  return {
    file,
    form,
    backup,
    made,
    after: hashOf(Buffer.from(after)),
    settings: settings.map(({ at, value }) => ({
      at,
      value,
      before: rawSetting(form, before ?? '', at) ?? null,
      depth: depthOfSetting(form, before ?? '', at),
    })),
  }
}

export type TakenBack = 'restored' | 'removed' | 'taken out' | 'changed since'

/** Undoes a change, and tells how much of it was undone. */
export async function takeBack({ file, form, backup, made, after, settings }: InstalledAgent): Promise<TakenBack> {
  const now = existsSync(file) ? await readFile(file) : undefined
  if (now && hashOf(now) === after) {
    if (backup !== null) {
      await writeWhole(file, await readFile(backup))
      await rm(backup, { force: true })
      return 'restored'
    }
    await rm(file)
    for (const folder of made) await rmdir(folder).catch(() => undefined)
    return 'removed'
  }
  if (!now) return 'changed since'
  const text = now.toString()
  const ours = settings.filter(({ at, value }) => readSetting(form, text, at) === value)
  const without = ours.reduce(
    (left, { at, before, depth }) =>
      before === null ? removeSetting(form, left, at, depth) : writeRawSetting(form, left, at, before),
    text,
  )
  await writeWhole(file, Buffer.from(without))
  return ours.length > 0 ? 'taken out' : 'changed since'
}

/** Whether the settings still have the values that were written. */
export async function isInPlace({ file, form, settings }: InstalledAgent): Promise<boolean> {
  if (!existsSync(file)) return false
  const text = await readFile(file, 'utf8')
  try {
    return settings.every(({ at, value }) => readSetting(form, text, at) === value)
  } catch {
    return false
  }
}

function missingFolders(folder: string): string[] {
  return existsSync(folder) ? [] : [folder, ...missingFolders(dirname(folder))]
}

/** Writes the whole file or nothing; follows links and keeps the mode. */
async function writeWhole(path: string, bytes: Buffer): Promise<void> {
  const target = existsSync(path) ? await realpath(path) : path
  const mode = existsSync(target) ? (await stat(target)).mode & 0o777 : 0o600
  const temporary = `${target}.${process.pid}.tmp`
  await writeFile(temporary, bytes, { mode })
  await chmod(temporary, mode)
  await rename(temporary, target)
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
