/**
 * The parts that `thrifty` looks after: what form each has now, how large it is, since when it is sent. The ledger
 * decides: a form that somebody undid is not given again, and what somebody else edited is left alone.
 *
 * What a plan costs must not grow with the session. So before a plan only the items are looked at that an edit has
 * touched since the last one; items that can be shortened no further are passed over (`open` has the others), and the
 * tokens between two items come from sums that are kept.
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

/** A file that calls were about: how often it was changed, the last call that touched it, and what shows its lines. */
type FileState = { changes: number; touched: number; readers: Item[] }

export type Item = {
  /** Its place among all items there ever were. */
  readonly number: number
  readonly unit: Unit
  readonly partClass: PartClass | undefined
  readonly file: FileState | undefined
  /** The call with which it was first sent. */
  born: number
  /** How often its file had been changed by then. */
  changes: number
  /** Its form now; undefined: as it was. */
  mark: Mark | undefined
  /** Tokens now, of the original, and of its line in a log; undefined: it has its place there word for word. */
  tokens: number
  readonly whole: number
  readonly line: number | undefined
  /** Not to be touched: pinned, edited by others, or undone. */
  frozen: boolean
  /** Hidden by now. */
  gone: boolean
  /** Later parts that point to this one for lines; undefined where none ever did. */
  pointers: Set<Item> | undefined
  /** Whether it was sent, so that its shorter forms are looked for. */
  ready: boolean
  forms: readonly Form[] | undefined
}

const OWN = 'policy:thrifty'

type Options = Pick<ThriftyOptions, 'minSave' | 'minInput' | 'lookKeep'>

export class Items {
  readonly #options: Options
  /** Tools whose parts stay as they are. */
  readonly #protected: ReadonlySet<string>
  #all: Item[] = []
  #open: Item[] = []
  #unsent: Item[] = []
  readonly #tokens = new Sums()
  readonly #files = new Map<string, FileState>()
  #count = 0
  /** How many changes of the fold have been looked at. */
  #settled = 0
  #units = 0
  #recallWith: string | false | undefined
  /** What was proposed in the last plan: whether it was taken is seen in the fold. */
  #proposed: ReadonlyMap<Item, Mark> = new Map()
  /** Tokens of everything that ever came in. */
  arrived = 0
  /** Items whose worth has changed since somebody cleared this. */
  readonly changed = new Set<Item>()
  /** The lines of what is shown in full. */
  readonly lines = new LineIndex<Item>()

  constructor(options: Options, protect: ReadonlySet<string> = new Set()) {
    this.#options = options
    this.#protected = protect
  }

  /** All that are in view, oldest first. */
  get all(): readonly Item[] {
    return this.#all
  }

  /** How many there ever were. */
  get count(): number {
    return this.#count
  }

  /** Those that were sent and may be had shorter, and all reasoning, oldest first. */
  get open(): readonly Item[] {
    return this.#open
  }

  /** The tokens of all items from one on, and before another one (or to the end). */
  tokensFrom(from: Item, to: Item | undefined): number {
    return this.#tokens.before(to?.number ?? this.#count) - this.#tokens.before(from.number)
  }

  /** The first item that is not before a part. */
  firstFrom(unit: Unit): Item | undefined {
    return this.#all[firstIndex(this.#all.length, i => !isBefore(this.#all[i]!.unit, unit))]
  }

  /** Notes what a plan proposes: parts whose proposal is not taken are left alone from then on. */
  propose(proposed: ReadonlyMap<Item, Mark>): void {
    this.#proposed = proposed
  }

