/**
 * The texts that the model sees, each with the way back to its original.
 *
 * The text of an entry consists of pieces: literal pieces are unchanged, and the others come from an edit. The text of
 * a range edit has no single original and is left out. Insertions are left out too: they are undone, not edited. A part
 * has a short id by which an agent can name it.
 */

import { leavesOf } from '../model/leaves.ts'
import type { Message, Part } from '../model/types.ts'
import { editsByPart, outermost, type PartEdit, renderEntry } from './edits.ts'
import { editsInside, type Fold, isVisible, peek, slots } from './fold.ts'

/** A stretch of shown text and the stretch of the original that it replaces. */
export type Piece = { from: number; to: number; original: [start: number, end: number]; literal: boolean }

export type ShownText = {
  entry: number
  part: number
  leaf: number
  role: Message['role']
  text: string
  pieces: Piece[]
  /** Set when one edit replaced the whole text: the whole part, or the whole leaf. */
  replaced?: 'part' | 'leaf'
  shown: Part
}

export type ShownPart = {
  entry: number
  part: number
  role: Message['role']
  shown: Part
  original: Part
  /** The active edits of the part. */
  edits: readonly PartEdit[]
}

/** The visible parts of all entries in order, or of one entry. */
export function* shownParts(fold: Fold, only?: number): Generator<ShownPart> {
  if (only === undefined) {
    for (const { range, from } of slots(fold)) if (range === undefined) yield* partsOf(fold, from)
  } else if (isVisible(fold, only)) yield* partsOf(fold, only)
}

function* partsOf(fold: Fold, entry: number): Generator<ShownPart> {
  const message = fold.entries[entry]?.message
  if (!message) return
  const byPart = editsByPart(editsInside(fold, entry))
  for (const [part, original] of message.parts.entries()) {
    const edits = byPart.get(part) ?? []
    const shown = shownPart(message, part, edits)
    if (shown) yield { entry, part, role: message.role, shown, original, edits }
  }
}

/**
 * Whether a tool is one of those by which an agent manages its context. MCP clients put the server's name before the
 * tool's.
 */
export function isOwnTool(name: string): boolean {
  const before = name.replace(/(?:context|recall)$/i, '')
  if (before === name) return false
  return before === '' || (/[_.]$/.test(before) && /palimpsest/i.test(before))
}

/** The tool among these by which an agent finds shortened content. A foreign tool of the same name does not count. */
export function recallToolIn(names: Iterable<string>): string | undefined {
  return [...names].find(name => isOwnTool(name) && /recall$/i.test(name))
}

/**
 * Tools by which agents save content beyond a session: ours, and the memory tools of Claude, Gemini CLI and Qwen Code.
 */
const SAVING = [
  'workspace_save_fact',
  'memory_folder',
  'memory',
  'save_memory',
  'append_to_file',
  'propose_memory_append',
]

/** The best tool among these by which an agent can save content that it must not lose. */
export function savingToolIn(names: Iterable<string>): string | undefined {
  const all = [...names]
  const isCalled = (name: string, own: string) =>
    name === own || (name.endsWith(`_${own}`) && /palimpsest/i.test(name.slice(0, -own.length)))
  return SAVING.flatMap(own => all.find(name => isCalled(name, own)) ?? [])[0]
}

/** The texts that a match may use: no reasoning, and no calls or results of the context tools. */
export function* shownTexts(fold: Fold): Generator<ShownText> {
  for (const part of shownParts(fold)) {
    const { shown } = part
    if (shown.type !== 'reasoning' && !('name' in shown && isOwnTool(shown.name))) yield* textsOf(part)
  }
}

function* textsOf({ entry, part, role, shown, original, edits: own }: ShownPart): Generator<ShownText> {
  const visible = outermost(own)
  const whole = visible.some(edit => edit.target.leaf === undefined)
  const originals = leavesOf(original)
  for (const [leaf, text] of leavesOf(shown).entries()) {
    const place = { entry, part, leaf, role, text, shown }
    if (whole) yield { ...place, pieces: [replaced(text, text.length)], replaced: 'part' }
    else {
      const edits = visible.filter(edit => edit.target.leaf === leaf)
      yield { ...place, ...piecesOf(text, originals[leaf]!, edits) }
    }
  }
}

