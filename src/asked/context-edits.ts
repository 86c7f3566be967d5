/**
 * Edits that an agent or a user requests in terms of what the model sees: discard, distill and replace.
 *
 * Matching is literal, in the text as shown. The resulting edits address originals and respect the edits that exist
 * already. A batch is resolved as a whole: the first problem is an error that says what to do, and nothing is changed.
 * The shape of an operation says what it does, so one batch may mix all three.
 */

import { PalimpsestError } from '../model/errors.ts'
import { isRecord } from '../model/json.ts'
import { textOf, withLeaves } from '../model/leaves.ts'
import { has, placeOf, placesOf } from '../model/search.ts'
import { cut, inOneLine } from '../model/text.ts'
import type { Edit, Part } from '../model/types.ts'
import { relate } from '../view/edits.ts'
import type { Fold } from '../view/fold.ts'
import {
  type Piece,
  partId,
  placeOfId,
  type ShownPart,
  type ShownText,
  shownByEdits,
  shownParts,
  shownTexts,
} from '../view/shown-texts.ts'
import { similarTexts } from './similar.ts'

export type ReplaceOperation = {
  /** Exact text at the beginning of the stretch to replace, included in it. */
  start: string
  /** Exact text at the end of the stretch, included in it. */
  end: string
  replacement: string
}

/**
 * One change to what the model sees, named by the id of a text or result, or by the texts at the beginning and end of a
 * stretch.
 */
export type EditOperation = { discard: string } | { distill: string; to: string } | ReplaceOperation

/** The same in the form of the `context` tool and of the doors that offer it. */
export type ContextTarget = [hash: string] | [hash: string, summary: string] | ReplaceOperation

export type ContextRequest = { action: 'discard' | 'distill' | 'replace'; targets: ContextTarget[] }

export function toOperations({ action, targets }: ContextRequest): EditOperation[] {
  return targets.map(target => {
    if (!Array.isArray(target)) return target
    const [hash, summary] = target
    if (summary !== undefined) return { distill: hash, to: summary }
    if (action !== 'distill') return { discard: hash }
    throw new PalimpsestError('INVALID_INPUT', 'distill takes [id, summary]; to show only a note, use discard.', {
      hash,
    })
  })
}

export type Resolved = Pick<Edit, 'target' | 'replacement' | 'why'> & {
  operation: EditOperation
  entry: number
  originalLength: number
  newLength: number
}

export const MIN_MATCH = 30
const DISCARDED = '[Discarded: '
/** The most matches that an error lists in its text and its data. */
const MAX_NAMED_MATCHES = 10
const MAX_LISTED_MATCHES = 1000

export function resolveOperations(fold: Fold, operations: readonly EditOperation[]): Resolved[] {
  if (!Array.isArray(operations) || operations.length === 0) {
    throw new PalimpsestError('INVALID_INPUT', 'An edit needs at least one target.')
  }
  operations.forEach(checkOperation)
  const texts = operations.some(operation => 'start' in operation) ? [...shownTexts(fold)] : []
  const resolved = operations.map(operation =>
    'start' in operation ? replace(fold, texts, operation) : discardOrDistill(fold, operation),
  )
  assertApart(resolved)
  return resolved
}

const SHAPES: readonly (readonly string[])[] = [['discard'], ['distill', 'to'], ['start', 'end', 'replacement']]

/** Checks an operation: doors validate their input, but a program that calls the library may still pass a wrong one. */
function checkOperation(operation: unknown): void {
  const values = isRecord(operation) ? operation : {}
  const shape = SHAPES.find(keys => keys.every(key => typeof values[key] === 'string'))
  if (shape?.length !== Object.keys(values).length) {
    throw new PalimpsestError(
      'INVALID_INPUT',
      'An edit is { discard: id }, { distill: id, to: summary } or { start, end, replacement }.',
      { operation },
    )
  }
  if (shape.every(key => String(values[key]).isWellFormed())) return
  throw new PalimpsestError('INVALID_UNICODE', 'An edit is not valid Unicode (a lone surrogate).', { operation })
}

type ById = Exclude<EditOperation, ReplaceOperation>

