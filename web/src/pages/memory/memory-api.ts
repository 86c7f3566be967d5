/** The memory routes of the API: blocks with their versions, proposals, and decisions on them. */

import { getJson, sendJson } from '../../api.ts'
import type { Block, ProposalState } from '../../api-types.ts'

/** A body written by the user, and the version of the block that it is based on. */
export type OwnWords = { body: string; title?: string; seen: string | null }

const PAGE = 200

export function readUsers(signal: AbortSignal) {
  return getJson('/users', { signal })
}

export function readProposals(user: string, state: ProposalState, signal: AbortSignal) {
  return getJson('/users/{user}/proposals', { params: { user }, query: { state, limit: PAGE }, signal })
}

export function readReview(user: string, id: string, signal: AbortSignal) {
  return getJson('/users/{user}/proposals/{id}', { params: { user, id }, signal })
}

export function approve(user: string, id: string, own?: OwnWords) {
  return sendJson('POST', '/users/{user}/proposals/{id}/approve', { params: { user, id }, body: own })
}

export function reject(user: string, id: string, why: string) {
  const body = why === '' ? undefined : { why }
  return sendJson('POST', '/users/{user}/proposals/{id}/reject', { params: { user, id }, body })
}

export function revert(user: string, id: string, text?: string) {
  const body = text === undefined ? undefined : { body: text }
  return sendJson('POST', '/users/{user}/proposals/{id}/revert', { params: { user, id }, body })
}

export async function readBlocks(user: string, signal: AbortSignal): Promise<Block[]> {
  const blocks: Block[] = []
  for (let cursor: string | undefined; ; ) {
    const query = { limit: PAGE, cursor }
    const page = await getJson('/users/{user}/blocks', { params: { user }, query, signal })
    blocks.push(...page.blocks)
    if (page.next === null) return blocks
    cursor = page.next
  }
}

export function searchBlocks(user: string, q: string, signal: AbortSignal) {
  return getJson('/users/{user}/memory', { params: { user }, query: { q, limit: PAGE }, signal })
}

export function readHistory(user: string, label: string, signal: AbortSignal) {
  const params = { user, label }
  return getJson('/users/{user}/blocks/{label}/history', { params, query: { limit: PAGE }, signal })
}

type Written = { body?: string; title?: string; expected?: string; why?: string }

export function writeBlock(user: string, label: string, body: Written) {
  return sendJson('PUT', '/users/{user}/blocks/{label}', { params: { user, label }, body })
}

export function deleteBlock(user: string, label: string, expected: string) {
  return sendJson('DELETE', '/users/{user}/blocks/{label}', { params: { user, label }, query: { expected } })
}

export function restoreVersion(user: string, label: string, version: string) {
  return sendJson('POST', '/users/{user}/blocks/{label}/restore', { params: { user, label }, body: { version } })
}
