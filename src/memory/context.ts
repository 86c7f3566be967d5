/**
 * Memory in the system prompt: the approved blocks under a heading, and instructions for the agent.
 *
 * The same blocks give the same bytes on one day, so the provider's cache stays valid until a user approves a change
 * or a fact expires. Whole blocks are shown in label order as far as they fit; the others, and blocks to load on
 * demand, get a line in an index.
 */
import { boundedTo } from '../model/text.ts'
import { titleOf } from './checks.ts'
import { blockFacts, describeStale, factsIn, markStale, utcDayOf } from './facts.ts'
import { withoutFrontMatter } from './front-matter.ts'
import { allBlocks, type Block, type MemoryStore } from './store.ts'

type MemoryContextOptions = {
  heading?: string
  /** The person the blocks are about: "the user", or "the student" of a tutor. */
  subject?: string
  /** The most characters of blocks that are shown. */
  most?: number
  /** Facts that are out of date at this time are marked. */
  now?: number
}

const MEMORY_HEADING = 'User Context'
const MOST = 20_000
const MAX_INDEX_LINES = 100
const MAX_ABOUT_CHARS = 100

/** The blocks of a user for the system prompt; empty if there are none. */
export async function buildMemoryContext(
  store: Pick<MemoryStore, 'blocks'>,
  userId: string,
  { heading = MEMORY_HEADING, most = MOST, now = Date.now() }: MemoryContextOptions = {},
): Promise<string> {
  const blocks = await allBlocks(store, userId)
  if (blocks.length === 0) return ''
  const day = utcDayOf(now)
  const shown: string[] = [`# ${heading}`]
  const left: Block[] = []
  let length = heading.length + 2
  for (const block of blocks) {
    const text = textOf(block, day)
    if (blockFacts(block.body, day).onDemand || length + text.length > most) left.push(block)
    else {
      shown.push(text)
      length += text.length + 2
    }
  }
  if (left.length > 0) shown.push(indexOf(left, day))
  return `${shown.join('\n\n')}\n`
}

/** Instructions for an agent about its memory tools. */
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

function textOf({ label, title, body }: Block, day: string): string {
  return `## ${title || titleOf(label)} (${label})${staleMark(body, day)}\n\n${markStale(body.trimEnd(), day) || '(empty)'}`
}

function staleMark(body: string, day: string): string {
  const facts = blockFacts(body, day)
  return facts.since === undefined && facts.replacedBy === undefined ? '' : ` [${describeStale(facts)}]`
}

/** A line for each block that is read on demand. */
function indexOf(left: readonly Block[], day: string): string {
  const lines = left.slice(0, MAX_INDEX_LINES).map(({ label, title, body }) => {
    const [about = ''] = factsIn(withoutFrontMatter(body))
    const mark = staleMark(body, day)
    const beginning = about === '' ? '' : `, beginning with ${JSON.stringify(boundedTo(about, MAX_ABOUT_CHARS))}`
    return `- ${title || titleOf(label)}${mark}: ${body.length} characters${beginning}. Load it with read_memory_block("${label}").`
  })
  const more = left.length > lines.length ? [`- and ${left.length - lines.length} more: use search_memory.`] : []
  return ['## More memory, loaded on demand', '', ...lines, ...more].join('\n')
}
