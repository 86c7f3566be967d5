/**
 * Our own tools in a client that does not know them.
 *
 * The model is offered `context` and `recall` in addition to the client's tools. A call streams to the client like any
 * other. The client answers that it has no such tool, and our answer replaces that answer before it reaches the model.
 * In the ledger the client's answer is the entry and ours is an edit of it. So both can be read, our answer is sent
 * again byte for byte, and the tool runs once. A name that the client uses is never used for our tools.
 */

import { TAKEN, type Wire } from '../../formats/adapters/original.ts'
import { isRecord } from '../../model/json.ts'
import { textOf } from '../../model/leaves.ts'
import type { Edit, Message, Part, ToolCallPart, ToolResultPart } from '../../model/types.ts'
import type { Palimpsest } from '../../session/engine.ts'
import { NO_SUCH_PART } from '../../session/look.ts'
import type { Session } from '../../session/session.ts'
import { contextTool } from '../../tools/context.ts'
import { agentContext, recallTool, type SessionToolContext, seenSessions } from '../../tools/recall.ts'
import { runTool, type Tool } from '../../tools/tool.ts'
import { isOwnTool } from '../../view/shown-texts.ts'
import type { CallMade, ProxyDialect } from './dialect.ts'

/** One of our tools in one conversation: the name that it has there, and its definition as it is sent. */
export type LateTool = { tool: string; name: string; definition: Wire }

const TOOLS: Record<string, Tool<SessionToolContext>> = { context: contextTool, recall: recallTool }

export function defineLateTools(dialect: ProxyDialect, taken: ReadonlySet<string>): LateTool[] {
  return Object.entries(TOOLS).map(([key, tool]) => {
    const name = freeName(key, taken)
    return { tool: key, name, definition: dialect.defineTool({ ...tool, name }) }
  })
}

function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name
  const prefixes = ['palimpsest', ...Array.from({ length: taken.size }, (_, i) => `palimpsest_${i + 2}`)]
  return prefixes.map(prefix => `${prefix}_${name}`).find(other => !taken.has(other))!
}

/** The names of the tools that a request offers, including nested ones. */
export function namesOfTools({ tools }: Wire): Set<string> {
  const names = new Set<string>()
  const collect = (list: unknown) => {
    if (!Array.isArray(list)) return
    for (const tool of list) {
      if (!isRecord(tool)) continue
      for (const holder of [tool, tool['function'], tool['custom']]) {
        if (isRecord(holder) && typeof holder['name'] === 'string') names.add(holder['name'])
      }
      collect(tool['tools'])
      collect(tool['functionDeclarations'])
      collect(tool['function_declarations'])
    }
  }
  collect(tools)
  return names
}

/** Marks the edits by which our answers replace the client's. */
const MARK = 'late-tool'
/** Marks the edits that show a call as the model made it. */
const RESTORED = 'late-call'

export type LateCalls = {
  tools: readonly LateTool[]
  /** Names that the client offers itself: calls of these tools are the client's. */
  offered: ReadonlySet<string>
  /** Calls as the model made them, by id: some clients return them with another name. */
  made: ReadonlyMap<string, CallMade>
  /** The sessions of the client's user. */
  pal: Palimpsest
}

/** Answers the calls of our tools in the entries from `from` on. Returns whether there were any. */
export async function answerLateCalls(session: Session, from: number, late: LateCalls): Promise<boolean> {
  const { entries } = session.fold
  let answered = false
  for (let entry = from; entry < entries.length; entry++) {
    const message = entries[entry]?.message
    for (const [part, result] of message?.parts.entries() ?? []) {
      const call = result.type === 'tool-result' ? callOf(session, result.id, late) : undefined
      if (!call || isAnswered(session, entry, part)) continue
      if (call.isClients && !textOf(result).includes(NO_SUCH_PART)) continue
      await answerCall({ session, pal: late.pal }, call, { entry, part })
      answered = true
    }
  }
  return answered
}

async function answerCall(
  { session, pal }: { session: Session; pal: Palimpsest },
  call: Found,
  place: { entry: number; part: number },
): Promise<void> {
  await restoreCall(session, call)
  const context = { session, sessions: seenSessions(pal), live: agentContext(pal) }
  const { text } = await runTool(TOOLS[call.tool.tool]!, call.input, context)
  const which = call.isClients ? 'about this conversation' : 'a tool that the client does not have'
  const why = `the answer of ${call.tool.name}, ${which}`
  await session.apply([{ target: { type: 'part', ...place }, replacement: text, why, mark: MARK }], 'agent')
}

