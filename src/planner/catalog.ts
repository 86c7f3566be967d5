/**
 * Lists every policy by its name in a configuration, with the schema of its options, and turns a composition in JSON
 * into a planner. A policy that is not listed here cannot be configured; docs and tests go through this list.
 */
import { z } from 'zod'
import { anchor } from '../policies/anchor.ts'
import { clearResults } from '../policies/clear-results.ts'
import { failedCalls } from '../policies/failed-calls.ts'
import { fallback } from '../policies/fallback.ts'
import { images } from '../policies/images.ts'
import { keepEdits } from '../policies/keep-edits.ts'
import { offload } from '../policies/offload.ts'
import { everyTurn, type PlannerFactory, type Policy } from '../policies/policy.ts'
import { recentOnly } from '../policies/recent-only.ts'
import { repeatReads } from '../policies/repeat-reads.ts'
import { staleOutput } from '../policies/stale-output.ts'
import { summarize } from '../policies/summarize.ts'
import { superseded } from '../policies/superseded.ts'
import { truncateShell } from '../policies/truncate-shell.ts'
import { warn } from '../policies/warn.ts'
import { whenItPays } from './hold.ts'

const count = z.int().min(0).max(1_000_000_000)
const atLeastOne = z.int().min(1).max(1_000_000_000)
const share = z.number().gt(0).max(1)
const tools = z.array(z.string().min(1))
const tokens = z.strictObject({ type: z.literal('input_tokens'), value: count })

const OPTIONS = {
  'repeat-reads': z.strictObject({ use: z.literal('repeat-reads'), samples: count.max(100).optional() }),
  'keep-edits': z.strictObject({
    use: z.literal('keep-edits'),
    veryLong: count.optional(),
    recent: count.optional(),
    together: atLeastOne.optional(),
    keepChars: count.optional(),
  }),
  'truncate-shell': z.strictObject({
    use: z.literal('truncate-shell'),
    small: count.optional(),
    limit: count.optional(),
    head: count.optional(),
    tail: count.optional(),
    pressure: share.optional(),
    markedHead: count.optional(),
    markedTail: count.optional(),
  }),
  'recent-only': z.strictObject({ use: z.literal('recent-only'), keep: count.optional(), tools: tools.optional() }),
  'clear-results': z.strictObject({
    use: z.literal('clear-results'),
    trigger: z.strictObject({ type: z.enum(['input_tokens', 'tool_uses']), value: count }).optional(),
    keep: z.strictObject({ type: z.literal('tool_uses'), value: count }).optional(),
    exclude_tools: tools.optional(),
    clear_at_least: tokens.optional(),
    clear_tool_inputs: z.union([z.boolean(), tools]).optional(),
    placeholder: z.string().min(1).optional(),
    max_result_chars: atLeastOne.optional(),
    after_warning: z.boolean().optional(),
  }),
  warn: z.strictObject({ use: z.literal('warn'), limit: atLeastOne.optional(), from: share.optional() }),
  'stale-output': z.strictObject({
    use: z.literal('stale-output'),
    after: count.optional(),
    preview: count.optional(),
    critical: tools.optional(),
  }),
  offload: z.strictObject({
    use: z.literal('offload'),
    limit: atLeastOne.optional(),
    preview: count.optional(),
    criticalLimit: atLeastOne.optional(),
    criticalPreview: count.optional(),
    critical: tools.optional(),
  }),
  anchor: z.strictObject({ use: z.literal('anchor'), every: atLeastOne.optional(), goalChars: atLeastOne.optional() }),
  summarize: z.strictObject({
    use: z.literal('summarize'),
    threshold: atLeastOne.optional(),
    budget: share.optional(),
    keep: count.optional(),
    atLeast: z.number().min(0).max(1).optional(),
  }),
  fallback: z.strictObject({
    use: z.literal('fallback'),
    threshold: atLeastOne.optional(),
    most: atLeastOne.optional(),
    least: atLeastOne.optional(),
  }),
  'failed-calls': z.strictObject({
    use: z.literal('failed-calls'),
    after: count.optional(),
    keepChars: count.optional(),
  }),
  superseded: z.strictObject({ use: z.literal('superseded'), keepChars: count.optional() }),
  images: z.strictObject({ use: z.literal('images'), count: count.optional(), bytes: count.optional() }),
} as const

/**
 * A custom policy: the default export of a module, or the value that the export returns when called with the options.
 */
const MODULE = z.strictObject({
  use: z.literal('module'),
  path: z.string().min(1).describe('The module, from the folder of this file'),
  options: z.record(z.string(), z.unknown()).optional(),
})

export type ModuleConfig = z.infer<typeof MODULE>

type PolicyName = keyof typeof OPTIONS

export const policyNames = Object.keys(OPTIONS) as PolicyName[]

const policySchema = z.discriminatedUnion('use', [
  OPTIONS['repeat-reads'],
  OPTIONS['keep-edits'],
  OPTIONS['truncate-shell'],
  OPTIONS['recent-only'],
  OPTIONS['clear-results'],
  OPTIONS.warn,
  OPTIONS['stale-output'],
  OPTIONS.offload,
  OPTIONS.anchor,
  OPTIONS.summarize,
  OPTIONS.fallback,
  OPTIONS['failed-calls'],
  OPTIONS.superseded,
  OPTIONS.images,
  MODULE,
])

type PolicyConfig = z.infer<typeof policySchema>

export const compositionSchema = z.strictObject({
  name: z.string().min(1).max(60).optional().describe('The name of the policy in sessions'),
  apply: z
    .enum(['every-turn', 'thrifty'])
    .optional()
    .describe('Whether edits are made at once, or wait until they pay off'),
  policies: z.array(policySchema),
})

export type Composition = z.infer<typeof compositionSchema>

function makePolicy(config: PolicyConfig, load: (module: ModuleConfig) => Policy): Policy {
  if (config.use === 'module') return load(config)
  const { use, ...options } = config
  return FACTORIES[use](options)
}

/** `load` returns the policy of a module. Only a caller that may read files can provide it. */
export function makeComposition(
  { name = 'custom', apply = 'every-turn', policies }: Composition,
  load: (module: ModuleConfig) => Policy,
): PlannerFactory {
  const made = policies.map(policy => makePolicy(policy, load))
  return apply === 'thrifty' ? whenItPays(name, made) : everyTurn(name, made)
}

/** The names that the options of a policy accept, or that one of its options accepts. */
export function optionNames(policy: string, path: readonly PropertyKey[] = []): string[] {
  if (policy === 'module') return Object.keys(MODULE.shape)
  if (!isPolicyName(policy)) return ['use']
  let shape: unknown = OPTIONS[policy]
  for (const step of path) shape = shapeOf(shape)?.[String(step)]
  return Object.keys(shapeOf(shape) ?? {})
}

function isPolicyName(name: string): name is PolicyName {
  return name in OPTIONS
}

function shapeOf(schema: unknown): Record<string, unknown> | undefined {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  return inner instanceof z.ZodObject ? inner.shape : undefined
}

/** The options have been checked against the schema of the same name. */
const FACTORIES: Record<PolicyName, (options: object) => Policy> = {
  'repeat-reads': repeatReads,
  'keep-edits': keepEdits,
  'truncate-shell': truncateShell,
  'recent-only': recentOnly,
  'clear-results': clearResults,
  warn,
  'stale-output': staleOutput,
  offload,
  anchor,
  summarize,
  fallback,
  'failed-calls': failedCalls,
  superseded,
  images,
}
