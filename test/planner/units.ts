/** The units of some messages, as a planner gets them. */
import type { Message } from '../../src/model/types.ts'
import { foldAll } from '../../src/view/fold.ts'
import { createUnits, extendUnits, type Unit } from '../../src/view/units.ts'
import { count } from '../laws/law.ts'

export function unitsOf(messages: readonly Message[]): Unit[] {
  const events = messages.map((message, seq) => ({ seq, at: 0, event: { type: 'entry' as const, message } }))
  const units = createUnits()
  extendUnits(units, foldAll(events, count))
  return units.all
}
