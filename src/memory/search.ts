/** Search over a user's blocks, with recall's ranking. They are few and short, so each search builds its index. */
import { indexInMemory } from '../recall/in-memory.ts'
import { search } from '../recall/search.ts'
import { snippetOf } from '../recall/snippet.ts'
import { titleOf } from './checks.ts'
import type { Block } from './store.ts'

/** A block that a search found, with the matching stretch. */
export type BlockHit = { label: string; title: string; snippet: string }

export async function searchBlocks(
  blocks: readonly Block[],
  query: string,
  { limit = 20 }: { limit?: number } = {},
): Promise<BlockHit[]> {
  const texts = blocks.map(({ label, title, body, updatedAt }) => ({
    text: `${label}\n${title}\n${body}`,
    at: updatedAt,
  }))
  const found = await search(indexInMemory(texts), query, { limit })
  return found.map(({ seq, from, to }) => {
    const { label, title } = blocks[seq]!
    return { label, title: title || titleOf(label), snippet: snippetOf(texts[seq]!.text.slice(from, to), query) }
  })
}
