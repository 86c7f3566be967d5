/** The proxy options that `run` and `serve` share, and their translation for the proxy. */
import type { HomeFiles } from '../../files/store.ts'
import type { Memory } from '../../memory/memory.ts'
import { DEFAULT_PLANNER, type Environment } from '../../model/defaults.ts'
import { PalimpsestError } from '../../model/errors.ts'
import type { Settings } from '../../session/config.ts'
import type { ProxyOptions } from '../proxy/proxy.ts'
import type { Upstreams } from '../proxy/upstream.ts'
import { type Options, shareOption, type Values } from '../terminal/command.ts'
import { onlySet, upstreamsIn } from './agents.ts'
import { PLANNER_OPTIONS, plannerFrom } from './planner-options.ts'

export const PROXY_OPTIONS = {
  ...PLANNER_OPTIONS,
  holdout: {
    type: 'string',
    value: 'SHARE',
    about: 'leave this share of the conversations unedited, for comparison: 10% (0%)',
  },
  'server-edits': {
    type: 'string',
    value: 'WHEN',
    about: 'let Anthropic clear old results itself: auto (if the agent asks for that beta), always, never',
  },
  tools: { type: 'boolean', about: 'give models the tools context and recall' },
  memory: { type: 'string', value: 'USER', about: 'add the memory blocks of this user to the prompt' },
  workspace: { type: 'boolean', about: 'add the knowledge files of the workspace to the prompt' },
  'anthropic-upstream': { type: 'string', value: 'URL', about: 'the address of the Anthropic API' },
  'openai-upstream': { type: 'string', value: 'URL', about: 'the address of the OpenAI API' },
  'gemini-upstream': { type: 'string', value: 'URL', about: 'the address of the Gemini API' },
} as const satisfies Options

export type ProxyValues = Values<typeof PROXY_OPTIONS>

/**
 * `files`: the place of the workspaces. `settings`: the contents of palimpsest.json. `upstreams`: addresses known
 * beside the environment.
 */
type Around = {
  env: Environment
  memory: () => Promise<Memory>
  files: HomeFiles
  settings: Settings
  upstreams?: Partial<Upstreams>
}

export async function proxyOptionsFrom(
  values: ProxyValues,
  { env, memory, files, settings, upstreams = {} }: Around,
): Promise<Pick<ProxyOptions, 'policy' | 'holdout' | 'upstreams' | 'inject' | 'serverEdits'>> {
  const named = {
    anthropic: values['anthropic-upstream'],
    openai: values['openai-upstream'],
    gemini: values['gemini-upstream'],
  }
  const system = systemFrom(values, { env, memory, files })
  const { tuning, planner } = settings
  const policy = await plannerFrom(values, { tuning, usual: planner?.name ?? DEFAULT_PLANNER })
  return {
    upstreams: { ...upstreamsIn(env), ...upstreams, ...onlySet(named) },
    holdout: shareOption(values.holdout, '--holdout') ?? 0,
    serverEdits: serverEditsFrom(values['server-edits']),
    ...(policy === undefined ? {} : { policy }),
    inject: { tools: values.tools === true, ...(system ? { system } : {}) },
  }
}

function serverEditsFrom(when = 'auto'): NonNullable<ProxyOptions['serverEdits']> {
  if (when === 'auto' || when === 'always' || when === 'never') return when
  throw new PalimpsestError('INVALID_INPUT', `--server-edits takes auto, always or never, not ${when}.`, { when })
}

/** The text for new conversations. A user who is known by a token has their own memory and workspace. */
function systemFrom(
  { memory: user, workspace }: ProxyValues,
  { env, memory, files }: Pick<Around, 'env' | 'memory' | 'files'>,
) {
  if (user === undefined && !workspace) return undefined
  return async (caller: string | undefined): Promise<string> => {
    const texts = [
      user === undefined ? '' : await memoryText(await memory(), caller ?? user),
      workspace ? await workspaceText({ env, files }, caller) : '',
    ]
    return texts.filter(text => text !== '').join('\n\n')
  }
}

async function memoryText(memory: Memory, user: string): Promise<string> {
  const { buildMemoryContext } = await import('../../memory/context.ts')
  return (await buildMemoryContext(memory, user)).trimEnd()
}

async function workspaceText({ env, files }: Pick<Around, 'env' | 'files'>, user: string | undefined): Promise<string> {
  const { workspaceIn, loadWorkspace } = await import('../../memory/workspace.ts')
  const folder = user === undefined ? workspaceIn(env, { files }) : files.of(user, 'workspace')
  return loadWorkspace({ folder, now: Date.now })
}
