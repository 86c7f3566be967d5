/**
 * Opens an agent for any door: from `palimpsest.json`, the environment, and the options of the door itself, which
 * take precedence. The engine uses the agent's model for its summaries; memory and workspace are the user's.
 *
 * A key comes from the environment only, is handed to the provider's client, and is written nowhere.
 */

import { dirname, resolve } from 'node:path'
import type { Files } from '../files/store.ts'
import type { Memory } from '../memory/memory.ts'
import { openMemory, userIn } from '../memory/open.ts'
import { workspaceIn } from '../memory/workspace.ts'
import { DEFAULT_MODEL, type Environment, homeIn } from '../model/defaults.ts'
import { PalimpsestError } from '../model/errors.ts'
import { trimEndOf } from '../model/text.ts'
import type { PresetTuning } from '../planner/presets.ts'
import { type AgentConfig, type Config, configPath, readConfig } from '../session/config.ts'
import { openPalimpsest, type Palimpsest } from '../session/engine.ts'
import type { WriteSummary } from '../summaries/model-summary.ts'
import { AGENT_POLICY, type Agent, type AgentOptions, openAgent } from './agent.ts'
import type { Approve } from './approval.ts'
import type { Demo } from './demo.ts'
import { type AgentModel, ANTHROPIC_URL, type ModelSettings, OPENAI_URL, openModel, type Provider } from './model.ts'
import { chosenPersona, findPersona, type PersonaInfo, personaOf } from './personas.ts'
import { modelSummary } from './summarizer.ts'

export type OpenAgentOptions = {
  /** The folder of the ledger; `.agent` unless given. */
  home?: string | undefined
  env?: Environment
  /**
   * Sessions and memory that are already open, for a process that has one of each; closing the home leaves them open.
   */
  pal?: Palimpsest
  memory?: Memory
  /** A scripted model and a sample project, to look around without a key; always, or only if no model is set up. */
  demo?: boolean | 'without-model' | undefined
  /** Milliseconds between two words of the demo. */
  demoPace?: number | undefined
  persona?: string | undefined
  model?: string | undefined
  /** The folder that file tools and commands work in; the working folder unless given. */
  root?: string | undefined
  user?: string | undefined
  /** Allows everything without asking, except changes to memory. */
  yes?: boolean | undefined
  approve?: Approve
  limits?: AgentOptions['limits']
  /** The planner of sessions that are opened. `usual`: the preset that a session has, or would have. */
  planner?: (around: { tuning?: PresetTuning | undefined; usual: string }) => Promise<AgentOptions['planner']>
  /** Whether guests of a server may also work with files and commands in the root. */
  hasFiles?: boolean
}

/** Opens sessions by name; closing it closes everything that it opened. */
export type Home = {
  home: string
  root: string
  user: string
  workspace: Files
  /** Whether users other than this machine's may work with files and commands in the root. */
  hasFiles: boolean
  pal: Palimpsest
  memory: Memory
  config: AgentConfig
  /** The model for small side questions: the cheap one, or the main one. */
  side: (() => Promise<AgentModel>) | undefined
  demo?: Demo
  /** The persona of a session: the named one, the one it had, or the chosen one. */
  persona(session?: string, named?: string, owner?: string): Promise<PersonaInfo>
  /** `owner`: the user who owns the session; none for a session of the home itself. */
  open(session: string, more?: Partial<AgentOptions> & OpenMore): Promise<Agent>
  close(): Promise<void>
}

type OpenMore = { personaName?: string | undefined; owner?: string | undefined }

export async function openHome(options: OpenAgentOptions = {}): Promise<Home> {
  const { env = process.env } = options
  const demo = await demoFor(options, env)
  const home = demo?.home ?? options.home ?? homeIn(env)
  const whole = await readConfig(configPath(home), { mustExist: false })
  const config = whole?.agent ?? {}
  const settings = demo ? demo.model : findModel({ env, config, whole, named: options.model })
  const side = sideModel(settings, demo ? undefined : config.cheapModel)
  const summarize: WriteSummary | undefined = side && (async asked => modelSummary(await side())(asked))
  const given = options.pal ?? (await openPalimpsest({ home }))
  const configured = config.workspace
  const workspace = demo ? resolve(demo.workspace) : workspaceIn(env, { files: given.files, configured })
  const pal = given.with({ workspace, ...(summarize ? { summarize } : {}) })
  const root = resolve(demo?.root ?? options.root ?? '.')
  const user = options.user ?? userIn(env, config.user)
  const workspaceOf = (one: string) => (one === user ? workspace : given.files.of(one, 'workspace'))
  const memory = options.memory ?? (await openMemory({ home, env, workspaceOf }))

  const palOf = (owner: string | undefined) => (owner === undefined ? pal : pal.of(owner))

  async function persona(session?: string, named = options.persona, owner?: string): Promise<PersonaInfo> {
    const had = session === undefined ? undefined : personaOf((await palOf(owner).find(session))?.about.client)
    return findPersona(home, named ?? had ?? env['PALIMPSEST_PERSONA'] ?? config.persona ?? (await chosenPersona(home)))
  }

  return {
    home,
    root,
    user,
    workspace,
    hasFiles: options.hasFiles === true,
    pal,
    memory,
    config,
    side,
    demo,
    persona,
    async open(session, { personaName, owner, ...more } = {}) {
      const { source: _, path: __, ...chosen } = await persona(session, personaName, owner)
      const known = await palOf(owner).find(session)
      const usual = known?.policy ?? config.policy ?? AGENT_POLICY
      const planner = (await options.planner?.({ tuning: pal.settings.tuning, usual })) ?? (known ? undefined : usual)
      return openAgent(session, {
        pal: palOf(owner),
        memory,
        user,
        workspace,
        root,
        persona: chosen,
        model: await modelFor(settings, { persona: chosen, options, isDemo: demo !== undefined, config, env }),
        allow: { ...inFolder(config.allow, home), ...(options.yes ? { all: true } : {}) },
        limits: { ...config.limits, ...options.limits },
        env,
        seesSessions: true,
        ...(options.approve ? { approve: options.approve } : {}),
        ...(config.retry ? { retry: config.retry } : {}),
        ...(planner === undefined ? {} : { planner }),
        ...more,
      })
    },
    async close() {
      if (!options.pal) await pal.close()
      if (!options.memory) await memory.close()
      await demo?.close()
    },
  }
}

