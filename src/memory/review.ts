/**
 * A proposal as the person who decides on it sees it: what approving it would change, what would prevent that, and which
 * characters in it a screen would hide. Pure.
 */
import { type DiffPart, diffTexts, type Hidden, hiddenIn } from './diff.ts'
import type { Duplicate } from './facts.ts'
import type { Merge, Text } from './proposals.ts'
import type { Block, Proposal } from './store.ts'

export type Review = {
  proposal: Proposal
  /** The block as it is now. */
  block: Block | undefined
  /** What approving it gives; for a proposal that is decided, what it would give once more. */
  merge: Merge
  /** From what is there now to what approving gives; where that is a conflict or decided, what the agent changed. */
  diff: DiffPart[]
  titleDiff: DiffPart[]
  /** What says the same already. */
  duplicates: Duplicate[]
  /** Whether text of it was found in the output of tools and not in what the user said. */
  fromTools: boolean
  /** Characters in the proposal that no screen shows. */
  hidden: Hidden[]
  /** Why approving it as it is would be refused: the schema, the size. */
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
