/**
 * Changes to the workspace files that define the agent and its rules. A file tool does not write them: its change
 * becomes a proposal, in the queue of memory proposals, and the user decides.
 */

import { relative, resolve } from 'node:path'
import { storeOf } from '../files/folder.ts'
import { fileLabel } from '../memory/file-blocks.ts'
import type { ProposalInput } from '../memory/memory.ts'
import { isRecord } from '../model/json.ts'
import { type MemoryToolContext, propose } from './memory.ts'
import { failed, runTool, type Tool, type ToolContext, type ToolResult, withOwnNames } from './tool.ts'

type Input = Record<string, unknown>

/** Each tool's change as the body of a proposal. Contract: the arguments are already checked. */
const CHANGES: Record<string, (input: Input) => ProposalInput['body'] | undefined> = {
  edit_file: ({ old_string, new_string }) => ({ type: 'replace', old: String(old_string), new: String(new_string) }),
  append_to_file: ({ content }) => ({ type: 'append', text: String(content) }),
  prepend_to_file: ({ content }) => ({ type: 'prepend', text: String(content) }),
  update_section: ({ section_header, new_content }) => ({
    type: 'section',
    header: String(section_header),
    content: String(new_content),
  }),
  write_file: ({ content }) => String(content),
  undo_edit: () => undefined,
  str_replace_based_edit_tool: ({ command, old_str, new_str = '', file_text }) => {
    if (command === 'create' && typeof file_text === 'string') return file_text
    const isReplacement = command === 'str_replace' && typeof old_str === 'string' && old_str !== ''
    return isReplacement ? { type: 'replace', old: old_str, new: String(new_str) } : undefined
  },
}

/** Runs a tool call, or makes a proposal if the call would change one of these files. */
export async function runOrPropose<Context extends ToolContext & MemoryToolContext>(
  tool: Tool<Context>,
  raw: unknown,
  context: Context,
): Promise<ToolResult> {
  const input = isRecord(raw) ? withOwnNames(raw, tool) : {}
  const label = labelOf(tool, input, context)
  if (label === undefined || !tool.input.safeParse(input).success) return runTool(tool, raw, context)
  const path = String(input['path'])
  if (context.memory.workspace === undefined || context.memory.workspace !== storeOf(context.workspace!).folder) {
    return failed(
      `${path} was not touched: ${ONLY_USER}, and proposals are not possible here. Tell the user what you would change, and why.`,
    )
  }
  const body = CHANGES[tool.name]!(input)
  if (body === undefined) {
    return failed(
      `${path} was not touched: ${ONLY_USER}. Propose a change with edit_file, append_to_file or update_section.`,
    )
  }
  const { intent } = input
  const reasoning =
    typeof intent === 'string' && intent !== '' ? intent : `Asked for with ${tool.name}, without a reason.`
  const isNew = typeof body === 'string' && !(await context.memory.block(label))
  const result = await propose({ block_label: label, reasoning }, context, {
    body,
    kind: isNew ? 'new' : 'edit',
    said: `Nothing is changed yet: ${path} says who you are and what you must do. The change is proposed as '${label}'.`,
  })
  return typeof result === 'string' ? { text: result } : result
}

const ONLY_USER = 'it says who you are and what you must do, so only the user can change it'

/** The label of the file that a call would change, if it is one of these. */
function labelOf(
  { name }: Tool<never>,
  { path, command }: Input,
  { root, workspace }: ToolContext,
): string | undefined {
  if (!Object.hasOwn(CHANGES, name) || command === 'view' || typeof path !== 'string' || !workspace) return undefined
  return fileLabel(relative(storeOf(workspace).folder, resolve(root, path)))
}
