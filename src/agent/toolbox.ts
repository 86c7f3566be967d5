/**
 * The tools of an agent, and the one way to run a call of theirs.
 *
 * Running a call never throws: an unknown tool, invalid JSON arguments, a refusal, a tool that hangs, a stopped turn
 * and a bug of the tool all become results that the model can act on. Approval is asked for before anything happens.
 */

import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider'
import { messageOf, PalimpsestError } from '../model/errors.ts'
import { isRecord } from '../model/json.ts'
import { boundedTo } from '../model/text.ts'
import type { ToolCallPart } from '../model/types.ts'
import { memoryTool, textEditorTool } from '../tools/anthropic.ts'
import { runCommand } from '../tools/command.ts'
import { contextTools } from '../tools/context.ts'
import { fileTools } from '../tools/files.ts'
import { runOrPropose } from '../tools/identity.ts'
import { type MemoryToolContext, memoryTools, memoryToolsFor } from '../tools/memory.ts'
import type { SessionToolContext } from '../tools/recall.ts'
import { failed, type Tool, type ToolContext, type ToolResult, toJsonSchema, withOwnNames } from '../tools/tool.ts'
import { workspaceTools } from '../tools/workspace.ts'
import { type AllowRules, type Approve, type Concern, isAllowed, questionAbout, refusalText } from './approval.ts'
import { MALFORMED } from './ask.ts'
import { type DelegateContext, delegateTool } from './delegate.ts'
import type { AgentEvent } from './events.ts'
import { TOOL_GROUPS, type ToolGroup } from './personas.ts'
import { type Folders, journalFor, placeCall } from './places.ts'

type AgentToolContext = ToolContext & SessionToolContext & MemoryToolContext & DelegateContext
export type AgentTool = Tool<AgentToolContext>

const GROUPS: Record<ToolGroup, readonly AgentTool[]> = {
  files: fileTools.filter(tool => tool !== runCommand),
  shell: [runCommand],
  context: contextTools,
  memory: memoryTools,
  workspace: workspaceTools,
  delegate: [delegateTool],
}

/** Tools that Claude models are trained on, for personas that name them. `memory` is the name of the group. */
const BY_NAME: readonly AgentTool[] = [textEditorTool(), { ...memoryTool(), name: 'memory_folder' }]

/** The tools of a list of groups and names, in a fixed order. */
export function toolsNamed(
  names: readonly string[] = TOOL_GROUPS,
  { extra = [], subject = 'user' }: { extra?: readonly AgentTool[]; subject?: string } = {},
): AgentTool[] {
  const own = { ...GROUPS, memory: memoryToolsFor(subject) }
  const all = [...TOOL_GROUPS.flatMap(group => own[group]), ...BY_NAME, ...extra]
  const known = new Set<string>([...TOOL_GROUPS, ...all.map(({ name }) => name)])
  const unknown = names.find(name => !known.has(name))
  if (unknown !== undefined) {
    throw new PalimpsestError('CONFIG_INVALID', `There is no tool ${unknown}; there are ${[...known].join(', ')}.`, {
      tool: unknown,
      known: [...known],
    })
  }
  const wanted = new Set(names.flatMap(name => (isGroup(name) ? GROUPS[name].map(tool => tool.name) : [name])))
  return all.filter(({ name }) => wanted.has(name) || extra.some(tool => tool.name === name))
}

type ToolboxOptions = {
  tools: readonly AgentTool[]
  context: Omit<AgentToolContext, 'signal'>
  folders: Folders
  allow: AllowRules
  approve?: Approve | undefined
  /** Milliseconds after which a call is given up. */
  timeout: number
}

export class Toolbox {
  readonly #tools: ReadonlyMap<string, AgentTool>
  readonly #options: ToolboxOptions
  /** The last question: the next one waits for its answer. */
  #asking: Promise<unknown> = Promise.resolve()

  constructor(options: ToolboxOptions) {
    this.#options = options
    this.#tools = new Map(options.tools.map(tool => [tool.name, tool]))
  }