async function demoFor(options: OpenAgentOptions, env: Environment): Promise<Demo | undefined> {
  if (!(await wantsDemo(options, env))) return undefined
  const { startDemo } = await import('./demo.ts')
  return startDemo({ home: options.home, pace: options.demoPace })
}

/** Opens the model for summaries and the like, once, when it is needed. */
function sideModel(settings: ModelSettings | undefined, cheap: string | undefined): Home['side'] {
  let opened: Promise<AgentModel> | undefined
  return settings && (() => (opened ??= openModel({ ...settings, name: cheap || settings.name })))
}

async function wantsDemo(options: OpenAgentOptions, env: Environment): Promise<boolean> {
  if (options.demo !== 'without-model') return options.demo === true
  const whole = await readConfig(configPath(options.home ?? homeIn(env)), { mustExist: false })
  return findModel({ env, config: whole?.agent ?? {}, whole, named: options.model }) === undefined
}

/** Opens one session's agent, for doors that need no more; the caller closes it. */
export async function openAgentFrom(
  options: OpenAgentOptions & { session: string },
): Promise<{ agent: Agent; home: Home; close(): Promise<void> }> {
  const home = await openHome(options)
  try {
    return { agent: await home.open(options.session), home, close: () => home.close() }
  } catch (error) {
    await home.close()
    throw error
  }
}

type Sources = {
  env: Environment
  config: AgentConfig
  whole: Config | undefined
  named: string | undefined
}

/** The provider with its key and model; `undefined` if nothing configures one. */
function findModel({ env, config, whole, named }: Sources): ModelSettings | undefined {
  const name = named ?? env['PALIMPSEST_MODEL'] ?? config.model ?? whole?.model
  const provider = config.provider ?? providerIn(env, name)
  if (!provider) return undefined
  const own = PROVIDERS[provider]
  const key = env[config.keyEnv ?? own.key] || undefined
  const { baseUrl = withVersion(env[own.url]), maxOutputTokens, stallSeconds, temperature = TEMPERATURE } = config
  if (key === undefined && baseUrl === undefined) return undefined
  return {
    provider,
    name: name ?? own.model,
    baseUrl: baseUrl ?? own.baseUrl,
    temperature,
    key,
    maxOutputTokens,
    stallMs: stallSeconds && stallSeconds * 1_000,
  }
}

const TEMPERATURE = 0.5

const PROVIDERS: Record<Provider, { key: string; url: string; baseUrl: string; model: string }> = {
  anthropic: {
    key: 'ANTHROPIC_API_KEY',
    url: 'ANTHROPIC_BASE_URL',
    baseUrl: ANTHROPIC_URL,
    model: DEFAULT_MODEL,
  },
  'openai-compatible': { key: 'OPENAI_API_KEY', url: 'OPENAI_BASE_URL', baseUrl: OPENAI_URL, model: 'gpt-4.1' },
}

/** The provider whose key or address is in the environment; if there are two, the model's name decides. */
function providerIn(env: Environment, model: string | undefined): Provider | undefined {
  const there = (Object.keys(PROVIDERS) as Provider[]).filter(
    provider => env[PROVIDERS[provider].key] || env[PROVIDERS[provider].url],
  )
  if (there.length < 2 || model === undefined) return there[0]
  return /claude/i.test(model) ? 'anthropic' : 'openai-compatible'
}

/** Anthropic's own variable has no version, as its SDK expects. */
function withVersion(url: string | undefined): string | undefined {
  if (!url) return undefined
  return /\/v\d+\/*$/.test(new URL(url).pathname) ? url : `${trimEndOf(url, '/')}/v1`
}

type Wanted = Pick<Sources, 'env' | 'config'> & {
  persona: AgentOptions['persona']
  options: OpenAgentOptions
  isDemo: boolean
}

/** The named model comes first, then the persona's; a temperature in the configuration applies to all. */
async function modelFor(settings: ModelSettings | undefined, wanted: Wanted): Promise<AgentModel> {
  const { persona, options, isDemo, config, env } = wanted
  if (!settings) throw noModel()
  return openModel({
    ...settings,
    name: isDemo ? settings.name : (options.model ?? env['PALIMPSEST_MODEL'] ?? persona.model ?? settings.name),
    temperature: config.temperature ?? persona.temperature ?? TEMPERATURE,
  })
}

function noModel(): PalimpsestError {
  return new PalimpsestError(
    'MODEL_MISSING',
    'No model is configured. Set ANTHROPIC_API_KEY or OPENAI_API_KEY (and OPENAI_BASE_URL for any compatible server), or "agent" in palimpsest.json. To look around without a key, use --demo.',
  )
}

/** Folders in a configuration are relative to it. */
function inFolder(allow: AgentConfig['allow'], home: string): AgentConfig['allow'] {
  const base = dirname(resolve(home))
  return allow?.folders ? { ...allow, folders: allow.folders.map(folder => resolve(base, folder)) } : allow
}
