/**
 * Real agents, headless, as installed by scripts/clients.sh: how each gets its provider and its prompt, and how a later
 * prompt continues the same conversation. A scripted model calls the shell tool that each declares.
 */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { basesAt, launchOf } from '../../../src/doors/commands/agents.ts'
import { anthropic } from '../../../src/doors/proxy/anthropic.ts'
import type { ProxyDialect } from '../../../src/doors/proxy/dialect.ts'
import { gemini } from '../../../src/doors/proxy/gemini.ts'
import { openaiChat } from '../../../src/doors/proxy/openai-chat.ts'
import { openaiResponses } from '../../../src/doors/proxy/openai-responses.ts'
import type { Received, Turn } from '../../upstream.ts'

export const CLIENTS = process.env['PALIMPSEST_CLIENTS'] ?? ''
export const TASK = 'Build every part with build.sh, one after the other.'

export type Ask = {
  prompt: string
  model: string
  /** Continues the conversation of the prompt before. */
  again: boolean
}

export type Client = {
  name: string
  program: string
  /** The folder of the Python environment with the agent. */
  python?: string
  /** The package that a program of ours uses; the program is among the files. */
  library?: string
  dialect: ProxyDialect
  model: string
  /** Whether it shortens its earlier messages, so that the conversation forks. */
  forks?: true
  /** Whether it takes one prompt only, or fails to continue the same conversation. */
  single?: true
  /** Whether it stops by itself when a stream breaks. */
  needsWholeStreams?: true
  /** Files in the agent's home. */
  files?: (url: string, model: string) => Record<string, string>
  /** Arguments of a first run that only sets it up. */
  setUp?: (url: string, model: string) => string[]
  args: (ask: Ask) => string[]
  env: (home: string, url: string) => Record<string, string>
}

const pi = (dialect: ProxyDialect, api: string, base: string): Client => ({
  name: `pi (${dialect.name})`,
  program: 'pi',
  dialect,
  model: 'fake-model',
  files: (url, id) => ({
    '.pi/agent/models.json': JSON.stringify({
      providers: {
        fake: {
          baseUrl: `${url}${base}`,
          api,
          apiKey: 'dummy',
          models: [{ id, contextWindow: 200_000, maxTokens: 8192 }],
        },
      },
    }),
  }),
  args: ({ prompt, model, again }) => [
    ...['-p', '--mode', 'json', '--provider', 'fake', '--model', model],
    ...(again ? ['--continue', prompt] : [prompt]),
  ],
  env: () => ({ PI_OFFLINE: '1' }),
})

const codexConfig = (model: string) => `model = "${model}"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
`

const opencode = (dialect: ProxyDialect, npm: string, base: string): Client => ({
  name: dialect === openaiChat ? 'opencode' : `opencode (${dialect.name})`,
  program: 'opencode',
  dialect,
  model: 'fake-model',
  files: (url, model) => ({
    'opencode.json': JSON.stringify({
      provider: {
        fake: {
          npm,
          options: { baseURL: `${url}${base}`, apiKey: 'dummy' },
          models: { [model]: { limit: { context: 200_000, output: 8192 } } },
        },
      },
      model: `fake/${model}`,
      small_model: `fake/${model}`,
      enabled_providers: ['fake'],
      permission: { '*': 'allow' },
      autoupdate: false,
      share: 'disabled',
    }),
  }),
  args: ({ prompt, again }) => ['run', '--format', 'json', ...(again ? ['--continue'] : []), prompt],
  env: home => ({
    OPENCODE_CONFIG: join(home, 'opencode.json'),
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  }),
})

/** All agents that the proxy is tested with, each in its usual dialect. */
export const USUAL: Client[] = [
  pi(anthropic, 'anthropic-messages', '/anthropic'),
  pi(openaiChat, 'openai-completions', '/openai/v1'),
  pi(openaiResponses, 'openai-responses', '/openai/v1'),
  {
    name: 'Claude Code',
    program: 'claude',
    dialect: anthropic,
    model: 'claude-sonnet-4-5',
    args: ({ prompt, model, again }) => [
      ...['-p', prompt, '--model', model, '--dangerously-skip-permissions', '--output-format', 'json'],
      ...(again ? ['--continue'] : []),
    ],
    env: () => ({
      ANTHROPIC_API_KEY: 'sk-ant-dummy',
      IS_SANDBOX: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
    }),
  },
  {
    name: 'Codex',
    program: 'codex',
    dialect: openaiResponses,
    model: 'gpt-5.1-codex',
    files: (_, model) => ({ '.codex/config.toml': codexConfig(model) }),
    args: ({ prompt, again }) => [
      ...['exec', ...(again ? ['resume', '--last'] : [])],
      ...['--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
    ],
    env: () => ({ CODEX_API_KEY: 'dummy' }),
  },
  opencode(openaiChat, '@ai-sdk/openai-compatible', '/openai/v1'),
  {
    name: 'Gemini CLI',
    program: 'gemini',
    dialect: gemini,
    model: 'gemini-2.5-pro',
    forks: true,
    needsWholeStreams: true,
    files: () => ({
      '.gemini/settings.json': JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true },
      }),
    }),
    // A resumed conversation has each result twice, which Gemini refuses.
    single: true,
    args: ({ prompt, model }) => ['-p', prompt, '--yolo', '-m', model, '-o', 'json'],
    env: () => ({ GEMINI_API_KEY: 'dummy', GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
  },
]

