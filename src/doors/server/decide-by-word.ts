/**
 * Deciding by a word in a chat: "approve" or "reject", right below an answer that ends with our notice.
 *
 * The notice contains a signed link, so the word can only refer to proposals that the server itself named: a model
 * cannot write such a line. The same word anywhere else is part of the conversation.
 */
import { type DecisionLinks, tokenInNotice } from '../../memory/decision-links.ts'
import type { Memory } from '../../memory/memory.ts'
import { isPalimpsestError } from '../../model/errors.ts'
import { textOf } from '../../model/leaves.ts'
import type { Message } from '../../model/types.ts'

export type Word = { verb: 'approve' | 'reject'; token: string }

const WORD = /^["“]?(approve|reject)(?: all| it| them)?["”]?[.!]?$/i

/** The decision in the last message of a conversation, if there is one. */
export function wordIn(messages: readonly Message[]): Word | undefined {
  const [before, last] = messages.slice(-2)
  if (before?.role !== 'assistant' || last?.role !== 'user') return undefined
  const verb = WORD.exec(last.parts.map(textOf).join('').trim())?.[1]?.toLowerCase()
  const token = tokenInNotice(before.parts.map(textOf).join(''))
  return token !== undefined && (verb === 'approve' || verb === 'reject') ? { verb, token } : undefined
}

type Decider = { memory: Memory; links: DecisionLinks; user: string; linkOf: (path: string) => string }

/** Decides the proposals that the notice named, and reports the outcome of each. */
export async function decideByWord({ verb, token }: Word, { memory, links, user, linkOf }: Decider): Promise<string> {
  let linked: ReturnType<DecisionLinks['read']>
  try {
    linked = links.read(token)
  } catch (error) {
    if (isPalimpsestError(error)) return error.message
    throw error
  }
  if (linked.user !== user) return 'These proposals are for another user.'
  const by = `user:${user}` as const
  const lines: string[] = []
  for (const id of linked.ids) {
    const { label, state } = await memory.proposal(user, id)
    try {
      if (state !== 'open') lines.push(`- ${label}: was already ${state}.`)
      else if (verb === 'reject') lines.push(`- ${(await memory.reject(user, id, { by })).label}: rejected.`)
      else lines.push(`- ${(await memory.approve(user, id, { by })).block.label}: approved.`)
    } catch (error) {
      if (!isPalimpsestError(error)) throw error
      lines.push(`- ${label}: ${error.message} [Review](${linkOf(links.path(user, [id]))})`)
    }
  }
  return lines.join('\n')
}
