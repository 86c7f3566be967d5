/**
 * Memory as one JSON document: for backups, for moving between stores and machines, and for other programs.
 *
 * It holds the present blocks and the open proposals. Importing writes the blocks as one change and proposes the open
 * proposals again; it decides nothing and never rewrites existing content.
 */
import { z } from 'zod'
import { ERROR_CODES, isPalimpsestError, PalimpsestError } from '../model/errors.ts'
import type { Memory } from './memory.ts'
import { linkSchema, operationSchema } from './rows.ts'
import { type Actor, allBlocks, allPages, type Proposal } from './store.ts'

const FORMAT = 'palimpsest-memory'

const block = z.object({
  userId: z.string(),
  label: z.string(),
  title: z.string(),
  body: z.string(),
  schemaRef: z.string().nullable().default(null),
  updatedAt: z.number().optional(),
})

const proposal = z.object({
  userId: z.string(),
  label: z.string(),
  kind: z.enum(['edit', 'append', 'prepend', 'section', 'new']),
  title: z.string(),
  body: z.string(),
  operation: operationSchema.optional(),
  agentId: z.string(),
  reasoning: z.string(),
  confidence: z.enum(['low', 'medium', 'high']),
  entries: z.array(linkSchema).default([]),
  createdAt: z.number().optional(),
})

const memoryDocument = z.object({
  format: z.literal(FORMAT),
  version: z.literal(1),
  blocks: z.array(block),
  proposals: z.array(proposal).default([]),
})

type MemoryDocument = z.output<typeof memoryDocument>

/** Blocks per write. */
const BATCH = 500

export async function exportMemory(memory: Memory, userId?: string): Promise<MemoryDocument> {
  const blocks: MemoryDocument['blocks'] = []
  const proposals: MemoryDocument['proposals'] = []
  const { store } = memory
  const everybody = () => allPages(page => store.users(page), String)
  for (const user of userId === undefined ? await everybody() : [userId]) {
    for (const { version: _, ...rest } of await allBlocks(store, user)) blocks.push(rest)
    const idOf = ({ id }: Proposal) => id
    const open = await allPages(page => store.proposals(user, { state: 'open', ...page }), idOf)
    // Oldest first, so that importing keeps their order.
    proposals.push(...open.reverse().map(one => proposal.parse(one)))
  }
  return { format: FORMAT, version: 1, blocks, proposals }
}

/** Reads a document from parsed JSON. With `userId`, everything belongs to that user. */
export function readMemoryDocument(value: unknown, userId?: string): MemoryDocument {
  const parsed = memoryDocument.safeParse(value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    throw new PalimpsestError(
      'FORMAT_BROKEN',
      `This is not an export of memory: ${issue?.path.join('.') || 'the document'}: ${issue?.message}.`,
      { issues: parsed.error.issues.slice(0, 10) },
    )
  }
  if (userId === undefined) return parsed.data
  const own = <T extends { userId: string }>(items: T[]) => items.map(item => ({ ...item, userId }))
  return { ...parsed.data, blocks: own(parsed.data.blocks), proposals: own(parsed.data.proposals) }
}

/** The result of an import. An equal block is left alone, and a proposal that no longer fits is named. */
export type Imported = { blocks: number; same: number; proposals: number; refused: string[] }

export async function importMemory(memory: Memory, document: MemoryDocument, by: Actor): Promise<Imported> {
  const known = new Map<string, string>()
  for (const userId of new Set(document.blocks.map(each => each.userId))) {
    for (const now of await allBlocks(memory.store, userId)) known.set(keyOf(now), contentKey(now))
  }
  const changed = document.blocks.filter(each => known.get(keyOf(each)) !== contentKey(each))
  for (let i = 0; i < changed.length; i += BATCH) {
    await memory.writeAll(changed.slice(i, i + BATCH), by, 'import')
  }
  const refused: string[] = []
  for (const { userId, label, createdAt: _, kind, operation, body, ...input } of document.proposals) {
    try {
      await memory.propose(userId, label, { ...input, kind: kind === 'new' ? 'new' : 'edit', body: operation ?? body })
    } catch (error) {
      // A store that fails has refused nothing: the proposal would be lost.
      if (!isPalimpsestError(error) || ERROR_CODES[error.code] >= ERROR_CODES.LEDGER_CORRUPT) throw error
      refused.push(`${userId}/${label}: ${error.message}`)
    }
  }
  return {
    blocks: changed.length,
    same: document.blocks.length - changed.length,
    proposals: document.proposals.length - refused.length,
    refused,
  }
}

function keyOf({ userId, label }: { userId: string; label: string }): string {
  return JSON.stringify([userId, label])
}

function contentKey({ title, body, schemaRef }: { title: string; body: string; schemaRef: string | null }): string {
  return JSON.stringify([title, body, schemaRef])
}
