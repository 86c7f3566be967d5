/**
 * Replaces our summary with one written by a model: the engine calls an injected function, checks the answer, and keeps
 * our own summary if there is no answer or it fails the check. The recorded edit says which one it is and why. A replay
 * injects no function.
 */

import { textOf } from '../model/leaves.ts'
import { messagesTokens } from '../model/tokens.ts'
import type { Message } from '../model/types.ts'
import { entriesOf, messagesOf } from '../view/edits.ts'
import { type Fold, indexOf, peek, tokensOf } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import { checkSummary } from './summary.ts'

type SummaryRequest = {
  /** The messages now shown for the entries that the summary will replace. */
  messages: Message[]
  /** Our own summary. Its form is binding: the first line and the five sections. */
  draft: string
  /** The user's last request. */
  goal: string
}

export type WriteSummary = (request: SummaryRequest) => Promise<string>

/** The proposals, with a model's text for those that are summaries, if there is a model to call. */
export async function withModelSummaries(
  proposals: readonly Proposal[],
  fold: Fold,
  write: WriteSummary | undefined,
): Promise<readonly Proposal[]> {
  if (!write || !proposals.some(proposal => proposal.summary)) return proposals
  const written: Proposal[] = []
  for (const proposal of proposals) written.push(await withModelSummary(proposal, fold, write))
  return written
}

async function withModelSummary(proposal: Proposal, fold: Fold, write: WriteSummary): Promise<Proposal> {
  const { summary, target } = proposal
  const [own, ...others] = messagesOf(proposal)
  if (!summary || !own) return proposal
  const { from, to } = entriesOf(target)
  const end = to + 1 < fold.entries.length ? indexOf(fold, to + 1) : undefined
  const messages = peek(fold).slice(indexOf(fold, from), end)
  const room = tokensOf(fold, from, to) - messagesTokens(others, fold.count)
  try {
    const text = await write({ messages, draft: own.parts.map(textOf).join('\n'), goal: summary.goal })
    const wrong = checkSummary(text, room, fold.count)
    if (wrong !== undefined) return { ...proposal, why: `${proposal.why}; the model's summary was refused: ${wrong}` }
    const written: Message = { ...own, parts: [{ type: 'text', text }] }
    return { ...proposal, why: `${proposal.why}, written by a model`, replacement: { messages: [written, ...others] } }
  } catch (error) {
    return { ...proposal, why: `${proposal.why}; the model's summary failed: ${error}` }
  }
}
