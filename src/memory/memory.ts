/**
 * Memory blocks as people and agents use them: agents read and propose, people decide.
 *
 * The store has only what a user approved; nothing else ever changes a block. Every decision is one atomic write that
 * names the version it replaces: if somebody else was faster, it is computed again on the present content. An agent
 * gets `forAgent`, which has no way to decide; a decision in an agent's name is also refused.
 */

import { setTimeout } from 'node:timers/promises'
import { storeOf } from '../files/folder.ts'
import { PalimpsestError } from '../model/errors.ts'
import { Listeners } from '../model/listeners.ts'
import { type Checks, checkContent, checkLabel, checkProposal, checkUser, isName, titleOf } from './checks.ts'
import { type DiffPart, diffTexts } from './diff.ts'
import { type Duplicate, duplicatesOf } from './facts.ts'
import { fileBehind, type WorkspaceOf, withFiles } from './file-blocks.ts'
import { applyOperation, blockDeleted, changeIn, mergeProposal, mergeRevert, settledText } from './proposals.ts'
import { type Review, reviewOf } from './review.ts'
import { checkSchema, type SchemaSource } from './schema.ts'
import { type BlockHit, searchBlocks } from './search.ts'
import {
  type Actor,
  allBlocks,
  asBlock,
  type Block,
  type Change,
  type Confidence,
  type Content,
  type Decision,
  type EntryLink,
  type MemoryStore,
  type Note,
  newId,
  type Operation,
  type Proposal,
  type ProposalFilter,
  type Version,
} from './store.ts'

type MemoryOptions = {
  clock?: () => number
  /** Makes the id of a version or a proposal: unique, and sorting by time. */
  newId?: () => string
  /** Looks up the schemas that blocks name. */
  schemas?: SchemaSource
  limits?: Partial<Checks>
  /** The workspace of each user, whose files change by proposal too. */
  workspaceOf?: WorkspaceOf
}

export type ProposalInput = {
  /** `new` asks for a block that does not exist yet, even for an append; otherwise the operation says the kind. */
  kind?: 'edit' | 'new'
  body: string | Operation
  title?: string
  agentId: string
  reasoning: string
  confidence?: Confidence
  entries?: EntryLink[]
}

/** How often a decision is computed again because the block changed meanwhile. */
const ATTEMPTS = 20

/** A new proposal is compared with this many of the newest proposals. */
const LOOKED_AT = 500

/** The events for listeners: a block changed, or a proposal was made or decided. They do not contain the change. */
export type MemoryChange =
  | { type: 'block.changed'; user: string; label: string; at: number }
  | { type: 'proposal.opened' | 'proposal.decided'; user: string; label: string; id: string; state: string; at: number }

export class Memory {
  readonly store: MemoryStore
  readonly #clock: () => number
  readonly #newId: () => string
  #lastId = 0
  readonly #schemas: SchemaSource
  readonly #limits: Partial<Checks>
  readonly #workspaceOf: WorkspaceOf | undefined
  readonly #changes = new Listeners<MemoryChange>()

  constructor(store: MemoryStore, options: MemoryOptions = {}) {
    this.#workspaceOf = options.workspaceOf
    this.store = options.workspaceOf ? withFiles(store, options.workspaceOf) : store
    this.#clock = options.clock ?? Date.now
    this.#newId = options.newId ?? (() => newId((this.#lastId = Math.max(this.#clock(), this.#lastId + 1))))
    this.#schemas = options.schemas ?? (async () => undefined)
    this.#limits = options.limits ?? {}
  }

  blocks(userId: string, page?: { limit?: number; after?: string }): Promise<Block[]> {
    checkUser(userId)
    return this.store.blocks(userId, page)
  }

  block(userId: string, label: string): Promise<Block | undefined> {
    checkUser(userId)
    checkLabel(label)
    return this.store.block(userId, label)
  }

