/**
 * `palimpsest.json`: the policies of sessions with their numbers, and facts about models and tools.
 *
 * The file is in the folder that contains the home, or at a given path. It is checked as a whole when it is read: an
 * error names the key, its place and the allowed values. The published JSON Schema comes from the same definition.
 */
import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { defineTools, type ToolSpec, type ToolTable } from '../calls/tool-kinds.ts'
import { changeOwnFile } from '../files/atomic.ts'
import { codeOf } from '../files/root.ts'
import { MEMORY } from '../model/defaults.ts'
import { PalimpsestError } from '../model/errors.ts'
import { isRecord, parseJson } from '../model/json.ts'
import { headOf } from '../model/text.ts'
import type { ToolKind } from '../model/types.ts'
import {
  type Composition,
  compositionSchema,
  type ModuleConfig,
  makeComposition,
  optionNames,
  policyNames,
} from '../planner/catalog.ts'
import { findPreset, type PresetTuning, presets, seedPresets } from '../planner/presets.ts'
import { KEEP_LEVELS, type KeepLevel, MAX_KEEP } from '../planner/tuning.ts'
import type { PlannerFactory, Policy } from '../policies/policy.ts'
import type { ModelTable } from '../providers/models.ts'
import { bandSchema, tiersSchema } from '../providers/table.ts'
import type { Embed } from '../recall/meaning.ts'
import { type EmbeddingConfig, embeddingSchema, lateEmbedding } from './embedding.ts'
import { type Retention, retentionSchema, ruleSchema } from './retention.ts'

export const CONFIG_FILE = 'palimpsest.json'

const KINDS = [
  'read',
  'write',
  'edit',
  'shell',
  'shell-read',
  'shell-search',
  'shell-write',
  'list',
  'search',
  'fetch',
  'todo',
  'agent',
  'memory',
  'other',
] as const satisfies readonly ToolKind[]

const names = z.union([z.string(), z.array(z.string())])

const toolSchema = z
  .strictObject({
    kind: z.enum(KINDS),
    path: names.optional(),
    query: names.optional(),
    content: names.optional(),
    command: names.optional(),
    how: z.enum(['append', 'prepend', 'insert', 'section']).optional(),
    language: z.enum(['powershell', 'none']).optional(),
  })
  .describe('One of your own tools: its kind and, if they are unusual, the names of its arguments')

const modelSchema = z
  .strictObject({
    window: z.int().min(1_000),
    input: z.number().min(0),
    output: z.number().min(0),
    read: z.number().min(0),
    write: z.number().min(0),
    ttl: z.int().min(0),
    dialect: z.enum(['anthropic', 'openai-chat', 'openai-responses', 'gemini', 'ai-sdk', 'langchain']),
    minimum: z.int().min(0),
    maxBytes: z.int().min(1),
    scale: z.number().gt(0),
    bindsReasoning: z.boolean(),
    binding: z.enum(['none', 'drop', 'refuse']),
    shape: z.enum(['marked', 'breakpoints', 'intervals', 'prefix']),
    bands: z.array(bandSchema),
    tiers: tiersSchema,
    lifetimes: z.array(z.strictObject({ name: z.string().min(1), ttl: z.int().min(0), write: z.number().min(0) })),
    asOf: z.string(),
    source: z.string(),
  })
  .partial()
  .describe('Differences from the built-in table, by prefix of the model name')

const limit = z.int().min(1)

const agentSchema = z
  .strictObject({
    persona: z.string().min(1).describe('The persona of the agent: a name from `palimpsest persona list`'),
    provider: z.enum(['anthropic', 'openai-compatible']),
    baseUrl: z.url().describe('The address of the provider, with /v1'),
    keyEnv: z.string().min(1).describe('The environment variable with the API key; never write the key itself here'),
    model: z.string().min(1),
    cheapModel: z.string().min(1).describe('The model that writes summaries, from the same provider'),
    temperature: z.number().min(0).max(2),
    maxOutputTokens: limit,
    stallSeconds: z.number().gt(0).describe('A connection is closed after this time without data'),
    policy: z.string().min(1).describe('The planner for sessions of the agent: a preset, or the name of your own'),
    workspace: z.string().min(1).describe('The folder of the knowledge files'),
    user: z.string().min(1).describe('The user of the memory'),
    allow: z
      .strictObject({ commands: z.array(z.string().min(1)), folders: z.array(z.string().min(1)) })
      .partial()
      .describe(
        'Commands and folders that need no approval; * in a command matches anything that cannot start another command',
      ),
    limits: z
      .strictObject({ steps: limit, tokens: limit, money: z.number().gt(0), toolSeconds: z.number().gt(0) })
      .partial()
      .describe('Limits of one turn; a tool that takes longer is stopped'),
    retry: z
      .strictObject({ attempts: limit, base: limit, longest: limit })
      .partial()
      .describe('Retries when a provider is busy: their number, and the first and the longest pause in milliseconds'),
  })
  .partial()
  .describe('The agent in `palimpsest ask`, `palimpsest chat` and the server')

