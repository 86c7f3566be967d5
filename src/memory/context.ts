/**
 * Memory in the system prompt: the approved blocks under a heading, and what to tell an agent about them.
 *
 * The same blocks give the same bytes, so a provider's cache of the prompt holds until a user approves something.
 * Whole blocks are shown in the order of their labels as far as they fit; the others are named in a note.
 */
import { titleOf } from './checks.ts'
import { allBlocks, type Block, type MemoryStore } from './store.ts'

export type MemoryContextOptions = {
  heading?: string
  /** Whom the blocks are about: "the user", or "the student" of a tutor. */
  subject?: string
  /** Characters. */
  most?: number
}

const MEMORY_HEADING = 'User Context'
const MOST = 20_000

/** The blocks of a user for the system prompt; empty where there are none. */
export async function buildMemoryContext(
  store: Pick<MemoryStore, 'blocks'>,
  userId: string,
  { heading = MEMORY_HEADING, most = MOST }: MemoryContextOptions = {},
): Promise<string> {
  const blocks = await allBlocks(store, userId)
  if (blocks.length === 0) return ''
  const shown: string[] = [`# ${heading}`]
  const left: Block[] = []
  let length = heading.length + 2
  for (const block of blocks) {
    const text = textOf(block)
    if (length + text.length > most) left.push(block)
    else {
      shown.push(text)
      length += text.length + 2
    }
  }
  if (left.length > 0) shown.push(noteOf(left))
  return `${shown.join('\n\n')}\n`
}

/** What an agent is told about its memory tools. */
export function memoryInstructions({
  heading = MEMORY_HEADING,
  subject = 'user',
}: Pick<MemoryContextOptions, 'heading' | 'subject'> = {}): string {
  return `## Memory Blocks

You have access to memory blocks that contain persistent information about the ${subject}.
These blocks are shown above in "${heading}" when available.

To update memory blocks, use the memory block tools:
1. First, use \`read_memory_block\` to see the exact current content
2. Then, use \`propose_memory_edit\` with exact string matching to suggest changes
3. Your edits will be submitted as proposals that require user approval

Important: The \`old_string\` in your edit must match the block content exactly,
including whitespace and newlines. If the string appears multiple times,
provide more surrounding context to make it unique, or use \`replace_all=True\`.`
}

function textOf({ label, title, body }: Block): string {
  return `## ${title || titleOf(label)} (${label})\n\n${body.trimEnd() || '(empty)'}`
}

function noteOf(left: readonly Block[]): string {
  const named = left.slice(0, 50).map(({ label, body }) => `${label} (${body.length} characters)`)
  const more = left.length > named.length ? ` and ${left.length - named.length} more` : ''
  return `[Left out for length: ${named.join(', ')}${more}. Read them with read_memory_block.]`
}
