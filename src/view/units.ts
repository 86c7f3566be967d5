/**
 * The parts of a session as policies see them: the kind of each part, the call that made it, its age and its size.
 *
 * Units are made once, when an entry is new; a policy keeps the units it needs and never looks at the whole session
 * again. Parts of entries that were hidden before the session was opened have no unit.
 */

import { CallBook } from '../calls/call-book.ts'
import type { CallInfo, ToolTable } from '../calls/tool-kinds.ts'
import { charsIn, textOf } from '../model/leaves.ts'
import { partTokens } from '../model/tokens.ts'
import type { Message, Part } from '../model/types.ts'
import type { Fold } from './fold.ts'

export type Unit = {
  entry: number
  part: number
  role: Message['role']
  original: Part
  /** The number of model calls that were made before this part. */
  turn: number
  at: number
  /** For tool calls and results: the tool, the call's id and what it does. */
  tool?: string
  callId?: string
  call?: CallInfo
  chars: number
}

export type Units = {
  readonly all: Unit[]
  /** The number of entries processed. */
  entries: number
  turn: number
  readonly calls: CallBook
}

export function createUnits(tools?: ToolTable): Units {
  return { all: [], entries: 0, turn: 0, calls: new CallBook(tools) }
}

/** Makes units for the new entries; returns the index in `all` of the first new unit. */
export function extendUnits(units: Units, fold: Fold): number {
  const first = units.all.length
  for (; units.entries < fold.entries.length; units.entries++) {
    const { message, role, at } = fold.entries[units.entries]!
    message?.parts.forEach((original, part) => {
      units.all.push(toUnit(units, original, { entry: units.entries, part, role, at }))
    })
    if (role === 'assistant') units.turn++
  }
  return first
}

/** Tokens of the original; counted on first use. */
export function unitTokens(unit: Unit, fold: Fold): number {
  return partTokens(unit.original, fold.count)
}

export function unitText(unit: Unit): string {
  return textOf(unit.original)
}

type Place = Pick<Unit, 'entry' | 'part' | 'role' | 'at'>

function toUnit(units: Units, original: Part, { entry, part, role, at }: Place): Unit {
  const { turn } = units
  const chars = charsIn(original)
  const unit: Unit = {
    entry,
    part,
    role,
    original,
    turn,
    at,
    tool: undefined,
    callId: undefined,
    call: undefined,
    chars,
  }
  if (original.type === 'tool-call') {
    unit.tool = original.name
    unit.callId = original.id
    unit.call = units.calls.call(original)
  } else if (original.type === 'tool-result') {
    const { name, info } = units.calls.result(original)
    unit.tool = name
    unit.callId = original.id
    unit.call = info
  }
  return unit
}
