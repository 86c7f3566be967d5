/**
 * The texts that the model sees, each with the way back to the original it came from.
 *
 * Texts of entries come in pieces: literal ones that stand as they were, and ones that an edit put there. What a
 * range edit shows has no single original and is left out, as are insertions: those are undone, not edited.
 */
import { type ActiveEdit, outermost, renderEntry } from './edits.ts'
import { leavesOf } from './leaves.ts'
import type { Message, Part } from './types.ts'
import { editsInside, type Fold, slots } from './view.ts'

/** A stretch of shown text and the stretch of the original that it stands for. */
export type Piece = { from: number; to: number; original: [start: number, end: number]; literal: boolean }

export type ShownText = {
  entry: number
  part: number
  leaf: number
  role: Message['role']
  text: string
  pieces: Piece[]
  /** The part is replaced as a whole. */
  whole: boolean
}

export type ShownPart = { entry: number; part: number; role: Message['role']; shown: Part; original: Part }

/** The parts of entries that show, in order. */
export function* shownParts(fold: Fold): Generator<ShownPart> {
  for (const slot of slots(fold)) {
    if (slot.range !== undefined) continue
    const message = fold.entries[slot.from]?.message
    if (!message) continue
    const edits = editsInside(fold, slot.from)
    for (const [part, original] of message.parts.entries()) {
      const shown = edits.length === 0 ? original : renderAlone(message, part, edits)
      if (shown) yield { entry: slot.from, part, role: message.role, shown, original }
    }
  }
}

/** The texts that may be matched: not reasoning, and not what was written to the context tool itself. */
export function* shownTexts(fold: Fold): Generator<ShownText> {
  for (const { entry, part, role, shown, original } of shownParts(fold)) {
    if (shown.type === 'reasoning' || (shown.type === 'tool-call' && shown.name === 'context')) continue
    const own = editsInside(fold, entry).filter(edit => 'entry' in edit.target && edit.target.part === part)
    const visible = outermost(own)
    const whole = visible.some(edit => 'entry' in edit.target && edit.target.leaf === undefined)
    for (const [leaf, text] of leavesOf(shown).entries()) {
      const pieces = whole
        ? [replaced(text, [0, text.length])]
        : piecesOf(leavesOf(original)[leaf] ?? '', visible, leaf)
      yield { entry, part, leaf, role, text, pieces, whole }
    }
  }
}

/** A short name for a part, the same for ever: eight hexadecimal digits. */
export function partId(entry: number, part: number, original: Part): string {
  let hash = 0x811c9dc5
  const text = `${entry}.${part}.${original.type}`
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, '0')
}

function renderAlone(message: Message, part: number, edits: readonly ActiveEdit[]): Part | undefined {
  const own = edits.filter(edit => 'entry' in edit.target && edit.target.part === part)
  if (own.length === 0) return message.parts[part]
  const alone = own.map(edit => ({ ...edit, target: { ...edit.target, part: 0 } }))
  return renderEntry({ ...message, parts: [message.parts[part]!] }, alone)?.parts[0]
}

function piecesOf(original: string, edits: readonly ActiveEdit[], leaf: number): Piece[] {
  const inLeaf = edits.filter(edit => 'entry' in edit.target && edit.target.leaf === leaf)
  const whole = inLeaf.find(edit => 'entry' in edit.target && !edit.target.span)
  if (whole) return [replaced(String(whole.replacement ?? ''), [0, original.length])]
  const spans = inLeaf
    .map(edit => ({ span: spanOf(edit), length: String(edit.replacement ?? '').length }))
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
  return pieces
}

function replaced(text: string, original: [number, number]): Piece {
  return { from: 0, to: text.length, original, literal: false }
}

function spanOf({ target }: ActiveEdit): [number, number] {
  return 'entry' in target && target.span ? target.span : [0, 0]
}
