/** The status line of a session: how full the window is, what the cache saved, what it cost. Pure. */
import type { ContextUse } from '../../agent/events.ts'
import { amount } from '../../model/text.ts'
import { type Line, type Look, span } from '../terminal/spans.ts'

export type Standing = { context?: ContextUse; cost: number; steps?: number }

const BAR = 12

export function statusLine({ context, cost, steps }: Standing): Line {
  const parts: string[] = []
  const bar: Line = context ? [...barOf(context.tokens / context.window, BAR), span(' ')] : []
  if (context) {
    parts.push(`${percent(context.tokens / context.window)} of ${short(context.window)}`)
    parts.push(`${percent(context.tokens > 0 ? context.cached / context.tokens : 0)} cached`)
  }
  parts.push(dollars(cost))
  if (steps !== undefined) parts.push(amount(steps, 'step'))
  return [...bar, span(parts.join(' · '), 'dim')]
}

/** A bar that turns yellow and then red as it fills. */
export function barOf(share: number, width: number, look?: Look): Line {
  const full = Math.min(width, Math.max(share > 0 ? 1 : 0, Math.round(share * width)))
  const tone = look ?? (share > 0.9 ? 'red' : share > 0.7 ? 'yellow' : 'green')
  return [span('█'.repeat(full), tone), span('░'.repeat(width - full), 'dim')]
}

export function percent(share: number): string {
  return `${Math.round(Math.min(1, Math.max(0, share)) * 100)}%`
}

export function dollars(sum: number): string {
  return sum === 0 ? '$0' : `$${sum.toFixed(sum < 0.1 ? 4 : 2)}`
}

export function short(tokens: number): string {
  if (tokens < 1000) return `${Math.round(tokens)}`
  const [size, unit] = tokens < 1_000_000 ? [tokens / 1000, 'k'] : [tokens / 1_000_000, 'M']
  return `${size.toFixed(size < 100 && size % 1 >= 0.05 ? 1 : 0)}${unit}`
}