export type AgentConfig = z.infer<typeof agentSchema>

const share = z.number().gt(0).max(1)

const marksSchema = z
  .strictObject({
    budget: share.describe('Old steps are summarised above this share of the window'),
    keep: limit.describe('The number of newest entries that a summary leaves alone'),
    warnFrom: share.describe('The agent is warned above this share of the budget'),
    limit: limit.describe('A result with more characters is moved to a file'),
    preview: limit.describe('The number of characters that stay in view'),
  })
  .partial()

const anchorSchema = z.strictObject({ every: limit, goalChars: limit }).partial()

const keepSchema = z.union([z.enum(Object.keys(KEEP_LEVELS) as KeepLevel[]), z.number().gt(0).max(MAX_KEEP)])
const presetSchema = z.enum([...presets, ...seedPresets].map(preset => preset.name))
const choiceSchema = z.strictObject({ policy: presetSchema, keep: keepSchema }).partial()

/** Settings for one agent or one project. */
export type Choice = z.infer<typeof choiceSchema>

export const configSchema = z
  .strictObject({
    $schema: z.string().optional(),
    policy: z
      .union([presetSchema, compositionSchema])
      .optional()
      .describe('A preset by name, or policies of your choice'),
    keep: keepSchema.optional().describe('How much thrifty and agent keep: a word, or a number relative to normal (1)'),
    byAgent: z
      .record(z.string(), choiceSchema)
      .optional()
      .describe('Preset and knob for the sessions of one agent, by its name: claude-code, codex, opencode, pi'),
    byProject: z
      .record(z.string(), choiceSchema)
      .optional()
      .describe(
        'Preset and knob for the sessions in one folder, by its path or the end of it; takes precedence over byAgent',
      ),
    protect: z.array(z.string().min(1)).optional().describe('Tools whose results thrifty and agent never edit'),
    anchor: z
      .union([z.literal(false), anchorSchema])
      .optional()
      .describe('The number of tool calls after which agent and stale-output repeat the goal; false for never'),
    marks: marksSchema.optional().describe('Thresholds of the preset agent'),
    model: z.string().min(1).optional().describe('The model of the sessions'),
    cacheTtl: z.string().min(1).optional().describe('The cache lifetime requested from the provider, such as 1h'),
    overhead: z.int().min(0).optional().describe('Tokens of the system prompt and tools'),
    models: z.record(z.string(), modelSchema).optional(),
    tools: z.record(z.string(), toolSchema).optional(),
    publicUrl: z.url().optional().describe('The public address of the server, for links in answers'),
    noticeInAnswers: z
      .boolean()
      .optional()
      .describe('Whether answers through the proxy mention waiting proposals (true)'),
    recall: z
      .strictObject({ embedding: embeddingSchema.optional() })
      .optional()
      .describe('How recall ranks hits: by words, and with an embedding also by meaning'),
    retention: retentionSchema
      .optional()
      .describe('Which sessions are deleted, by age and size; `archive` keeps them as files'),
    agent: agentSchema.optional(),
  })
  .describe('Configuration of Palimpsest')

export type Config = {
  policy?: string | Composition
  keep?: KeepLevel | number
  byAgent?: Record<string, Choice>
  byProject?: Record<string, Choice>
  protect?: string[]
  anchor?: z.infer<typeof configSchema>['anchor']
  marks?: z.infer<typeof marksSchema>
  model?: string
  cacheTtl?: string
  overhead?: number
  models?: ModelTable
  tools?: Record<string, ToolSpec>
  publicUrl?: string
  noticeInAnswers?: boolean | undefined
  recall?: { embedding?: EmbeddingConfig | undefined } | undefined
  retention?: Retention | undefined
  agent?: AgentConfig
}

/** The configuration in the form that the engine takes. */
export type Settings = {
  planner?: PlannerFactory
  tuning?: PresetTuning
  byAgent?: Record<string, Choice>
  byProject?: Record<string, Choice>
  model?: string
  cacheTtl?: string
  overhead?: number
  models?: ModelTable
  tools?: ToolTable
  /** With it, recall also ranks hits by meaning. */
  embed?: Embed
  /** Which sessions are removed, and when. The archive's path is absolute. */
  retention?: Retention
}