function discardOrDistill(fold: Fold, operation: ById): Resolved {
  const [hash, summary] = 'distill' in operation ? [operation.distill, operation.to] : [operation.discard]
  const { entry, part, shown, original } = findPart(fold, hash)
  const length = textOf(shown).length
  if (summary === undefined && shown.edit !== undefined && textOf(shown).startsWith(DISCARDED)) {
    throw new PalimpsestError('ALREADY', `${hash} is already discarded (edit ${shown.edit}).`, {
      hash,
      edit: shown.edit,
    })
  }
  if (summary !== undefined && !summary.trim()) {
    throw new PalimpsestError('INVALID_INPUT', `distill needs a summary of ${hash}.`, { hash })
  }
  const replacement =
    summary === undefined
      ? `${DISCARDED}${describePart(original)}, ${length} chars. Restore it with id ${hash} if needed]`
      : `${summary}\n[Distilled from ${length} chars, id ${hash}]`
  return {
    operation,
    target: { type: 'part', entry, part },
    replacement,
    why: summary === undefined ? 'discard' : 'distill',
    entry,
    originalLength: length,
    newLength: replacement.length,
  }
}

function findPart(fold: Fold, hash: string): ShownPart {
  const place = placeOfId(hash)
  for (const found of place ? shownParts(fold, place.entry) : []) {
    if (found.part !== place?.part || partId(found.entry, found.part, found.original) !== hash) continue
    if (found.shown.type === 'text' || found.shown.type === 'tool-result') return found
    throw new PalimpsestError(
      'INVALID_INPUT',
      `${hash} is a ${found.shown.type}; only texts and results can be edited.`,
      { hash },
    )
  }
  throw new PalimpsestError(
    'PATTERN_NOT_FOUND',
    `There is no text or result with the id ${hash} in view. Ids are at the end of large results; list shows all.`,
    { hash },
  )
}

function replace(fold: Fold, texts: readonly ShownText[], operation: ReplaceOperation): Resolved {
  const { start, end, replacement } = operation
  if (!start || !end) throw new PalimpsestError('INVALID_INPUT', 'start and end must not be empty.', { operation })
  const matches = findMatches(texts, operation)
  const [match] = matches
  if (!match) throw notFound(fold, texts, operation)
  if (matches.every(({ from, to }) => to - from < MIN_MATCH)) throw tooShort(operation, match)
  if (matches.length > 1) throw ambiguous(matches)
  return {
    ...toOriginals(match, replacement),
    operation,
    why: 'replace',
    originalLength: match.to - match.from,
    newLength: replacement.length,
  }
}

type Match = { text: ShownText; from: number; to: number }

/** Every occurrence of the start, up to the nearest end after it in the same text; in one pass over each text. */
export function findMatches(texts: Iterable<ShownText>, { start, end }: ReplaceOperation): Match[] {
  const matches: Match[] = []
  for (const text of texts) {
    const starts = placesOf(text.text, start)
    const ends = starts.length > 0 ? placesOf(text.text, end) : []
    let next = 0
    for (const from of starts) {
      while (next < ends.length && ends[next]! < from + start.length) next++
      if (next === ends.length) break
      matches.push({ text, from, to: ends[next]! + end.length })
    }
  }
  return matches
}

/**
 * Converts a match in the shown text to a target in originals; existing edits inside the match stay inside the target.
 */
function toOriginals(
  { text, from, to }: Match,
  replacement: string,
): Pick<Edit, 'target' | 'replacement'> & { entry: number } {
  const { entry, part, leaf } = text
  if (text.replaced) {
    const shown = text.text.slice(0, from) + replacement + text.text.slice(to)
    if (text.replaced === 'leaf') return { target: { type: 'part', entry, part, leaf }, replacement: shown, entry }
    return { target: { type: 'part', entry, part }, replacement: wholePart(text, shown), entry }
  }
  const at = text.pieces.findIndex(piece => from < piece.to)
  const end = text.pieces.findIndex(piece => to <= piece.to)
  const [first, last] = [text.pieces[at]!, text.pieces[end]!]
  const span: [number, number] = [originalPlace(first, from, 0), originalPlace(last, to, 1)]
  const before = first.literal ? addedAt(text.pieces[at - 1], span[0])?.from : first.from
  const after = last.literal ? addedAt(text.pieces[end + 1], span[1])?.to : last.to
  const shown = text.text.slice(before ?? from, from) + replacement + text.text.slice(to, after ?? to)
  return { target: { type: 'part', entry, part, leaf, span }, replacement: shown, entry }
}

