/**
 * The edits of a session by the place where they show: edits by id, summaries of stretches, and messages inserted after
 * an entry. Pure.
 */
import type { EditState, Entry, Message, Part } from '../../api-types.ts'

export type Stretch = { from: number; to: number; edit: EditState }

export type EditIndex = {
  all: readonly EditState[]
  byId: ReadonlyMap<string, EditState>
  /** Edits of stretches in force that are not inside another one, by their first entry. */
  stretches: ReadonlyMap<number, Stretch>
  behind: ReadonlyMap<number, readonly EditState[]>
}

export function indexEdits(all: readonly EditState[]): EditIndex {
  const byId = new Map(all.map(edit => [edit.id, edit]))
  const stretches = new Map<number, Stretch>()
  const behind = new Map<number, EditState[]>()
  let end = -1
  for (const stretch of all.flatMap(toStretch).sort(outerFirst)) {
    if (stretch.to <= end) continue
    stretches.set(stretch.from, stretch)
    end = stretch.to
  }
  for (const edit of all) {
    if (!edit.active || edit.target.type !== 'after') continue
    const { entry } = edit.target
    behind.set(entry, [...(behind.get(entry) ?? []), edit])
  }
  return { all, byId, stretches, behind }
}

function toStretch(edit: EditState): Stretch[] {
  const { active, target } = edit
  if (!active) return []
  if (target.type === 'range') return [{ from: target.from, to: target.to, edit }]
  return target.type === 'entry' ? [{ from: target.entry, to: target.entry, edit }] : []
}

function outerFirst(a: Stretch, b: Stretch): number {
  return a.from - b.from || b.to - a.to || b.edit.seq - a.edit.seq
}

/** The messages that an edit inserts into the view. */
export function messagesOf({ replacement }: Pick<EditState, 'replacement'>): readonly Message[] {
  return replacement !== null && typeof replacement === 'object' && 'messages' in replacement
    ? replacement.messages
    : []
}

export type PartState = {
  index: number
  original: Part
  /** The part in the view; null if it is dropped or hidden; the original itself if no edit touches it. */
  shown: Part | null
  /** The edits in force inside this part. */
  edits: EditState[]
  /** The edit that hides the whole entry, often with others. */
  hiddenBy?: EditState | undefined
}

/**
 * Each part of an entry with its form in the view. A dropped part leaves no gap there, so the two lists must be
 * matched.
 */
export function partStates(entry: Entry, byId: ReadonlyMap<string, EditState>): PartState[] {
  const own = entry.edits.flatMap(id => byId.get(id) ?? [])
  const hiddenBy = own.findLast(({ target }) => target.type !== 'part')
  const left = [...(entry.shown?.parts ?? [])]
  return entry.message.parts.map((original, index) => {
    const edits = own.filter(({ target }) => target.type === 'part' && target.part === index)
    if (entry.shown === undefined) return { index, original, shown: original, edits }
    if (entry.shown === null) return { index, original, shown: null, edits, hiddenBy }
    const next = left[0]
    const isShown = next !== undefined && (edits.length === 0 || isOf(next, index, byId))
    if (isShown) left.shift()
    return { index, original, shown: isShown ? (edits.length === 0 ? original : next) : null, edits }
  })
}

function isOf({ edit }: Part, index: number, byId: ReadonlyMap<string, EditState>): boolean {
  const target = edit === undefined ? undefined : byId.get(edit)?.target
  return target?.type === 'part' && target.part === index
}

/** The author of an edit in words: `policy:thrifty` is the policy thrifty. */
export function authorName(by: string): string {
  return by.startsWith('policy:') ? `policy ${by.slice('policy:'.length)}` : by
}

export function entryOf({ target }: Pick<EditState, 'target'>): number {
  return target.type === 'range' ? target.from : target.entry
}

/** The place of an edit in words. */
export function placeName({ target }: Pick<EditState, 'target'>): string {
  if (target.type === 'range') return `entries ${target.from}–${target.to}`
  return target.type === 'after' ? `after entry ${target.entry}` : `entry ${target.entry}`
}
