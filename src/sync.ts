/**
 * How a conversation that a client holds relates to the one in the ledger: it goes on, or it went back and took
 * another way. Messages are compared by what they say: not by time, form of the content, or cache marks.
 */
import { renderEntry } from './edits.ts'
import type { Edit, Message, Part } from './types.ts'
import { editsInside, type Fold, slots } from './view.ts'

export type SyncPlan =
  | { kind: 'append'; append: Message[]; edit?: Pick<Edit, 'target' | 'replacement'> }
  /** The last entry that both share; −1 when they share none. */
  | { kind: 'fork'; at: number }

export function syncPlan(known: readonly Message[], incoming: readonly Message[]): SyncPlan {
  let same = 0
  let edit: Pick<Edit, 'target' | 'replacement'> | undefined
  while (same < known.length && same < incoming.length) {
    if (keyOf(known[same]!) !== keyOf(incoming[same]!)) {
      if (same !== 0 || known[0]!.role !== 'system' || incoming[0]!.role !== 'system') break
      edit = { target: { entry: 0 }, replacement: { messages: [incoming[0]!] } }
    }
    same++
  }
  if (same < known.length) return { kind: 'fork', at: same - 1 }
  return { kind: 'append', append: incoming.slice(same), ...(edit ? { edit } : {}) }
}

/**
 * The view with the client's own present form of each message. What a client adds for the provider alone (cache
 * marks) moves from request to request: the newest form counts, not the one that was recorded first.
 */
export function inPresentForm(fold: Fold, incoming: readonly Message[]): Message[] {
  return slots(fold).flatMap(slot => {
    const recorded = fold.entries[slot.from]?.message
    const present = slot.range === undefined ? incoming[slot.from] : undefined
    if (!recorded || !present) return slot.messages
    const edits = editsInside(fold, slot.from)
    const inserted = slot.messages.slice(renderEntry(recorded, edits) ? 1 : 0)
    const own = renderEntry(present, edits)
    return own ? [own, ...inserted] : inserted
  })
}

const keys = new WeakMap<Message, string>()

/** What a message says, in one string. */
export function keyOf(message: Message): string {
  let key = keys.get(message)
  if (key === undefined) {
    key = JSON.stringify([message.role, message.parts.map(partKey)])
    keys.set(message, key)
  }
  return key
}

function partKey(part: Part): unknown {
  const { original: _, edit: __, ...said } = part
  if (said.type === 'tool-result' && typeof said.output !== 'string') {
    const [only] = said.output
    const output = said.output.length === 1 && only?.type === 'text' ? only.text : said.output.map(partKey)
    return { ...said, output }
  }
  return said
}