/** The piece if an edit only added its text at exactly this place: an edit that reaches this place would hide it. */
function addedAt(piece: Piece | undefined, place: number): Piece | undefined {
  const [start, end] = piece?.literal === false ? piece.original : []
  return start === place && end === place ? piece : undefined
}

/** A replacement for the whole part. A call stays a call: its input with one text changed. */
function wholePart({ shown, leaf }: ShownText, text: string): Edit['replacement'] {
  if (shown.type !== 'tool-call') return text
  const changed = withLeaves(shown, (old, index) => (index === leaf ? text : old))
  return { input: changed.type === 'tool-call' ? changed.input : undefined }
}

/** The position in the original; inside an edit, the start or end (`side`) of the text that it replaces. */
function originalPlace({ literal, original, from }: Piece, at: number, side: 0 | 1): number {
  return literal ? original[0] + (at - from) : original[side]
}

function assertApart(resolved: readonly Resolved[]): void {
  for (const [i, a] of resolved.entries()) {
    for (const b of resolved.slice(i + 1)) {
      if (relate(a.target, b.target) === 'disjoint') continue
      throw new PalimpsestError(
        'EDITS_OVERLAP',
        `overlapping targets: ${operationName(a.operation)} and ${operationName(b.operation)} change the same text, or text that ` +
          'one earlier edit put there. Merge them into one target, or make them one after the other.',
        { targets: [a.operation, b.operation] },
      )
    }
  }
}

function tooShort(operation: ReplaceOperation, { from, to }: Match): PalimpsestError {
  return new PalimpsestError(
    'MATCH_TOO_SHORT',
    `The match has ${to - from} characters: minimum ${MIN_MATCH} characters. Choose patterns that lie further apart.`,
    { operation, length: to - from, minimum: MIN_MATCH },
  )
}

function notFound(fold: Fold, texts: readonly ShownText[], { start, end }: ReplaceOperation): PalimpsestError {
  const startSeen = texts.some(({ text }) => has(text, start))
  const pattern = startSeen ? end : start
  const similar = similarTexts(texts.map(({ text }) => text).reverse(), pattern)
  const which = startSeen
    ? `end pattern ${quote(end)} does not follow the start pattern in the same text`
    : `start pattern ${quote(start)} is not in view`
  const shownBy = [...shownByEdits(fold)].find(({ text }) => {
    const at = placeOf(text, start)
    return at >= 0 && has(text, end, at + start.length)
  })?.edit
  const hints = [
    ...(shownBy ? [` It is part of the text that edit ${shownBy} shows: undo that edit instead.`] : []),
    ...(similar.length > 0 ? [` Similar: ${similar.map(quote).join('; ')}.`] : []),
  ]
  return new PalimpsestError(
    'PATTERN_NOT_FOUND',
    `Pattern not found: the ${which}. Matching is literal.${hints.join('')}`,
    { pattern, similar, ...(shownBy ? { edit: shownBy } : {}) },
  )
}

function ambiguous(matches: readonly Match[]): PalimpsestError {
  const places = matches.slice(0, MAX_LISTED_MATCHES).map(({ text, from, to }) => ({
    entry: text.entry,
    part: text.part,
    role: text.role,
    length: to - from,
    context: cut(text.text, Math.max(0, from - 20), from + 60),
  }))
  const list = places
    .slice(0, MAX_NAMED_MATCHES)
    .map(({ entry, role, context }) => `entry ${entry} (${role}): ${quote(context)}`)
  const more = matches.length > MAX_NAMED_MATCHES ? `; and ${matches.length - MAX_NAMED_MATCHES} more` : ''
  return new PalimpsestError(
    'MATCH_AMBIGUOUS',
    `The pattern matches ${matches.length} times, so nothing was changed: ${list.join('; ')}${more}. ` +
      'Choose a longer start pattern.',
    { matches: places },
  )
}

function describePart(part: Part): string {
  return part.type === 'tool-result' ? `result of ${part.name}` : 'text'
}

/** The subject of an operation, for messages. */
export function operationName(operation: EditOperation): string {
  if ('start' in operation) return `${quote(operation.start)} … ${quote(operation.end)}`
  return 'distill' in operation ? operation.distill : operation.discard
}

function quote(text: string): string {
  return `"${inOneLine(text, 80)}"`
}
