/**
 * The known agents, one description each: where an agent's settings are, which settings hold the addresses of
 * providers, and how to give one run other addresses. `run` uses it for a single run and does not change the user's
 * files; `install` writes the same addresses into the settings. A program that is not in the table gets the variables
 * that most programs know.
 */
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { readSetting, type SettingPath, type SettingsForm, writeSetting } from '../../files/settings-text.ts'
import type { Environment } from '../../model/defaults.ts'
import type { UpstreamName, Upstreams } from '../proxy/upstream.ts'

export type Launch = { command: string; args: string[]; env: Environment }

type Given = {
  args: string[]
  env: Environment
  /** A folder for this run alone. */
  folder: string
}

export type Address = { provider: UpstreamName; at: SettingPath; value: string }

type SettingsFile = { form: SettingsForm; path: string }

export type Agent = {
  title: string
  /** How to install the agent. */
  get: string
  addresses(bases: Upstreams): Address[]
  settings?(env: Environment): SettingsFile
  launch(addresses: readonly Address[], given: Given): Promise<{ env: Environment; args?: string[] }>
  /** Further settings for `install`, unless the user has them already. `program` is the command that starts ours. */
  extras?(program: string): { at: SettingPath; value: string }[]
  /** What happens to the agent when nothing answers at the address in its settings. */
  whenDown: string
}

/** The addresses of the providers behind our server. */
export function basesAt(url: string): Upstreams {
  return { anthropic: `${url}/anthropic`, openai: `${url}/openai/v1`, gemini: `${url}/gemini` }
}

const CLAUDE: Agent = {
  title: 'Claude Code',
  get: 'npm install -g @anthropic-ai/claude-code',
  addresses: ({ anthropic }) => [{ provider: 'anthropic', at: ['env', 'ANTHROPIC_BASE_URL'], value: anthropic }],
  settings: env => ({
    form: 'json',
    path: join(env['CLAUDE_CONFIG_DIR'] ?? join(homeOf(env), '.claude'), 'settings.json'),
  }),
  // The agent's settings override the environment; its arguments override both.
  async launch(addresses, { args, env }) {
    const told = variables(addresses)
    const { form, path } = CLAUDE.settings!(env)
    const isSet = addresses.some(({ at }) => readSetting(form, textAt(path), at) !== undefined)
    if (!isSet || args.includes('--settings')) return { env: told }
    return { env: told, args: ['--settings', JSON.stringify({ env: told }), ...args] }
  },
  extras: program => [
    { at: ['statusLine', 'type'], value: 'command' },
    { at: ['statusLine', 'command'], value: `${program} statusline` },
  ],
  whenDown: 'retries for three minutes, then reports that the connection was refused',
}

const CODEX: Agent = {
  title: 'Codex',
  get: 'npm install -g @openai/codex',
  addresses: ({ openai }) => [{ provider: 'openai', at: ['openai_base_url'], value: openai }],
  settings: env => ({ form: 'toml', path: join(env['CODEX_HOME'] ?? join(homeOf(env), '.codex'), 'config.toml') }),
  launch: async (addresses, { args }) => ({
    env: {},
    args: [...addresses.flatMap(({ at, value }) => ['-c', `${at.join('.')}=${JSON.stringify(value)}`]), ...args],
  }),
  whenDown: 'reports that it waits for the network, and continues as soon as the service answers',
}

const OPENCODE: Agent = {
  title: 'opencode',
  get: 'npm install -g opencode-ai',
  addresses: ({ anthropic, openai }) => [
    { provider: 'anthropic', at: ['provider', 'anthropic', 'options', 'baseURL'], value: `${anthropic}/v1` },
    { provider: 'openai', at: ['provider', 'openai', 'options', 'baseURL'], value: openai },
  ],
  settings: env => {
    const folder = join(env['XDG_CONFIG_HOME'] ?? join(homeOf(env), '.config'), 'opencode')
    const path = ['opencode.jsonc', 'opencode.json'].map(name => join(folder, name)).find(name => existsSync(name))
    return { form: 'json', path: path ?? join(folder, 'opencode.json') }
  },
  // This variable is merged over every file.
  launch: async (addresses, { env }) => ({
    env: { OPENCODE_CONFIG_CONTENT: withAddresses('json', env['OPENCODE_CONFIG_CONTENT'] ?? '', addresses) },
  }),
  whenDown: 'retries for a minute and a half, then reports that it cannot connect',
}

const PI: Agent = {
  title: 'pi',
  get: 'npm install -g @earendil-works/pi-coding-agent',
  addresses: ({ anthropic, openai }) => [
    { provider: 'anthropic', at: ['providers', 'anthropic', 'baseUrl'], value: anthropic },
    { provider: 'openai', at: ['providers', 'openai', 'baseUrl'], value: openai },
  ],
  settings: env => ({ form: 'json', path: join(piFolder(env), PI_MODELS) }),
  // pi reads the addresses from one file in its folder. The run gets a folder of links, in which that file is ours.
  async launch(addresses, { env, folder }) {
    const own = piFolder(env)
    const dir = join(folder, 'pi')
    await rm(dir, { recursive: true, force: true })
    await mkdir(dir, { recursive: true })
    // The conversations that it stores must outlast the run.
    await mkdir(join(own, 'sessions'), { recursive: true })
    for (const name of await readdir(own)) if (name !== PI_MODELS) await symlink(join(own, name), join(dir, name))
    await writeFile(join(dir, PI_MODELS), withAddresses('json', textAt(join(own, PI_MODELS)), addresses))
    return { env: { PI_CODING_AGENT_DIR: dir } }
  },
  whenDown: 'retries for twenty seconds, then ends with a connection error',
}

