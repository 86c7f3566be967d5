/**
 * Tools with which an agent reads memory blocks and proposes changes. Its context has one user's blocks and no way to
 * approve anything. Texts and checks are fixed word for word, because prompts and tests rely on them. The texts say
 * "user"; `memoryToolsFor('student')` gives those for a tutor. A failure of the store is also a result, so that a
 * conversation continues without its memory.
 */
import { z } from 'zod'
import { titleOf } from '../memory/checks.ts'
import type { Duplicate } from '../memory/facts.ts'
import type { AgentMemory, ProposalInput } from '../memory/memory.ts'
import type { EntryLink, Proposal } from '../memory/store.ts'
import { isPalimpsestError, messageOf, PalimpsestError } from '../model/errors.ts'
import { quote } from './recall.ts'
import { defineTool, type Tool, type ToolResult } from './tool.ts'

export type MemoryToolContext = {
  memory: AgentMemory
  /** The session entries that a proposed text comes from. */
  sources?: (text: string) => Promise<EntryLink[]>
  signal?: AbortSignal
}

/** For an agent without memory. */
export const NO_MEMORY: AgentMemory = {
  blocks: async () => [],
  block: async () => undefined,
  propose: async () => {
    throw new PalimpsestError('UNSUPPORTED', 'There is no memory here.')
  },
  duplicates: async () => [],
  search: async () => [],
  workspace: undefined,
}

const blockLabel = z.string().describe('The label/identifier of the block (e.g., "user", "goals")')
const reasoning = z.string().describe('Brief explanation of why this edit is needed (shown to user for approval).')
const confidence = z.enum(['low', 'medium', 'high']).optional().describe('How sure you are; medium by default.')

const listMemoryBlocks = defineTool<z.ZodObject, MemoryToolContext>({
  name: 'list_memory_blocks',
  description: 'List all available memory blocks for the current user.',
  input: z.object({}),
  annotations: { readOnly: true },
  run: (_, { memory }) =>
    orError('Error listing memory blocks', async () => {
      const blocks = await memory.blocks()
      if (blocks.length === 0) return 'No memory blocks exist for this user yet.'
      const lines = blocks.map(({ label, title }) => `- ${label}: ${title || titleOf(label)}`)
      return ['Available memory blocks:', '', ...lines].join('\n')
    }),
})

const readInput = z.object({ block_label: blockLabel })

const readMemoryBlock = defineTool<typeof readInput, MemoryToolContext>({
  name: 'read_memory_block',
  description:
    'Read the current content of a memory block. Use this before proposing edits to see the exact current content.',
  input: readInput,
  annotations: { readOnly: true },
  run: ({ block_label: label }, { memory }) =>
    orError('Error reading memory block', async () => {
      const block = await memory.block(label)
      if (!block) return { text: `Memory block '${label}' not found.`, isError: true }
      return `# ${block.title || titleOf(label)}\n\n${block.body || '(empty)'}`
    }),
})

const searchInput = z.object({
  query: z.string().min(1).describe('What to look for, in any words.'),
  limit: z.number().int().min(1).max(50).optional().describe('How many blocks; 10 unless given.'),
})

const searchMemory = defineTool<typeof searchInput, MemoryToolContext>({
  name: 'search_memory',
  description: 'Search the memory blocks of the user, also those that are not in your prompt. Any word may match.',
  input: searchInput,
  annotations: { readOnly: true },
  run: ({ query, limit = 10 }, { memory }) =>
    orError('Error searching memory', async () => {
      const hits = await memory.search(query, { limit })
      if (hits.length === 0) return `No memory block has anything about ${JSON.stringify(query)}.`
      const lines = hits.map(({ label, title, snippet }) => `- ${label} (${title}): ${quote(snippet, 240)}`)
      return [...lines, 'Read one with read_memory_block(block_label="…").'].join('\n')
    }),
})

const editInput = z.object({
  block_label: blockLabel,
  old_string: z.string().describe('The exact text to find and replace. Must be unique unless replace_all=True.'),
  new_string: z.string().describe('The text to replace it with. Must be different from old_string.'),
  reasoning,
  replace_all: z
    .boolean()
    .default(false)
    .describe('If True, replace all occurrences. If False (default), old_string must be unique.'),
})

const proposeMemoryEdit = defineTool<typeof editInput, MemoryToolContext>({
  name: 'propose_memory_edit',
  description: `Propose an edit to a memory block using string replacement.

The edit will be submitted as a proposal that requires user approval.
The old_string must match exactly (including whitespace) and must be
unique in the block unless replace_all is True.

IMPORTANT: You must read the memory block first to see its exact content.
The edit will FAIL if old_string is not found or is not unique.`,
  input: editInput,
  annotations: { destructive: false },
  run: async (input, context) => {
    const { block_label: label, old_string: oldString, new_string: newString, replace_all: all } = input
    if (oldString === newString) return failed('old_string and new_string must be different.')
    if (!oldString) return failed('old_string cannot be empty.')
    const body = { type: 'replace' as const, old: oldString, new: newString, all }
    return propose(input, context, { body, said: `Edit proposal created for block '${label}'.` })
  },
})

const appendInput = z.object({
  block_label: blockLabel,
  text: z.string().describe('The text to add. It gets lines of its own.'),
  reasoning,
  at_start: z.boolean().default(false).describe('Add it at the beginning of the block instead of the end.'),
  confidence,
})

const proposeMemoryAppend = defineTool<typeof appendInput, MemoryToolContext>({
  name: 'propose_memory_append',
  description:
    'Propose to add text at the end (or the beginning) of a memory block. Needs no exact match, and never conflicts with other changes. The addition requires user approval.',
  input: appendInput,
  annotations: { destructive: false },
  run: async (input, context) => {
    const { block_label: label, text, at_start: atStart } = input
    if (!text) return failed('text cannot be empty.')
    const body = { type: atStart ? ('prepend' as const) : ('append' as const), text }
    return propose(input, context, { body, said: `Addition proposed for block '${label}'.` })
  },
})

