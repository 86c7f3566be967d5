/**
 * The parts that `thrifty` manages: the present form of each, its size, and the call that first sent it. The ledger
 * decides: a form that was undone is not applied again, and parts that others edited are not changed.
 *
 * The cost of a plan must not grow with the session. So a plan looks only at the items that edits have touched since
 * the last plan, it skips items that cannot be shortened further (`open` holds the rest), and it takes the tokens
 * between two items from running sums.
 */

import { firstIndex } from '../model/first-index.ts'
import type { PlanContext } from '../policies/policy.ts'
import { type ActiveEdit, onlyAdds } from '../view/edits.ts'
import { editsInside, type Fold, isPinned, isVisible } from '../view/fold.ts'
import { type Unit, unitTokens } from '../view/units.ts'
import { classOf, expectedQuotes } from './classes.ts'
import { type Form, formsOf, isMark, isStronger, type Mark } from './forms.ts'
import { isOldReport } from './log.ts'
import { LineIndex } from './same-lines.ts'
import { Sums } from './sums.ts'
import {
  CHARS_PER_COMMAND_TOKEN,
  COMMAND_CHARS,
  LINE_TOKENS,
  type PartClass,
  type Quotes,
  type ThriftyOptions,
} from './tuning.ts'

/**
 * A file that calls used: how often it was changed, the last call that touched it, and the items that show its lines.
 */
type FileState = { changes: number; touched: number; readers: Item[] }

export type Item = {
  /** Its position among all items of the session, past ones included. */
  readonly number: number
  readonly unit: Unit
  readonly partClass: PartClass | undefined
  readonly file: FileState | undefined
  /** The call that first sent it. */
  born: number
  /** How often its file had been changed when the item was first sent. */
  changes: number
  /** Its present form; undefined while it is unchanged. */
  mark: Mark | undefined
  /**
   * Tokens of the present form, of the original, and of its line in a log. The line is undefined for a part that a log
   * keeps word for word.
   */
  tokens: number
  readonly whole: number
  readonly line: number | undefined
  /** Must not be edited: pinned, edited by others, or undone. */
  frozen: boolean
  /** No longer in view. */
  gone: boolean
  /** Later parts that point to lines of this one; undefined if none ever did. */
  pointers: Set<Item> | undefined
  /** Whether it was sent: only then shorter forms are considered. */
  ready: boolean
  forms: readonly Form[] | undefined
}

const OWN = 'policy:thrifty'

type Options = Pick<ThriftyOptions, 'minSave' | 'lookKeep'>

export class Items {
  readonly #options: Options
  /** Tools whose parts are never shortened. */
  readonly #protected: ReadonlySet<string>
  #all: Item[] = []
  #open: Item[] = []
  #unsent: Item[] = []
  readonly #tokens = new Sums()
  readonly #files = new Map<string, FileState>()
  #count = 0
  /** How many changes to the fold have been processed. */
  #settled = 0
  #units = 0
  #recallWith: string | false | undefined
  /** The proposals of the last plan. The fold shows which of them were applied. */
  #proposed: Map<Item, Pick<Form, 'mark'>> = new Map()
  /** Tokens of all parts that ever arrived. */
  arrived = 0
  /** Items whose worth has changed since a reader last cleared this set. */
  readonly changed = new Set<Item>()
  /** The lines of the parts that are shown in full. */
  readonly lines = new LineIndex<Item>()

  constructor(options: Options, protect: ReadonlySet<string> = new Set()) {
    this.#options = options
    this.#protected = protect
  }

  /** All items in view, oldest first. */
  get all(): readonly Item[] {
    return this.#all
  }

  /** The number of all items of the session, past ones included. */
  get count(): number {
    return this.#count
  }

  /** The items that were sent and can be shortened, and all reasoning, oldest first. */
  get open(): readonly Item[] {
    return this.#open
  }

  /** The tokens of all items from `from` on, up to but not including `to` (or to the end). */
  tokensFrom(from: Item, to: Item | undefined): number {
    return this.#tokens.before(to?.number ?? this.#count) - this.#tokens.before(from.number)
  }

  /** The item of a part, or the first one after it. */
  firstFrom(unit: Unit): Item | undefined {
    return this.#all[firstIndex(this.#all.length, i => !isBefore(this.#all[i]!.unit, unit))]
  }

  /** Records the proposals of a plan. Parts whose proposal is not applied are not changed again. */
  propose(proposed: Map<Item, Pick<Form, 'mark'>>): void {
    this.#proposed = proposed
  }

