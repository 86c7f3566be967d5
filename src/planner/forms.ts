/**
 * The shorter forms that a part can take once the model has seen it, from the mildest to a stub, each with the quotes
 * that it puts at risk. A stub says who cleared the part and how to get it back, and keeps the outcome of a run.
 */

import { mapStrings, textOf } from '../model/leaves.ts'
import { amount, headOf, lineAt, linesIn } from '../model/text.ts'
import type { Counter } from '../model/tokens.ts'
import type { Replacement, ToolCallPart, ToolResultPart } from '../model/types.ts'
import { isSigned } from '../view/legality.ts'
import type { SERVER } from '../view/server-clears.ts'
import { partId } from '../view/shown-texts.ts'
import type { Unit } from '../view/units.ts'
import { cutMiddle, excerpt, firstTelling } from './excerpt.ts'
import {
  ABOUT_CHARS,
  CALL_INPUT_KEEP,
  EDIT_INPUT_KEEP,
  type Keep,
  LOOK_SHARE,
  MIN_INPUT_CHARS,
  OUTCOME_CHARS,
  type PartClass,
  TEXT_INPUT_KEEP,
} from './tuning.ts'

/**
 * `server`: cleared by the provider itself; `look`: an excerpt of a run's output; `stub`: one line; `old`: the old text
 * of an edit is cut; `input`: all long strings are cut.
 */
export type Mark = 'look' | 'stub' | 'old' | 'input' | 'same' | 'limit' | 'reasoning' | typeof SERVER

export type Form = {
  mark: Mark
  replacement: Replacement
  tokens: number
  /** The class of the text that this form loses, and the share of that loss that counts. */
  loses: PartClass | undefined
  share: number
}

/** `recallWith`: as in PlanContext. */
type FormOptions = { lookKeep: Keep; recallWith?: string | false | undefined }

const NEVER: Form[] = []

export function formsOf(unit: Unit, partClass: PartClass | undefined, count: Counter, options: FormOptions): Form[] {
  const { original } = unit
  if (original.type === 'reasoning') {
    return [{ mark: 'reasoning', replacement: null, tokens: 0, loses: undefined, share: 0 }]
  }
  if (!partClass) return NEVER
  if (original.type === 'tool-result') return resultForms(unit, original, partClass, count, options)
  if (original.type === 'tool-call' && !isSigned(original)) return inputForms(original, partClass, count)
  return NEVER
}

function resultForms(
  unit: Unit,
  original: ToolResultPart,
  partClass: PartClass,
  count: Counter,
  { lookKeep, recallWith }: FormOptions,
): Form[] {
  const forms: Form[] = []
  const text = textOf(original)
  const short = partClass === 'run' ? excerpt(text, lookKeep) : undefined
  if (short) forms.push({ mark: 'look', replacement: short, tokens: count(short), loses: partClass, share: LOOK_SHARE })
  const stub = stubOf(unit, original, { partClass, text, recallWith })
  forms.push({ mark: 'stub', replacement: stub, tokens: count(stub), loses: partClass, share: 1 })
  return forms
}

/** The smallest share of a loss that counts in any form of a result. */
export function leastShare(partClass: PartClass): number {
  return partClass === 'run' ? LOOK_SHARE : 1
}

type Told = { partClass: PartClass; text: string; recallWith?: string | false | undefined }

function stubOf(unit: Unit, original: ToolResultPart, { partClass, text, recallWith = 'recall' }: Told): string {
  const shown = text.trimEnd()
  const what = `${unit.tool ?? original.name} ${about(unit)}`.trim()
  const back = recallWith === false ? '' : `; ${recallWith} ${partId(unit.entry, unit.part, original)}`
  const stub = `[cleared by context manager: ${what}, ${amount(Math.max(1, linesIn(shown)), 'line')}${back}]`
  if (partClass !== 'run') return stub
  const last = headOf(lineAt(shown, shown.length).trim(), OUTCOME_CHARS)
  const telling = headOf(firstTelling(shown).trim(), OUTCOME_CHARS)
  return [stub, ...(telling && telling !== last ? [telling] : []), ...(last ? [last] : [])].join('\n')
}

/** The subject of a call in a few words: a path, a pattern or a command. */
export function about({ call }: Unit): string {
  const what = call?.path ?? call?.query ?? call?.command ?? ''
  return what.replace(/\s+/g, ' ').slice(-ABOUT_CHARS)
}

/**
 * Shortened inputs keep the same keys. The first form cuts the text that an edit replaced, the second cuts every long
 * string.
 */
function inputForms({ input }: ToolCallPart, partClass: PartClass, count: Counter): Form[] {
  if (typeof input === 'string') {
    const short = excerpt(input, TEXT_INPUT_KEEP)
    return short
      ? [{ mark: 'input', replacement: { input: short }, tokens: count(short), loses: partClass, share: 1 }]
      : NEVER
  }
  if (input === null || typeof input !== 'object') return NEVER
  const size = JSON.stringify(input).length
  const forms: Form[] = []
  const add = (mark: Mark, loses: PartClass, change: (text: string, key: string) => string) => {
    const shorter = mapStrings(input, change)
    const text = JSON.stringify(shorter)
    if (text.length >= size - MIN_INPUT_CHARS) return
    forms.push({ mark, replacement: { input: shorter }, tokens: count(text), loses, share: 1 })
  }
  if (partClass === 'input') {
    add('old', 'old', (text, key) => (isOldText(key) ? cutMiddle(text, EDIT_INPUT_KEEP) : text))
    add('input', partClass, text => cutMiddle(text, EDIT_INPUT_KEEP))
  } else add('input', partClass, text => cutMiddle(text, CALL_INPUT_KEEP))
  return forms
}

/** Whether edit tools use this name for the text that they replace. That text is gone from the file after the edit. */
export function isOldText(key: string): boolean {
  return /^old_?(str(ing)?|text)?$/i.test(key)
}

/** From mild to strong: a part only ever moves to a stronger form. */
const STRENGTH: Record<Mark, number> = {
  same: 1,
  limit: 1,
  look: 2,
  old: 2,
  input: 3,
  stub: 3,
  reasoning: 3,
  server: 4,
}

/** Whether a form is stronger than the present form of a part; without a mark the part is whole. */
export function isStronger(mark: Mark, present: Mark | undefined): boolean {
  return present === undefined || STRENGTH[mark] > STRENGTH[present]
}

export function isMark(mark: string | undefined): mark is Mark {
  return mark !== undefined && Object.hasOwn(STRENGTH, mark)
}
