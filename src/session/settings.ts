/**
 * Lists every setting with its source, and changes one in palimpsest.json: for the command `config` and the settings
 * page. The rest of the file's text is unchanged; the whole file is checked before it is written.
 */
import { join } from 'node:path'
import { changeOwnFile } from '../files/atomic.ts'
import { removeSetting, writeRawSetting } from '../files/settings-text.ts'
import { BOM } from '../files/text.ts'
import { defaultWorkspaceFolder } from '../memory/workspace.ts'
import { DEFAULT_PLANNER, type Environment } from '../model/defaults.ts'
import { isRecord, parseJson } from '../model/json.ts'
import { AGENT } from '../planner/tuning.ts'
import { ANCHOR } from '../policies/anchor.ts'
import { configPath, parseConfig, readConfig } from './config.ts'

export type SettingSource = 'default' | 'file' | 'environment' | 'flag'
export type Setting = {
  key: string
  /** The keys that lead to the setting. A list, because names of projects may contain dots. */
  path: string[]
  value: unknown
  source: SettingSource
  /** The file, the variable or the flag; null for a default. */
  from: string | null
}

export type SettingsGiven = {
  home: string
  env: Environment
  /** Values from the command line by key, with the flag that set them. */
  flags?: Record<string, { value: unknown; flag: string }>
  /** The default addresses of providers. */
  upstreams: Readonly<Record<string, string>>
}

/** Settings that an environment variable can set; it overrides the file. */
const VARIABLES: readonly [key: string, variable: string][] = [
  ['home', 'PALIMPSEST_HOME'],
  ['memory', 'PALIMPSEST_DOLT_URL'],
  ['agent.workspace', 'PALIMPSEST_WORKSPACE'],
  ['agent.user', 'PALIMPSEST_USER'],
  ['upstreams.anthropic', 'ANTHROPIC_API_BASE'],
  ['upstreams.anthropic', 'ANTHROPIC_BASE_URL'],
  ['upstreams.openai', 'OPENAI_API_BASE'],
  ['upstreams.openai', 'OPENAI_BASE_URL'],
  ['upstreams.gemini', 'GOOGLE_GEMINI_BASE_URL'],
]

export async function settingsOf({ home, env, flags = {}, upstreams }: SettingsGiven): Promise<Setting[]> {
  const file = configPath(home)
  const found = new Map<string, Setting>()
  const put = (path: string[], value: unknown, source: SettingSource, from: string | null = null) =>
    found.set(path.join('\n'), { key: path.join('.'), path, value: withoutPassword(value), source, from })
  const tuning = { policy: DEFAULT_PLANNER, keep: 'normal', protect: [], anchor: ANCHOR, marks: AGENT }
  const agent = { workspace: defaultWorkspaceFolder() }
  const defaults = { ...tuning, upstreams, home, agent, memory: join(home, 'memory.sqlite') }
  for (const [path, value] of leaves(defaults)) put(path, value, 'default')
  const set: unknown = (await readConfig(file, { mustExist: false })) ?? {}
  for (const [path, value] of leaves(set)) put(path, value, 'file', file)
  for (const [key, name] of VARIABLES) if (env[name]) put(key.split('.'), env[name], 'environment', name)
  for (const [key, { value, flag }] of Object.entries(flags)) put(key.split('.'), value, 'flag', flag)
  const all = [...found.values()]
  const isHidden = ({ source, key }: Setting) =>
    source === 'default' && all.some(({ key: other }) => other.startsWith(`${key}.`) || key.startsWith(`${other}.`))
  return all.filter(setting => !isHidden(setting)).sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** Every value with its path; a list is a value. */
function* leaves(value: unknown, path: string[] = []): Generator<[string[], unknown]> {
  if (!isRecord(value)) return void (path.length > 0 && (yield [path, value]))
  for (const [name, inner] of Object.entries(value)) if (name !== '$schema') yield* leaves(inner, [...path, name])
}

/** An address may contain a password. */
function withoutPassword(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const url = URL.parse(value)
  if (!url || (url.password === '' && url.username === '')) return value
  url.password = ''
  url.username = ''
  return url.href
}

/** Writes one value, given as JSON, into the home's file, or removes it. Gives the file's path. */
export async function changeSetting(home: string, path: readonly string[], raw: string | undefined): Promise<string> {
  const file = configPath(home)
  await changeOwnFile(file, {}, now => {
    const before = now ?? ''
    const after = raw === undefined ? removeSetting('json', before, path) : writeRawSetting('json', before, path, raw)
    if (after.trim() !== '') parseConfig(parseJson(after.startsWith(BOM) ? after.slice(1) : after), file)
    return after === '' && now === null ? null : after
  })
  return file
}