/** Checks that a value is a configuration. Errors name `source`. */
export function parseConfig(value: unknown, source = 'config'): Config {
  const parsed = configSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(issue => describeIssue(issue, value))
  throw new PalimpsestError('CONFIG_INVALID', `${source}: ${problems.map(({ text }) => text).join('; ')}`, {
    source,
    problems,
  })
}

/** `source` is the configuration file. Modules are resolved from its folder. */
export async function toSettings(config: Config, source = '.'): Promise<Settings> {
  const {
    policy,
    tools,
    recall,
    agent: _,
    publicUrl: __,
    noticeInAnswers: ___,
    keep,
    protect,
    anchor,
    marks,
    retention,
    ...rest
  } = config
  const tuning: PresetTuning = Object.fromEntries(
    Object.entries({ keep, protect, anchor, marks }).filter(([, value]) => value !== undefined),
  )
  const planner = await plannerOf(policy, tuning, source)
  return {
    ...rest,
    tuning,
    ...(planner ? { planner } : {}),
    ...(tools ? { tools: defineTools(tools) } : {}),
    ...(retention ? { retention: withWholePath(retention, source) } : {}),
    ...(recall?.embedding ? { embed: lateEmbedding(recall.embedding, dirname(source)) } : {}),
  }
}

function withWholePath({ archive, ...rest }: Retention, source: string): Retention {
  return archive === undefined ? rest : { ...rest, archive: resolve(dirname(source), archive) }
}

/**
 * The settings of a home: from the file beside it, from the file at the given path, or from the value itself. `false`
 * means no configuration.
 */
export async function settingsFor(home: string, config?: Config | string | false): Promise<Settings> {
  if (config === false || (config === undefined && home === MEMORY)) return {}
  if (typeof config === 'object') return toSettings(parseConfig(config))
  const path = config ?? configPath(home)
  const read = await readConfig(path, { mustExist: config !== undefined })
  return read ? toSettings(read, path) : {}
}

async function plannerOf(
  policy: Config['policy'],
  tuning: PresetTuning,
  source: string,
): Promise<PlannerFactory | undefined> {
  if (policy === undefined) return undefined
  if (typeof policy === 'string') return findPreset(policy, tuning)
  const loaded = new Map<ModuleConfig, Policy>()
  for (const one of policy.policies) if (one.use === 'module') loaded.set(one, await loadPolicy(one, source))
  return makeComposition(policy, module => loaded.get(module)!)
}

async function loadPolicy({ path, options }: ModuleConfig, source: string): Promise<Policy> {
  const file = resolve(dirname(source), path)
  const fail = (what: string, cause?: unknown) =>
    new PalimpsestError('CONFIG_INVALID', `${source}: the policy ${path} ${what}`, { source, path }, cause)
  const module: unknown = await import(pathToFileURL(file).href).catch(cause => {
    throw fail(`cannot be loaded: ${cause}`, cause)
  })
  const given = isRecord(module) ? module['default'] : undefined
  const policy: unknown = typeof given === 'function' ? given(options ?? {}) : given
  if (isPolicy(policy)) return policy
  throw fail('must have a policy, or a function that returns one, as its default export. Create it with definePolicy.')
}

function isPolicy(value: unknown): value is Policy {
  return isRecord(value) && typeof value['name'] === 'string' && typeof value['start'] === 'function'
}

/** Reads a configuration file; `undefined` if it is missing and `mustExist` is false. */
export async function readConfig(path: string, { mustExist = true } = {}): Promise<Config | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (!mustExist && isMissing(error)) return undefined
    throw new PalimpsestError('CONFIG_INVALID', `${path} cannot be read: ${error}`, { source: path }, error)
  }
  return parseConfig(jsonIn(text, path), path)
}

export type ConfigModels = { written: string[]; kept: string[] }

/** Writes model rows into a configuration. Rows that the user wrote are kept; rows from an update have a `source`. */
export async function updateModels(path: string, rows: ModelTable): Promise<ConfigModels> {
  let kept: string[] = []
  let written: string[] = []
  await changeOwnFile(path, {}, now => {
    const value = jsonIn(now ?? '{}', path)
    const { models: before = {} } = parseConfig(value, path)
    kept = Object.keys(rows).filter(id => before[id] && before[id].source === undefined)
    written = Object.keys(rows).filter(id => !kept.includes(id))
    if (written.length === 0) return now
    const models = { ...before, ...Object.fromEntries(written.map(id => [id, rows[id]])) }
    return `${JSON.stringify({ ...(isRecord(value) ? value : {}), models }, null, 2)}\n`
  })
  return { written, kept }
}