/** Whether our answer was added before, even if the user has undone it since. */
function isAnswered(session: Session, entry: number, part: number): boolean {
  return session
    .edits()
    .some(
      ({ edit: { mark, target } }) =>
        mark === MARK && target.type === 'part' && target.entry === entry && target.part === part,
    )
}

type Found = {
  entry: number
  part: number
  own: ToolCallPart
  tool: LateTool
  input: unknown
  /** Whether the client has the tool from our MCP server, which uses another session than this one. */
  isClients: boolean
}

function callOf(session: Session, id: string, { tools, offered, made }: LateCalls): Found | undefined {
  const { entries } = session.fold
  for (let entry = entries.length - 1; entry >= 0; entry--) {
    const parts = entries[entry]?.message?.parts ?? []
    const part = parts.findIndex(other => other.type === 'tool-call' && other.id === id)
    const own = parts[part]
    if (own?.type !== 'tool-call') continue
    const call = made.get(id)
    const added = tools.find(({ name }) => name === (call?.name ?? own.name) && !offered.has(name))
    const tool = added ?? fromMcp(own.name, offered)
    return (
      tool && { entry, part, own, tool, input: own.name === tool.name ? own.input : call?.input, isClients: !added }
    )
  }
  return undefined
}

/** Finds our tool under the name that our MCP server gives it in the client. */
function fromMcp(name: string, offered: ReadonlySet<string>): LateTool | undefined {
  if (!offered.has(name) || !isOwnTool(name) || !/palimpsest/i.test(name)) return undefined
  return { tool: /recall$/i.test(name) ? 'recall' : 'context', name, definition: {} }
}

/** Whether a request offers tools of ours that come from our MCP server. */
export function hasMcpTools(names: ReadonlySet<string>): boolean {
  return [...names].some(name => fromMcp(name, names) !== undefined)
}

/** Shows a call to the model as the model made it, if the client returned it with another name. */
async function restoreCall(session: Session, { entry, part, own, tool, input }: Found): Promise<void> {
  if (own.name === tool.name) return
  const message = session.fold.entries[entry]!.message!
  const call: Part = { ...own, name: tool.name, input, ...renamedOriginal(own, tool.name) }
  const replacement = { messages: [{ ...message, parts: message.parts.with(part, call) }] }
  const why = `the original call of ${tool.name}`
  const edit: Omit<Edit, 'id' | 'by' | 'saved'> = { target: { type: 'entry', entry }, replacement, why, mark: RESTORED }
  await session.apply([edit], 'engine')
}

/** The key under which each dialect keeps a call in its original, and the key of the arguments in it. */
const ARGUMENTS = { functionCall: 'args', function: 'arguments', item: 'arguments' }

/** Renames the call in the original, so that the provider's other fields (a signature, an id) stay with it. */
function renamedOriginal({ original }: ToolCallPart, name: string): Pick<ToolCallPart, 'original'> {
  if (!original || !isRecord(original.value)) return {}
  const value: Wire = { ...original.value }
  for (const [key, field] of Object.entries(ARGUMENTS)) {
    const call = value[key]
    if (isRecord(call)) value[key] = { ...call, name, [field]: TAKEN }
  }
  return { original: { ...original, value } }
}

/**
 * Our answer is not an error, even if the client's was. A message that shows a call as the model made it does not count
 * as edited for a provider: its reasoning and signatures stay valid.
 */
export function withoutErrors(messages: readonly Message[], answered: ReadonlySet<string>): Message[] {
  if (answered.size === 0) return [...messages]
  return messages.map(message => {
    if (!message.parts.some(part => part.edit !== undefined && answered.has(part.edit))) return message
    return { ...message, parts: message.parts.map(part => (answered.has(part.edit ?? '') ? asMeant(part) : part)) }
  })
}

/** The ids of the edits with our answers, and of those that show a call as the model made it. */
export function lateAnswers(session: Session): Set<string> {
  const isLate = ({ edit }: { edit: Edit }) => edit.mark === MARK || edit.mark === RESTORED
  return new Set(session.edits().flatMap(record => (isLate(record) ? [record.edit.id] : [])))
}

function asMeant(part: Part): Part {
  if (part.type === 'tool-result') return noError(part)
  const { edit: _, ...made } = part
  return made
}

function noError(part: ToolResultPart): Part {
  const { isError: _, original, ...rest } = part
  if (!original || !isRecord(original.value)) return rest
  const { is_error: _error, ...value } = original.value
  return { ...rest, original: { ...original, value } }
}
