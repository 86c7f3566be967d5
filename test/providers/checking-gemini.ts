/**
 * A Gemini that bills, as a script for gemini-upstream.ts, which checks signatures and turns: it caches by itself, finds
 * the longest common beginning again for some minutes, and charges more above the band of the whole prompt.
 */
import type { Received, Turn } from '../upstream.ts'
import { type Bill, charge, emptyBill, hashOf, PRICES, PrefixCache, sizeOf } from './billing.ts'

const LIFETIME = 5 * 60_000
const MINIMUM = 4096

export function checkingGemini(
  answer: (received: Received, index: number) => Turn,
  { clock = Date.now }: { clock?: () => number } = {},
): { script: (received: Received, index: number) => Turn; bill: Bill } {
  const cache = new PrefixCache(clock)
  const bill = emptyBill()
  const script = (received: Received, index: number): Turn => {
    const turn = answer(received, index)
    if (turn.error) return turn
    const { contents, systemInstruction, tools } = received.json
    const model = /\/models\/([^/:]+):/.exec(received.path)![1]!
    let hash = hashOf(model)
    let total = 0
    let cacheRead = 0
    for (const part of [[systemInstruction ?? '', tools ?? []], ...contents]) {
      hash = hashOf(hash, part)
      total += sizeOf(part)
      if (total >= MINIMUM && cache.read(hash)) cacheRead = total
      cache.write(hash, LIFETIME)
    }
    const output = sizeOf([turn.text ?? '', turn.calls ?? []])
    const used = { input: total - cacheRead, cacheRead, cacheWrite: 0, cacheWriteLong: 0, output }
    charge(bill, used, PRICES[model]!)
    return { ...turn, usage: used }
  }
  return { script, bill }
}
