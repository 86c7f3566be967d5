/**
 * `thrifty`, the default: shorten what is unlikely to be needed, when that costs less than keeping it.
 *
 * Before a part is first sent, edits are free: blocks that stand above already become pointers, huge outputs of runs
 * are cut to head, tail and the lines that tell of errors. After that the planner decides: every part has an expected
 * number of later quotes, by class and age; a shorter form is worth the tokens it saves less the quotes it may lose;
 * and a batch of them is applied when it pays (planner.ts). Past the marks of the window, what loses least goes first,
 * and then the oldest steps are folded. One knob, `quote`, trades cost for evidence. Users' words are
 * touched in folds only.
 */

import { mapStrings } from '../model/leaves.ts'
import type { Replacement } from '../model/types.ts'
import { fallback } from '../policies/fallback.ts'
import { images } from '../policies/images.ts'
import {
  type Pending,
  type Plan,
  type PlanContext,
  type Planner,
  type PlannerFactory,
  type PolicyRun,
  providerTokens,
} from '../policies/policy.ts'
import { targetOf } from '../policies/reach.ts'
import { bandAt } from '../providers/pricing.ts'
import { isHeld, stripsReasoning, turnStart } from '../view/binding.ts'
import { entriesOf } from '../view/edits.ts'
import { type Fold, shownTokens } from '../view/fold.ts'
import type { Proposal } from '../view/proposal.ts'
import type { Unit } from '../view/units.ts'
import { Account } from './account.ts'
import { classOf, expectedQuotes, type PartClass } from './classes.ts'
import { excerpt } from './excerpt.ts'
import { type Form, formsOf, isOldText, type Mark } from './forms.ts'
import { type Item, refreshItems, toItem } from './items.ts'
import { type KeepLevel, keepFactor } from './keep.ts'
import { bestFold, type FoldChoice, planFold, proposeFold } from './plan-log.ts'
import {
  bestCut,
  type Candidate,
  type Choice,
  type Cut,
  dueReason,
  explain,
  explainFold,
  type Situation,
  setupCost,
  type Timing,
  thousands,
} from './planner.ts'
import { LineIndex, withoutNumber } from './same-lines.ts'
import {
  INPUT_SHARE,
  MIN_GROWTH,
  MOST_PENDING,
  quotePrice,
  SETTLED_CALLS,
  settingsFor,
  THRIFTY,
  type ThriftyOptions,
} from './tuning.ts'

/** How much is kept: a word, or a number relative to the default (2 keeps more, 0.5 less). Sets `quote`. */
export type ThriftyKnob = { keep?: KeepLevel | number }

/**
 * The default planner: shortens what is unlikely to be needed, when that costs less than keeping it.
 *
 * @example
 * const session = await pal.session('fix-login', { planner: thrifty({ keep: 'more' }) })
 */
export function thrifty({ keep = 'normal', ...options }: ThriftyKnob & Partial<ThriftyOptions> = {}): PlannerFactory {
  const quote = options.quote ?? THRIFTY.quote * keepFactor(keep)
  const all = { ...THRIFTY, ...settingsFor(quote), ...options, quote }
  return { name: 'thrifty', start: () => new Thrifty(all) }
}

class Thrifty implements Planner {
  readonly #options: ThriftyOptions
  readonly #lines = new LineIndex<Item>()
  #items: Item[] = []
  #seen = 0
  /** Tokens that the proposals of this plan save so far. */
  #saved = 0
  /** Tokens of everything that ever came in. */
  #arrived = 0
  /** As of which change of edits the items were looked at. */
  #refreshed = -1
  /** The last entry that this plan folds. */
  #folding = -1
  /** Each file that calls were about: how often it was changed, and the last call that touched it. */
  readonly #files = new Map<string, { changes: number; touched: number }>()
  readonly #account = new Account()
  #images: PolicyRun | undefined
  #fallback: PolicyRun | undefined

  constructor(options: ThriftyOptions) {
    this.#options = options
  }

  plan(context: PlanContext): Plan {
    this.#saved = 0
    this.#folding = -1
    this.#refresh(context)
    const plan = this.#plan(context)
    // Whether proposals are taken is seen in the fold, next time.
    if (plan.proposals.length > 0) this.#refreshed = -1
    return plan
  }