/** More agents, for runs with providers that check requests. */
export const MORE: Client[] = [
  opencode(anthropic, '@ai-sdk/anthropic', '/anthropic/v1'),
  opencode(openaiResponses, '@ai-sdk/openai', '/openai/v1'),
  {
    name: 'qwen-code',
    program: 'qwen',
    dialect: openaiChat,
    model: 'fake-model',
    forks: true,
    args: ({ prompt, again }) => [
      ...['-p', prompt, '--yolo', '--auth-type', 'openai', '-o', 'json'],
      ...(again ? ['--continue'] : []),
    ],
    env: () => ({ OPENAI_API_KEY: 'dummy', OPENAI_MODEL: 'gpt-6.1-sol' }),
  },
  {
    name: 'cline',
    program: 'cline',
    dialect: openaiChat,
    model: 'fake-model',
    forks: true,
    single: true,
    setUp: (url, model) => [
      ...['auth', '-p', 'openai-compatible', '-k', 'dummy', '-m', model, '-b', `${url}/openai/v1`],
    ],
    args: ({ prompt, model }) => ['--json', '-P', 'openai-compatible', '-m', model, '-t', '300', prompt],
    env: () => ({}),
  },
  {
    name: 'mini-swe-agent',
    program: 'mini',
    python: 'mini',
    single: true,
    dialect: openaiChat,
    model: 'fake-model',
    args: ({ prompt, model }) => [
      ...['-m', `openai/${model}`, '-t', prompt, '-y', '--exit-immediately', '-l', '0', '-o', 'traj.json'],
    ],
    env: (_, url) => ({
      MSWEA_CONFIGURED: 'true',
      MSWEA_COST_TRACKING: 'ignore_errors',
      MSWEA_SILENT_STARTUP: '1',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      OPENAI_API_KEY: 'dummy',
      OPENAI_API_BASE: `${url}/openai/v1`,
    }),
  },
]

MORE.push(
  {
    name: 'aider',
    program: 'python3',
    python: 'aider',
    single: true,
    dialect: openaiChat,
    model: 'fake-model',
    files: (_, model) => ({ 'work/aider-run.py': AIDER.replace('MODEL', model) }),
    args: () => ['aider-run.py'],
    env: (_, url) => ({
      OPENAI_API_KEY: 'dummy',
      OPENAI_API_BASE: `${url}/openai/v1`,
      AIDER_ANALYTICS: 'false',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    }),
  },
  {
    name: 'OpenAI Agents SDK',
    program: 'agents-sdk',
    library: '@openai/agents',
    dialect: openaiResponses,
    model: 'fake-model',
    files: (_, model) => ({ 'work/agents-run.mjs': agentsProgram(model) }),
    args: ({ prompt }) => ['agents-run.mjs', prompt],
    env: (_, url) => ({ OPENAI_API_KEY: 'dummy', OPENAI_BASE_URL: `${url}/openai/v1` }),
  },
)

const AIDER = `from aider.coders import Coder
from aider.io import InputOutput
from aider.models import Model
coder = Coder.create(main_model=Model('openai/MODEL'), io=InputOutput(yes=True, pretty=False), use_git=False)
for part in range(108):
    coder.run(f'What is part {part} for? ' + 'It is about the build. ' * 60)
`

/** A loop with a shell; the messages are kept in a file for the next prompt. */
function agentsProgram(model: string): string {
  const of = (path: string) => JSON.stringify(join(CLIENTS, 'node_modules', path))
  return `import { execSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, run, setTracingDisabled, tool } from ${of('@openai/agents/dist/index.mjs')}
import { z } from ${of('zod/index.js')}
setTracingDisabled(true)
const bash = tool({
  name: 'bash',
  description: 'Runs a command.',
  parameters: z.object({ command: z.string() }),
  execute: ({ command }) => execSync(command, { encoding: 'utf8' }),
})
const providerData = { include: ['reasoning.encrypted_content'] }
const instructions = 'You build software. ' + 'Be careful. '.repeat(400)
const modelSettings = { store: false, providerData }
const agent = new Agent({ name: 'builder', instructions, tools: [bash], model: ${JSON.stringify(model)}, modelSettings })
const before = existsSync('history.json') ? JSON.parse(readFileSync('history.json', 'utf8')) : []
const result = await run(agent, [...before, { role: 'user', content: process.argv[2] }], { maxTurns: 300 })
writeFileSync('history.json', JSON.stringify(result.history))
console.log(result.finalOutput)
`
}