const PI_MODELS = 'models.json'

function piFolder(env: Environment): string {
  return env['PI_CODING_AGENT_DIR'] ?? join(homeOf(env), '.pi', 'agent')
}

const GEMINI: Agent = {
  title: 'Gemini CLI',
  get: 'npm install -g @google/gemini-cli',
  addresses: ({ gemini }) => [{ provider: 'gemini', at: ['GOOGLE_GEMINI_BASE_URL'], value: gemini }],
  settings: env => ({ form: 'env', path: join(homeOf(env), '.gemini', '.env') }),
  launch: async addresses => ({ env: variables(addresses) }),
  whenDown: 'retries for four minutes, then ends with an error',
}

const QWEN: Agent = {
  title: 'Qwen Code',
  get: 'npm install -g @qwen-code/qwen-code',
  addresses: ({ openai }) => [{ provider: 'openai', at: ['env', 'OPENAI_BASE_URL'], value: openai }],
  settings: env => ({ form: 'json', path: join(homeOf(env), '.qwen', 'settings.json') }),
  launch: async addresses => ({ env: variables(addresses) }),
  whenDown: 'retries for two minutes, then ends with a connection error',
}

const AIDER: Agent = {
  title: 'aider',
  get: 'pip install aider-chat',
  addresses: ({ anthropic, openai }) => [
    { provider: 'anthropic', at: ['ANTHROPIC_API_BASE'], value: anthropic },
    { provider: 'openai', at: ['OPENAI_API_BASE'], value: openai },
  ],
  launch: async addresses => ({ env: variables(addresses) }),
  whenDown: 'retries for a minute, then asks what to do',
}

const OTHER: Pick<Agent, 'addresses' | 'launch'> = {
  addresses: bases => [CLAUDE, AIDER, QWEN, GEMINI].flatMap(agent => agent.addresses(bases)),
  launch: async addresses => ({ env: variables(addresses) }),
}

export const AGENTS: Readonly<Record<string, Agent>> = {
  claude: CLAUDE,
  codex: CODEX,
  opencode: OPENCODE,
  pi: PI,
  gemini: GEMINI,
  qwen: QWEN,
  aider: AIDER,
}

/** The agent that a command starts, if we know it. */
export function agentNamed(command: string): Agent | undefined {
  const name = basename(command).replace(/\.(?:exe|cmd|js)$/, '')
  return Object.hasOwn(AGENTS, name) ? AGENTS[name] : undefined
}

export async function launchOf(command: string, { bases, ...given }: Given & { bases: Upstreams }): Promise<Launch> {
  const agent = agentNamed(command) ?? OTHER
  const { env, args = given.args } = await agent.launch(agent.addresses(bases), given)
  return { command, args, env: { ...given.env, ...env } }
}

/** The addresses of providers in the environment. */
export function upstreamsIn(env: Environment): Partial<Upstreams> {
  return onlySet({
    anthropic: env['ANTHROPIC_BASE_URL'] ?? env['ANTHROPIC_API_BASE'],
    openai: env['OPENAI_BASE_URL'] ?? env['OPENAI_API_BASE'],
    gemini: env['GOOGLE_GEMINI_BASE_URL'],
  })
}

export function upstreamsOf(agent: Agent, env: Environment): Partial<Upstreams> {
  const file = agent.settings?.(env)
  if (!file) return {}
  const text = textAt(file.path)
  const nowhere = { anthropic: '', openai: '', gemini: '' }
  const named = agent.addresses(nowhere).map(({ provider, at }) => [provider, readSetting(file.form, text, at)])
  return onlySet(Object.fromEntries(named))
}

export function onlySet(upstreams: { [name in UpstreamName]?: string | undefined }): Partial<Upstreams> {
  return Object.fromEntries(Object.entries(upstreams).filter(([, url]) => url))
}

export function withAddresses(
  form: SettingsForm,
  text: string,
  addresses: readonly { at: SettingPath; value: string }[],
): string {
  return addresses.reduce((now, { at, value }) => writeSetting(form, now, at, value), text)
}

/** The text of a settings file; empty if there is none. */
export function textAt(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
}

export function homeOf(env: Environment): string {
  return env['HOME'] ?? env['USERPROFILE'] ?? homedir()
}

/** Addresses as variables, by the last word of their names. */
function variables(addresses: readonly Address[]): Record<string, string> {
  return Object.fromEntries(addresses.map(({ at, value }) => [at.at(-1)!, value]))
}
