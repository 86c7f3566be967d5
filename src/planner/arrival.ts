/**
 * Chooses the form in which a new part is first sent: an edit at this point breaks no cache. Blocks that are already in
 * view become pointers. A huge output of a run is cut to its head, its tail and the lines that report errors. Later
 * parts can point to every part that is shown in full.
 */
import { eachString } from '../model/leaves.ts'
import { addAll } from '../model/lists.ts'
import type { Fold } from '../view/fold.ts'
import type { Unit } from '../view/units.ts'
import { excerpt } from './excerpt.ts'
import { type Form, isOldText } from './forms.ts'
import type { Item, Items } from './items.ts'
import { withoutNumber } from './same-lines.ts'
import type { ThriftyOptions } from './tuning.ts'

/** `lines`: the lines that the form shows, if later parts can point to them. */
type ArrivalForm = Pick<Form, 'mark' | 'tokens' | 'replacement'> & { lines?: (string | null)[] }

/** The form of a new part; `undefined` when the part is sent unchanged. */
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

/** The lines of the new text of an edit. They are as good a copy as a later read of the file. */
function writtenLines({ original }: Unit): string[] {
  if (original.type !== 'tool-call') return []
  const patch = typeof original.input === 'string'
  const lines: string[] = []
  eachString(original.input, (text, key) => {
    if (isOldText(key)) return
    addAll(
      lines,
      text.split('\n').map(line => (patch ? line.replace(/^[+ ]/, '') : line)),
    )
  })
  return lines
}

function nameOf({ unit }: Item): string {
  const file = unit.call?.path?.split('/').at(-1) ?? ''
  return `${unit.tool ?? 'a result'} ${file}`.trim()
}
