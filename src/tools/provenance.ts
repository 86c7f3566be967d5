/**
 * Finds the source of a text that is proposed for memory: the session entries that contain it. Text that is only in
 * tool output, and not in the user's words, is marked, because a web page or a file may have been written to be
 * remembered.
 */
import { addedFacts } from '../memory/facts.ts'
import type { EntryLink } from '../memory/store.ts'
import { parseQuery } from '../recall/query.ts'
import { snippetOf } from '../recall/snippet.ts'
import { countTerms } from '../recall/words.ts'
import type { RecallHit } from '../session/recall.ts'
import type { Session } from '../session/session.ts'
import { isOwnTool } from '../view/shown-texts.ts'

/** The share of a fact's words that its source must contain: users phrase it differently, tool output is copied. */
const MIN_SHARE = { user: 0.5, tool: 0.75 }
const MAX_FACTS = 20
const HITS_PER_FACT = 5
/** Tools that show memory itself, whose output was approved before. */
const MEMORY_TOOL = /memory_block|search_memory|propose_memory/

export async function sourcesOf(session: Session, text: string): Promise<EntryLink[]> {
  const links = new Map<string, EntryLink>()
  const facts = addedFacts({ body: text, base: null })
  for (const fact of facts.length > 0 ? facts.slice(0, MAX_FACTS) : [text]) {
    const said = await entriesWith(session, fact, 'user')
    const source = said.length > 0 ? 'user' : 'tool'
    for (const entry of said.length > 0 ? said : await entriesWith(session, fact, 'tool')) {
      links.set(`${entry} ${source}`, { session: session.id, entry, source })
    }
  }
  const { lastUser } = session.fold
  if (links.size === 0 && lastUser >= 0) return [{ session: session.id, entry: lastUser }]
  return [...links.values()].sort((a, b) => a.entry - b.entry)
}

async function entriesWith(session: Session, fact: string, role: 'user' | 'tool'): Promise<number[]> {
  const hits = await session.recall(fact, { types: [role], limit: HITS_PER_FACT })
  const found: number[] = []
  for (const hit of hits) if (await holds(session, hit, { fact, share: MIN_SHARE[role] })) found.push(hit.entry)
  return [...new Set(found)]
}

async function holds(
  session: Session,
  hit: RecallHit,
  { fact, share }: { fact: string; share: number },
): Promise<boolean> {
  if (isOwnTool(hit.tool ?? '') || MEMORY_TOOL.test(hit.tool ?? '')) return false
  const { text } = await session.original(hit.hash)
  const terms = countTerms(snippetOf(text.slice(hit.from, hit.to), fact))
  const asked = [...parseQuery(fact).terms.keys()]
  return asked.filter(term => terms.has(term)).length >= share * asked.length
}
