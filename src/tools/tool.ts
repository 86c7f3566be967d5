/**
 * Defines a tool, runs it, and exports it to every provider's format.
 *
 * `runTool` never throws for a model's mistakes: arguments are parsed here, and a failure becomes an error result
 * that says what to do. Only our own bugs, and a cancelled call, are thrown.
 */

import { z } from 'zod'
import type { FileJournal } from '../files/journal.ts'
import { openRoot, type Root } from '../files/root.ts'
import type { FileStore, Files } from '../files/store.ts'
import type { EntryLink } from '../memory/store.ts'
import type { Environment } from '../model/defaults.ts'
import { isPalimpsestError, messageOf } from '../model/errors.ts'
import { parseJson } from '../model/json.ts'

/** `whole` is the full text of a long output, for the ledger; the model is shown `text`. */
export type ToolResult = { text: string; isError?: boolean; whole?: string }

export function failed(text: string): ToolResult {
  return { text, isError: true }
}

/** The context of every call. A tool that needs more declares its own context type. */
export type ToolContext = {
  /** The folder that file tools are confined to. */
  root: string
  /** Set if the files of the root are in a table. */
  store?: FileStore
  journal: FileJournal
  /** Milliseconds since 1970. */
  now: () => number
  /** The folder of the knowledge files; `~/.agent/workspace` unless set. */
  workspace?: Files
  /** The session entries that a text written now comes from. */
  entries?: () => EntryLink[]
  /** The environment of run_command (secrets are removed); the default is the process's own. */
  env?: Environment
  /** Variables that run_command passes on although their names look like secrets. */
  allowEnv?: readonly string[]
  signal?: AbortSignal
}

type Annotations = {
  readOnly?: boolean
  /** Can destroy data that it does not restore itself. */
  destructive?: boolean
  /** Reaches beyond the root, the workspace and the ledger. */
  openWorld?: boolean
}

export type Tool<Context = ToolContext> = {
  name: string
  description: string
  input: z.ZodObject
  annotations: Annotations
  /** Anthropic's own definition of the tool, which replaces the schema. */
  anthropic?: { type: string } & Record<string, unknown>
  run: (input: unknown, context: Context) => Promise<ToolResult>
}

type ToolDefinition<Shape extends z.ZodObject, Context> = {
  name: string
  description: string
  input: Shape
  annotations?: Annotations
  anthropic?: { type: string } & Record<string, unknown>
  /** Contract: gets parsed input; throws a PalimpsestError for what the model should hear. */
  run: (input: z.output<Shape>, context: Context) => Promise<ToolResult | string> | ToolResult | string
}

export function defineTool<Shape extends z.ZodObject, Context = ToolContext>(
  definition: ToolDefinition<Shape, Context>,
): Tool<Context> {
  const { name, description, input, annotations = {}, anthropic } = definition
  return {
    name,
    description,
    input,
    annotations,
    ...(anthropic ? { anthropic } : {}),
    run: async (raw, context) => {
      const { value, unknown } = namedArguments(raw, input)
      const parsed = input.safeParse(value, { reportInput: true })
      if (!parsed.success) return { text: badArguments(name, parsed.error), isError: true }
      const result = await definition.run(parsed.data, context)
      const told = typeof result === 'string' ? { text: result } : result
      if (unknown.length === 0) return told
      return { ...told, text: `${told.text}\n${unknownNote(name, unknown, Object.keys(input.shape))}` }
    },
  }
}

export function rootOf({ root, store }: Pick<ToolContext, 'root' | 'store'>): Promise<Root> {
  return openRoot(store ?? root)
}

/** Runs one call. Arguments may be an object or, as some providers send them, its JSON text. */
export async function runTool<Context extends { signal?: AbortSignal }>(
  tool: Tool<Context>,
  input: unknown,
  context: Context,
): Promise<ToolResult> {
  context.signal?.throwIfAborted()
  const parsed = typeof input === 'string' ? parse(input) : { value: input ?? {} }
  if ('problem' in parsed) {
    return { text: `Invalid arguments for ${tool.name}: not valid JSON (${parsed.problem}).`, isError: true }
  }
  try {
    return await tool.run(parsed.value, context)
  } catch (error) {
    if (isPalimpsestError(error)) return { text: error.message, isError: true }
    const system = systemError(error)
    if (system) return { text: system, isError: true }
    throw error
  }
}

export function toJsonSchema(tool: Tool<never>): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(tool.input, { io: 'input' })
  return schema
}

/** OpenAI Chat Completions. */
export function toOpenAITools(tools: readonly Tool<never>[]) {
  return tools.map(tool => ({
    type: 'function' as const,
    function: { name: tool.name, description: tool.description, parameters: toJsonSchema(tool) },
  }))
}

/** OpenAI Responses. `strict` is off because strict mode has no optional arguments. */
export function toOpenAIResponsesTools(tools: readonly Tool<never>[]) {
  return tools.map(tool => ({
    type: 'function' as const,
    name: tool.name,
    description: tool.description,
    parameters: toJsonSchema(tool),
    strict: false,
  }))
}

type AnthropicTool =
  | { name: string; description: string; input_schema: { type: 'object' } & Record<string, unknown> }
  | ({ type: string; name: string } & Record<string, unknown>)

