/**
 * A lower bound for endless sessions: a planner that knows which passages will be quoted, and whose edits cost no
 * cache. It yields only sums per call, not views that can be sent.
 *
 * Everything is shown once, when it is new. Of the text sent before, users' words stay, and so does text that will
 * still be quoted: either whole parts, or only the passages themselves, which is less than any form of a part can show.
 * With `keep` under 1 it drops the most expensive passages: each stay of a part from one quoting call to the next has a
 * cost per passage that it saves, and the cheapest stays are taken until the share is reached. No other choice of stays
 * pays less, except by one stay. Of several copies of a passage only the newest is kept, and new text is shown in full.
 * A planner could do better in these two, so this is a bound for planners that do the same.
 */

import { isReport } from '../src/calls/requests.ts'
import { loadCounter, partTokens } from '../src/model/tokens.ts'
import type { Message } from '../src/model/types.ts'
import { TYPICAL_OVERHEAD } from '../src/providers/models.ts'
import { evidenceKey } from '../src/replay/measure/evidence.ts'
import type { Prices } from '../src/replay/measure/measure.ts'
import type { Recorded } from '../src/replay/measure/policies.ts'

export type Least = {
  /** Share of the passages that must be in view. */
  keep?: number
  /** Of old parts, only the passages that will be quoted are shown. */
  passages?: boolean
}

export type LeastCall = { tokens: number; cost: number; lost: number }

/** Something that can be kept for later calls: its tokens, the call it is first sent with, and the calls that quote it. */
type Keeper = { tokens: number; born: number; quotes: Map<number, number> }

/**
 * Keeping a text from one call that quotes it (or from its first call) to the next: the cost, and the number of quotes
 * saved.
 */
type Stay = { keeper: Keeper; from: number; to: number; cost: number; saves: number }

export async function leastPerCall(session: Recorded, prices: Prices, options: Least = {}): Promise<LeastCall[]> {
  const { keep = 1, passages = false } = options
  const { messages } = session
  const count = await loadCounter()
  const perToken = pricesPerCall(session, prices)
  const [old, fresh] = [perToken.map(() => TYPICAL_OVERHEAD), perToken.map(() => 0)]
  let call = 0
  for (const { role, parts } of messages) {
    if (role === 'assistant') call++
    if (call >= old.length) break
    for (const part of parts) fresh[call]! += partTokens(part, count)
    const words = role === 'user' ? wordsIn(parts, count) : 0
    for (let later = call + 1; words > 0 && later < old.length; later++) old[later]! += words
  }
  const { keepers, atOnce } = keepersOf(session, count, passages)
  const total = [...(session.evidence['quotes']?.quotes.values() ?? [])].reduce((sum, found) => sum + found.length, 0)
  const lost = perToken.map(() => 0)
  let kept = atOnce
  for (const { keeper, from, to, saves } of cheapestFirst(keepers, perToken)) {
    const stays = kept < keep * total
    if (stays) kept += saves
    for (let at = from + 1; at <= to; at++) {
      if (stays) old[at]! += keeper.tokens
      else lost[at]! += keeper.quotes.get(at) ?? 0
    }
  }
  return perToken.map((price, at) => ({
    tokens: old[at]! + fresh[at]!,
    cost: old[at]! * price + fresh[at]! * prices.write,
    lost: lost[at]!,
  }))
}

/** The user's own words; messages that a client writes in the user's name may be dropped. */
function wordsIn(parts: Message['parts'], count: (text: string) => number): number {
  const own = parts.filter(part => part.type !== 'text' || !isReport(part.text))
  return own.reduce((sum, part) => sum + partTokens(part, count), 0)
}

/** The cost of an earlier token in each call: a read, or a write if the cache is cold. */
function pricesPerCall({ messages }: Recorded, { read, write, ttl }: Prices): number[] {
  const found: number[] = []
  let answered = Number.NEGATIVE_INFINITY
  for (const [i, message] of messages.entries()) {
    if (message.role !== 'assistant') continue
    const at = messages[i - 1]?.at || message.at || 0
    found.push(at - answered > ttl ? write : read)
    answered = message.at || at
  }
  return found
}

/** The texts that can be kept, and the number of passages quoted from new text, which cost nothing. */
function keepersOf(
  { evidence }: Recorded,
  count: (text: string) => number,
  passages: boolean,
): { keepers: Keeper[]; atOnce: number } {
  const { sources, quotes } = evidence['quotes'] ?? { sources: [], quotes: new Map() }
  const keepers = new Map<string, Keeper>()
  let atOnce = 0
  for (const [call, found] of quotes) {
    for (const quote of found) {
      const { part, born } = sources[quote.sources.at(-1)!]!
      if (born >= call) {
        atOnce++
        continue
      }
      const name = passages ? `${evidenceKey(part)} ${quote.text}` : evidenceKey(part)!
      const known = keepers.get(name)
      const keeper = known ?? {
        tokens: passages ? count(quote.text) : partTokens(part, count),
        born,
        quotes: new Map(),
      }
      keepers.set(name, keeper)
      keeper.quotes.set(call, (keeper.quotes.get(call) ?? 0) + 1)
    }
  }
  return { keepers: [...keepers.values()], atOnce }
}

/** Every stay that can be worth it, those first that cost least for each passage; of one keeper the earlier is the cheaper. */
function cheapestFirst(keepers: readonly Keeper[], perToken: readonly number[]): Stay[] {
  const until = [0]
  for (const price of perToken) until.push(until.at(-1)! + price)
  const stays = keepers.flatMap(keeper => {
    const own: Stay[] = []
    let from = keeper.born
    for (const [to, saves] of [...keeper.quotes].sort(([a], [b]) => a - b)) {
      let stay: Stay = { keeper, from, to, cost: keeper.tokens * (until[to + 1]! - until[from + 1]!), saves }
      // A stay that is cheaper than the one before it is never taken without that one, so the two are merged.
      while (own.length > 0 && dearness(own.at(-1)!) >= dearness(stay)) stay = joined(own.pop()!, stay)
      own.push(stay)
      from = to
    }
    return own
  })
  return stays.sort((a, b) => dearness(a) - dearness(b))
}

function joined(a: Stay, b: Stay): Stay {
  return { keeper: a.keeper, from: a.from, to: b.to, cost: a.cost + b.cost, saves: a.saves + b.saves }
}

function dearness({ cost, saves }: Stay): number {
  return cost / saves
}
