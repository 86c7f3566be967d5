/**
 * What memory needs of a database. Every implementation passes test/contracts/memory-store.ts.
 *
 * A store keeps blocks with all their versions, and proposals. It decides nothing: memory.ts handles merging, schemas
 * and permissions. Every write names the version of a block that it expects to replace. A write is atomic and durable
 * before it resolves. It is refused (`false`) if somebody else was faster: the caller then reads again and tries
 * again.
 */

/** `user:alice`, `agent:ralph`. An agent can propose and never decides. */
export type Actor = `${'user' | 'admin' | 'agent'}:${string}`

export type Content = {
  title: string
  body: string
  /** The name of a JSON Schema, or the schema itself as JSON; see schema.ts. */
  schemaRef: string | null
}

export type Block = Content & { userId: string; label: string; updatedAt: number; version: string }

/** The action on a block, and its author. */
export type Note = {
  at: number
  by: Actor
  action: 'set' | 'delete' | 'approve' | 'reject' | 'revert' | 'restore' | 'import'
  why: string
  proposal?: string
}

/** A version of a block; `content` is null if it was deleted. */
export type Version = Note & {
  id: string
  userId: string
  label: string
  content: Content | null
  /** The commit of this version, if the store is a versioned database. */
  commit?: string
}

export type Change = {
  userId: string
  label: string
  /** The version that this replaces; null if the block does not exist. */
  expected: string | null
  /** The name of the new version. */
  version: string
  /** Null deletes the block. */
  content: Content | null
}

export type Confidence = 'low' | 'medium' | 'high'
export type ProposalKind = 'edit' | 'append' | 'prepend' | 'section' | 'new'
export type ProposalState = 'open' | 'approved' | 'rejected' | 'reverted'

/** The operation of a proposal on a text. Approving applies it again to the text of that day. */
export type Operation =
  | { type: 'replace'; old: string; new: string; all?: boolean }
  | { type: 'append' | 'prepend'; text: string }
  | { type: 'section'; header: string; content: string }

/**
 * An entry of a session's ledger that led to a proposal. `source` says where the proposal's text was found: in the
 * user's words, or only in the output of a tool.
 */
export type EntryLink = { session: string; entry: number; source?: 'user' | 'tool' }

export type Proposal = {
  id: string
  userId: string
  label: string
  kind: ProposalKind
  /** The block as the agent saw it; null if it proposes a new one. */
  base: { version: string; title: string; body: string } | null
  title: string
  /** The whole body that the agent proposes. */
  body: string
  /** The operation that made the body from the base; undefined if the agent gave a whole body. */
  operation?: Operation
  agentId: string
  reasoning: string
  confidence: Confidence
  entries: EntryLink[]
  createdAt: number
  state: ProposalState
  /** The last decision: an approval, a rejection, or the revert of an approval. */
  decision?: { at: number; by: Actor; why: string }
  result?: { before: string | null; after: string }
  /** The branch of an open proposal, if the store keeps proposals as branches. */
  branch?: string
}

export type Decision = {
  from: ProposalState
  to: ProposalState
  note: Note
  /** The decision's change to the block; none for a rejection. */
  change?: Change
}

export type ProposalFilter = {
  state?: ProposalState
  label?: string
  limit?: number
  /** The id of the previous page's last item. */
  after?: string
}

export interface MemoryStore {
  /** A user's blocks by label. */
  blocks(userId: string, page?: { limit?: number; after?: string }): Promise<Block[]>
  block(userId: string, label: string): Promise<Block | undefined>
  /** Writes all or none; `false` if one of the blocks does not have the expected version. */
  write(changes: readonly Change[], note: Note): Promise<boolean>
  /** A block's versions, newest first; `before` is the last one of the previous page. */
  versions(userId: string, label: string, page?: { limit?: number; before?: string }): Promise<Version[]>
  version(userId: string, label: string, id: string): Promise<Version | undefined>
  /** Keeps an open proposal. Contract: its id is new. */
  propose(proposal: Proposal): Promise<Proposal>
  /** A user's proposals, newest first. */
  proposals(userId: string, filter?: ProposalFilter): Promise<Proposal[]>
  proposal(userId: string, id: string): Promise<Proposal | undefined>
  /** Decides a proposal together with the change; `false` if either is no longer as expected. */
  decide(userId: string, id: string, decision: Decision): Promise<boolean>
  /** All users with blocks or open proposals, by name. */
  users(page?: { limit?: number; after?: string }): Promise<string[]>
  /** Removes everything of a user for good: blocks with their versions, and proposals. */
  forget(userId: string, note: { at: number; by: Actor }): Promise<void>
  /** Fails, in bounded time, when the database does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}

export const PAGE = 100

const READ_AT_ONCE = 500

export async function allPages<T>(
  read: (page: { limit: number; after: string | undefined }) => Promise<T[]>,
  keyOf: (item: T) => string,
): Promise<T[]> {
  const all: T[] = []
  for (;;) {
    const last = all.at(-1)
    const page = await read({ limit: READ_AT_ONCE, after: last && keyOf(last) })
    all.push(...page)
    if (page.length < READ_AT_ONCE) return all
  }
}

export function allBlocks(store: Pick<MemoryStore, 'blocks'>, userId: string): Promise<Block[]> {
  const labelOf = ({ label }: Block) => label
  return allPages(page => store.blocks(userId, page), labelOf)
}

/** An id that sorts by time. It has only letters and digits, so it can be part of a branch's name and of an address. */
export function newId(now: number): string {
  const random = crypto.getRandomValues(new Uint8Array(8))
  return now.toString(36).padStart(9, '0') + [...random].map(byte => (byte % 36).toString(36)).join('')
}

export function asBlock({ userId, label, version }: Change, content: Content, { at }: Note): Block {
  return { userId, label, ...content, updatedAt: at, version }
}
