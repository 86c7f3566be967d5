/**
 * Where edits are and how two of them relate.
 *
 * Every target is an interval over originals: (entry, part, leaf, character), compared in that order. The
 * active edits form a laminar family: two of them are disjoint or nested, the outer one shows, and of two with
 * the same target the later is the outer; an empty span, which only adds, lies inside the spans that it touches.
 * So any edit can be undone in any order without inverse code.
 */
import { PalimpsestError } from '../model/errors.ts'
import { imageStub, imagesIn, withLeaves } from '../model/leaves.ts'
import type { Edit, EntryTarget, Message, Part, PartTarget, Target } from '../model/types.ts'

/** An edit in force; `order` grows with each application, so that later is larger. */
export type ActiveEdit = Edit & { order: number }

/** An edit in force of a part, or of a text in it. */
export type PartEdit = ActiveEdit & { target: PartTarget }

type Place = readonly [entry: number, part: number, leaf: number, char: number]
type Interval = { start: Place; end: Place }

const FIRST = -1
const LAST = Number.MAX_SAFE_INTEGER - 1
/** Behind everything in an entry, yet before the next entry: the place of insertions. */
const BEHIND = Number.MAX_SAFE_INTEGER

type Relation = 'disjoint' | 'inside' | 'around' | 'same' | 'overlapping'

export function relate(a: Target, b: Target): Relation {
  const x = intervalOf(a)
  const y = intervalOf(b)
  if (a.type === 'after' && b.type === 'after') return 'disjoint'
  const starts = compare(x.start, y.start)
  const ends = compare(x.end, y.end)
  if (starts === 0 && ends === 0) return 'same'
  if (starts >= 0 && ends <= 0) return 'inside'
  if (starts <= 0 && ends >= 0) return 'around'
  const apart = compare(x.end, y.start) <= 0 || compare(y.end, x.start) <= 0
  return apart ? 'disjoint' : 'overlapping'
}

/** Throws when a target would overlap one of the active edits in part, naming both. */
export function assertLaminar(id: string, target: Target, others: Iterable<Edit>): void {
  for (const other of others) {
    if (relate(target, other.target) !== 'overlapping') continue
    throw new PalimpsestError(
      'EDITS_OVERLAP',
      `overlapping edits: ${id} (${describeTarget(target)}) and ${other.id} (${describeTarget(other.target)}). ` +
        'Choose a target that lies inside, around or beside the other, or undo the other first.',
      { edits: [id, other.id] },
    )
  }
}

/** The entries that a target touches, first and last. */
export function entriesOf(target: Target): { from: number; to: number } {
  const { from, to } = target.type === 'range' ? target : { from: target.entry, to: target.entry }
  return { from, to }
}

/** The messages that an edit of whole entries, or an insertion, shows. */
export function messagesOf({ replacement }: Pick<Edit, 'replacement'>): Message[] {
  const hasMessages = replacement !== null && typeof replacement === 'object' && 'messages' in replacement
  return hasMessages ? replacement.messages : []
}

/**
 * The tokens that each of several edits saves. `shorter` gives, for each edit, by how many tokens its entries are
 * shorter after all of them. An insertion costs the tokens it adds, and the other edits of the same entries share the
 * rest.
 */
export function savedByCall(
  edits: readonly Edit[],
  shorter: readonly number[],
  tokensIn: (messages: readonly Message[]) => number,
): number[] {
  const added = edits.map(edit => (edit.target.type === 'after' ? tokensIn(messagesOf(edit)) : 0))
  const beside = new Map<string, { added: number; sharing: number }>()
  const places = edits.map(({ target }, i) => {
    const { from, to } = entriesOf(target)
    const key = `${from}–${to}`
    const place = beside.get(key) ?? { added: 0, sharing: 0 }
    beside.set(key, place)
    place.added += added[i]!
    if (added[i] === 0) place.sharing++
    return place
  })
  return edits.map((_, i) => {
    if (added[i]! > 0) return -added[i]!
    return Math.round((shorter[i]! + places[i]!.added) / places[i]!.sharing)
  })
}

export function contains(target: Target, entry: number): boolean {
  const { from, to } = entriesOf(target)
  return from <= entry && entry <= to
}

/** Whether a target covers whole entries (not a place inside or after an entry). */
export function isRange(target: Target): boolean {
  return target.type === 'range' || target.type === 'entry'
}

/** Whether a target is an entry or a part of one: neither several entries nor the place after one. */
export function isInEntry(target: Target): target is EntryTarget | PartTarget {
  return target.type === 'entry' || target.type === 'part'
}

/** Whether an edit hides nothing: its span is empty, so it only adds a text. */
export function onlyAdds(target: Target): boolean {
  return target.type === 'part' && target.span !== undefined && target.span[0] === target.span[1]
}

export function describeTarget(target: Target): string {
  switch (target.type) {
    case 'after':
      return `after entry ${target.entry}`
    case 'range':
      return `entries ${target.from}–${target.to}`
    case 'entry':
      return `entry ${target.entry}`
    case 'part': {
      const leaf = target.leaf === undefined ? '' : `, text ${target.leaf}`
      const span = target.span ? `, characters ${target.span[0]}–${target.span[1]}` : ''
      return `entry ${target.entry}, part ${target.part}${leaf}${span}`
    }
  }
}

