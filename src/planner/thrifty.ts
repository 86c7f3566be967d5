/**
 * `thrifty`, the default planner: shortens parts that are unlikely to be needed, when that costs less than keeping
 * them.
 *
 * Before a part is first sent, edits are free: blocks that are already in view become pointers, and huge outputs of
 * runs are cut to head, tail and the lines that report errors. After that the planner decides. Every part has an
 * expected number of later quotes, by class and age. A shorter form is worth the tokens it saves less the quotes it may
 * lose, and a batch of them is applied when it pays (planner.ts). Past the thresholds of the window, the parts that
 * lose least are shortened first, and then the oldest steps become a log. One knob, `quote`, trades cost for evidence.
 * Users' words are shortened only in logs.
 */

import { firstIndex } from '../model/first-index.ts'
import { amount } from '../model/text.ts'
import { fallback } from '../policies/fallback.ts'
import { images } from '../policies/images.ts'
import type { Plan, PlanContext, Planner, PlannerFactory, PolicyRun } from '../policies/policy.ts'
import type { Model } from '../providers/models.ts'
import { bandAt } from '../providers/pricing.ts'
import { lastRunningReasoning, stripsReasoning, turnStart } from '../view/binding.ts'
import { type Fold, shownTokens } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import { Account } from './account.ts'
import { arrivalOf } from './arrival.ts'
import { Draft } from './draft.ts'
import { type Form, isStronger, leastShare } from './forms.ts'
import { densityOf, type Item, Items, isBefore } from './items.ts'
import { type BoundOf, bestLog, LogOutlook, planLog, proposeLog } from './plan-log.ts'
import {
  bestCut,
  type Candidate,
  type Choice,
  type Cut,
  dueReason,
  explain,
  horizonOf,
  isCold,
  type Situation,
  type Timing,
  thousands,
  worthOf,
} from './planner.ts'
import { bestClear } from './server-clear.ts'
import {
  type KeepLevel,
  keepFactor,
  MIN_GROWTH,
  quotePrice,
  SETTLED_CALLS,
  settingsAtQuote,
  THRIFTY,
  type ThriftyOptions,
} from './tuning.ts'

/** How much is kept: a word, or a number relative to the default (2 keeps more, 0.5 less). Sets `quote`. */
export type ThriftyKnob = {
  keep?: KeepLevel | number
  /** Tools whose calls and results stay as they are, until old steps become a log. */
  protect?: readonly string[]
}

/**
 * The default planner: shortens what is unlikely to be needed, when that costs less than keeping it.
 *
 * @example
 * const session = await pal.session('fix-login', { planner: thrifty({ keep: 'more' }) })
 */
export function thrifty({
  keep = 'normal',
  protect = [],
  ...options
}: ThriftyKnob & Partial<ThriftyOptions> = {}): PlannerFactory {
  const quote = options.quote ?? THRIFTY.quote * keepFactor(keep)
  const all = { ...THRIFTY, ...settingsAtQuote(quote), ...options, quote }
  return { name: 'thrifty', start: () => new Thrifty(all, new Set(protect)) }
}

class Thrifty implements Planner {
  readonly #options: ThriftyOptions
  readonly #items: Items
  readonly #account = new Account()
  readonly #outlook = new LogOutlook()
  #images: PolicyRun | undefined
  #fallback: PolicyRun | undefined

  constructor(options: ThriftyOptions, protect: ReadonlySet<string>) {
    this.#options = options
    this.#items = new Items(options, protect)
  }

  plan(context: PlanContext): Plan {
    const draft = this.#takeIn(context)
    sayArrivals(draft)
    if (!this.#clearOnServer(draft)) {
      this.#writeLog(draft)
      this.#shorten(draft)
    }
    this.#makeRoom(draft)
    this.#guard(draft)
    this.#note(draft)
    return draft.toPlan()
  }