  /** Takes over what happened to edits and pins since the last plan. */
  settle(fold: Fold): void {
    for (; this.#settled < fold.touched.length; this.#settled++) this.#lookAt(fold, fold.touched[this.#settled]!)
    for (const [item] of this.#proposed) if (!item.gone) this.#reconcile(item, fold)
    this.#proposed = new Map()
  }

  /** The parts that are new, each taken in before the next is made. */
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

  /** Opens what was sent by now: all items, or those before a part. Gives those that can be shortened. */
  ready(fold: Fold, before?: Unit): Item[] {
    const end = before ? this.#unsent.findIndex(({ unit }) => !isBefore(unit, before)) : -1
    const sent = this.#unsent.splice(0, end < 0 ? this.#unsent.length : end)
    for (const item of sent) item.ready = true
    const opened = sent.filter(item => !item.gone && this.#isOpen(item, fold))
    for (const item of opened) this.#open.push(item)
    return opened
  }

  /** Gives an item the form in which it is first sent, with the lines that it then shows. */
  arriveAs(item: Item, { mark, tokens, lines }: Pick<Form, 'mark' | 'tokens'> & { lines?: (string | null)[] }): void {
    this.#set(item, { mark, tokens, frozen: item.frozen })
    if (lines) this.lines.add(item, lines)
  }

  /** Notes that an item shows lines for a newer one: they are as new as that. */
  pointTo(target: Item, item: Item): void {
    target.born = item.born
    target.changes = item.changes
    target.pointers ??= new Set()
    target.pointers.add(item)
    this.changed.add(target)
  }

  formsOf(item: Item, { count }: Fold): readonly Form[] {
    return (item.forms ??= formsOf(item.unit, item.partClass, count, {
      ...this.#options,
      recallWith: this.#recallWith,
    }))
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

  /** Looks at the items of some entries: drops what no longer shows and notices what others did. */
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

  /** Compares an item with the fold: what somebody undid or refused is left alone, and so is what others edited. */
  #reconcile(item: Item, fold: Fold): void {
    const edit = editOf(item.unit, fold)
    const proposed = this.#proposed.get(item)
    const isOther = edit?.mark !== (proposed ?? item.mark) || (edit !== undefined && edit.by !== OWN)
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

  /** Whether an item is one to look at in every plan: reasoning, or what has a shorter form. */
  #isOpen(item: Item, fold: Fold): boolean {
    const { unit, tokens, whole, frozen, mark } = item
    const { minSave, minInput } = this.#options
    if (unit.original.type === 'reasoning') return tokens > 0 && !mark
    if (frozen || tokens <= minSave || (unit.original.type === 'tool-call' && whole <= minInput)) return false
    // Every result can be a stub: its forms are not made before one of them may pay.
    if (unit.original.type === 'tool-result') return item.partClass !== undefined && isStronger('stub', mark)
    return this.formsOf(item, fold).some(form => isStronger(form.mark, mark))
  }
}

/** Quotes still to be expected for a token of an item, if it is of a class; also at a later call, if nothing happens. */
export function densityOf(item: Item, partClass: PartClass, calls: number, quotes: Quotes): number {
  const { file, born, changes, whole } = item
  const age = calls - born
  return expectedQuotes(quotes, partClass, {
    age,
    sinceTouched: file ? Math.min(age, calls - file.touched) : age,
    changes: file ? file.changes - changes : 0,
    tokens: whole,
  })
}

export function isBefore(a: Unit, b: Unit): boolean {
  return a.entry < b.entry || (a.entry === b.entry && a.part < b.part)
}

/** What a command takes in the log, where it stands word for word. */
const COMMAND_TOKENS = Math.round(COMMAND_CHARS / CHARS_PER_COMMAND_TOKEN)

/** Users' own words stay as they are; the rest becomes a line, or goes. */
function lineTokens(unit: Unit, partClass: PartClass | undefined, whole: number): number | undefined {
  if (unit.role === 'user' && !isOldReport(unit)) return undefined
  if (partClass === 'command') return Math.min(whole, COMMAND_TOKENS)
  return unit.original.type === 'tool-call' || unit.original.type === 'text' ? LINE_TOKENS : 0
}

function firstAt(items: readonly Item[], entry: number): number {
  return firstIndex(items.length, i => items[i]!.unit.entry >= entry)
}

/** The place of an item in a list that is in order, or where it belongs. */
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
