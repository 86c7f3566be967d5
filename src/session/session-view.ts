/** A view as callers get it: the messages to send, and facts about them. */

import { messagesTokens } from '../model/tokens.ts'
import type { Edit, Message } from '../model/types.ts'
import type { Pending } from '../policies/policy.ts'
import { activeEdits, type Fold, shownTokens } from '../view/fold.ts'
import { type Violation, waitingCalls } from '../view/legality.ts'

export type View = {
  /** The messages to send now. */
  messages: Message[]
  /** Tokens of these messages. */
  tokens: number
  /** The edits in force, oldest first. */
  edits: Edit[]
  /** Edits that the planner has postponed, and why. */
  pending: Pending[]
  /** The planner's sentence about this call. */
  decision?: string
  /** Calls whose results must be appended before these messages can be sent. */
  waiting: string[]
  /**
   * Problems: rules that the view would have broken (then `messages` is the last legal view), and files that were not
   * kept.
   */
  report: Violation[]
}

type Given = Pick<View, 'messages' | 'pending' | 'report'> & {
  decision?: string | undefined
  /** Whether the fold shows these messages now. */
  isShown: boolean
}

export function toView(fold: Readonly<Fold>, { messages, isShown, pending, decision, report }: Given): View {
  const { version } = fold
  let tokens: number | undefined
  let active: Edit[] | undefined
  return {
    messages,
    // Counted on first use, for this view, even if the session has grown since.
    get tokens() {
      const current = isShown && fold.version === version
      return (tokens ??= current ? shownTokens(fold) : messagesTokens(messages, fold.count))
    },
    get edits() {
      return (active ??= [...activeEdits(fold)])
    },
    pending,
    ...(decision ? { decision } : {}),
    waiting: waitingCalls(messages),
    report,
  }
}
