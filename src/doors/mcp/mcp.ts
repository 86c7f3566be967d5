/**
 * The MCP door: our tools, resources and prompts for any client that speaks the Model Context Protocol.
 *
 * `serveStdio` is a server for one client on stdin and stdout, which then transport only the protocol.
 * `createMcpHandler` answers streamable HTTP, one request at a time and without state, so that any number of processes
 * can share one address. A client keeps its own conversation: `context` and `recall` act on the session that is named
 * here, and the journal of file reads and writes is in that session's ledger.
 */

import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  CallToolRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { FileJournal } from '../../files/journal.ts'
import { packageVersion } from '../../files/package-version.ts'
import type { Files } from '../../files/store.ts'
import { isPalimpsestError } from '../../model/errors.ts'
import type { Palimpsest } from '../../session/engine.ts'
import type { Session } from '../../session/session.ts'
import { memoryTool, textEditorTool } from '../../tools/anthropic.ts'
import { contextTools } from '../../tools/context.ts'
import { fileTools } from '../../tools/files.ts'
import { runOrPropose } from '../../tools/identity.ts'
import { type MemoryToolContext, memoryTools, NO_MEMORY } from '../../tools/memory.ts'
import { sourcesOf } from '../../tools/provenance.ts'
import { agentContext, recallTool, type SessionToolContext, seenSessions } from '../../tools/recall.ts'
import { sessionJournal } from '../../tools/session-journal.ts'
import { type Tool, type ToolContext, toMcpResult, toMcpTools } from '../../tools/tool.ts'
import { workspaceTools } from '../../tools/workspace.ts'
import { askUser, noting, waitingLine } from './ask-user.ts'
import { keepOutput, openOutputs } from './outputs.ts'
import {
  getPrompt,
  guideTo,
  listPrompts,
  listResources,
  type MemoryOf,
  readResource,
  resourceTemplates,
} from './resources.ts'

/** `editor` and `notes` are the text editor and the memory folder that Claude models know; offered only if named. */
export const MCP_TOOL_GROUPS = ['files', 'context', 'workspace', 'memory', 'editor', 'notes'] as const
export const USUAL_GROUPS: readonly ToolGroup[] = ['files', 'context', 'workspace', 'memory']
export type ToolGroup = (typeof MCP_TOOL_GROUPS)[number]

export type McpOptions = {
  pal: Palimpsest
  /** The folder that file tools are confined to. */
  root: string
  /** The groups of tools to offer; `USUAL_GROUPS` unless given. Those for memory need `memory`. */
  tools?: readonly ToolGroup[]
  /** The session for `context`, `recall` and the journal; created if missing. `mcp` unless given. */
  session?: string
  /** The folder of the knowledge files. */
  workspace?: Files
  /** The user whose memory blocks the client may read and propose changes to, and the agent that proposes them. */
  memory?: MemoryOf
  /**
   * Whether `recall` may search the other sessions of `pal`, and `context` may edit the session of the client's
   * conversation.
   */
  seesSessions?: boolean
  now?: () => number
}

/** The session of a client that names none. */
const OWN_SESSION = 'mcp'

type Context = ToolContext & SessionToolContext & MemoryToolContext

const TOOLS: Record<ToolGroup, readonly Tool<Context>[]> = {
  files: fileTools,
  context: contextTools,
  workspace: workspaceTools,
  memory: memoryTools,
  editor: [textEditorTool()],
  notes: [memoryTool()],
}

/** A server that is not connected yet, for a custom transport. */
export function createMcpServer(options: McpOptions): Server {
  return buildServer(options, { contextOf: contextFor(options) })
}

/** Serves one client on stdin and stdout until it disconnects (running calls are finished) or a signal stops us. */
export async function serveStdio(options: McpOptions): Promise<void> {
  const running = new Set<Promise<unknown>>()
  const follow = (answer: Promise<unknown>) => {
    const done = answer.catch(() => undefined).finally(() => running.delete(done))
    running.add(done)
  }
  const server = buildServer(options, { contextOf: contextFor(options), follow })
  const closed = new Promise<void>(resolve => {
    server.onclose = resolve
  })
  const stop = () => void server.close()
  process.once('SIGTERM', stop).once('SIGINT', stop)
  process.stdin.once('end', async () => {
    await Promise.all(running)
    setImmediate(stop)
  })
  process.stdin.once('error', stop)
  await server.connect(new StdioServerTransport())
  await closed
  await Promise.all(running)
  process.off('SIGTERM', stop).off('SIGINT', stop)
}

/**
 * Handles requests to `/mcp`. Contract: the caller was authenticated before. A page of another origin is refused, so
 * that a web site cannot reach a server on the user's machine.
 */