/**
 * The visible form of an entry under the active edits inside it; `undefined` when nothing is left. Parts that no edit
 * touches are the same objects.
 */
export function renderEntry(message: Message, edits: readonly PartEdit[]): Message | undefined {
  if (edits.length === 0) return message
  const byPart = editsByPart(edits)
  const parts = message.parts.flatMap((part, index) => {
    const own = byPart.get(index)
    return own ? (renderPart(part, own) ?? []) : part
  })
  return parts.length === 0 ? undefined : { ...message, parts }
}

export function editsByPart(edits: readonly PartEdit[]): Map<number, PartEdit[]> {
  return Map.groupBy(edits, ({ target }) => target.part)
}

/** The edits of a family that lie inside no other edit: the ones that show. */
export function outermost<T extends ActiveEdit>(edits: readonly T[]): T[] {
  return edits.length === 1 ? [...edits] : edits.filter(edit => isOutermost(edit, edits))
}

export function isOutermost(edit: ActiveEdit, edits: readonly ActiveEdit[]): boolean {
  return !edits.some(other => hides(other, edit))
}

/** The ranges of a laminar family that lie inside no other range, in order. */
export function outermostRanges(ranges: readonly ActiveEdit[]): ActiveEdit[] {
  const sorted = ranges
    .map(range => ({ range, ...entriesOf(range.target) }))
    .sort((a, b) => a.from - b.from || b.to - a.to || b.range.order - a.range.order)
  const outer: ActiveEdit[] = []
  let end = -1
  for (const { range, to } of sorted) {
    if (to <= end) continue
    outer.push(range)
    end = to
  }
  return outer
}

function hides(outer: ActiveEdit, inner: ActiveEdit): boolean {
  const relation = relate(outer.target, inner.target)
  return relation === 'around' || (relation === 'same' && outer.order > inner.order)
}

function renderPart(part: Part, edits: readonly PartEdit[]): Part | undefined {
  const shown = outermost(edits)
  const last = shown.at(-1)!
  // An edit of the whole part hides all others of the part.
  if (last.target.leaf === undefined) return replacePart(part, last)
  const byLeaf = Map.groupBy(shown, ({ target }) => target.leaf!)
  return { ...withLeaves(part, (text, leaf) => renderLeaf(text, byLeaf.get(leaf) ?? [])), edit: last.id }
}

function replacePart(part: Part, { id, replacement }: ActiveEdit): Part | undefined {
  if (replacement === null) return undefined
  if (typeof replacement === 'string') return withText(part, replacement, id)
  if ('input' in replacement && part.type === 'tool-call') return { ...part, input: replacement.input, edit: id }
  return part
}

function withText(part: Part, text: string, edit: string): Part {
  switch (part.type) {
    case 'text':
      return { ...part, text, edit }
    case 'tool-result':
      return { ...part, output: withStubs(text, part), edit }
    default:
      return { type: 'text', text, edit }
  }
}

/** A text that replaces a result with images mentions the images. */
function withStubs(text: string, part: Part): string {
  const stubs = imagesIn(part)
    .map(imageStub)
    .filter(stub => !text.includes(stub))
  return [...(text === '' ? [] : [text]), ...stubs].join('\n')
}

function renderLeaf(text: string, edits: readonly PartEdit[]): string {
  let shown = ''
  let done = 0
  const spans = edits.map(edit => ({ edit, span: edit.target.span ?? [0, text.length] }))
  for (const { edit, span } of spans.sort((a, b) => a.span[0]! - b.span[0]!)) {
    shown += text.slice(done, span[0]) + asText(edit)
    done = span[1]!
  }
  return shown + text.slice(done)
}

function asText({ replacement }: Edit): string {
  return typeof replacement === 'string' ? replacement : ''
}

function intervalOf(target: Target): Interval {
  switch (target.type) {
    case 'after': {
      const place: Place = [target.entry, BEHIND, 0, 0]
      return { start: place, end: place }
    }
    case 'range':
      return { start: [target.from, FIRST, 0, 0], end: [target.to, LAST, 0, 0] }
    case 'entry':
      return { start: [target.entry, FIRST, 0, 0], end: [target.entry, LAST, 0, 0] }
    case 'part':
      return intervalInPart(target)
  }
}

function intervalInPart({ entry, part, leaf, span }: PartTarget): Interval {
  if (leaf === undefined) return { start: [entry, part, FIRST, 0], end: [entry, part, LAST, 0] }
  if (!span) return { start: [entry, part, leaf, FIRST], end: [entry, part, leaf, LAST] }
  return { start: [entry, part, leaf, span[0]], end: [entry, part, leaf, span[1]] }
}

function compare(a: Place, b: Place): number {
  for (let i = 0; i < 4; i++) {
    const difference = a[i]! - b[i]!
    if (difference !== 0) return difference
  }
  return 0
}