export function toAnthropicTools(tools: readonly Tool<never>[]): AnthropicTool[] {
  return tools.map(tool =>
    tool.anthropic
      ? { ...tool.anthropic, name: tool.name }
      : {
          name: tool.name,
          description: tool.description,
          input_schema: { ...toJsonSchema(tool), type: 'object' as const },
        },
  )
}

/** The part of AI SDK's per-call options that we use. */
type AiSdkOptions = { abortSignal?: AbortSignal }

/**
 * Tools for `generateText({ tools })` of AI SDK 7, as plain objects: the package is not imported. The schema for the SDK
 * accepts any value, so that wrong arguments are reported by us.
 */
export function toAiSdkTools<Context extends { signal?: AbortSignal }>(
  tools: readonly Tool<Context>[],
  context: Context,
) {
  return Object.fromEntries(
    tools.map(tool => [
      tool.name,
      {
        description: tool.description,
        inputSchema: openSchema(toJsonSchema(tool)),
        execute: (input: unknown, options: AiSdkOptions = {}) =>
          runTool(tool, input, options.abortSignal ? { ...context, signal: options.abortSignal } : context),
        toModelOutput: ({ output }: { output: ToolResult }) => ({
          type: output.isError ? ('error-text' as const) : ('text' as const),
          value: output.text,
        }),
      },
    ]),
  )
}

/** The answer to `tools/list` of an MCP server. Anthropic's own tools have a schema here too. */
export function toMcpTools(tools: readonly Tool<never>[]) {
  return tools.map(tool => {
    const { readOnly = false, destructive = false, openWorld = false } = tool.annotations
    return {
      name: tool.name,
      description: tool.description,
      inputSchema: { ...toJsonSchema(tool), type: 'object' as const },
      annotations: { readOnlyHint: readOnly, destructiveHint: !readOnly && destructive, openWorldHint: openWorld },
    }
  })
}

/** The answer to `tools/call` of an MCP server. */
export function toMcpResult({ text, isError }: ToolResult) {
  return { content: [{ type: 'text' as const, text }], ...(isError ? { isError } : {}) }
}

/** A Standard Schema that describes `schema` and accepts any value. */
function openSchema(schema: Record<string, unknown>) {
  return {
    '~standard': {
      version: 1 as const,
      vendor: 'palimpsest',
      validate: (value: unknown) => ({ value }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  }
}

/** Names of arguments that models use from other tools, and ours. */
const OTHER_NAMES: Record<string, string> = {
  file_path: 'path',
  filename: 'path',
  old_str: 'old_string',
  new_str: 'new_string',
}

/** Renames arguments to the names of the tool; others stay as they are. */
export function withOwnNames(raw: object, { input }: Pick<Tool<never>, 'input'>): Record<string, unknown> {
  const ownName = (key: string) => {
    const name = OTHER_NAMES[key]
    return name === undefined || key in input.shape || !(name in input.shape) || name in raw ? key : name
  }
  return Object.fromEntries(Object.entries(raw).map(([key, given]) => [ownName(key), given]))
}

/** The arguments that the tool has, and the names of the others. */
function namedArguments(raw: unknown, input: z.ZodObject): { value: unknown; unknown: string[] } {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return { value: raw, unknown: [] }
  const named = Object.entries(withOwnNames(raw, { input }))
  const isKnown = (name: string) => Object.hasOwn(input.shape, name)
  return {
    value: Object.fromEntries(named.filter(([name]) => isKnown(name))),
    unknown: named.flatMap(([name]) => (isKnown(name) ? [] : [name])),
  }
}

function unknownNote(tool: string, unknown: readonly string[], known: readonly string[]): string {
  const [verb, noun] = unknown.length === 1 ? ['was', 'is no argument'] : ['were', 'are no arguments']
  return `[${unknown.join(', ')} ${noun} of ${tool} and ${verb} ignored. It takes: ${known.join(', ') || 'none'}.]`
}

function badArguments(name: string, error: z.ZodError): string {
  const lines = error.issues.map(issue => {
    const where = issue.path.length > 0 ? issue.path.join('.') : 'arguments'
    const isMissing = issue.code === 'invalid_type' && issue.input === undefined
    return `- ${where}: ${isMissing ? `is missing, expected ${issue.expected}` : issue.message}`
  })
  return [`Invalid arguments for ${name}:`, ...lines, 'Nothing was done. Call it again with these corrected.'].join(
    '\n',
  )
}

function parse(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: text.trim() === '' ? {} : parseJson(text) }
  } catch (error) {
    return { problem: messageOf(error) }
  }
}

/** An error of the operating system in words; undefined for anything else. */
function systemError(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined
  const words = SYSTEM_ERRORS[String(error.code)]
  return words ? `${words} (${error.code}).` : `The operating system refused: ${error.code} (${error.syscall}).`
}

const SYSTEM_ERRORS: Record<string, string> = {
  EACCES: 'Permission denied',
  EPERM: 'Permission denied',
  EROFS: 'The file system is read-only',
  ENOSPC: 'No space left on the disk',
  EDQUOT: 'The disk quota is used up',
  ENAMETOOLONG: 'The name is too long',
  EMFILE: 'Too many open files; try again',
  ENFILE: 'Too many open files; try again',
}