export function createMcpHandler(options: McpOptions): (request: Request) => Promise<Response> {
  const contextOf = contextFor(options)
  return async request => {
    if (isForeign(request)) return refused(403, 'Pages of other origins may not call this server')
    if (request.method !== 'POST') {
      return refused(405, 'This server has no streams and no sessions: use POST', { allow: 'POST' })
    }
    const server = buildServer(options, { contextOf })
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    const hangUp = () => void server.close()
    request.signal.addEventListener('abort', hangUp, { once: true })
    try {
      await server.connect(transport)
      return await transport.handleRequest(request)
    } finally {
      request.signal.removeEventListener('abort', hangUp)
      await server.close()
    }
  }
}

type Inside = {
  contextOf: () => Promise<Context>
  /** Called with every answer before it is complete. */
  follow?: (answer: Promise<unknown>) => void
}

function buildServer(given: McpOptions, { contextOf, follow }: Inside): Server {
  const groups = (given.tools ?? USUAL_GROUPS).filter(group => group !== 'memory' || given.memory)
  const options = { ...given, tools: groups }
  const tools = new Map(toolsIn(groups).map(tool => [tool.name, tool]))
  const server = new Server(
    { name: 'palimpsest', title: 'Palimpsest', version: packageVersion() },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: guideTo(groups) },
  )
  const ask = <T>(give: () => Promise<T>): Promise<T> => {
    const answer = asked(give)
    follow?.(answer)
    return answer
  }
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: toMcpTools([...tools.values()]) }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) =>
    ask(async () => {
      const tool = tools.get(params.name)
      if (!tool) throw new McpError(ErrorCode.InvalidParams, `There is no tool ${params.name} here`)
      const context = await contextOf()
      const { memory, made } = noting(context.memory)
      const ran = await runOrPropose(tool, params.arguments, { ...context, memory, signal })
      const about = { tool: tool.name, input: params.arguments ?? {}, result: ran, now: context.now() }
      const result = toMcpResult({ ...ran, text: await keepOutput(placeOf(given), about) })
      if (!given.memory || made.length === 0) return result
      // The user answers in their own time; an undecided proposal stays open.
      for (const proposal of made) void askUser(server, given.memory, proposal).catch(() => undefined)
      return { ...result, content: [...result.content, await waitingLine(given.memory)] }
    }),
  )
  server.setRequestHandler(ListResourcesRequestSchema, () => ask(() => listResources(options)))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates }))
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => ask(() => readResource(options, params.uri)))
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: listPrompts() }))
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => ask(() => getPrompt(options, params.name)))
  return server
}

/** The tools of some groups. If they run commands, there is also a tool for the rest of a long output. */
function toolsIn(groups: readonly ToolGroup[]): Tool<Context>[] {
  return [...groups.flatMap(group => TOOLS[group]), ...(groups.includes('files') ? [recallTool] : [])]
}

function placeOf({ pal, root, session = OWN_SESSION }: McpOptions) {
  return { pal, root, session }
}

/** The context of the tools; the first call opens the session. */
function contextFor(options: McpOptions): () => Promise<Context> {
  const { pal, root, session = OWN_SESSION, workspace, memory, seesSessions, now = Date.now } = options
  let opened: Promise<{ session: Session; journal: FileJournal }> | undefined
  const open = async () => {
    const found = await pal.session(session, { about: { project: root } })
    return { session: found, journal: sessionJournal(found) }
  }
  return async () => {
    opened ??= open().catch(error => {
      opened = undefined
      throw error
    })
    const { session: acted } = await opened
    const entries = () => [{ session: acted.id, entry: Math.max(0, acted.fold.entries.length - 1) }]
    const given = { root, now, entries, ...(workspace === undefined ? {} : { workspace }) }
    return {
      ...given,
      memory: memory ? memory.memory.forAgent(memory.user, memory.agent) : NO_MEMORY,
      ...(seesSessions ? { sessions: seenSessions(pal), live: agentContext(pal) } : {}),
      openOutputs: (name: string) => openOutputs(placeOf(options), name),
      ...(await opened),
      sources: async (text: string) => sourcesOf((await opened!).session, text),
    }
  }
}

/** Reports a client's mistake as an error of the protocol. */
async function asked<T>(answer: () => Promise<T>): Promise<T> {
  try {
    return await answer()
  } catch (error) {
    if (isPalimpsestError(error)) throw new McpError(ErrorCode.InvalidParams, error.message)
    throw error
  }
}

function isForeign(request: Request): boolean {
  const origin = request.headers.get('origin')
  return origin !== null && URL.parse(origin)?.host !== new URL(request.url).host
}

function refused(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ jsonrpc: '2.0', error: { code: -32000, message }, id: null }, { status, headers })
}