/** Texts in view that have no single original: those of range edits and insertions. */
export function* shownByEdits(fold: Fold): Generator<{ edit: string; text: string }> {
  for (const part of peek(fold).flatMap(message => message.parts)) {
    const edit = fold.records.get(part.edit ?? '')?.edit
    if (edit && edit.target.type !== 'part') for (const text of leavesOf(part)) yield { edit: edit.id, text }
  }
}

const TYPES: Part['type'][] = ['text', 'reasoning', 'tool-call', 'tool-result', 'image', 'raw']
/**
 * The bits of an id: 23 for the entry, 6 for the part, 3 for the type. The rest of a large part number follows a dash.
 */
const PARTS = 64
const KINDS = 8
const MIX = 0x9e3779b1
const SALT = 0x5bd1e995
const UNMIX = inverse(MIX)

/** A short and permanent id for a part: eight hexadecimal digits, unique within a session. */
export function partId(entry: number, part: number, { type }: Pick<Part, 'type'>): string {
  const number = (entry * PARTS + (part % PARTS)) * KINDS + TYPES.indexOf(type)
  const id = (scramble(Math.imul(scramble(Math.imul(number ^ SALT, MIX)), MIX)) >>> 0).toString(16).padStart(8, '0')
  return part < PARTS ? id : `${id}-${Math.floor(part / PARTS)}`
}

/** The part that an id names; undefined if the text is not an id. */
export function placeOfId(id: string): { entry: number; part: number; type: Part['type'] } | undefined {
  const match = /^([0-9a-f]{8})(?:-([1-9]\d{0,3}))?$/.exec(id)
  if (!match) return undefined
  const mixed = Math.imul(scramble(Number.parseInt(match[1]!, 16)), UNMIX)
  const number = (Math.imul(scramble(mixed), UNMIX) ^ SALT) >>> 0
  const type = TYPES[number % KINDS]
  const place = Math.floor(number / KINDS)
  if (!type) return undefined
  return { entry: Math.floor(place / PARTS), part: (place % PARTS) + Number(match[2] ?? 0) * PARTS, type }
}

/** Its own inverse. */
function scramble(number: number): number {
  return number ^ (number >>> 16)
}

/** The inverse of an odd number modulo 2³². */
function inverse(odd: number): number {
  let found = odd
  for (let i = 0; i < 5; i++) found = Math.imul(found, 2 - Math.imul(odd, found))
  return found
}

/** A part of an entry as the edits inside the entry show it; undefined if one of them drops it. */
export function shownPart(message: Message, part: number, edits: readonly PartEdit[]): Part | undefined {
  const own = edits.filter(({ target }) => target.part === part)
  const alone = own.map(edit => ({ ...edit, target: { ...edit.target, part: 0 } }))
  return renderEntry({ ...message, parts: [message.parts[part]!] }, alone)?.parts[0]
}

function piecesOf(text: string, original: string, edits: readonly PartEdit[]): Pick<ShownText, 'pieces' | 'replaced'> {
  if (edits.some(edit => !edit.target.span)) {
    return { pieces: [replaced(text, original.length)], replaced: 'leaf' }
  }
  const spans = edits
    .map(edit => ({ span: edit.target.span!, length: String(edit.replacement ?? '').length }))
    .sort((a, b) => a.span[0] - b.span[0])
  const pieces: Piece[] = []
  let at = 0
  let done = 0
  for (const { span, length } of spans) {
    pieces.push({ from: at, to: (at += span[0] - done), original: [done, span[0]], literal: true })
    pieces.push({ from: at, to: (at += length), original: span, literal: false })
    done = span[1]
  }
  pieces.push({ from: at, to: at + original.length - done, original: [done, original.length], literal: true })
  return { pieces }
}

function replaced(text: string, originalLength: number): Piece {
  return { from: 0, to: text.length, original: [0, originalLength], literal: false }
}
