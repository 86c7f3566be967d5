/**
 * The meaning of a proposal: how its body is made, and how it applies when the block has changed.
 *
 * Pure. A proposal is an operation. If the block has changed since, the operation is applied to the present text if
 * it still fits exactly once. Otherwise the texts are merged three ways, line by line, as in Git (base, now,
 * proposed). A part that cannot be merged is a conflict that shows both sides: nothing is picked for the user.
 */

import { diff3Merge } from 'node-diff3'
import { replaceSection } from '../files/markdown.ts'
import { PalimpsestError } from '../model/errors.ts'
import { separatePlacesOf, splitBy } from '../model/search.ts'
import { endingLine } from '../model/text.ts'
import type { Block, Operation, Proposal, ProposalKind } from './store.ts'

export type Text = { title: string; body: string }

/** A settled stretch of the merged body, or the three texts between which the user must choose. */
export type Region =
  | { type: 'settled'; text: string }
  | { type: 'conflict'; base: string; now: string; proposed: string }

export type Merge =
  | { type: 'clean'; title: string; body: string; stale: boolean }
  | { type: 'conflict'; title: string; titles?: Titles; regions: Region[]; marked: string }
  /** The block that the proposal changes has been deleted since. */
  | { type: 'deleted' }

/** Two titles between which the user must choose. */
type Titles = { base: string; now: string; proposed: string }

/**
 * Comparing takes up to cubic time where lines are alike. Texts for which it could take more steps than this (half a
 * second) are shown, not merged.
 */
const MAX_STEPS = 150_000_000

/** The result of approving the proposal now. */
export function mergeProposal(proposal: Proposal, block: Block | undefined): Merge {
  const { base, title, body } = proposal
  if (!block) return base ? { type: 'deleted' } : { type: 'clean', title, body, stale: false }
  if (base && block.body === base.body && block.title === base.title)
    return { type: 'clean', title, body, stale: false }
  const again = replayed(proposal, block.body)
  if (again !== undefined) {
    // Only the titles can still differ. If the proposal was for a new block, the existing block keeps its title.
    const titles = base ? { before: base.title, wanted: title } : { before: block.title, wanted: block.title }
    const before = { title: titles.before, body: block.body }
    const merge = mergeTexts(before, block, { title: titles.wanted, body: again })
    return merge.type === 'clean' ? { ...merge, stale: true } : merge
  }
  return mergeTexts(base ?? { title: '', body: '' }, block, proposal)
}

/** The result of reverting an approval: the change from `before` to `after`, undone in the present text. */
export function mergeRevert(texts: { before: Text; after: Text; now: Text }, proposal: Proposal): Merge {
  const { before, after, now } = texts
  const body = undone(proposal, texts)
  if (body === undefined) return mergeTexts(after, now, before)
  return mergeTexts({ ...after, body: now.body }, now, { ...before, body })
}

/** Merges three texts. `stale` means that the result contains a change by somebody else. */
export function mergeTexts(base: Text, now: Text, proposed: Text): Merge {
  const title = now.title === base.title ? proposed.title : now.title
  const disputed = title !== proposed.title && proposed.title !== base.title
  const titles = disputed ? { titles: { base: base.title, now: now.title, proposed: proposed.title } } : {}
  const regions = mergeBodies(base.body, now.body, proposed.body)
  if (!disputed && regions.every(region => region.type === 'settled')) {
    const stale = now.body !== base.body || now.title !== base.title
    return { type: 'clean', title, body: regions.map(region => region.text).join(''), stale }
  }
  return { type: 'conflict', title, ...titles, regions, marked: markConflicts(regions) }
}

function mergeBodies(base: string, now: string, proposed: string): Region[] {
  if (now === base || now === proposed) return [{ type: 'settled', text: proposed }]
  if (proposed === base) return [{ type: 'settled', text: now }]
  const texts = [now, base, proposed].map(linesOf)
  const start = commonStart(texts)
  const rests = texts.map(lines => lines.slice(start))
  const [nowLines = [], baseLines = [], proposedLines = []] = rests
  const steps = stepsToCompare(baseLines, nowLines) + stepsToCompare(baseLines, proposedLines)
  if (steps > MAX_STEPS) return [{ type: 'conflict', base, now, proposed }]
  const chunks = [
    { ok: texts[0]!.slice(0, start), conflict: undefined },
    ...diff3Merge(nowLines, baseLines, proposedLines, { excludeFalseConflicts: true }),
  ]
  return chunks.flatMap((chunk): Region[] => {
    if (!chunk.conflict) return chunk.ok?.length ? [{ type: 'settled', text: chunk.ok.join('') }] : []
    const { a, o, b } = chunk.conflict
    return [{ type: 'conflict', base: o.join(''), now: a.join(''), proposed: b.join('') }]
  })
}

/** At most so many: each pair of equal lines is put into a list that is as long as the shorter text. */
function stepsToCompare(before: readonly string[], after: readonly string[]): number {
  const counts = new Map<string, number>()
  for (const line of before) counts.set(line, (counts.get(line) ?? 0) + 1)
  const pairs = after.reduce((all, line) => all + (counts.get(line) ?? 0), 0)
  return pairs * Math.min(before.length, after.length)
}

