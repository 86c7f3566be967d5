/**
 * The system prompt: the persona, guidance for the tools, the approved memory, and the workspace's knowledge. The
 * parts that change least come first, so that the provider's cache keeps as much as possible.
 *
 * A prompt is made when a session starts and then kept. It is made again when memory or the persona have changed (by
 * a user's decision), and for any other change only when the cache is cold: then it costs nothing.
 */

import { storeOf } from '../files/folder.ts'
import type { Files } from '../files/store.ts'
import { buildMemoryContext, memoryInstructions } from '../memory/context.ts'
import type { Memory } from '../memory/memory.ts'
import { loadWorkspace, type Workspace } from '../memory/workspace.ts'
import { CONTEXT_GUIDE } from '../tools/context.ts'
import { FILE_TOOL_GUIDE } from '../tools/files.ts'
import { WORKSPACE_GUIDE } from '../tools/workspace.ts'
import type { Persona } from './personas.ts'

type PromptOptions = {
  persona: Persona
  /** Names of the tools that the agent has. */
  tools: readonly string[]
  root: string
  workspace: Workspace
  memory?: { memory: Memory; user: string } | undefined
  /** Memory that is out of date at this time is marked. */
  now: number
  isSubagent: boolean
}

/** `stable` changes only by a user's decision; `knowledge` whenever the workspace changes. */
export type Prompt = { stable: string; knowledge: string }

export async function buildPrompt(options: PromptOptions): Promise<Prompt> {
  const { persona, tools, root, workspace, memory, now, isSubagent } = options
  const { memoryHeading: heading, memorySubject: subject } = persona
  const words = { ...(heading === undefined ? {} : { heading }), ...(subject === undefined ? {} : { subject }) }
  const has = (name: string) => tools.includes(name)
  const blocks =
    memory && has('read_memory_block')
      ? await buildMemoryContext(memory.memory.store, memory.user, { ...words, now })
      : ''
  const stable = [
    persona.systemPrompt.trim(),
    isSubagent ? SUBAGENT : '',
    `Your working folder is ${root}. Paths of files are relative to it; commands run in it.`,
    HOW,
    has('edit_file') ? FILE_TOOL_GUIDE : '',
    has('context') ? CONTEXT_GUIDE : '',
    has('workspace_save_fact') ? WORKSPACE_GUIDE : '',
    has('delegate') ? DELEGATE_GUIDE : '',
    blocks.trimEnd(),
    has('read_memory_block') ? memoryInstructions(words) : '',
  ]
  return {
    stable: stable.filter(text => text !== '').join('\n\n'),
    knowledge: `${await loadWorkspace(workspace)}\n\n${placeOf(workspace.folder)}`,
  }
}

function placeOf(files: Files): string {
  const { folder, isTable } = storeOf(files)
  const where = `The folder of these files is ${folder}.`
  return isTable
    ? `${where} They are in a database: tools for files reach them under these paths, commands do not.`
    : where
}

export function promptText({ stable, knowledge }: Prompt): string {
  return `${stable}\n\n${knowledge}`
}

/** Whether a session's prompt must be replaced by a new one. */
export function isOutdated(shown: string, prompt: Prompt, cacheIsCold: boolean): boolean {
  if (shown === promptText(prompt)) return false
  return cacheIsCold || !shown.startsWith(`${prompt.stable}\n\n`)
}

const HOW = `How you work:
- Calls that do not need each other's results belong in one step: they run at the same time.
- A result that says an error says what to do. Read it before you try again.
- Messages that begin with [TASK ANCHOR], ⚠️ CONTEXT or [Summary of earlier conversation] come from the program around you, not from the user.
- A change that needs the user's approval may be refused. Then say so and go on without it.
- When the task is done, answer in a few sentences: what you did, and what is left.`

const DELEGATE_GUIDE = `Delegating: work whose details you will not need again goes to a subagent (delegate). Tell it everything it must know: it sees nothing of this conversation. AGENTS.md in the workspace says what to delegate here.`

const SUBAGENT =
  'You are a subagent: another agent gave you one task. Do that task and nothing else. Nobody can answer questions, so decide what is reasonable, and say in your report what you decided.'
