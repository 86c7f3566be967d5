import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Least, leastPerCall } from '../../bench/least.ts'
import { loadCounter, partTokens } from '../../src/model/tokens.ts'
import type { Message } from '../../src/model/types.ts'
import { prepareSession, type Recorded } from '../../src/replay/measure/policies.ts'
import * as fc from '../property.ts'

const count = await loadCounter()
const PRICES = { read: 0.1, write: 1.25, output: 5, ttl: 300_000 }

/** Calls that each run a command with different output; later ones repeat lines of earlier outputs. */
function sessionOf(steps: readonly { lines: number; repeats: readonly [number, number][] }[]): Recorded {
  const messages: Message[] = [{ role: 'user', at: 1000, parts: [{ type: 'text', text: 'go on' }] }]
  for (const [i, { lines, repeats }] of steps.entries()) {
    const quoted = repeats.filter(([step]) => step < i).map(([step, line]) => lineOf(step, line % steps[step]!.lines))
    const id = `call ${i}`
    const at = 2000 + i * 1000
    const input = { command: `run ${i}\n${quoted.join('\n')}` }
    messages.push({ role: 'assistant', at, parts: [{ type: 'tool-call', id, name: 'bash', input }] })
    const output = Array.from({ length: lines }, (_, line) => lineOf(i, line)).join('\n')
    messages.push({ role: 'tool', at: at + 500, parts: [{ type: 'tool-result', id, name: 'bash', output }] })
  }
  messages.push({ role: 'assistant', at: 900_000, parts: [{ type: 'text', text: 'done' }] })
  return prepareSession('made up', messages)
}

function lineOf(step: number, line: number): string {
  return `step ${step} gave ${`line ${line} of step ${step}, `.repeat(4)}nothing else`
}

async function sums(session: Recorded, least?: Least): Promise<{ cost: number; lost: number; total: number }> {
  const calls = await leastPerCall(session, PRICES, least)
  const total = [...session.evidence['quotes']!.quotes.values()].reduce((sum, found) => sum + found.length, 0)
  return {
    cost: calls.reduce((sum, call) => sum + call.cost, 0),
    lost: calls.reduce((sum, call) => sum + call.lost, 0),
    total,
  }
}

const steps = fc.array(
  fc.record({
    lines: fc.integer({ min: 1, max: 12 }),
    repeats: fc.array(fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 11 })), { maxLength: 3 }),
  }),
  { minLength: 2, maxLength: 10 },
)

test('the least view keeps the required share, and a smaller share never costs more', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.double({ min: 0, max: 1, noNaN: true }), fc.boolean(), async (made, keep, passages) => {
      const session = sessionOf(made)
      const whole = await sums(session, { passages })
      const part = await sums(session, { passages, keep })
      assert.equal(whole.lost, 0)
      assert.ok(part.total - part.lost >= keep * part.total)
      assert.ok(part.cost <= whole.cost + 1e-6)
    }),
    { numRuns: 60 },
  )
})

test('keeping passages never costs more than keeping their parts', async () => {
  await fc.assert(
    fc.asyncProperty(
      steps.map(made => made.map(step => ({ ...step, repeats: step.repeats.slice(0, 1) }))),
      async made => {
        const session = sessionOf(made)
        assert.ok((await sums(session, { passages: true })).cost <= (await sums(session)).cost + 1e-6)
      },
    ),
    { numRuns: 60 },
  )
})

test('the passage that costs more to keep is dropped first', async () => {
  const session = sessionOf([
    { lines: 40, repeats: [] },
    { lines: 1, repeats: [] },
    { lines: 1, repeats: [] },
    {
      lines: 1,
      repeats: [
        [0, 3],
        [1, 0],
      ],
    },
  ])
  const [whole, half] = [await leastPerCall(session, PRICES), await leastPerCall(session, PRICES, { keep: 0.5 })]
  const dear = session.evidence['quotes']!.sources.find(({ text }) => text.startsWith('step 0'))!
  assert.equal(half[3]!.lost, 1)
  assert.equal(whole[3]!.tokens - half[3]!.tokens, partTokens(dear.part, count))
  assert.equal(whole[1]!.tokens, half[1]!.tokens, 'what is new is shown whatever it costs')
})

test("reports of a client in the user's name need not be kept", async () => {
  const talk = (text: string): Message[] => [
    { role: 'user', at: 1000, parts: [{ type: 'text', text }] },
    { role: 'assistant', at: 2000, parts: [{ type: 'text', text: 'yes' }] },
    { role: 'user', at: 3000, parts: [{ type: 'text', text: 'and then?' }] },
    { role: 'assistant', at: 4000, parts: [{ type: 'text', text: 'done' }] },
  ]
  const said = await leastPerCall(prepareSession('said', talk('please look at the file')), PRICES)
  const report = '<system-reminder>please look at the file</system-reminder>'
  const reported = await leastPerCall(prepareSession('reported', talk(report)), PRICES)
  assert.equal(said[1]!.tokens - reported[1]!.tokens, count('please look at the file'))
})