  /** The user's own writing; omitted fields are kept. It is refused if the block's version is not `expected`. */
  async set(
    userId: string,
    label: string,
    input: Partial<Content> & { by: Actor; why?: string; expected?: string | null },
  ): Promise<Block> {
    this.#mayDecide(input.by, userId)
    return this.#replace(userId, label, {
      note: this.#note(input.by, 'set', input.why),
      content: now => {
        this.#checkExpected(input.expected, now, label)
        return {
          title: input.title ?? now?.title ?? titleOf(label),
          body: input.body ?? now?.body ?? '',
          schemaRef: input.schemaRef === undefined ? (now?.schemaRef ?? null) : input.schemaRef,
        }
      },
    })
  }

  async remove(userId: string, label: string, input: { by: Actor; why?: string; expected?: string }): Promise<void> {
    this.#mayDecide(input.by, userId)
    const note = this.#note(input.by, 'delete', input.why)
    await this.#retry(async () => {
      const now = await this.#blockThatIs(userId, label)
      this.#checkExpected(input.expected, now, label)
      return (await this.#write([this.#change(now, userId, label, null)], note)) ? { done: undefined } : undefined
    })
  }

  /** Removes everything remembered about a user, for good. */
  async forget(userId: string, { by }: { by: Actor }): Promise<void> {
    this.#mayDecide(by, userId)
    await this.store.forget(userId, { at: this.#note(by, 'delete').at, by })
  }

  /** Stores a proposal. The block itself does not change. */
  async propose(userId: string, label: string, input: ProposalInput): Promise<Proposal> {
    const { operation, kind } = changeIn(input)
    const { agentId, reasoning, confidence = 'medium', entries = [] } = input
    checkProposal({ userId, label, agentId, reasoning, confidence, entries })
    const block = kind === 'new' ? await this.#noBlock(userId, label) : await this.#blockThatIs(userId, label)
    const body = typeof input.body === 'string' ? input.body : applyOperation(block?.body ?? '', input.body, label)
    const title = input.title ?? block?.title ?? titleOf(label)
    if (block && body === block.body && title === block.title) {
      throw new PalimpsestError('INVALID_INPUT', `The proposal changes nothing in block '${label}'.`, { label })
    }
    await this.#check({ title, body, schemaRef: block?.schemaRef ?? null })
    const made = await this.store.propose({
      id: this.#newId(),
      userId,
      label,
      kind,
      base: block ? { version: block.version, title: block.title, body: block.body } : null,
      title,
      body,
      ...(operation ? { operation } : {}),
      agentId,
      reasoning,
      confidence,
      entries,
      createdAt: this.#clock(),
      state: 'open',
    })
    this.#changes.tell({ type: 'proposal.opened', user: userId, label, id: made.id, state: 'open', at: this.#clock() })
    return made
  }

  /** Calls the listener for every change made through this object. Returns a function that stops it. */
  onChange(listener: (change: MemoryChange) => void): () => void {
    return this.#changes.listen(listener)
  }

  async #write(changes: readonly Change[], note: Note): Promise<boolean> {
    const done = await this.store.write(changes, note)
    if (done) for (const { userId, label } of changes) this.#tellOfBlock(userId, label)
    return done
  }

  async #decide({ userId, id, label }: Proposal, decision: Decision): Promise<boolean> {
    const done = await this.store.decide(userId, id, decision)
    if (!done) return false
    const at = this.#clock()
    this.#changes.tell({ type: 'proposal.decided', user: userId, label, id, state: decision.to, at })
    if (decision.change) this.#tellOfBlock(userId, label)
    return true
  }

  #tellOfBlock(user: string, label: string): void {
    this.#changes.tell({ type: 'block.changed', user, label, at: this.#clock() })
  }

  proposals(userId: string, filter?: ProposalFilter): Promise<Proposal[]> {
    checkUser(userId)
    return this.store.proposals(userId, filter)
  }

  async proposal(userId: string, id: string): Promise<Proposal> {
    checkUser(userId)
    const found = await this.store.proposal(userId, id)
    if (found) return found
    throw new PalimpsestError('PROPOSAL_NOT_FOUND', `There is no proposal ${id}.`, { proposal: id })
  }

  /** Everything needed to decide on a proposal. */
  async review(userId: string, id: string): Promise<Review> {
    const proposal = await this.proposal(userId, id)
    const block = await this.store.block(userId, proposal.label)
    const merge = mergeProposal(proposal, block)
    const content = { ...merge, schemaRef: block?.schemaRef ?? null }
    const problem = proposal.state === 'open' && content.type === 'clean' ? await this.#problemOf(content) : undefined
    return reviewOf(proposal, { block, merge, problem, duplicates: await this.duplicates(proposal) })
  }

  /** Duplicates of a proposal in the user's blocks and proposals, including rejected ones. */
  async duplicates(proposal: Proposal): Promise<Duplicate[]> {
    const { userId } = proposal
    const blocks = await allBlocks(this.store, userId)
    return duplicatesOf(proposal, { blocks, proposals: await this.store.proposals(userId, { limit: LOOKED_AT }) })
  }

  /** The blocks that match a query best, each with the matching stretch. */
  async search(userId: string, query: string, options?: { limit?: number }): Promise<BlockHit[]> {
    checkUser(userId)
    return searchBlocks(await allBlocks(this.store, userId), query, options)
  }

  /**
   * Applies a proposal to its block, merged with later changes. `body` and `title` replace the agent's text; `seen` is
   * the version that they were written for, and they are refused if the block has changed since.
   */
  async approve(
    userId: string,
    id: string,
    input: { by: Actor; body?: string; title?: string; seen?: string | null; why?: string },
  ): Promise<{ proposal: Proposal; block: Block }> {
    this.#mayDecide(input.by, userId)
    return this.#retry(async () => {
      const proposal = await this.#proposalIn('open', userId, id)
      const now = await this.store.block(userId, proposal.label)
      this.#checkExpected(input.seen, now, proposal.label)
      const merge = mergeProposal(proposal, now)
      const { title, body } =
        input.body === undefined
          ? settledText(merge, proposal, input.title)
          : { title: merge.type === 'deleted' ? proposal.title : merge.title, body: input.body }
      const content = { title: input.title ?? title, body, schemaRef: now?.schemaRef ?? null }
      await this.#check(content)
      const change = this.#change(now, userId, proposal.label, content)
      const note = this.#note(input.by, 'approve', input.why, id)
      const decided = await this.#decide(proposal, { from: 'open', to: 'approved', note, change })
      if (!decided) return undefined
      return { done: { proposal: await this.proposal(userId, id), block: asBlock(change, content, note) } }
    })
  }

  async reject(userId: string, id: string, input: { by: Actor; why?: string }): Promise<Proposal> {
    this.#mayDecide(input.by, userId)
    return this.#retry(async () => {
      const proposal = await this.#proposalIn('open', userId, id)
      const note = this.#note(input.by, 'reject', input.why, id)
      const decided = await this.#decide(proposal, { from: 'open', to: 'rejected', note })
      return decided ? { done: await this.proposal(userId, id) } : undefined
    })
  }

  /** Undoes a whole approval, and keeps later changes. `body` settles a conflict. */
  async revert(
    userId: string,
    id: string,
    input: { by: Actor; body?: string; why?: string },
  ): Promise<{ proposal: Proposal; block: Block | undefined }> {
    this.#mayDecide(input.by, userId)
    return this.#retry(async () => {
      const proposal = await this.#proposalIn('approved', userId, id)
      const now = await this.store.block(userId, proposal.label)
      const content = await this.#withoutApproval(proposal, now, input.body)
      if (content) await this.#check(content)
      const change = this.#change(now, userId, proposal.label, content)
      const note = this.#note(input.by, 'revert', input.why, id)
      const decided = await this.#decide(proposal, { from: 'approved', to: 'reverted', note, change })
      if (!decided) return undefined
      const block = content ? asBlock(change, content, note) : undefined
      return { done: { proposal: await this.proposal(userId, id), block } }
    })
  }

  history(userId: string, label: string, page?: { limit?: number; before?: string }): Promise<Version[]> {
    checkUser(userId)
    checkLabel(label)
    return this.store.versions(userId, label, page)
  }

  async version(userId: string, label: string, id: string): Promise<Version> {
    checkUser(userId)
    checkLabel(label)
    const found = await this.store.version(userId, label, id)
    if (found) return found
    throw new PalimpsestError('VERSION_NOT_FOUND', `Block '${label}' has no version ${id}.`, { label, version: id })
  }

  /** The changes to a block from one version to another, or to the present one. */
  async diff(userId: string, label: string, from: string, to?: string): Promise<DiffPart[]> {
    const before = await this.version(userId, label, from)
    const after =
      to === undefined ? await this.#blockThatIs(userId, label) : (await this.version(userId, label, to)).content
    return diffTexts(before.content?.body ?? '', after?.body ?? '')
  }

  /** Makes an old version the newest one, even of a deleted block. */
  async restore(userId: string, label: string, id: string, input: { by: Actor; why?: string }): Promise<Block> {
    this.#mayDecide(input.by, userId)
    const { content } = await this.version(userId, label, id)
    if (!content) {
      throw new PalimpsestError(
        'INVALID_INPUT',
        `Version ${id} is the deletion of block '${label}': there is nothing to restore. Choose the version before it.`,
        { label, version: id },
      )
    }
    return this.#replace(userId, label, {
      note: this.#note(input.by, 'restore', input.why ?? `version ${id}`),
      content: () => content,
    })
  }

  /** Everything that an agent may do for one user, and nothing else. */
  forAgent(userId: string, agentId: string): AgentMemory {
    checkUser(userId)
    return {
      blocks: () => allBlocks(this.store, userId),
      block: async label => (isName(label) ? this.block(userId, label) : undefined),
      propose: (label, input) => this.propose(userId, label, { ...input, agentId }),
      duplicates: proposal => this.duplicates(proposal),
      search: (query, options) => this.search(userId, query, options),
      workspace: this.#workspaceOf && storeOf(this.#workspaceOf(userId)).folder,
    }
  }

  close(): Promise<void> {
    return this.store.close()
  }

  /** Replaces several blocks at once with the given ones. */
  async writeAll(
    blocks: readonly (Content & { userId: string; label: string })[],
    by: Actor,
    why: string,
  ): Promise<void> {
    for (const block of blocks) {
      this.#mayDecide(by, block.userId)
      checkUser(block.userId)
      checkLabel(block.label)
      await this.#check(block)
    }
    const note = this.#note(by, 'import', why)
    await this.#retry(async () => {
      const changes = await Promise.all(
        blocks.map(async ({ userId, label, title, body, schemaRef }) => {
          const now = await this.store.block(userId, label)
          return this.#change(now, userId, label, { title, body, schemaRef })
        }),
      )
      return (await this.#write(changes, note)) ? { done: undefined } : undefined
    })
  }

  async #replace(
    userId: string,
    label: string,
    { note, content }: { note: Note; content: (now: Block | undefined) => Content },
  ): Promise<Block> {
    checkUser(userId)
    checkLabel(label)
    return this.#retry(async () => {
      const now = await this.store.block(userId, label)
      const next = content(now)
      await this.#check(next)
      const change = this.#change(now, userId, label, next)
      return (await this.#write([change], note)) ? { done: asBlock(change, next, note) } : undefined
    })
  }

  /**
   * The block without an approval: the content before it, with later changes kept; null if the approval created the
   * block.
   */
  async #withoutApproval(
    proposal: Proposal,
    now: Block | undefined,
    body: string | undefined,
  ): Promise<Content | null> {
    const { label, userId, id, result } = proposal
    if (!result)
      throw new PalimpsestError('STORE_FAILED', `Proposal ${id} is approved but has no version.`, { proposal: id })
    if (body !== undefined) return { title: now?.title ?? proposal.title, body, schemaRef: now?.schemaRef ?? null }
    if (!now) throw blockDeleted(label, id)
    const isFile = fileBehind(label) !== undefined
    const isUntouched = isFile ? now.body === proposal.body : now.version === result.after
    const contentOf = async (version: string | null) =>
      version === null ? null : (await this.version(userId, label, version)).content
    // A file has no versions: use the text that the agent saw and the one it asked for.
    const before = isFile ? proposal.base : await contentOf(result.before)
    const after = isFile ? proposal : await contentOf(result.after)
    if (isUntouched && !before) return null
    const texts = { before: before ?? { title: now.title, body: '' }, after: after ?? now, now }
    const merge = mergeRevert(texts, proposal)
    return { ...settledText(merge, proposal), schemaRef: now.schemaRef }
  }

  async #proposalIn(state: 'open' | 'approved', userId: string, id: string): Promise<Proposal> {
    const proposal = await this.proposal(userId, id)
    if (proposal.state === state) return proposal
    const { decision } = proposal
    const when = decision ? ` on ${new Date(decision.at).toISOString()} by ${decision.by}` : ''
    const said =
      proposal.state === 'open' ? 'is still open: there is nothing to revert' : `was ${proposal.state}${when}`
    throw new PalimpsestError('PROPOSAL_NOT_OPEN', `Proposal ${id} ${said}.`, { proposal: id, state: proposal.state })
  }

  async #blockThatIs(userId: string, label: string): Promise<Block> {
    checkUser(userId)
    checkLabel(label)
    const block = await this.store.block(userId, label)
    if (block) return block
    const [last] = await this.store.versions(userId, label, { limit: 1 })
    if (last) throw new PalimpsestError('BLOCK_DELETED', `Memory block '${label}' was deleted.`, { label })
    throw new PalimpsestError('BLOCK_NOT_FOUND', `Memory block '${label}' not found.`, { label })
  }

  async #noBlock(userId: string, label: string): Promise<undefined> {
    if (!(await this.store.block(userId, label))) return undefined
    throw new PalimpsestError('BLOCK_EXISTS', `Memory block '${label}' already exists. Propose an edit instead.`, {
      label,
    })
  }

  #checkExpected(expected: string | null | undefined, now: Block | undefined, label: string): void {
    if (expected === undefined || expected === (now?.version ?? null)) return
    const message = `Block '${label}' has changed since you read it. Read it again before you decide.`
    throw new PalimpsestError('CONFLICT', message, { label, expected, now: now?.version ?? null })
  }

  #mayDecide(by: Actor, userId: string): void {
    if (by.startsWith('admin:') || by === `user:${userId}`) return
    throw new PalimpsestError('FORBIDDEN', `${by} cannot decide on the memory of ${userId}: only that user can.`, {
      by,
      userId,
    })
  }

  async #check(content: Content): Promise<void> {
    checkContent(content, this.#limits)
    await checkSchema(content, this.#schemas)
  }

  async #problemOf(content: Content): Promise<string | undefined> {
    try {
      await this.#check(content)
      return undefined
    } catch (error) {
      if (error instanceof PalimpsestError) return error.message
      throw error
    }
  }

  #change(now: Block | undefined, userId: string, label: string, content: Content | null): Change {
    return { userId, label, expected: now?.version ?? null, version: this.#newId(), content }
  }

  #note(by: Actor, action: Note['action'], why = '', proposal?: string): Note {
    return { at: this.#clock(), by, action, why, ...(proposal ? { proposal } : {}) }
  }

  async #retry<T>(attempt: () => Promise<{ done: T } | undefined>): Promise<T> {
    for (let i = 0; i < ATTEMPTS; i++) {
      const outcome = await attempt()
      if (outcome) return outcome.done
      await setTimeout(Math.random() * 5 * i)
    }
    throw new PalimpsestError('STORE_LOCKED', 'The block changed during this request. Try again.')
  }
}

export type AgentMemory = {
  blocks(): Promise<Block[]>
  block(label: string): Promise<Block | undefined>
  propose(label: string, input: Omit<ProposalInput, 'agentId'>): Promise<Proposal>
  duplicates(proposal: Proposal): Promise<Duplicate[]>
  search(query: string, options?: { limit?: number }): Promise<BlockHit[]>
  /** The workspace folder whose files change by proposal, if there is one. */
  workspace: string | undefined
}
