/**
 * How each agent is told to talk to the proxy: the variables, arguments and files for this one run. Nothing of the
 * user's is changed; a file that an agent insists on lies in a folder that is thrown away, with links to the user's
 * own beside it. An agent that is not in the table gets the variables that most programs know.
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { parseJson } from '../../model/json.ts'
import type { Upstreams } from '../proxy/upstream.ts'

export type Environment = Record<string, string | undefined>

export type Launch = { command: string; args: string[]; env: Environment }

type Given = {
  /** Where the proxy listens. */
  url: string
  args: string[]
  env: Environment
  /** A folder for this run alone. */
  folder: string
}

type Agent = (given: Given) => Promise<Pick<Launch, 'env'> & { args?: string[] }>

export const AGENTS: Record<string, Agent> = { claude, codex, opencode, pi, gemini, aider, qwen }

export async function launchOf(command: string, given: Given): Promise<Launch> {
  const agent = AGENTS[basename(command).replace(/\.(?:exe|cmd|js)$/, '')] ?? other
  const { env, args = given.args } = await agent(given)
  return { command, args, env: { ...given.env, ...env } }
}

/** Where the agent would have gone without us. */
export function upstreamsIn(env: Environment): Partial<Upstreams> {
  const named = {
    anthropic: env['ANTHROPIC_BASE_URL'] ?? env['ANTHROPIC_API_BASE'],
    openai: env['OPENAI_BASE_URL'] ?? env['OPENAI_API_BASE'],
    gemini: env['GOOGLE_GEMINI_BASE_URL'],
  }
  return Object.fromEntries(Object.entries(named).filter(([, url]) => url))
}

async function claude({ url }: Given) {
  return { env: { ANTHROPIC_BASE_URL: `${url}/anthropic` } }
}

async function codex({ url, args }: Given) {
  return { env: {}, args: ['-c', `openai_base_url="${url}/openai/v1"`, ...args] }
}

/** As opencode and pi keep them; what else is in there stays. */
type Providers = { [name in 'anthropic' | 'openai']?: { options?: object; baseUrl?: string } }

async function opencode({ url, folder, env }: Given) {
  const own = env['OPENCODE_CONFIG']
  const config = own ? parseJson<{ provider?: Providers }>(await readFile(own, 'utf8')) : {}
  const provider = { ...config.provider }
  provider.anthropic = withBase(provider.anthropic, `${url}/anthropic/v1`)
  provider.openai = withBase(provider.openai, `${url}/openai/v1`)
  const file = join(folder, 'opencode.json')
  await writeFile(file, JSON.stringify({ ...config, provider }))
  return { env: { OPENCODE_CONFIG: file } }
}

function withBase(provider: Providers['openai'], baseURL: string) {
  return { ...provider, options: { ...provider?.options, baseURL } }
}

/** pi reads the addresses of providers from one file in its folder: the folder is linked, that file is ours. */
async function pi({ url, folder, env }: Given) {
  const own = env['PI_CODING_AGENT_DIR'] ?? join(env['HOME'] ?? homedir(), '.pi', 'agent')
  const dir = join(folder, 'pi')
  await mkdir(dir, { recursive: true })
  const names = existsSync(own) ? await readdir(own) : []
  for (const name of names) if (name !== MODELS) await symlink(join(own, name), join(dir, name))
  const models = names.includes(MODELS)
    ? parseJson<{ providers?: Providers }>(await readFile(join(own, MODELS), 'utf8'))
    : {}
  const providers = { ...models.providers }
  providers.anthropic = { ...providers.anthropic, baseUrl: `${url}/anthropic` }
  providers.openai = { ...providers.openai, baseUrl: `${url}/openai/v1` }
  await writeFile(join(dir, MODELS), JSON.stringify({ ...models, providers }))
  return { env: { PI_CODING_AGENT_DIR: dir } }
}

const MODELS = 'models.json'

async function gemini({ url }: Given) {
  return { env: { GOOGLE_GEMINI_BASE_URL: `${url}/gemini` } }
}

async function aider({ url }: Given) {
  return { env: { OPENAI_API_BASE: `${url}/openai/v1`, ANTHROPIC_API_BASE: `${url}/anthropic` } }
}

async function qwen({ url }: Given) {
  return { env: { OPENAI_BASE_URL: `${url}/openai/v1` } }
}

async function other(given: Given): ReturnType<Agent> {
  const all = await Promise.all([gemini(given), aider(given), qwen(given)])
  return { env: { ...Object.assign({}, ...all.map(({ env }) => env)), ANTHROPIC_BASE_URL: `${given.url}/anthropic` } }
}
