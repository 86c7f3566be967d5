/** Memory as the API has it: blocks with their versions, proposals, and what a person decides on them. */

import type { DiffPart } from '../../../../src/memory/diff.ts'
import type { Merge, Region } from '../../../../src/memory/proposals.ts'
import { getJson, sendJson } from '../../api.ts'

export type { DiffPart, Merge, Region }

export type Block = {
  user_id: string
  label: string
  title: string
  body: string
  schema_ref: string | null
  updated_at: number
  /** Facts that are out of date. */
  stale: { text: string; since?: string; replacedBy?: string }[]
  version: string
}

export type BlockHit = { label: string; title: string; snippet: string }

export type Version = {
  version: string
  at: number
  by: string
  action: string
  why: string
  proposal: string | null
  title: string | null
  body: string | null
  commit: string | null
}

export type ProposalState = 'open' | 'approved' | 'rejected' | 'reverted'

export type Proposal = {
  id: string
  user_id: string
  label: string
  kind: 'edit' | 'append' | 'prepend' | 'section' | 'new'
  base: { version: string; title: string; body: string } | null
  title: string
  body: string
  agent_id: string
  reasoning: string
  confidence: 'low' | 'medium' | 'high'
  entries: { session: string; entry: number; source?: 'user' | 'tool' }[]
  created_at: number
  state: ProposalState
  decision: { at: number; by: string; why: string } | null
  branch: string | null
}

export type Review = {
  proposal: Proposal
  block: Block | null
  merge: Merge
  duplicates: { label: string; text: string; proposal?: string; state?: ProposalState }[]
  from_tools: boolean
  diff: DiffPart[]
  title_diff: DiffPart[]
  hidden: { char: string; name: string; count: number }[]
  problem: string | null
}

export type Users = { users: { user: string; blocks: number; open: number }[]; own: string }

/** A body of one's own, and the version of the block that it was written for. */
export type OwnWords = { body: string; title?: string; seen: string | null }

const PAGE = 200

export function memoryPath(user: string, ...rest: string[]): string {
  return ['/users', ...[user, ...rest].map(encodeURIComponent)].join('/')
}

export function readUsers(signal: AbortSignal): Promise<Users> {
  return getJson('/users', { signal })
}

export function readProposals(user: string, state: ProposalState, signal: AbortSignal) {
  const query = { state, limit: PAGE }
  return getJson<{ proposals: Proposal[]; next: string | null }>(memoryPath(user, 'proposals'), { query, signal })
}

export function readReview(user: string, id: string, signal: AbortSignal): Promise<Review> {
  return getJson(memoryPath(user, 'proposals', id), { signal })
}

export function approve(user: string, id: string, own?: OwnWords): Promise<{ proposal: Proposal }> {
  return sendJson('POST', memoryPath(user, 'proposals', id, 'approve'), own)
}

export function reject(user: string, id: string, why: string): Promise<Proposal> {
  return sendJson('POST', memoryPath(user, 'proposals', id, 'reject'), why === '' ? undefined : { why })
}

export function revert(user: string, id: string, body?: string): Promise<{ proposal: Proposal }> {
  return sendJson('POST', memoryPath(user, 'proposals', id, 'revert'), body === undefined ? undefined : { body })
}

export async function readBlocks(user: string, signal: AbortSignal): Promise<Block[]> {
  const blocks: Block[] = []
  for (let cursor: string | undefined; ; ) {
    const query = { limit: PAGE, cursor }
    const page = await getJson<{ blocks: Block[]; next: string | null }>(memoryPath(user, 'blocks'), { query, signal })
    blocks.push(...page.blocks)
    if (page.next === null) return blocks
    cursor = page.next
  }
}

export function searchBlocks(user: string, q: string, signal: AbortSignal): Promise<{ hits: BlockHit[] }> {
  return getJson(memoryPath(user, 'memory'), { query: { q, limit: PAGE }, signal })
}

export function readHistory(user: string, label: string, signal: AbortSignal) {
  const path = memoryPath(user, 'blocks', label, 'history')
  return getJson<{ versions: Version[]; next: string | null }>(path, { query: { limit: PAGE }, signal })
}

type Written = { body?: string; title?: string; expected?: string; why?: string }

export function writeBlock(user: string, label: string, written: Written): Promise<Block> {
  return sendJson('PUT', memoryPath(user, 'blocks', label), written)
}

export function deleteBlock(user: string, label: string, expected: string): Promise<unknown> {
  return sendJson('DELETE', `${memoryPath(user, 'blocks', label)}?expected=${encodeURIComponent(expected)}`)
}

export function restoreVersion(user: string, label: string, version: string): Promise<Block> {
  return sendJson('POST', memoryPath(user, 'blocks', label, 'restore'), { version })
}