  definitions(): LanguageModelV4FunctionTool[] {
    return [...this.#tools.values()].map(tool => ({
      type: 'function',
      name: tool.name,
      description: tool.description,
      inputSchema: toJsonSchema(tool),
    }))
  }

  async run(call: ToolCallPart, tell: (event: AgentEvent) => void, signal: AbortSignal): Promise<ToolResult> {
    const tool = this.#tools.get(call.name)
    if (!tool) return failed(`There is no tool ${call.name}. There are: ${[...this.#tools.keys()].join(', ')}.`)
    const input = isRecord(call.input) ? withOwnNames(call.input, tool) : {}
    if (MALFORMED in input) return failed(malformed(call.name, String(input[MALFORMED])))
    try {
      return await this.#runPlaced(tool, { ...call, input }, tell, signal)
    } catch (error) {
      if (signal.aborted) return failed(`[No result: ${call.name} was stopped by the user]`)
      return failed(`${call.name} failed: ${messageOf(error)}`)
    }
  }

  async #runPlaced(
    tool: AgentTool,
    call: ToolCallPart & { input: Record<string, unknown> },
    tell: (event: AgentEvent) => void,
    signal: AbortSignal,
  ): Promise<ToolResult> {
    const { context, folders } = this.#options
    const placed = placeCall(tool.name, call.input, folders)
    const concern = placed?.concern ?? concernOf(tool, call.input)
    const refused = concern && (await this.#settle(concern, call, tell, signal))
    if (refused !== undefined) return failed(refused)
    const store = placed?.store ? { store: placed.store } : {}
    const own = placed?.elsewhere
      ? { root: placed.root, ...store, journal: journalFor(placed.root, context.journal) }
      : {}
    return this.#withTimeout(tool.name, call.input, signal, limited =>
      runOrPropose(tool, placed?.input ?? call.input, { ...context, ...own, tell, callId: call.id, signal: limited }),
    )
  }

  /** The refusal for the model; `undefined` if the call is allowed. */
  async #settle(
    concern: Concern,
    call: ToolCallPart,
    tell: (event: AgentEvent) => void,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { allow, approve } = this.#options
    if (isAllowed(concern, allow)) return undefined
    if (!approve) return refusalText(concern, false)
    const { id, name, input } = call
    const question = questionAbout(concern)
    const asked = this.#asking.then(async () => {
      signal.throwIfAborted()
      tell({ type: 'approval', id, name, question })
      const yes = await untilAborted(approve({ id, name, input, question }, signal), signal)
      tell({ type: 'approved', id, yes })
      return yes
    })
    this.#asking = asked.catch(() => undefined)
    return (await asked) ? undefined : refusalText(concern, true)
  }

  /** A tool that does not end is abandoned, with its signal aborted. */
  async #withTimeout(
    name: string,
    input: Record<string, unknown>,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<ToolResult>,
  ): Promise<ToolResult> {
    const ms = Math.max(this.#options.timeout, ownTimeout(input))
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), ms)
    const limited = AbortSignal.any([signal, late.signal])
    try {
      return await untilAborted(work(limited), limited)
    } catch (error) {
      if (!late.signal.aborted || signal.aborted) throw error
      return failed(`${name} did not end within ${ms / 1000} s and was stopped. Its work until then is kept.`)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Rejects when the signal aborts, whatever the work does. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = () => reject(signal.reason)
    if (signal.aborted) give()
    signal.addEventListener('abort', give, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give))
  })
}

function concernOf(tool: AgentTool, input: Record<string, unknown>): Concern | undefined {
  return tool.name === runCommand.name ? { kind: 'command', command: String(input['command'] ?? '') } : undefined
}

const SLACK_MS = 10_000

/** run_command has its own limit, which reports the output so far to the model. */
function ownTimeout({ timeout_seconds: seconds }: Record<string, unknown>): number {
  return typeof seconds === 'number' ? seconds * 1_000 + SLACK_MS : 0
}

function malformed(name: string, text: string): string {
  return `The arguments of ${name} were not a JSON object, so nothing was done: ${boundedTo(text, 200)}\nCall it again with one valid JSON object.`
}

function isGroup(name: string): name is ToolGroup {
  return TOOL_GROUPS.some(group => group === name)
}
