/**
 * What memory needs of a database. Every implementation passes test/contracts/memory-store.ts.
 *
 * A store keeps blocks with all their versions, and proposals. It decides nothing: merging, schemas and who may do
 * what are the concern of memory.ts. Every write says which version of a block it expects to replace, is all or
 * nothing, is durable before it resolves, and is refused (`false`) when somebody else was faster: the caller then
 * reads again and tries again.
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

/** What was done to a block, and by whom. */
export type Note = {
  at: number
  by: Actor
  action: 'set' | 'delete' | 'approve' | 'reject' | 'revert' | 'restore' | 'import'
  why: string
  proposal?: string
}

/** A block as it was from then on; `content` is null where it was deleted. */
export type Version = Note & {
  id: string
  userId: string
  label: string
  content: Content | null
  /** Where the store itself has versions: its own name for this one. */
  commit?: string
}

export type Change = {
  userId: string
  label: string
  /** The version that this replaces; null where there is no such block. */
  expected: string | null
  /** The name of the new version. */
  version: string
  /** Null deletes the block. */
  content: Content | null
}

export type Confidence = 'low' | 'medium' | 'high'
export type ProposalKind = 'edit' | 'append' | 'prepend' | 'section' | 'new'
export type ProposalState = 'open' | 'approved' | 'rejected' | 'reverted'

/** What a proposal does to a text. Approving does it again on the text of that day. */
export type Operation =
  | { type: 'replace'; old: string; new: string; all?: boolean }
  | { type: 'append' | 'prepend'; text: string }
  | { type: 'section'; header: string; content: string }

/**
 * An entry of a session's ledger that led to a proposal. `source` says that text of the proposal was found there: in what
 * the user said, or only in the output of a tool.
 */
export type EntryLink = { session: string; entry: number; source?: 'user' | 'tool' }

export type Proposal = {
  id: string
  userId: string
  label: string
  kind: ProposalKind
  /** The block as the agent saw it; null where it proposes a new one. */
  base: { version: string; title: string; body: string } | null
  title: string
  /** The whole body as the agent would have it. */
  body: string
  /** How the body was made from the base; undefined where the agent gave a whole body. */
  operation?: Operation
  agentId: string
  reasoning: string
  confidence: Confidence
  entries: EntryLink[]
  createdAt: number
  state: ProposalState
  /** The last decision: an approval, a rejection, or the revert of an approval. */
  decision?: { at: number; by: Actor; why: string }
  /** What an approval replaced and made. */
  result?: { before: string | null; after: string }
  /** Where the store keeps proposals as branches: the branch, as long as it is open. */
  branch?: string
}

export type Decision = {
  /** The state that the proposal must be in. */
  from: ProposalState
  to: ProposalState
  note: Note
  /** What the decision does to the block; nothing where it is rejected. */
  change?: Change
}

export type ProposalFilter = {
  state?: ProposalState
  label?: string
  limit?: number
  /** The id of the last one of the page before. */
  after?: string
}

export interface MemoryStore {
  /** A user's blocks by label. */
  blocks(userId: string, page?: { limit?: number; after?: string }): Promise<Block[]>
  block(userId: string, label: string): Promise<Block | undefined>
  /** Writes all or none; `false` when one of the blocks is not at the version that is expected. */
  write(changes: readonly Change[], note: Note): Promise<boolean>
  /** A block's versions, the newest first; `before` is the last one of the page before. */
  versions(userId: string, label: string, page?: { limit?: number; before?: string }): Promise<Version[]>
  version(userId: string, label: string, id: string): Promise<Version | undefined>
  /** Keeps an open proposal. Contract: its id is new. */
  propose(proposal: Proposal): Promise<Proposal>
  /** A user's proposals, the newest first. */
  proposals(userId: string, filter?: ProposalFilter): Promise<Proposal[]>
  proposal(userId: string, id: string): Promise<Proposal | undefined>
  /** Decides a proposal together with the change; `false` when either is not as expected any more. */
  decide(userId: string, id: string, decision: Decision): Promise<boolean>
  /** Everybody who has blocks or open proposals, by name. */
  users(page?: { limit?: number; after?: string }): Promise<string[]>
  /** Removes everything of a user for good: blocks with their versions, and proposals. */
  forget(userId: string, note: { at: number; by: Actor }): Promise<void>
  /** Fails, in bounded time, when the database does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}

export const PAGE = 100

const READ_AT_ONCE = 500

/** Everything of a list that is read in pages. */
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

/** Sorts by time; made of letters and digits only, so that it can be part of a branch's name and of an address. */
export function newId(now: number): string {
  const random = crypto.getRandomValues(new Uint8Array(8))
  return now.toString(36).padStart(9, '0') + [...random].map(byte => (byte % 36).toString(36)).join('')
}

/** The block that a change makes. */
export function asBlock({ userId, label, version }: Change, content: Content, { at }: Note): Block {
  return { userId, label, ...content, updatedAt: at, version }
}
