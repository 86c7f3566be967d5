/**
 * How the conversation of a client relates to the one in the ledger: it continues, or it went back and continued
 * differently. Messages are compared by their content, not by time, form of the content, or cache marks.
 */

import { isRecord } from '../model/json.ts'
import type { Edit, Message, Part } from '../model/types.ts'
import { type PartEdit, renderEntry } from './edits.ts'
import { editsInside, type Fold, slots } from './fold.ts'
import { leadingSystem } from './messages.ts'
import { isServerClear } from './server-clears.ts'
import type { Slot } from './slots.ts'

type SyncPlan =
  | { kind: 'append'; append: Message[]; edit?: Pick<Edit, 'target' | 'replacement'> }
  /** The last entry that both share; −1 when they share none. */
  | { kind: 'fork'; at: number }

/** `system`: the text now shown for the first entry, if the client has changed its system prompt before. */
export function syncPlan(
  known: readonly Message[],
  incoming: readonly Message[],
  system: Message | undefined = known[0],
): SyncPlan {
  const [prompt] = incoming
  const ownPrompt = known[0]?.role === 'system' && prompt?.role === 'system'
  const changed = ownPrompt && keyOf(prompt) !== keyOf(system!)
  let same = ownPrompt ? 1 : 0
  while (same < known.length && same < incoming.length && saysSame(known[same]!, incoming[same]!)) same++
  if (same < known.length) return { kind: 'fork', at: same - 1 }
  const edit = { target: { type: 'entry' as const, entry: 0 }, replacement: { messages: [prompt!] } }
  return { kind: 'append', append: incoming.slice(same), ...(changed ? { edit } : {}) }
}

/**
 * The view with the client's current form of each message. Marks that a client adds for the provider alone (cache
 * marks) move from request to request: the newest form counts, not the recorded one.
 */
export function inPresentForm(fold: Fold, incoming: readonly Message[]): Message[] {
  return presentForm(slots(fold), fold, incoming)
}

/** The same for a conversation that ends before the ledger does, continues after it, or lacks the system prompt. */
export function inPresentFormUpTo(fold: Fold, incoming: readonly Message[]): Message[] {
  const lacking = leadingSystem(incoming) > 0 ? 0 : leadingSystem(fold.entries)
  const whole = [...fold.entries.slice(0, lacking).map(({ message }) => message), ...incoming]
  const there = slots(fold).filter(({ from }) => from < whole.length)
  const shown = presentForm(there, fold, whole)
  const own = lacking > 0 ? shown.slice(leadingSystem(shown)) : shown
  return [...own, ...incoming.slice(fold.entries.length - lacking)]
}

function presentForm(of: readonly Readonly<Slot>[], fold: Fold, incoming: readonly (Message | undefined)[]): Message[] {
  return of.flatMap(slot => {
    const recorded = fold.entries[slot.from]?.message
    const present = slot.range === undefined ? incoming[slot.from] : undefined
    if (!recorded || !present) return slot.messages
    const edits = editsSent(fold, slot.from)
    const inserted = slot.messages.slice(render(recorded, edits) ? 1 : 0)
    const own = render(present, edits)
    return own ? [own, ...inserted] : inserted
  })
}

/** The edits of an entry that change what is sent. Results that the provider clears itself are sent whole. */
function editsSent(fold: Fold, entry: number): readonly PartEdit[] {
  return editsInside(fold, entry).filter(edit => !isServerClear(edit))
}

const rendered = new WeakMap<Message, { edits: readonly PartEdit[]; shown: Message | undefined }>()

/** As renderEntry, but the same message with the same edits returns the same object. */
function render(message: Message, edits: readonly PartEdit[]): Message | undefined {
  if (edits.length === 0) return message
  const known = rendered.get(message)
  if (known?.edits.length === edits.length && known.edits.every((edit, i) => edit === edits[i])) return known.shown
  const shown = renderEntry(message, edits)
  rendered.set(message, { edits: [...edits], shown })
  return shown
}

function saysSame(one: Message, other: Message): boolean {
  return one === other || keyOf(one) === keyOf(other)
}

const keys = new WeakMap<Message, string>()

/** The content of a message as one string. */
export function keyOf(message: Message): string {
  let key = keys.get(message)
  if (key === undefined) {
    key = JSON.stringify([message.role, message.parts.map(partKey)])
    keys.set(message, key)
  }
  return key
}

function partKey(part: Part): unknown {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return [part.type, part.text]
    case 'tool-call':
      return [part.type, part.id, part.name, sorted(part.input)]
    case 'tool-result':
      return [part.type, part.id, part.name, outputKey(part.output), part.isError === true]
    case 'image':
      return [part.type, part.mediaType, part.data ?? part.url]
    case 'raw':
      return [part.type, part.provider, sorted(part.value)]
  }
}

function outputKey(output: string | Part[]): unknown {
  if (typeof output === 'string') return output
  const [only] = output
  return output.length === 1 && only?.type === 'text' ? only.text : output.map(partKey)
}

/** The same value with its keys in order: some clients write them in another order each time. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (!isRecord(value)) return value
  const keys = Object.keys(value).sort()
  return Object.fromEntries(keys.map(key => [key, sorted(value[key])]))
}