  /** Processes the changes to edits and pins since the last plan. */
  settle(fold: Fold): void {
    for (; this.#settled < fold.touched.length; this.#settled++) this.#lookAt(fold, fold.touched[this.#settled]!)
    // What is left here did not take effect.
    for (const item of this.#proposed.keys()) if (!item.gone) this.#reconcile(item, fold)
  }

  /** Creates the items of the new parts. Each is processed before the next is created. */
  *arrivals({ units, fold, recallWith }: PlanContext): Generator<Item> {
    this.#recallWith = recallWith
    for (; this.#units < units.length; this.#units++) {
      const item = this.#toItem(units[this.#units]!, fold)
      this.#all.push(item)
      this.#unsent.push(item)
      this.#tokens.push(item.tokens)
      this.arrived += item.whole
      yield item
    }
  }

  /** Marks items as sent: all of them, or those before a part. Returns those that can be shortened. */
  ready(fold: Fold, before?: Unit): Item[] {
    const end = before ? this.#unsent.findIndex(({ unit }) => !isBefore(unit, before)) : -1
    const sent = this.#unsent.splice(0, end < 0 ? this.#unsent.length : end)
    for (const item of sent) item.ready = true
    const opened = sent.filter(item => !item.gone && this.#isOpen(item, fold))
    for (const item of opened) this.#open.push(item)
    return opened
  }

  /** Gives a new item the form in which it is first sent, and indexes the lines that this form shows. */
  arriveAs(item: Item, { mark, tokens, lines }: Pick<Form, 'mark' | 'tokens'> & { lines?: (string | null)[] }): void {
    this.#set(item, { mark, tokens, frozen: item.frozen })
    if (lines) this.lines.add(item, lines)
  }

  /** Records that `target` shows lines for a newer item: its lines then count as new as that item. */
  pointTo(target: Item, item: Item): void {
    target.born = item.born
    target.changes = item.changes
    target.pointers ??= new Set()
    target.pointers.add(item)
    this.changed.add(target)
  }

  formsOf(item: Item, { count }: Fold): readonly Form[] {
    if (item.forms) return item.forms
    item.forms = formsOf(item.unit, item.partClass, count, { ...this.#options, recallWith: this.#recallWith })
    if (!this.#hasShorter(item, item.forms)) this.#close(item)
    return item.forms
  }

  #toItem(unit: Unit, fold: Fold): Item {
    const whole = unitTokens(unit, fold)
    const partClass = classOf(unit)
    const file = this.#fileOf(unit)
    const item: Item = {
      number: this.#count++,
      unit,
      partClass,
      file,
      born: unit.turn + (unit.role === 'assistant' ? 1 : 0),
      changes: 0,
      mark: undefined,
      tokens: whole,
      whole,
      line: lineTokens(unit, partClass, whole),
      frozen: false,
      gone: false,
      pointers: undefined,
      ready: false,
      forms: undefined,
    }
    const edit = editOf(unit, fold)
    if (edit) Object.assign(item, adopted(item, edit, fold))
    const tool = 'name' in unit.original ? unit.original.name : undefined
    if (isPinned(fold, unit.entry, unit.part) || this.#protected.has(tool ?? '')) item.frozen = true
    if (file) this.#touch(item, file)
    return item
  }

  #fileOf({ call }: Unit): FileState | undefined {
    const path = call?.path
    if (path === undefined) return undefined
    let file = this.#files.get(path)
    if (!file) this.#files.set(path, (file = { changes: 0, touched: 0, readers: [] }))
    return file
  }

  #touch(item: Item, file: FileState): void {
    if (item.unit.original.type === 'tool-call') file.touched = item.born
    if (item.partClass === 'input') {
      file.changes++
      file.readers = file.readers.filter(({ gone }) => !gone)
      for (const reader of file.readers) this.changed.add(reader)
    }
    if (item.partClass === 'code' || item.partClass === 'grep') file.readers.push(item)
    item.changes = file.changes
  }

  /** Processes the items of some entries: drops the ones no longer in view and detects edits by others. */
  #lookAt(fold: Fold, { from, to }: { from: number; to: number }): void {
    const first = firstAt(this.#all, from)
    let [end, hidden] = [first, 0]
    for (; end < this.#all.length && this.#all[end]!.unit.entry <= to; end++) {
      const item = this.#all[end]!
      if (isVisible(fold, item.unit.entry)) this.#reconcile(item, fold)
      else {
        this.#drop(item)
        hidden++
      }
    }
    if (hidden === 0) return
    const left = this.#all.slice(first, end).filter(({ gone }) => !gone)
    this.#all = [...this.#all.slice(0, first), ...left, ...this.#all.slice(end)]
  }

  #drop(item: Item): void {
    item.gone = true
    this.#close(item)
    this.#tokens.add(item.number, -item.tokens)
    this.lines.delete(item)
    this.changed.add(item)
  }

  /** Compares an item with the fold. Items that others edited, or whose edit was undone or refused, are frozen. */
  #reconcile(item: Item, fold: Fold): void {
    const edit = editOf(item.unit, fold)
    const { mark = item.mark } = this.#proposed.get(item) ?? {}
    this.#proposed.delete(item)
    const isOther = edit?.mark !== mark || (edit !== undefined && edit.by !== OWN)
    if (edit && (isOther || item.mark !== edit.mark)) this.#set(item, adopted(item, edit, fold))
    else if (isOther) this.#set(item, { mark: undefined, tokens: item.whole, frozen: true })
    if (isPinned(fold, item.unit.entry, item.unit.part)) item.frozen = true
    this.#close(item)
    if (item.ready && this.#isOpen(item, fold)) this.#open.splice(indexIn(this.#open, item), 0, item)
  }

  #set(item: Item, { mark, tokens, frozen }: Pick<Item, 'mark' | 'tokens' | 'frozen'>): void {
    this.#tokens.add(item.number, tokens - item.tokens)
    item.mark = mark
    item.tokens = tokens
    item.frozen = frozen
    this.lines.delete(item)
    this.changed.add(item)
  }

  #close(item: Item): void {
    const at = indexIn(this.#open, item)
    if (this.#open[at] === item) this.#open.splice(at, 1)
  }

  /** Whether every plan must consider an item: it is reasoning, or it may have a shorter form. */
  #isOpen(item: Item, fold: Fold): boolean {
    const { unit, tokens, frozen, mark } = item
    if (unit.original.type === 'reasoning') return tokens > 0 && !mark
    if (frozen || tokens <= this.#options.minSave) return false
    // Every result can become a stub, so its forms are not built until one of them may pay.
    if (unit.original.type === 'tool-result' && !item.forms)
      return item.partClass !== undefined && isStronger('stub', mark)
    return this.#hasShorter(item, this.formsOf(item, fold))
  }

  /** Whether a form saves enough. An item without such a form is closed, since its forms never change. */
  #hasShorter({ mark, tokens }: Item, forms: readonly Form[]): boolean {
    const { minSave } = this.#options
    return forms.some(form => isStronger(form.mark, mark) && (form.tokens === 0 || tokens - form.tokens >= minSave))
  }
}

/**
 * The expected quotes of one token of an item if it belongs to `partClass`. `calls` may also be a later call, on the
 * assumption that its file stays untouched until then.
 */
export function densityOf(item: Item, partClass: PartClass, calls: number, quotes: Quotes): number {
  const { file, born, changes, whole } = item
  const age = calls - born
  return expectedQuotes(quotes, partClass, {
    age,
    sinceTouched: sinceTouched(item, calls),
    changes: file ? file.changes - changes : 0,
    tokens: whole,
  })
}

/** Calls since an item was first sent or its file was touched. */
export function sinceTouched({ file, born }: Item, calls: number): number {
  return file ? Math.min(calls - born, calls - file.touched) : calls - born
}

export function isBefore(a: Unit, b: Unit): boolean {
  return a.entry < b.entry || (a.entry === b.entry && a.part < b.part)
}

/** The most tokens that a command takes in the log, which keeps it word for word. */
const COMMAND_TOKENS = Math.round(COMMAND_CHARS / CHARS_PER_COMMAND_TOKEN)

/**
 * The size of a part in a log. Users' own words stay whole (undefined); other parts become a line or are dropped (0).
 */
function lineTokens(unit: Unit, partClass: PartClass | undefined, whole: number): number | undefined {
  if (unit.role === 'user' && !isOldReport(unit)) return undefined
  if (partClass === 'command') return Math.min(whole, COMMAND_TOKENS)
  return unit.original.type === 'tool-call' || unit.original.type === 'text' ? LINE_TOKENS : 0
}

/** The index of the first item in an entry or after it. */
export function firstAt(items: readonly Item[], entry: number): number {
  return firstIndex(items.length, i => items[i]!.unit.entry >= entry)
}

/** The index of an item in a sorted list, or the index where it belongs. */
function indexIn(items: readonly Item[], { number }: Item): number {
  return firstIndex(items.length, i => items[i]!.number >= number)
}

function adopted(item: Item, edit: ActiveEdit, fold: Fold): Pick<Item, 'mark' | 'tokens' | 'frozen'> {
  const isOwn = edit.by === OWN
  const mark = isOwn && isMark(edit.mark) ? edit.mark : undefined
  return { mark, tokens: tokensIn(edit, fold) ?? item.tokens, frozen: !isOwn }
}

function tokensIn({ replacement }: ActiveEdit, fold: Fold): number | undefined {
  if (replacement === null) return 0
  if (typeof replacement === 'string') return fold.count(replacement)
  return 'input' in replacement ? fold.count(JSON.stringify(replacement.input) ?? '') : undefined
}

/** The edit that shows for a part, if any. */
function editOf({ entry, part }: Unit, fold: Fold): ActiveEdit | undefined {
  const edits = editsInside(fold, entry)
  if (edits.length === 0) return undefined
  return edits.findLast(({ target }) => target.type === 'part' && target.part === part && !onlyAdds(target))
}
