/**
 * The form in which a new part is first sent, where an edit costs no cache: what is above already becomes a pointer,
 * a huge output of a run is cut to head, tail and the lines that tell of errors. Everything that is shown in full can be
 * pointed to from then on.
 */
import { eachString } from '../model/leaves.ts'
import type { Fold } from '../view/fold.ts'
import type { Unit } from '../view/units.ts'
import { excerpt } from './excerpt.ts'
import { type Form, isOldText } from './forms.ts'
import type { Item, Items } from './items.ts'
import { withoutNumber } from './same-lines.ts'
import type { ThriftyOptions } from './tuning.ts'

/** With the lines that it shows, where these can be pointed to. */
type ArrivalForm = Pick<Form, 'mark' | 'tokens' | 'replacement'> & { lines?: (string | null)[] }

/** `undefined`: it is sent as it came. */
export function arrivalOf(item: Item, items: Items, fold: Fold, options: ThriftyOptions): ArrivalForm | undefined {
  const { unit, partClass } = item
  const { original } = unit
  if (original.type === 'tool-call' && partClass === 'input') items.lines.add(item, writtenLines(unit))
  if (original.type !== 'tool-result' || typeof original.output !== 'string') return undefined
  if (partClass === 'code' || partClass === 'doc') return pointed(item, original.output, items, fold, options)
  const isHuge = partClass === 'run' && original.output.length > options.runLimit
  const short = isHuge ? excerpt(original.output, options.runKeep) : undefined
  return short ? { mark: 'limit', replacement: short, tokens: fold.count(short) } : undefined
}

function pointed(
  item: Item,
  text: string,
  items: Items,
  { count }: Fold,
  { sameLines, minPointed }: ThriftyOptions,
): ArrivalForm | undefined {
  const raw = text.split('\n')
  const lines = raw.map(withoutNumber)
  const found = items.lines.point(raw, lines, sameLines, nameOf)
  const tokens = found ? count(found.text) : Number.POSITIVE_INFINITY
  if (!found || item.tokens - tokens < minPointed) {
    items.lines.add(item, lines)
    return undefined
  }
  for (const target of found.targets) items.pointTo(target, item)
  return { mark: 'same', replacement: found.text, tokens, lines: found.lines }
}

/** What was written is as good a copy as what is read back: the new text of an edit, line by line. */
function writtenLines({ original }: Unit): string[] {
  if (original.type !== 'tool-call') return []
  const patch = typeof original.input === 'string'
  const lines: string[] = []
  eachString(original.input, (text, key) => {
    if (!isOldText(key)) lines.push(...text.split('\n').map(line => (patch ? line.replace(/^[+ ]/, '') : line)))
  })
  return lines
}

function nameOf({ unit }: Item): string {
  const file = unit.call?.path?.split('/').at(-1) ?? ''
  return `${unit.tool ?? 'a result'} ${file}`.trim()
}