  /** The latest parts have now been sent whole: builds the shorter forms that they may take from the next call on. */
  prepare(fold: Fold): void {
    for (const item of this.#items.ready(fold)) this.#items.formsOf(item, fold)
  }

  /** Updates the items. New parts get the form in which they are first sent: an edit costs nothing at this point. */
  #takeIn(context: PlanContext): Draft {
    const { fold, units, fresh, calls } = context
    const draft = new Draft(context, this.#situation(context))
    this.#items.settle(fold)
    for (const item of this.#items.arrivals(context)) {
      if (item.mark !== undefined || item.frozen) continue
      const form = arrivalOf(item, this.#items, fold, this.#options)
      if (!form) continue
      draft.take(item, form)
      this.#items.arriveAs(item, form)
    }
    this.#items.ready(fold, units[fresh])
    this.#account.count(calls, this.#sizes(draft), draft.situation.model)
    return draft
  }

  /**
   * Asks the provider to clear the oldest results, within a turn in which an edit of ours would lose reasoning. Does so
   * only if the provider supports it and it is worth more than our own best edits. Returns whether it does so now.
   */
  #clearOnServer(draft: Draft): boolean {
    const { context, situation } = draft
    const { fold, serverClears, model } = context
    if (!serverClears || !stripsReasoning(model) || fold.callsInEdits > 0 || lastRunningReasoning(fold) < 0)
      return false
    const cut = bestClear(this.#items, context, { situation, quotes: this.#options.quotes })
    if (!cut || cut.net <= (this.#bestOwn(draft, situation)?.net ?? 0)) return false
    const due = dueReason(cut, situation, this.#timing(draft))
    const sentence = explain(cut, due, situation, 'had the provider clear')
    draft.say(sentence)
    if (due) draft.shorten(cut, situation)
    else draft.wait(cut, sentence)
    return due !== undefined
  }

  /** Moves old steps into the log when that pays. */
  #writeLog(draft: Draft): void {
    const { context, situation } = draft
    const { quotes, horizonMax } = this.#options
    const timing = this.#timing(draft)
    const options = { situation, quotes, horizonMax, boundOf: boundIn(context), timing }
    if (!this.#outlook.mayPay(context, this.#items, options)) return
    const best = bestLog(context, this.#items.all, options)
    if (!best || best.net <= 0 || !dueReason(best, situation, timing)) return
    const proposals = proposeLog(context, best.end, this.#options)
    if (proposals.length > 0) draft.log(proposals, best)
  }

  /** The best batch among the parts that were sent before, when it is due. */
  #shorten(draft: Draft): void {
    // Everything after a new log is written again, so further edits there are free.
    const situation = draft.loggedTo < 0 ? draft.situation : { ...draft.situation, cold: true }
    const cut = this.#bestOwn(draft, situation)
    if (!cut) return
    const due = dueReason(cut, situation, this.#timing(draft))
    const sentence = explain(cut, due, situation)
    draft.say(sentence)
    if (due) draft.shorten(cut, situation)
    else draft.wait(cut, sentence)
  }

  #bestOwn(draft: Draft, situation: Situation): Cut<Item, Form> | undefined {
    const picked = new Set<Item>()
    return bestCut(this.#lastToFirst(draft, situation, picked), situation, { minSave: this.#options.minSave, picked })
  }

  /** The sent parts that may pay, newest first. The tokens of the other parts are counted as `between`. */
  *#lastToFirst(draft: Draft, situation: Situation, leaving: ReadonlySet<Item>): Generator<Candidate<Item, Form>> {
    const { context, loggedTo } = draft
    const { units, fresh, calls } = context
    const boundOf = boundIn(context)
    const { open } = this.#items
    const firstFresh = units[fresh]
    let behind = firstFresh && this.#items.firstFrom(firstFresh)
    const end = firstFresh ? firstIndex(open.length, i => !isBefore(open[i]!.unit, firstFresh)) : open.length
    for (let i = end - 1; i >= 0; i--) {
      const part = open[i]!
      const { unit, tokens } = part
      if (unit.entry <= loggedTo) return
      const bound = boundOf?.(part)
      const choices = bound || !this.#mayPay(part, calls, situation) ? NO_CHOICE : this.#choices(part, draft, leaving)
      if (!bound && choices.length === 0) continue
      const between = this.#items.tokensFrom(part, behind) - tokens
      yield { part, tokens, between, age: calls - part.born, choices, ...(bound ? { bound } : {}) }
      behind = part
    }
  }

  /** Whether any form of an item can be worth something. The answer does not depend on the form's length. */
  #mayPay(item: Item, calls: number, situation: Situation): boolean {
    const { unit, partClass } = item
    if (unit.original.type !== 'tool-result' || !partClass) return true
    const lost = densityOf(item, partClass, calls, this.#options.quotes) * leastShare(partClass)
    return worthOf(1, lost, situation) > -ROUNDING
  }

  #choices(item: Item, draft: Draft, leaving: ReadonlySet<Item>): readonly Choice<Form>[] {
    const { calls, fold } = draft.context
    if (item.frozen || !mayDrop(item, draft.context)) return NO_CHOICE
    if (item.pointers) {
      for (const pointer of item.pointers) {
        if (draft.formOf(pointer).mark === 'same' && !leaving.has(pointer)) return NO_CHOICE
      }
    }
    const { mark, tokens } = draft.formOf(item)
    const choices: Choice<Form>[] = []
    for (const form of this.#items.formsOf(item, fold)) {
      if (!isStronger(form.mark, mark)) continue
      const density = form.loses ? densityOf(item, form.loses, calls, this.#options.quotes) : 0
      choices.push({ form, tokens: form.tokens, lost: density * form.share * Math.max(0, tokens - form.tokens) })
    }
    return choices
  }

  /**
   * Past the threshold: shortens the parts that lose least for each token first; then the oldest steps become log
   * lines.
   */
  #makeRoom(draft: Draft): void {
    const { context, proposals } = draft
    const { must, goal, said } = this.#options
    const { model, scale = model.scale } = context
    if (draft.tokens <= must * model.window) return
    const before = proposals.length
    this.#squeeze(draft)
    if (draft.tokens > ((must + goal) / 2) * model.window) {
      const [wanted, needed] = [goal, must].map(mark => (draft.tokens - mark * model.window) / scale) as [
        number,
        number,
      ]
      const logged = planLog(context, this.#items.all, { wanted, needed, said })
      draft.ranges = logged.flatMap(({ target }) => (target.type === 'range' ? [target] : []))
      proposals.push(...logged)
      this.#dropPointers(draft)
    }
    if (proposals.length > before) draft.say(roomSentence(proposals.slice(before), model))
  }

  #squeeze(draft: Draft): void {
    const { units, fresh, model } = draft.context
    const firstFresh = units[fresh]
    const candidates = this.#items.open
      .filter(({ unit }) => unit.entry > draft.loggedTo && (!firstFresh || isBefore(unit, firstFresh)))
      .flatMap(item => {
        const { tokens } = draft.formOf(item)
        const choices = this.#choices(item, draft, NONE)
        return choices.map(choice => ({ item, choice, loss: choice.lost / Math.max(1, tokens - choice.tokens) }))
      })
      .sort((a, b) => a.loss - b.loss || a.item.unit.entry - b.item.unit.entry)
    const taken = new Set<Item>()
    for (const { item, choice } of candidates) {
      if (draft.tokens <= this.#options.goal * model.window) return
      if (taken.has(item) || draft.formOf(item).tokens - choice.tokens < this.#options.minSave) continue
      taken.add(item)
      draft.take(item, choice.form)
    }
  }

  /** Pointers to parts inside the log would point to nothing. They become stubs that say where the original is. */
  #dropPointers(draft: Draft): void {
    const end = Math.max(-1, ...draft.ranges.map(({ to }) => to))
    const { all } = this.#items
    const outside = new Set<Item>()
    for (let i = 0; i < all.length && all[i]!.unit.entry <= end; i++) {
      for (const pointer of all[i]!.pointers ?? []) if (pointer.unit.entry > end) outside.add(pointer)
    }
    for (const item of outside) {
      if (draft.formOf(item).mark !== 'same' || item.frozen) continue
      const stub = this.#items.formsOf(item, draft.context.fold).find(({ mark }) => mark === 'stub')
      if (stub) draft.take(item, stub)
    }
  }

  /**
   * Limits that no price decides: the provider's limits on images, and the end of the window when nothing else helped.
   */
  #guard({ context, proposals, ranges, saved }: Draft): void {
    const { model, scale = model.scale } = context
    this.#images ??= images().start()
    this.#fallback ??= fallback({ threshold: Math.round((this.#options.full * model.window) / scale) }).start()
    const now = { ...context, freed: saved, ranges }
    proposals.push(...this.#images.plan(now), ...this.#fallback.plan(now))
  }

  /** Records the decision. The next plan reads from the fold which proposals were applied. */
  #note(draft: Draft): void {
    this.#account.pay(draft.paid)
    this.#items.propose(draft.forms)
  }

  #situation(context: PlanContext): Situation {
    const { calls, model, fold } = context
    const { quote, thought } = this.#options
    return {
      model,
      cold: isCold(context),
      horizon: horizonOf(calls, this.#options),
      quote: quotePrice(quote, model),
      whole: shownTokens(fold),
      thought: thought * (model.input === 0 ? 1 : model.output / model.input),
      scale: context.scale ?? model.scale,
    }
  }

  #sizes({ context, situation, saved }: Draft): { whole: number; sent: number; cold: boolean } {
    const { fold, overhead } = context
    return { whole: this.#items.arrived + overhead, sent: shownTokens(fold) - saved + overhead, cold: situation.cold }
  }

  #timing(draft: Draft): Timing {
    const { fold, model, calls, scale = model.scale } = draft.context
    const { tokens } = draft
    const band = bandAt(model, tokens)
    const callsOfTurn = model.bindsReasoning ? calls - this.#callsBefore(turnStart(fold)) : calls
    // At a new message of the user an edit loses no reasoning that is in use. The next such moment may be far away.
    const batch = model.bindsReasoning && callsOfTurn === 0 ? this.#options.turnBatch : this.#options.batch
    return {
      pressure: tokens > this.#options.may * model.window,
      overBand: band ? (tokens - band.above) / scale : 0,
      growth: Math.max(MIN_GROWTH, this.#items.arrived / (calls + 1)),
      // A session that has lasted long is expected to continue: it acts at half the batch size that a young session
      // needs.
      batch: (batch / 2) * (1 + Math.min(1, (SETTLED_CALLS / calls) ** 2)),
      callsOfTurn,
      budget: this.#account.budget(this.#options.regret) - draft.paid,
    }
  }

  /** Calls that were made before an entry. */
  #callsBefore(entry: number): number {
    return this.#items.all.findLast(({ unit }) => unit.entry <= entry)?.unit.turn ?? 0
  }
}

const NONE: ReadonlySet<Item> = new Set()
const NO_CHOICE: readonly Choice<Form>[] = []
/** Differences below this are rounding errors. */
const ROUNDING = 1e-6

/**
 * Whether a part may leave the view. Rules keep the reasoning of this turn, and reasoning bound to the text before it.
 */
function mayDrop({ unit }: Item, { fold, model }: PlanContext): boolean {
  if (unit.original.type !== 'reasoning') return true
  return unit.entry < fold.lastUser && model.dialect !== 'openai-responses' && !model.bindsReasoning
}

function sayArrivals(draft: Draft): void {
  const count = draft.proposals.length
  if (count === 0) return
  const saved = thousands(draft.saved * (draft.situation.scale ?? 1))
  draft.say(`shortened ${amount(count, 'new part')}, ${saved} tokens: they were never sent, so it costs nothing`)
}

function roomSentence(proposals: readonly Proposal[], { window }: Pick<Model, 'window'>): string {
  const logged = proposals.filter(proposal => proposal.mark === undefined).length
  const steps = logged > 0 ? ', the oldest steps moved into a log' : ''
  const shortened = amount(proposals.length - logged, 'part was', 'parts were')
  return `made room: the window of ${thousands(window)} tokens was filling up, so ${shortened} shortened${steps}`
}

/** Returns a function that tells whether an item is reasoning that an edit before it makes invalid. */
function boundIn({ fold, model }: PlanContext): BoundOf | undefined {
  if (!model.bindsReasoning) return undefined
  const leaves = stripsReasoning(model)
  const start = turnStart(fold)
  return ({ unit, tokens, mark }) => {
    if (unit.original.type !== 'reasoning' || tokens === 0 || mark) return undefined
    return { leaves, running: unit.entry > start }
  }
}
