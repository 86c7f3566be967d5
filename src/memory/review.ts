/**
 * A proposal as shown to the person who decides on it: the change, what would prevent it, and its invisible
 * characters. Pure.
 */
import { type DiffPart, diffTexts, type Hidden, hiddenIn } from './diff.ts'
import type { Duplicate } from './facts.ts'
import type { Merge, Text } from './proposals.ts'
import type { Block, Proposal } from './store.ts'

export type Review = {
  proposal: Proposal
  block: Block | undefined
  /** The result of approving; for a decided proposal, the result of approving it again. */
  merge: Merge
  /** The change from the present text to the approved one; for a conflict or a decided proposal, the agent's change. */
  diff: DiffPart[]
  titleDiff: DiffPart[]
  /** Texts that already say the same. */
  duplicates: Duplicate[]
  /** Whether some of its text was found in tool output and not in the user's words. */
  fromTools: boolean
  /** Invisible characters in the proposal. */
  hidden: Hidden[]
  /** Why approving it unchanged would be refused: the schema, the size. */
  problem?: string
}

type Given = Pick<Review, 'block' | 'merge' | 'problem' | 'duplicates'>

export function reviewOf(proposal: Proposal, { block, merge, problem, duplicates }: Given): Review {
  const [before, after] = shownTexts(proposal, block, merge)
  return {
    proposal,
    block,
    merge,
    diff: diffTexts(before.body, after.body),
    titleDiff: diffTexts(before.title, after.title),
    duplicates,
    fromTools: proposal.entries.some(({ source }) => source === 'tool'),
    hidden: hiddenIn(`${proposal.title}\n${proposal.body}\n${proposal.reasoning}`),
    ...(problem ? { problem } : {}),
  }
}

function shownTexts({ base, title, body, state }: Proposal, block: Block | undefined, merge: Merge): [Text, Text] {
  const nothing: Text = { title: '', body: '' }
  if (state === 'open' && merge.type === 'clean') return [block ?? nothing, merge]
  return [base ?? nothing, { title, body }]
}