const sectionInput = z.object({
  block_label: blockLabel,
  header: z.string().describe('The Markdown header of the section, e.g. "## Goals"; "## A > ### B" for one inside.'),
  content: z.string().describe('The new content below the header; replaces the old content.'),
  reasoning,
  confidence,
})

const proposeMemorySection = defineTool<typeof sectionInput, MemoryToolContext>({
  name: 'propose_memory_section',
  description:
    'Propose new content for one Markdown section of a memory block. The rest of the block stays as it is. The change requires user approval.',
  input: sectionInput,
  annotations: { destructive: false },
  run: async (input, context) =>
    propose(input, context, {
      body: { type: 'section', header: input.header, content: input.content },
      said: `Section proposal created for block '${input.block_label}'.`,
    }),
})

const blockInput = z.object({
  block_label: z.string().describe('A short label for the new block (e.g., "user", "goals")'),
  title: z.string().optional().describe('Its title; made from the label when left out.'),
  body: z.string().describe('The content of the block.'),
  reasoning,
  confidence,
})

export const proposeMemoryBlock = defineTool<typeof blockInput, MemoryToolContext>({
  name: 'propose_memory_block',
  description:
    'Propose a new memory block, for what fits into none of those that exist (see list_memory_blocks). It requires user approval.',
  input: blockInput,
  annotations: { destructive: false },
  run: async (input, context) =>
    propose(input, context, {
      kind: 'new',
      body: input.body,
      said: `New block '${input.block_label}' proposed.`,
    }),
})

export const memoryTools: readonly Tool<MemoryToolContext>[] = [
  listMemoryBlocks,
  readMemoryBlock,
  searchMemory,
  proposeMemoryEdit,
  proposeMemoryAppend,
  proposeMemorySection,
  proposeMemoryBlock,
]

/** The same tools in the words of a persona: a tutor's blocks are about "the student". */
export function memoryToolsFor(subject: string): readonly Tool<MemoryToolContext>[] {
  if (subject === 'user') return memoryTools
  return memoryTools.map(tool => inWordsOf(tool, subject))
}

function inWordsOf(tool: Tool<MemoryToolContext>, subject: string): Tool<MemoryToolContext> {
  const said = (text: string) =>
    text.replace('"user", "goals"', `"${subject}", "goals"`).replace(OF_USER, `$1${subject}`)
  const fields = Object.entries(tool.input.shape).map(([name, field]) => {
    const described = field as z.ZodType
    return [name, described.description === undefined ? described : described.describe(said(described.description))]
  })
  return {
    ...tool,
    description: said(tool.description),
    input: z.object(Object.fromEntries(fields)),
    async run(input, context) {
      const result = await tool.run(input, context)
      return { ...result, text: said(result.text) }
    },
  }
}

const OF_USER = /(for the current |exist for this )user/

/** The fields that the tools have in common. */
type Asked = { block_label: string; reasoning: string; title?: string; confidence?: Proposal['confidence'] }
type Wish = Pick<ProposalInput, 'kind' | 'body'> & { said: string }

export async function propose(
  { block_label: label, reasoning: why, title, confidence: sure }: Asked,
  { memory, sources }: MemoryToolContext,
  { kind = 'edit', body, said }: Wish,
): Promise<ToolResult | string> {
  if (!why) return failed('reasoning is required to explain the edit to the user.')
  return orError('Error creating edit proposal', async () => {
    const block = await memory.block(label)
    if (!block && kind !== 'new') return failed(`Memory block '${label}' not found.`)
    try {
      const entries = await sources?.(addedText(body))
      const made = await memory.propose(label, {
        kind,
        body,
        reasoning: why,
        title: title || undefined,
        confidence: sure,
        entries,
      })
      return [
        `${said} The user will be asked to approve this change. Reasoning provided: ${why}`,
        ...describeDuplicates(await memory.duplicates(made)),
        ...(made.entries.some(({ source }) => source === 'tool') ? [FROM_TOOLS] : []),
      ].join('\n')
    } catch (error) {
      if (isPalimpsestError(error) && NO_MATCH.includes(error.code)) return failed(error.message)
      throw error
    }
  })
}

const FROM_TOOLS =
  'Its text was found in the output of a tool and not in what the user said, so it is marked "from tool output". Say where it comes from if the user asks.'

function addedText(body: ProposalInput['body']): string {
  if (typeof body === 'string') return body
  return body.type === 'replace' ? body.new : body.type === 'section' ? body.content : body.text
}

function describeDuplicates(duplicates: readonly Duplicate[]): string[] {
  if (duplicates.length === 0) return []
  const lines = duplicates.slice(0, 5).map(({ label, text, state }) => {
    const where = state === undefined ? '' : state === 'open' ? ', proposed and not decided' : `, ${state} by the user`
    return `- ${label}${where}: ${quote(text, 160)}`
  })
  return ['Memory already has something similar. Do not propose it again:', ...lines]
}

/** Errors that the agent can correct by reading the block again. */
const NO_MATCH: readonly string[] = ['PATTERN_NOT_FOUND', 'MATCH_AMBIGUOUS', 'BLOCK_EXISTS']

function failed(message: string): ToolResult {
  return { text: `Error: ${message}`, isError: true }
}

async function orError(doing: string, work: () => Promise<ToolResult | string>): Promise<ToolResult | string> {
  try {
    return await work()
  } catch (error) {
    return { text: `${doing}: ${messageOf(error)}`, isError: true }
  }
}