export function programOf({ program, python, library }: Client): string {
  if (python) return join(CLIENTS, 'python', python, 'bin', program)
  return library ? process.execPath : join(CLIENTS, 'node_modules', '.bin', program)
}

export function isThere(client: Client): boolean {
  const needed = client.library ? join(CLIENTS, 'node_modules', client.library) : programOf(client)
  return CLIENTS !== '' && existsSync(needed)
}

export type Ran = { out: string; err: string; code: number | null }

/** A working folder, and the agent's own files. */
export async function furnish(client: Client, { url, home, model }: { url: string; home: string; model: string }) {
  const { files, setUp } = client
  const work = join(home, 'work')
  await mkdir(work, { recursive: true })
  await writeFile(join(work, 'build.sh'), BUILD)
  for (const [path, content] of Object.entries(files?.(url, model) ?? {})) {
    await mkdir(dirname(join(home, path)), { recursive: true })
    await writeFile(join(home, path), content)
  }
  if (setUp) await start(client, { url, home }, setUp(url, model))
}

const BUILD = '#!/bin/sh\nseq -f "part $1 step %g: compiled without a warning in 12 ms" 1 $2\n'

/** Runs one prompt in a prepared folder. */
export function runPrompt(client: Client, place: { url: string; home: string }, ask: Ask): Promise<Ran> {
  return start(client, place, client.args(ask))
}

async function start(client: Client, { url, home }: { url: string; home: string }, args: string[]): Promise<Ran> {
  const folder = join(home, `run-${runs++}`)
  await mkdir(folder)
  const own = { HOME: home, PATH: process.env['PATH'], LANG: 'C.UTF-8', ...client.env(home, url) }
  const launch = await launchOf(programOf(client), { bases: basesAt(url), args, env: own, folder })
  const cwd = join(home, 'work')
  const child = spawn(launch.command, launch.args, { cwd, env: launch.env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>(resolve => child.on('exit', resolve))
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { out, err, code }
}

/** Ends the background processes of an agent: all processes with this home. */
export function endLeftOvers(home: string): void {
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`HOME=${home}`)) process.kill(Number(pid))
    } catch {
      // It has ended by itself, or belongs to another user.
    }
  }
}

let runs = 0

type Schema = { properties?: Record<string, { type?: string }>; required?: string[] }

/** A call of the client's shell, made from the schema that it declares. */
export function shellCall({ json }: Received, line: string): NonNullable<Turn['calls']>[number] | undefined {
  // biome-ignore lint/suspicious/noExplicitAny: tools of four dialects
  const tools: any[] = (json.tools ?? []).flatMap((tool: any) => tool.functionDeclarations ?? tool.function ?? tool)
  const tool = tools.find(({ name }) => SHELLS.test(name ?? ''))
  if (!tool) return scriptCall(json, line)
  const { properties = {}, required = [] }: Schema =
    tool.input_schema ?? tool.parameters ?? tool.parametersJsonSchema ?? {}
  const key = ['cmd', 'commands'].find(name => properties[name]) ?? 'command'
  const rest = required.filter(name => name !== key).map(name => [name, valueFor(properties[name]?.type)])
  const isList = properties[key]?.type === 'array'
  const command = isList ? (key === 'commands' ? [line] : ['sh', '-c', line]) : line
  return { name: tool.name, input: { ...Object.fromEntries(rest), [key]: command } }
}

/** Newer models of Codex get their tools in the input, and call them from a script. */
// biome-ignore lint/suspicious/noExplicitAny: items of many shapes
function scriptCall({ input = [] }: any, line: string): NonNullable<Turn['calls']>[number] | undefined {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  const namespaces: any[] = input.flatMap(({ type, tools }: any) => (type === 'additional_tools' ? tools : []))
  const space = namespaces.find(({ tools }) => tools?.some(({ name }: { name: string }) => name === 'exec'))
  if (!space) return undefined
  const script = `text((await tools.exec_command({ cmd: ${JSON.stringify(line)} })).output)`
  return { name: 'exec', input: script, custom: { namespace: space.name } }
}

const SHELLS = /^(?:bash|shell|shell_command|exec_command|execute_command|run_shell_command|run_commands)$/i

function valueFor(type: string | undefined): unknown {
  return type === 'boolean' ? false : type === 'number' || type === 'integer' ? 1 : 'x'
}
