/**
 * Edits that an agent or a user asks for in terms of what the model sees: discard, distill and replace.
 *
 * Matching is literal and in the text as shown; the result is addressed to originals, around whatever edits are
 * there already. A batch is resolved as a whole: the first problem is an error that says what to do, and nothing
 * is changed.
 */

import { relate } from './edits.ts'
import { PalimpsestError } from './errors.ts'
import { textOf } from './leaves.ts'
import { type Piece, partId, type ShownText, shownParts, shownTexts } from './shown-texts.ts'
import { similarLines } from './similar.ts'
import type { Edit, Part } from './types.ts'
import type { Fold } from './view.ts'

export type ReplaceOperation = {
  /** Exact text that marks the beginning of what is replaced, and belongs to it. */
  start: string
  /** Exact text that marks its end, and belongs to it. */
  end: string
  replacement: string
}

export type ContextTarget = [hash: string] | [hash: string, summary: string] | ReplaceOperation

export type ContextRequest = { action: 'discard' | 'distill' | 'replace'; targets: ContextTarget[] }

/** A target resolved: the edit it asks for, and what it does to the text. */
export type Resolved = Pick<Edit, 'target' | 'replacement' | 'why'> & {
  operation: ContextTarget
  entry: number
  originalLength: number
  newLength: number
}

export const MIN_MATCH = 30

export function resolveTargets(fold: Fold, { action, targets }: ContextRequest): Resolved[] {
  if (!Array.isArray(targets) || targets.length === 0) {
    throw new PalimpsestError('INVALID_INPUT', `${action} needs at least one target.`, { action })
  }
  const resolved = targets.map(target => resolveTarget(fold, target))
  assertApart(resolved)
  return resolved
}

function resolveTarget(fold: Fold, target: ContextTarget): Resolved {
  if (Array.isArray(target)) {
    const [hash, summary] = target
    return summary === undefined ? discard(fold, hash) : distill(fold, hash, summary)
  }
  return replace(fold, target)
}

function discard(fold: Fold, hash: string): Resolved {
  const { entry, part, shown, original } = findPart(fold, hash)
  const length = textOf(shown).length
  const replacement = `[Discarded: ${describePart(original)}, ${length} chars. Restore it with id ${hash} if needed]`
  return toResolved([hash], { entry, part }, replacement, length)
}

function distill(fold: Fold, hash: string, summary: string): Resolved {
  if (!summary.trim()) throw new PalimpsestError('INVALID_INPUT', 'distill needs a summary.', { hash })
  const { entry, part, shown } = findPart(fold, hash)
  const length = textOf(shown).length
  return toResolved(
    [hash, summary],
    { entry, part },
    `${summary}\n[Distilled from ${length} chars, id ${hash}]`,
    length,
  )
}

function toResolved(
  operation: ContextTarget,
  target: { entry: number; part: number },
  replacement: string,
  length: number,
): Resolved {
  const why = Array.isArray(operation) && operation.length === 1 ? 'discard' : 'distill'
  return {
    operation,
    target,
    replacement,
    why,
    entry: target.entry,
    originalLength: length,
    newLength: replacement.length,
  }
}

function findPart(fold: Fold, hash: string): { entry: number; part: number; shown: Part; original: Part } {
  for (const found of shownParts(fold)) {
    if (partId(found.entry, found.part, found.original) !== hash) continue
    if (found.shown.type === 'text' || found.shown.type === 'tool-result') return found
    throw new PalimpsestError('INVALID_INPUT', `${hash} is a ${found.shown.type}; only texts and results can go.`, {
      hash,
    })
  }
  throw new PalimpsestError(
    'PATTERN_NOT_FOUND',
    `There is no text or result with the id ${hash} in view. Ids stand at the end of large results; list shows all.`,
    { hash },
  )
}

function replace(fold: Fold, operation: ReplaceOperation): Resolved {
  const { start, end, replacement } = operation
  if (!start || !end) throw new PalimpsestError('INVALID_INPUT', 'start and end must not be empty.', { operation })
  const matches = findMatches(fold, operation)
  if (matches.length === 0) throw notFound(fold, operation)
  if (matches.length > 1) throw ambiguous(operation, matches)
  const [match] = matches
  const length = match!.to - match!.from
  if (length < MIN_MATCH) {
    throw new PalimpsestError(
      'MATCH_TOO_SHORT',
      `The match has ${length} characters; the minimum is 30: minimum 30 characters. Choose patterns further apart.`,
      { operation, length },
    )
  }
  return {
    ...toOriginals(match!, replacement),
    operation,
    why: 'replace',
    originalLength: length,
    newLength: replacement.length,
  }
}