/** The configuration file of a home is in the folder that holds the home. */
export function configPath(home: string): string {
  return join(dirname(resolve(home)), CONFIG_FILE)
}

export function configJsonSchema(): Record<string, unknown> {
  return { title: CONFIG_FILE, ...z.toJSONSchema(configSchema, { io: 'input' }) }
}

function jsonIn(text: string, path: string): unknown {
  try {
    return parseJson(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new PalimpsestError('CONFIG_INVALID', `${path} is not JSON: ${error}`, { source: path }, error)
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')
}

type Issue = z.core.$ZodIssue
type Problem = { key: string; text: string }

function describeIssue(issue: Issue, value: unknown): Problem {
  const inner = branchOf(issue, value)
  if (inner !== issue) return describeIssue(inner, value)
  const key = toKey(issue.path)
  const at = key === '' ? 'the file' : key
  if (issue.code === 'unrecognized_keys') {
    const unknown = issue.keys.map(name => toKey([...issue.path, name]))
    const allowed = allowedKeys(issue.path, value)
    return {
      key: unknown[0] ?? key,
      text: `unknown key ${unknown.join(', ')}; allowed in ${at}: ${allowed.join(', ')}`,
    }
  }
  const allowed = issue.code === 'invalid_union' ? allowedValues(issue.path.at(-1)) : undefined
  const problem = allowed ? `; allowed: ${allowed.join(', ')}` : `: ${issue.message}`
  return { key, text: `${at} is ${show(valueAt(value, issue.path))}${problem}` }
}

function allowedValues(key: PropertyKey | undefined): string[] | undefined {
  if (key === 'use') return [...policyNames, 'module']
  if (key === 'keep') return [...Object.keys(KEEP_LEVELS), `or a number up to ${MAX_KEEP}`]
  if (key === 'policy') return [...presetSchema.options, 'or an object with "policies"']
  return undefined
}

/** When a value matches no branch of a union, returns the problem in the most likely branch. */
function branchOf(issue: Issue, value: unknown): Issue {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return issue
  const isObject = typeof valueAt(value, issue.path) === 'object'
  const meant = issue.errors.find(errors =>
    errors.every(error => error.path.length > 0 || error.code === 'unrecognized_keys'),
  )
  const first = isObject ? meant?.[0] : undefined
  return first ? ({ ...first, path: [...issue.path, ...first.path] } as Issue) : issue
}

const SECTIONS: Record<string, { shape: object }> = {
  models: modelSchema,
  tools: toolSchema,
  marks: marksSchema,
  anchor: anchorSchema,
  byAgent: choiceSchema,
  byProject: choiceSchema,
}

function allowedKeys(path: readonly PropertyKey[], value: unknown): string[] {
  if (path.length === 0) return Object.keys(configSchema.shape)
  const shape = SECTIONS[String(path[0])]?.shape
  if (shape) return Object.keys(shape)
  if (path[0] === 'recall') return ['embedding']
  if (path[0] === 'retention') return path.length === 1 ? ['archive', 'rules'] : Object.keys(ruleSchema.shape)
  if (path[0] === 'agent') return agentKeys(path.slice(1))
  if (path.length === 1) return Object.keys(compositionSchema.shape)
  const policy = valueAt(value, path.slice(0, 3))
  const use = typeof policy === 'object' && policy !== null && 'use' in policy ? String(policy.use) : ''
  return optionNames(use, path.slice(3))
}

function agentKeys([section]: readonly PropertyKey[]): string[] {
  const { allow, limits, retry } = agentSchema.shape
  const sections: Record<string, { shape: object }> = {
    allow: allow.unwrap(),
    limits: limits.unwrap(),
    retry: retry.unwrap(),
  }
  return Object.keys(sections[String(section)]?.shape ?? agentSchema.shape)
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value
  for (const key of path) {
    if (typeof found !== 'object' || found === null) return undefined
    found = Reflect.get(found, key)
  }
  return found
}

function toKey(path: readonly PropertyKey[]): string {
  return path
    .map(step => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '')
}

function show(value: unknown): string {
  return value === undefined ? 'missing' : headOf(JSON.stringify(value) ?? 'missing', 80)
}
