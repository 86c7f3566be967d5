import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenFit } from '../../src/providers/token-fit.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import * as fc from '../property.ts'

test('scale and overhead are found from any growing session', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0.6, max: 2.5, noNaN: true }),
      fc.integer({ min: 100, max: 40_000 }),
      fc.array(fc.integer({ min: -3000, max: 4000 }), { minLength: 8, maxLength: 40 }),
      (scale, overhead, steps) => {
        const fit = new TokenFit()
        let [ours, grown] = [1000, 0]
        for (const [i, step] of [0, ...steps].entries()) {
          const before = ours
          ours = Math.max(1000, ours + step)
          if (i > 0) grown += Math.max(0, ours - before)
          fit.note({ input: overhead, cacheRead: ours * scale, model: 'one' }, ours)
        }
        if (grown < 5000) return assert.equal(fit.scale, undefined)
        assert.ok(Math.abs(fit.scale! - scale) < 0.001, `${fit.scale} instead of ${scale}`)
        assert.ok(Math.abs(fit.overhead(1)! - overhead) < 60)
      },
    ),
  )
})

test('another model has another tokenizer', () => {
  const fit = new TokenFit()
  for (const ours of [1000, 5000, 9000]) fit.note({ input: ours * 1.5, model: 'one' }, ours)
  assert.equal(fit.scale, 1.5)
  fit.note({ input: 9500, model: 'two' }, 9500)
  assert.equal(fit.scale, undefined)
})

test("a session plans with the scale from the provider's reports, and records its first estimate", async () => {
  await using pal = await openPalimpsest({ home: ':memory:' })
  const session = await pal.session('one', { model: 'claude-opus-5-5' })
  const text = (n: number) => Array.from({ length: 300 }, (_, i) => `line ${i} of part ${n} says something`).join('\n')
  for (let n = 0; n < 4; n++) {
    await session.append({ role: 'user', parts: [{ type: 'text', text: text(n) }] })
    const { tokens } = await session.view()
    await session.append({ role: 'assistant', parts: [{ type: 'text', text: 'Yes.' }] })
    await session.reportUsage({ input: 700 + Math.round(tokens * 2), model: 'claude-opus-5-5' })
  }
  const said = (await session.events()).flatMap(({ event }) => (event.type === 'decision' ? [event.text] : []))
  const told = said.filter(sentence =>
    sentence.startsWith('The estimate was 1.44 tokens of the provider per token of ours.'),
  )
  assert.equal(told.length, 1)
  assert.match(told[0]!, /reports 2\.0\d/)
})