type Match = { text: ShownText; from: number; to: number }

function findMatches(fold: Fold, { start, end }: ReplaceOperation): Match[] {
  const matches: Match[] = []
  for (const text of shownTexts(fold)) {
    for (let from = text.text.indexOf(start); from >= 0; from = text.text.indexOf(start, from + start.length)) {
      const close = text.text.indexOf(end, from + start.length)
      if (close >= 0) matches.push({ text, from, to: close + end.length })
    }
  }
  return matches
}

/** From a match in what is shown to a target in originals: whole edits inside it are kept inside. */
function toOriginals(
  { text, from, to }: Match,
  replacement: string,
): Pick<Resolved, 'target' | 'replacement' | 'entry'> {
  const first = text.pieces.find(piece => from < piece.to)!
  const last = text.pieces.find(piece => to <= piece.to)!
  const before = first.literal ? '' : text.text.slice(first.from, from)
  const after = last.literal ? '' : text.text.slice(to, last.to)
  const shown = before + replacement + after
  const { entry, part, leaf } = text
  if (text.whole) return { target: { entry, part }, replacement: shown, entry }
  return {
    target: { entry, part, leaf, span: [originalStart(first, from), originalEnd(last, to)] },
    replacement: shown,
    entry,
  }
}

function originalStart(piece: Piece, at: number): number {
  return piece.literal ? piece.original[0] + (at - piece.from) : piece.original[0]
}

function originalEnd(piece: Piece, at: number): number {
  return piece.literal ? piece.original[0] + (at - piece.from) : piece.original[1]
}

function assertApart(resolved: readonly Resolved[]): void {
  for (const [i, a] of resolved.entries()) {
    for (const b of resolved.slice(i + 1)) {
      if (relate(a.target, b.target) === 'disjoint') continue
      throw new PalimpsestError(
        'EDITS_OVERLAP',
        `overlapping targets: ${nameOf(a.operation)} and ${nameOf(b.operation)}. Merge them into one, or leave one out.`,
        { targets: [a.operation, b.operation] },
      )
    }
  }
}

function notFound(fold: Fold, { start, end }: ReplaceOperation): PalimpsestError {
  const texts = [...shownTexts(fold)]
  const startSeen = texts.some(({ text }) => text.includes(start))
  const pattern = startSeen ? end : start
  const similar = similarLines(
    texts.map(({ text }) => text),
    pattern,
  )
  const which = startSeen
    ? `end pattern ${quote(end)} does not follow the start pattern`
    : `start pattern ${quote(start)} is not in view`
  const hint = similar.length > 0 ? ` Similar: ${similar.map(quote).join('; ')}.` : ''
  return new PalimpsestError('PATTERN_NOT_FOUND', `Pattern not found: the ${which}. Matching is literal.${hint}`, {
    pattern,
    similar,
  })
}

function ambiguous({ start }: ReplaceOperation, matches: readonly Match[]): PalimpsestError {
  const places = matches.map(({ text, from }) => ({
    entry: text.entry,
    part: text.part,
    role: text.role,
    context: text.text.slice(Math.max(0, from - 20), from + start.length + 40),
  }))
  const list = places.map(place => `entry ${place.entry} (${place.role}): ${quote(place.context)}`).join('; ')
  return new PalimpsestError(
    'MATCH_AMBIGUOUS',
    `The pattern matches ${matches.length} times, so nothing was changed: ${list}. Choose a longer start pattern.`,
    { matches: places },
  )
}

function describePart(part: Part): string {
  return part.type === 'tool-result' ? `result of ${part.name}` : 'text'
}

function nameOf(operation: ContextTarget): string {
  return Array.isArray(operation) ? operation[0] : `${quote(operation.start)} … ${quote(operation.end)}`
}

function quote(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return `"${line.length > 80 ? `${line.slice(0, 77)}…` : line}"`
}
