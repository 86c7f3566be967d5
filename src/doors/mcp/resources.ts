/**
 * The resources and the prompt of the MCP server: workspace files, sessions as the model sees them, one user's memory
 * blocks, and the agent instructions. Only existing items are listed, and reading creates nothing.
 */

import type { Files } from '../../files/store.ts'
import { buildMemoryContext, memoryInstructions } from '../../memory/context.ts'
import type { Memory } from '../../memory/memory.ts'
import { allBlocks } from '../../memory/store.ts'
import { defaultWorkspaceFolder, loadWorkspace, readWorkspaceFile, workspaceFiles } from '../../memory/workspace.ts'
import { PalimpsestError } from '../../model/errors.ts'
import type { Palimpsest } from '../../session/engine.ts'
import { CONTEXT_GUIDE } from '../../tools/context.ts'
import { FILE_TOOL_GUIDE } from '../../tools/files.ts'
import { WORKSPACE_GUIDE } from '../../tools/workspace.ts'
import { withoutHiddenTexts } from '../../view/hidden.ts'

/** One user's memory, as used by one agent. */
export type MemoryOf = {
  memory: Memory
  user: string
  agent: string
  /** The command or page with which the user decides on proposals. */
  where?: string
  /** Whether the client belongs to the user: then it may ask them, and their answer decides. */
  canAsk?: boolean
}

type Source = { pal: Palimpsest; tools?: readonly string[]; workspace?: Files; memory?: MemoryOf; now?: () => number }

const SCHEME = 'palimpsest://'
const SESSIONS = 100
const PROMPT = 'agent-instructions'

const GUIDES: Record<string, string> = {
  files: FILE_TOOL_GUIDE,
  context: CONTEXT_GUIDE,
  workspace: WORKSPACE_GUIDE,
  memory: memoryInstructions(),
}

export const resourceTemplates = [
  {
    uriTemplate: `${SCHEME}workspace/{+path}`,
    name: 'workspace file',
    description: 'A knowledge file of the workspace',
    mimeType: 'text/markdown',
  },
  {
    uriTemplate: `${SCHEME}sessions/{id}`,
    name: 'session',
    description: 'The current view of a session: messages, tokens, edits in force',
    mimeType: 'application/json',
  },
  {
    uriTemplate: `${SCHEME}memory/{label}`,
    name: 'memory block',
    description: 'A block that the user approved',
    mimeType: 'text/markdown',
  },
]

/** The guide for choosing between the tools. */
export function guideTo(groups: readonly string[]): string {
  return groups.flatMap(group => GUIDES[group] ?? []).join('\n\n')
}

export async function listResources({ pal, memory, workspace = defaultWorkspaceFolder() }: Source) {
  const files = (await workspaceFiles({ folder: workspace })).map(path => ({
    uri: `${SCHEME}workspace/${path.split('/').map(encodeURIComponent).join('/')}`,
    name: path,
    mimeType: 'text/markdown',
  }))
  const sessions = (await pal.sessions({ limit: SESSIONS })).map(({ id, updatedAt, policy, model }) => ({
    uri: `${SCHEME}sessions/${encodeURIComponent(id)}`,
    name: id,
    description: `A session with the policy ${policy} for ${model}`,
    mimeType: 'application/json',
    annotations: { lastModified: new Date(updatedAt).toISOString() },
  }))
  const blocks = (memory ? await allBlocks(memory.memory.store, memory.user) : []).map(
    ({ label, title, updatedAt }) => ({
      uri: `${SCHEME}memory/${encodeURIComponent(label)}`,
      name: label,
      title,
      mimeType: 'text/markdown',
      annotations: { lastModified: new Date(updatedAt).toISOString() },
    }),
  )
  return { resources: [...files, ...sessions, ...blocks] }
}

export async function readResource(source: Source, uri: string) {
  const { pal, memory, workspace = defaultWorkspaceFolder() } = source
  const [kind, ...rest] = uri.startsWith(SCHEME) ? uri.slice(SCHEME.length).split('/') : []
  const name = rest.map(decoded).join('/')
  if (kind === 'workspace') {
    const text = await readWorkspaceFile({ folder: workspace }, name)
    return { contents: [{ uri, mimeType: 'text/markdown', text }] }
  }
  if (kind === 'sessions') {
    const session = await pal.session(name, { mustExist: true })
    const { messages, tokens, edits } = await session.view({ plan: false })
    const text = JSON.stringify({ session: name, tokens, edits: withoutHiddenTexts(session.fold, edits), messages })
    return { contents: [{ uri, mimeType: 'application/json', text }] }
  }
  const block = kind === 'memory' ? await memory?.memory.forAgent(memory.user, memory.agent).block(name) : undefined
  if (block) return { contents: [{ uri, mimeType: 'text/markdown', text: block.body }] }
  throw new PalimpsestError('INVALID_INPUT', `There is no resource ${uri}.`, { uri })
}

export function listPrompts() {
  return [
    {
      name: PROMPT,
      title: 'Agent instructions',
      description: 'How to use these tools, and the knowledge of the workspace: for the beginning of a session',
    },
  ]
}

export async function getPrompt({ tools = [], workspace, memory, now = Date.now }: Source, name: string) {
  if (name !== PROMPT) throw new PalimpsestError('INVALID_INPUT', `There is no prompt ${name}.`, { name })
  const knowledge = tools.includes('workspace')
    ? [await loadWorkspace({ folder: workspace ?? defaultWorkspaceFolder(), now })]
    : []
  const blocks =
    memory && tools.includes('memory') ? await buildMemoryContext(memory.memory.store, memory.user, { now: now() }) : ''
  const text = [...knowledge, blocks.trimEnd(), guideTo(tools)].filter(part => part !== '').join('\n\n')
  return { messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }] }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (cause) {
    throw new PalimpsestError('INVALID_INPUT', `${part} is not a valid part of an address.`, {}, cause)
  }
}