  #plan(context: PlanContext): Plan {
    const proposals = this.#arrivals(context)
    const situation = this.#situation(context)
    this.#account.count(context.calls, this.#sizes(context, situation), situation.model)
    // Reasoning of the message that is being answered stays, unless the window is full.
    if (isHeld(context.fold, context.model) && !this.#isFull(context)) return { proposals, pending: [] }
    const sentences = proposals.length > 0 ? [arrivalSentence(proposals.length, this.#saved)] : []
    const folded = this.#fold(context, situation)
    if (folded) {
      proposals.push(...folded.proposals)
      sentences.push(explainFold(folded, situation))
    }
    // A fold has everything behind it written again, so the rest is free.
    const cut = this.#cut(context, folded ? { ...situation, cold: true } : situation)
    const due = cut && dueReason(cut.cut, cut.situation, this.#timing(context))
    if (cut && due) this.#account.pay(setupCost({ ...cut.cut, running: 0 }, cut.situation))
    if (cut && due) proposals.push(...cut.cut.picks.map(({ part, form }) => this.#take(part, form)))
    if (cut) sentences.push(explain(cut.cut, due, cut.situation))
    const squeezed = this.#squeeze(context)
    if (squeezed.length > 0) sentences.push(squeezeSentence(squeezed, context))
    proposals.push(...squeezed, ...this.#guards(context, squeezed))
    const pending = cut && !due ? this.#pending(cut.cut, explain(cut.cut, due, cut.situation)) : []
    return { proposals, pending, ...(sentences.length > 0 ? { decision: sentences.join('; ') } : {}) }
  }

  /** What came last was sent whole; from the next call on it may be had shorter. */
  prepare(fold: Fold): void {
    for (let i = this.#items.length - 1; i >= 0 && !this.#items[i]!.forms; i--) this.#formsOf(this.#items[i]!, fold)
  }

  #refresh(context: PlanContext): void {
    const { edited } = context.fold
    if (this.#refreshed === edited) return
    this.#items = refreshItems(this.#items, context, item => this.#lines.delete(item))
    this.#refreshed = edited
  }

  #situation({ calls, model, now, lastCallAt, fold }: PlanContext): Situation {
    const { quote, horizonMin, horizonMax, thought } = this.#options
    const cold = lastCallAt === undefined || now - lastCallAt > model.ttl
    const horizon = Math.max(horizonMin, Math.min(calls + 1, horizonMax))
    const output = model.input === 0 ? 1 : model.output / model.input
    return {
      model,
      cold,
      horizon,
      quote: quotePrice(quote, model),
      whole: shownTokens(fold),
      thought: thought * output,
    }
  }

  #sizes({ fold, overhead }: PlanContext, { cold }: Situation): { whole: number; sent: number; cold: boolean } {
    return { whole: this.#arrived + overhead, sent: shownTokens(fold) - this.#saved + overhead, cold }
  }

  #isFull(context: PlanContext): boolean {
    return providerTokens(context) > this.#options.must * context.model.window
  }

  /** Steps that are old enough to be worth a line each. */
  #fold(context: PlanContext, situation: Situation): (FoldChoice & { proposals: Proposal[] }) | undefined {
    const lossOf = (item: Item, tokens: number) => {
      const share = item.unit.original.type === 'tool-call' ? INPUT_SHARE : 1
      return this.#density(item, item.partClass ?? 'doc', context.calls) * share * tokens
    }
    const best = bestFold(context, this.#items, { situation, lossOf, boundOf: boundIn(context) })
    if (!best || best.net <= 0) return undefined
    const due = dueReason(best, situation, this.#timing(context))
    if (!due) return undefined
    const proposals = proposeFold(context, best.end, this.#options)
    if (proposals.length === 0) return undefined
    this.#folding = Math.max(...proposals.map(({ target }) => entriesOf(target).to))
    this.#saved += best.freed
    this.#account.pay(setupCost({ ...best, running: 0 }, situation))
    return { ...best, proposals }
  }

  /** New parts, before they are first sent: here an edit costs nothing. */
  #arrivals({ units, fold }: PlanContext): Proposal[] {
    const proposals: Proposal[] = []
    for (; this.#seen < units.length; this.#seen++) {
      const unit = units[this.#seen]!
      const item = toItem(unit, fold, classOf(unit))
      this.#items.push(item)
      this.#touch(item)
      this.#arrived += item.whole
      if (item.mark !== undefined || item.frozen) continue
      const made = this.#arrival(item, fold.count)
      if (made) proposals.push(made)
    }
    return proposals
  }

  #touch(item: Item): void {
    const { unit, partClass } = item
    const path = unit.call?.path
    if (path === undefined) return
    const file = this.#files.get(path) ?? { changes: 0, touched: 0 }
    this.#files.set(path, file)
    if (unit.original.type === 'tool-call') file.touched = item.born
    if (partClass === 'input') file.changes++
    item.changes = file.changes
  }

  #arrival(item: Item, count: (text: string) => number): Proposal | undefined {
    const { unit, partClass } = item
    if (unit.original.type === 'tool-call') {
      if (partClass === 'input') this.#lines.add(item, writtenLines(unit))
      return undefined
    }
    if (unit.original.type !== 'tool-result' || typeof unit.original.output !== 'string') return undefined
    const text = unit.original.output
    if (partClass === 'code' || partClass === 'doc') return this.#pointToSame(item, text, count)
    if (partClass !== 'run' || text.length <= this.#options.runLimit) return undefined
    const short = excerpt(text, this.#options.runKeep)
    if (!short) return undefined
    return this.#change(
      item,
      { mark: 'limit', replacement: short, tokens: count(short) },
      'large output, before it is first sent',
    )
  }

  #pointToSame(item: Item, text: string, count: (text: string) => number): Proposal | undefined {
    const raw = text.split('\n')
    const lines = raw.map(withoutNumber)
    const pointed = this.#lines.point(raw, lines, this.#options.sameLines, nameOf)
    const tokens = pointed ? count(pointed.text) : Number.POSITIVE_INFINITY
    if (!pointed || item.tokens - tokens < this.#options.minPointed) {
      this.#lines.add(item, lines)
      return undefined
    }
    for (const target of pointed.targets) {
      target.born = item.born
      target.changes = item.changes
      target.pointers.add(item)
    }
    const proposal = this.#change(item, { mark: 'same', replacement: pointed.text, tokens }, 'lines that stand above')
    this.#lines.add(item, pointed.lines)
    return proposal
  }

  /** The best batch among the parts that were sent before. */
  #cut(context: PlanContext, situation: Situation): { cut: Cut<Item, Form>; situation: Situation } | undefined {
    const { units, fresh } = context
    const { minSave } = this.#options
    const firstFresh = units[fresh]
    const sent = this.#items.filter(
      ({ unit }) => unit.entry > this.#folding && (firstFresh === undefined || isBefore(unit, firstFresh)),
    )
    const picked = new Set<Item>()
    const cut = bestCut(this.#lastToFirst(sent, context, picked), situation, { minSave, picked })
    return cut && { cut, situation }
  }

  *#lastToFirst(
    items: readonly Item[],
    context: PlanContext,
    leaving: ReadonlySet<Item>,
  ): Generator<Candidate<Item, Form>> {
    const boundOf = boundIn(context)
    for (const part of items.toReversed()) {
      const { tokens } = part
      const bound = boundOf(part)
      const age = context.calls - part.born
      if (bound) yield { part, tokens, age, choices: [], bound }
      else yield { part, tokens, age, choices: this.#choices(part, context, leaving) }
    }
  }

  #choices(item: Item, { calls, fold, model }: PlanContext, leaving: ReadonlySet<Item>): Choice<Form>[] {
    const { minSave, minInput } = this.#options
    const { unit, tokens } = item
    if (item.frozen || (tokens <= minSave && unit.original.type !== 'reasoning')) return []
    if (unit.original.type === 'tool-call' && item.whole <= minInput) return []
    if (
      unit.original.type === 'reasoning' &&
      (item.mark || unit.entry >= fold.lastUser || model.dialect === 'openai-responses' || model.bindsReasoning)
    )
      return []
    for (const pointer of item.pointers) if (pointer.mark === 'same' && !leaving.has(pointer)) return []
    const choices: Choice<Form>[] = []
    for (const form of this.#formsOf(item, fold)) {
      if (ORDER[form.mark] <= ORDER[item.mark ?? 'whole']) continue
      const density = form.loses ? this.#density(item, form.loses, calls) : 0
      choices.push({ form, tokens: form.tokens, lost: density * form.share * Math.max(0, tokens - form.tokens) })
    }
    return choices
  }

  #formsOf(item: Item, { count }: Fold): Form[] {
    return (item.forms ??= formsOf(item.unit, item.partClass, count, this.#options))
  }

  #density(item: Item, partClass: PartClass, calls: number): number {
    const file = this.#files.get(item.unit.call?.path ?? '')
    const age = calls - item.born
    return expectedQuotes(this.#options.quotes, partClass, {
      age,
      sinceTouched: file ? Math.min(age, calls - file.touched) : age,
      changes: file ? file.changes - item.changes : 0,
      tokens: item.whole,
    })
  }

  /** Past the mark: the least loss for each token first; then the oldest steps become lines. */
  #squeeze(context: PlanContext): Proposal[] {
    const { must, goal } = this.#options
    const { model, scale = model.scale } = context
    let tokens = providerTokens({ ...context, freed: this.#saved })
    if (tokens <= must * model.window) return []
    const proposals: Proposal[] = []
    const candidates = this.#items.flatMap(item => {
      const choices = this.#choices(item, context, new Set())
      return choices.map(choice => ({ item, choice, loss: choice.lost / Math.max(1, item.tokens - choice.tokens) }))
    })
    candidates.sort((a, b) => a.loss - b.loss || a.item.unit.entry - b.item.unit.entry)
    const firstFresh = context.units[context.fresh]
    const taken = new Set<Item>()
    for (const { item, choice } of candidates) {
      if (tokens <= goal * model.window) break
      if (item.unit.entry <= this.#folding || (firstFresh && !isBefore(item.unit, firstFresh))) continue
      const saves = item.tokens - choice.tokens
      if (saves < this.#options.minSave || taken.has(item)) continue
      taken.add(item)
      tokens -= saves * scale
      proposals.push(this.#take(item, choice.form))
    }
    if (tokens <= ((must + goal) / 2) * model.window) return proposals
    const [wanted, needed] = [(tokens - goal * model.window) / scale, (tokens - must * model.window) / scale]
    const folded = planFold(context, this.#items, { wanted, needed, said: this.#options.said })
    return [...proposals, ...folded, ...this.#dropPointers(folded, context)]
  }

  /** What points into a fold would point to nothing: it becomes a stub that says where the original is. */
  #dropPointers(folded: readonly Proposal[], { fold }: PlanContext): Proposal[] {
    const end = Math.max(-1, ...folded.map(({ target }) => entriesOf(target).to))
    const inside = this.#items.filter(({ unit }) => unit.entry <= end)
    const outside = new Set(inside.flatMap(({ pointers }) => [...pointers]).filter(({ unit }) => unit.entry > end))
    return [...outside].flatMap(item => {
      if (item.mark !== 'same' || item.frozen) return []
      const stub = this.#formsOf(item, fold).find(({ mark }) => mark === 'stub')
      return stub ? [this.#take(item, stub)] : []
    })
  }

  #timing(context: PlanContext): Timing {
    const { fold, model, calls, scale = model.scale } = context
    const tokens = providerTokens({ ...context, freed: this.#saved })
    const band = bandAt(model, tokens)
    const callsOfTurn = model.bindsReasoning ? calls - this.#callsBefore(turnStart(fold)) : calls
    // At a new message of the user an edit loses no reasoning that is in use; the next such moment may be far.
    const batch = model.bindsReasoning && callsOfTurn === 0 ? this.#options.turnBatch : this.#options.batch
    return {
      pressure: tokens > this.#options.may * model.window,
      overBand: band ? (tokens - band.above) / scale : 0,
      growth: Math.max(MIN_GROWTH, this.#arrived / (calls + 1)),
      // A session that has lasted will last: what a young one is unsure of, it can do at the plain order quantity.
      batch: (batch / 2) * (1 + Math.min(1, (SETTLED_CALLS / calls) ** 2)),
      callsOfTurn,
      budget: this.#account.budget(this.#options.regret),
    }
  }

  /** Calls that were made before an entry. */
  #callsBefore(entry: number): number {
    const item = this.#items.findLast(({ unit }) => unit.entry <= entry)
    return item?.unit.turn ?? 0
  }

  /** What no price decides: providers' limits on images, and the end of the window when nothing else helped. */
  #guards(context: PlanContext, squeezed: readonly Proposal[]): Proposal[] {
    const { model, scale = model.scale } = context
    const threshold = Math.round((this.#options.full * model.window) / scale)
    this.#images ??= images().start()
    this.#fallback ??= fallback({ threshold }).start()
    const ranges = squeezed.flatMap(({ target }) => (target.type === 'range' ? [target] : []))
    const now = { ...context, freed: this.#saved, ranges }
    return [...this.#images.plan(now), ...this.#fallback.plan(now)]
  }

  #pending(cut: Cut<Item, Form>, reason: string): Pending[] {
    return cut.picks.slice(0, MOST_PENDING).map(({ part, form, saves }) => {
      return { proposal: toProposal(part, form.replacement, form.mark, REASONS[form.mark]), saves, reason }
    })
  }

  #take(item: Item, form: Form): Proposal {
    return this.#change(item, form, REASONS[form.mark])
  }

  #change(item: Item, form: { mark: Mark; replacement: Replacement; tokens: number }, why: string): Proposal {
    this.#saved += item.tokens - form.tokens
    item.mark = form.mark
    item.tokens = form.tokens
    this.#lines.delete(item)
    return toProposal(item, form.replacement, form.mark, why)
  }
}

/** From mild to strong: a part only ever moves to a stronger form. */
const ORDER: Record<Mark | 'whole', number> = {
  whole: 0,
  same: 1,
  limit: 1,
  look: 2,
  old: 2,
  input: 3,
  stub: 3,
  reasoning: 3,
}

const REASONS: Record<Mark, string> = {
  same: 'lines that stand above',
  limit: 'large output, before it is first sent',
  look: 'output of a run, seen once',
  old: 'text that an edit replaced',
  input: 'long input of a call made before',
  stub: 'unlikely to be quoted again',
  reasoning: 'reasoning of a past turn',
}

function toProposal({ unit }: Item, replacement: Replacement, mark: Mark, why: string): Proposal {
  return { policy: 'thrifty', target: targetOf(unit), replacement, why, mark }
}

function arrivalSentence(count: number, saved: number): string {
  return `shortened ${count} new ${count === 1 ? 'part' : 'parts'}, ${thousands(saved)} tokens: never sent before, so it costs nothing`
}

function squeezeSentence(proposals: readonly Proposal[], { model }: PlanContext): string {
  const folded = proposals.filter(proposal => proposal.mark === undefined).length
  const steps = folded > 0 ? ', the oldest steps folded into a log' : ''
  return `made room: the window of ${thousands(model.window)} tokens was filling, so ${proposals.length - folded} parts were shortened${steps}`
}

/** Says of an item whether it is reasoning that an edit before it makes invalid. */
function boundIn({ fold, model }: PlanContext): (item: Item) => Candidate<Item, Form>['bound'] {
  if (!model.bindsReasoning) return () => undefined
  const leaves = stripsReasoning(model)
  const start = turnStart(fold)
  return ({ unit, tokens, mark }) => {
    if (unit.original.type !== 'reasoning' || tokens === 0 || mark) return undefined
    return { leaves, running: unit.entry > start }
  }
}

function isBefore(a: Unit, b: Unit): boolean {
  return a.entry < b.entry || (a.entry === b.entry && a.part < b.part)
}

/** What was written is as good a copy as what is read back: the new text of an edit, line by line. */
function writtenLines({ original }: Unit): string[] {
  if (original.type !== 'tool-call') return []
  const patch = typeof original.input === 'string'
  const lines: string[] = []
  mapStrings(original.input, (text, key) => {
    if (!isOldText(key)) lines.push(...text.split('\n').map(line => (patch ? line.replace(/^[+ ]/, '') : line)))
    return text
  })
  return lines
}

function nameOf({ unit }: Item): string {
  const file = unit.call?.path?.split('/').at(-1) ?? ''
  return `${unit.tool ?? 'a result'} ${file}`.trim()
}