/** The number of equal lines at the beginning of all texts. */
function commonStart(texts: readonly string[][]): number {
  const [first = [], ...others] = texts
  const end = first.findIndex((line, i) => others.some(other => other[i] !== line))
  return end === -1 ? first.length : end
}

/** Applies an operation to the body. Throws if it does not apply exactly once. */
export function applyOperation(body: string, operation: Operation, label: string): string {
  switch (operation.type) {
    case 'replace':
      return replaceString(body, operation, label)
    case 'append':
      return endingLine(body) + operation.text
    case 'prepend':
      return body === '' ? operation.text : endingLine(operation.text) + body
    case 'section': {
      const result = replaceSection(body, operation.header, operation.content)
      if ('problem' in result) throw new PalimpsestError(result.code, result.problem, { label })
      return result.text
    }
  }
}

type Asked = { kind?: 'edit' | 'new'; body: string | Operation }

export function changeIn({ kind = 'edit', body }: Asked): { operation?: Operation; kind: ProposalKind } {
  if (typeof body === 'string') return { kind }
  return { operation: body, kind: kind === 'new' || body.type === 'replace' ? kind : body.type }
}

/** The present body with a proposal's operation applied; undefined if it no longer applies as the agent meant it. */
function replayed({ operation, base, label }: Proposal, now: string): string | undefined {
  if (!operation) return undefined
  // If somebody else has rewritten the section since, the user must choose.
  if (
    operation.type === 'section' &&
    base &&
    sectionIn(base.body, operation.header) !== sectionIn(now, operation.header)
  )
    return undefined
  try {
    return applyOperation(now, operation, label)
  } catch (error) {
    if (error instanceof PalimpsestError) return undefined
    throw error
  }
}

function sectionIn(body: string, header: string): string | undefined {
  const result = replaceSection(body, header, '')
  return 'problem' in result ? undefined : result.removed
}

/** The present body without the text that an operation added; undefined if that text is not found exactly once. */
function undone({ operation }: Proposal, { before, after, now }: { before: Text; after: Text; now: Text }) {
  const [put, instead] =
    operation?.type === 'replace' && !operation.all ? [operation.new, operation.old] : [addedTo(before, after), '']
  if (!put || timesIn(after.body, put) !== 1 || timesIn(now.body, put) !== 1) return undefined
  return now.body.replace(put, () => instead)
}

function addedTo(before: Text, after: Text): string | undefined {
  const length = after.body.length - before.body.length
  if (length > 0 && after.body.startsWith(before.body)) return after.body.slice(-length)
  if (length > 0 && after.body.endsWith(before.body)) return after.body.slice(0, length)
  return undefined
}

function timesIn(text: string, piece: string): number {
  return separatePlacesOf(text, piece).length
}

/** The text of a clean merge; otherwise throws an error that shows both sides. */
export function settledText(merge: Merge, { id, label }: Proposal, title?: string): Text {
  if (merge.type === 'clean') return merge
  if (merge.type === 'deleted') throw blockDeleted(label, id)
  const regions = merge.regions.filter(region => region.type === 'conflict')
  if (title !== undefined && regions.length === 0) {
    return { title, body: merge.regions.map(region => (region.type === 'settled' ? region.text : '')).join('') }
  }
  throw new PalimpsestError(
    'CONFLICT',
    `Block '${label}' has since changed in the same place. Compare both versions, and give a body of your own.`,
    { proposal: id, label, regions, marked: merge.marked, ...(merge.titles ? { titles: merge.titles } : {}) },
  )
}

/** The body after choosing a side for each conflict; conflicts are counted from 0. */
export function settleRegions(regions: readonly Region[], choose: (place: number) => 'now' | 'proposed'): string {
  let place = 0
  return regions.map(region => (region.type === 'settled' ? region.text : region[choose(place++)])).join('')
}

export function blockDeleted(label: string, id: string): PalimpsestError {
  return new PalimpsestError(
    'BLOCK_DELETED',
    `Memory block '${label}' has since been deleted. Reject the proposal, restore the block, or give a body of your own.`,
    { proposal: id, label },
  )
}

/** Replaces a string literally. It must occur, and only once unless `all` is set. */
function replaceString(
  body: string,
  { old, new: replacement, all = false }: Extract<Operation, { type: 'replace' }>,
  label: string,
): string {
  const pieces = splitBy(body, old)
  const count = pieces.length - 1
  if (count === 0) {
    throw new PalimpsestError(
      'PATTERN_NOT_FOUND',
      `old_string not found in block '${label}'. Make sure you've read the block first and the text matches exactly (including whitespace and newlines).`,
      { label },
    )
  }
  if (count > 1 && !all) {
    throw new PalimpsestError(
      'MATCH_AMBIGUOUS',
      `old_string appears ${count} times in block '${label}'. Provide a larger unique string with more surrounding context, or set replace_all=True to replace all occurrences.`,
      { label, count },
    )
  }
  return pieces.join(replacement)
}

/** The body with Git's conflict marks, for an editor. */
function markConflicts(regions: readonly Region[]): string {
  return regions
    .map(region => {
      if (region.type === 'settled') return region.text
      const { now, base, proposed } = region
      return `<<<<<<< now\n${endingLine(now)}||||||| base\n${endingLine(base)}=======\n${endingLine(proposed)}>>>>>>> proposed\n`
    })
    .join('')
}

/** Lines with their line breaks, so that joining them gives the same text again. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}
