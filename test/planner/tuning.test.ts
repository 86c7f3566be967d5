/** The knob and the prices that it sets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEEP_LEVELS, keepFactor, MAX_KEEP, quotePrice } from '../../src/planner/tuning.ts'
import * as fc from '../property.ts'

test('the knob is one of five words, in order, or a number', () => {
  const words = ['least', 'less', 'normal', 'more', 'most'] as const
  assert.deepEqual(Object.keys(KEEP_LEVELS), words)
  const factors = words.map(keepFactor)
  assert.deepEqual(
    factors,
    factors.toSorted((a, b) => a - b),
  )
  assert.equal(keepFactor('normal'), 1)
  for (const number of [0.01, 1, 2.5, MAX_KEEP]) assert.equal(keepFactor(number), number)
  for (const wrong of [0, -1, MAX_KEEP + 1, Number.NaN, 'much' as never]) {
    assert.throws(() => keepFactor(wrong), { code: 'CONFIG_INVALID', message: /least, less, normal, more, most/ })
  }
})

test('losing a quote costs more with a higher `quote`, and less if breaking the cache is expensive', () => {
  const price = fc.double({ min: 0.01, max: 1, noNaN: true })
  const quote = fc.integer({ min: 1, max: 1_000_000 })
  fc.assert(
    fc.property(price, price, quote, quote, (read, more, one, other) => {
      const model = { read, write: read + more }
      assert.ok(quotePrice(Math.max(one, other), model) >= quotePrice(Math.min(one, other), model))
      // Relative to fetching it again, which grows with the price of a write.
      const perQuote = (write: number) => quotePrice(one + 1, { read, write }) - quotePrice(one, { read, write })
      assert.ok(perQuote(model.write) <= 1 + 1e-6)
      assert.ok(perQuote(model.write * 2) <= perQuote(model.write) + 1e-6)
    }),
  )
  const cheap = { read: 0.5, write: 0.5 }
  assert.equal(quotePrice(101, cheap) - quotePrice(100, cheap), 1, 'where nothing is lost by breaking it')
})
