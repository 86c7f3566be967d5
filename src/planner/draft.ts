/**
 * One plan of `thrifty` while it is made: its proposals, the tokens they free, their cost, and the sentences that give
 * the reasons. The draft does not change the items: the ledger decides which proposals take effect.
 */
import type { RangeTarget } from '../model/types.ts'
import { type Pending, type Plan, type PlanContext, providerTokens } from '../policies/policy.ts'
import { targetOf } from '../policies/reach.ts'
import { entriesOf } from '../view/edits.ts'
import type { Proposal } from '../view/proposal.ts'
import type { Form, Mark } from './forms.ts'
import type { Item } from './items.ts'
import type { LogChoice } from './plan-log.ts'
import { type Cut, explainLog, type Situation, setupCost } from './planner.ts'
import { MOST_PENDING } from './tuning.ts'

export class Draft {
  readonly context: PlanContext
  readonly situation: Situation
  readonly proposals: Proposal[] = []
  pending: Pending[] = []
  /** Tokens that the proposals save, and their immediate cost. */
  saved = 0
  paid = 0
  /** The last entry that goes into the log because logging it pays; −1 if none does. */
  loggedTo = -1
  /** The ranges that go into the log to make room. */
  ranges: RangeTarget[] = []
  readonly #sentences: string[] = []
  readonly #forms = new Map<Item, Pick<Form, 'mark' | 'tokens'>>()

  constructor(context: PlanContext, situation: Situation) {
    this.context = context
    this.situation = situation
  }

  /** The form of an item, and its tokens, if this draft is applied. */
  formOf(item: Item): Pick<Item, 'mark' | 'tokens'> {
    return this.#forms.get(item) ?? item
  }

  /** The size of the request if this draft is applied, in the provider's tokens. */
  get tokens(): number {
    return providerTokens({ ...this.context, freed: this.saved })
  }

  say(sentence: string): void {
    this.#sentences.push(sentence)
  }

  take(item: Item, form: Pick<Form, 'mark' | 'tokens' | 'replacement'>): void {
    this.saved += this.formOf(item).tokens - form.tokens
    this.#forms.set(item, { mark: form.mark, tokens: form.tokens })
    this.proposals.push(toProposal(item, form))
  }

  shorten(cut: Cut<Item, Form>, situation: Situation): void {
    this.#pay(cut, situation)
    for (const { part, form } of cut.picks) this.take(part, form)
  }

  log(proposals: readonly Proposal[], choice: LogChoice): void {
    this.proposals.push(...proposals)
    this.saved += choice.freed
    this.loggedTo = Math.max(...proposals.map(({ target }) => entriesOf(target).to))
    this.#pay(choice, this.situation)
    this.say(explainLog(choice, this.situation))
  }

  /** Records a batch that waits, with the reason. */
  wait(cut: Cut<Item, Form>, reason: string): void {
    this.pending = cut.picks
      .slice(0, MOST_PENDING)
      .map(({ part, form, saves }) => ({ proposal: toProposal(part, form), saves, reason }))
  }

  /** The new form of each changed item. */
  get forms(): Map<Item, Pick<Form, 'mark'>> {
    return this.#forms
  }

  toPlan(): Plan {
    const { proposals, pending } = this
    const decision = this.#sentences.join('; ')
    return { proposals, pending, ...(decision ? { decision } : {}) }
  }

  #pay({ rewritten }: Pick<Cut<Item, Form>, 'rewritten'>, situation: Situation): void {
    this.paid += setupCost({ rewritten, running: 0 }, situation)
  }
}

const REASONS: Record<Mark, string> = {
  same: 'lines repeated from above',
  limit: 'large output, shortened before it was first sent',
  look: 'command output that the model has seen once',
  old: 'file text that a later edit replaced',
  input: 'long input of an earlier call',
  stub: 'unlikely to be quoted again',
  reasoning: 'reasoning of a past turn',
  server: 'unlikely to be quoted again; the provider clears it, so reasoning after it stays valid',
}

function toProposal({ unit }: Item, { mark, replacement }: Pick<Form, 'mark' | 'replacement'>): Proposal {
  return { policy: 'thrifty', target: targetOf(unit), replacement, why: REASONS[mark], mark }
}
