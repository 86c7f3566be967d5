/**
 * The view by definition, computed slowly character by character, to compare the fold with. `order` is the place of an
 * edit among all applications; later is larger.
 */
import { imageStub, imagesIn, withLeaves } from '../../src/model/leaves.ts'
import type { Edit, Message, Part } from '../../src/model/types.ts'

export type Applied = { edit: Edit; order: number }

export function referenceView(messages: readonly Message[], applied: readonly Applied[]): Message[] {
  const shown: Message[] = []
  for (let entry = 0; entry < messages.length; entry++) {
    const range = widest(applied.filter(({ edit }) => coversEntry(edit, entry)))
    if (!range) {
      const parts = messages[entry]!.parts.flatMap((part, index) => referencePart(part, entry, index, applied))
      if (parts.length > 0 || messages[entry]!.parts.length === 0) shown.push({ ...messages[entry]!, parts })
    } else if (bounds(range.edit)[0] === entry) shown.push(...messagesOf(range.edit))
    for (const { edit } of applied) {
      if (edit.target.type !== 'after' || edit.target.entry !== entry) continue
      const hidden = applied.some(other => coversEntry(other.edit, entry) && bounds(other.edit)[1] > entry)
      if (!hidden) shown.push(...messagesOf(edit))
    }
  }
  return shown
}

function referencePart(part: Part, entry: number, index: number, applied: readonly Applied[]): Part[] {
  const own = applied.filter(
    ({ edit }) => edit.target.type === 'part' && edit.target.entry === entry && edit.target.part === index,
  )
  const whole = latest(own.filter(({ edit }) => edit.target.type === 'part' && edit.target.leaf === undefined))
  if (whole) {
    const { replacement, id } = whole.edit
    if (replacement === null) return []
    if (typeof replacement === 'object' && 'input' in replacement)
      return [{ ...part, input: replacement.input, edit: id } as Part]
    if (part.type === 'text') return [{ ...part, text: String(replacement), edit: id }]
    if (part.type === 'tool-result') {
      const stubs = imagesIn(part)
        .map(imageStub)
        .filter(stub => !String(replacement).includes(stub))
      const output = [replacement, ...stubs].filter((text, i) => text !== '' || i > 0 || stubs.length === 0).join('\n')
      return [{ ...part, output, edit: id }]
    }
    return [{ type: 'text', text: String(replacement), edit: id }]
  }
  if (own.length === 0) return [part]
  const shown = withLeaves(part, (text, leaf) =>
    referenceLeaf(
      text,
      own.filter(({ edit }) => edit.target.type === 'part' && edit.target.leaf === leaf),
    ),
  )
  return [{ ...shown, edit: own[0]!.edit.id }]
}

function referenceLeaf(text: string, own: readonly Applied[]): string {
  const whole = latest(own.filter(({ edit }) => edit.target.type === 'part' && !edit.target.span))
  if (whole) return String(whole.edit.replacement)
  let shown = ''
  for (let at = 0; at <= text.length; at++) {
    const added = latest(own.filter(({ edit }) => length(edit) === 0 && span(edit)[0] === at))
    const touched = own.some(({ edit }) => length(edit) > 0 && span(edit)[0] <= at && at <= span(edit)[1])
    if (added && !touched) shown += String(added.edit.replacement)
    if (at === text.length) break
    const covering = own.filter(({ edit }) => span(edit)[0] <= at && at < span(edit)[1])
    const outer = covering.sort((a, b) => length(b.edit) - length(a.edit) || b.order - a.order)[0]
    if (!outer) shown += text[at]
    else if (span(outer.edit)[0] === at) shown += String(outer.edit.replacement)
  }
  return shown
}

function span({ target }: Edit): [number, number] {
  return target.type === 'part' && target.span ? target.span : [0, 0]
}

function length(edit: Edit): number {
  return span(edit)[1] - span(edit)[0]
}

function bounds({ target }: Edit): [number, number] {
  if (target.type === 'range') return [target.from, target.to]
  return target.type === 'after' ? [-1, -2] : [target.entry, target.entry]
}

function coversEntry(edit: Edit, entry: number): boolean {
  if (edit.target.type === 'after' || edit.target.type === 'part') return false
  return bounds(edit)[0] <= entry && entry <= bounds(edit)[1]
}

function widest(ranges: readonly Applied[]): Applied | undefined {
  const size = (edit: Edit) => bounds(edit)[1] - bounds(edit)[0]
  return [...ranges].sort((a, b) => size(b.edit) - size(a.edit) || b.order - a.order)[0]
}

function latest(edits: readonly Applied[]): Applied | undefined {
  return [...edits].sort((a, b) => b.order - a.order)[0]
}

function messagesOf({ id, replacement }: Edit): Message[] {
  const has = replacement !== null && typeof replacement === 'object' && 'messages' in replacement
  return (has ? replacement.messages : []).map(message => {
    return { ...message, parts: message.parts.map(part => ({ ...part, edit: id })) }
  })
}
