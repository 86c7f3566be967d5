/**
 * Folding: the oldest steps become a compact log, one line each, with everything that users said left word for
 * word. This is what keeps an endless session under its window: clearing results alone does not, because calls and
 * text grow too. A fold is a range edit like any other; the originals are found by recall and come back by undo.
 *
 * Folds stand side by side. When there are many, one fold around all of them keeps the newest lines of the log; and when
 * the window is full, the first request whole and the other old ones shortened.
 */
import { textOf } from '../leaves.ts'
import { isBlank } from '../legality.ts'
import type { Message } from '../types.ts'
import type { Unit } from '../units.ts'
import { cutMiddle } from './excerpt.ts'
import { about } from './forms.ts'
import { textMessage } from './policy.ts'

export const FOLD_HEADER = '[Earlier steps, folded: a record, not a request. recall finds the originals]'

const WIDEST = 100
/** Paths are kept whole: an agent that must guess the rest of one gets it wrong. */
const LONGEST_PATH = 200
/** Lines of all logs together; older ones are counted, not kept. */
export const MOST_LINES = 200
const OLDER = /^\((\d+) older steps\)$/

/** How each call went, in a word or two, by the call's id. */
export type Outcomes = ReadonlyMap<string, string>

/** The messages that stand for some units: users' own words whole and in place, a log of the rest between them. */
export function foldMessages(units: readonly Unit[], outcomes: Outcomes): Message[] {
  const chunks: Chunk[] = []
  for (const unit of units) {
    const { original, role } = unit
    if (isBlank(original)) continue
    if (role === 'user' || role === 'system') chunks.push({ said: { role, parts: [original] } })
    else {
      const line = lineOf(unit, outcomes)
      if (line) chunks.push({ lines: [line] })
    }
  }
  return toMessages(chunks)
}

/** One fold for several: the newest lines of their logs. Under pressure old requests are shortened too, but the first. */
export function mergeFolds(messages: readonly Message[], pressure: boolean): Message[] {
  const chunks = messages.map(toChunk)
  const steps = chunks.flatMap(chunk => ('lines' in chunk ? chunk.lines.filter(line => !OLDER.test(line)) : []))
  let spare = steps.length - MOST_LINES
  let gone = 0
  let first = true
  const shorter = chunks.map(chunk => {
    if ('said' in chunk) {
      const whole = first
      first = false
      return whole || !pressure ? chunk : { said: shorten(chunk.said) }
    }
    const lines = chunk.lines.filter(line => {
      const older = OLDER.exec(line)
      if (older) gone += Number(older[1])
      else if (spare > 0) gone++
      return !older && spare-- <= 0
    })
    return { lines }
  })
  return toMessages(
    gone > 0 ? [...shorter.slice(0, 1), { lines: [`(${gone} older steps)`] }, ...shorter.slice(1)] : shorter,
  )
}

/** How many steps the logs among some messages tell of. */
export function logLines(messages: readonly Message[]): number {
  return messages.map(toChunk).reduce((count, chunk) => count + ('lines' in chunk ? chunk.lines.length : 0), 0)
}

type Chunk = { said: Message } | { lines: string[] }

function toChunk(message: Message): Chunk {
  const text = message.parts.map(textOf).join('\n')
  return text.startsWith(FOLD_HEADER) ? { lines: text.split('\n').slice(1) } : { said: message }
}

function toMessages(chunks: readonly Chunk[]): Message[] {
  const messages: Message[] = []
  let log: string[] = []
  const flush = () => {
    if (log.length > 0) messages.push(textMessage('user', [FOLD_HEADER, ...log].join('\n')))
    log = []
  }
  for (const chunk of chunks) {
    if ('lines' in chunk) log.push(...chunk.lines)
    else {
      flush()
      messages.push(chunk.said)
    }
  }
  flush()
  return messages
}

function shorten(message: Message): Message {
  const parts = message.parts.map(part =>
    part.type === 'text' ? { ...part, text: cutMiddle(part.text, 300, 100) } : part,
  )
  return { ...message, parts }
}

function lineOf(unit: Unit, outcomes: Outcomes): string | undefined {
  const { original, call } = unit
  if (original.type === 'tool-call') {
    const outcome = outcomes.get(original.id)
    const intent = call?.intent ? ` (${call.intent})` : ''
    const what = call?.path?.slice(-LONGEST_PATH) ?? call?.command?.slice(0, WIDEST) ?? about(unit)
    const line = `- ${original.name} ${what}${outcome ? ` → ${outcome}` : ''}${intent}`
    return line.replace(/\s+/g, ' ').slice(0, call?.path ? WIDEST + LONGEST_PATH : 2 * WIDEST)
  }
  if (original.type !== 'text') return undefined
  const line = original.text.trim().split('\n')[0]
  return line ? `- ${line.slice(0, WIDEST)}` : undefined
}
