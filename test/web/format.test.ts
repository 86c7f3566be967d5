/** Money, times and counts in the words of the web UI. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ago, fewer, money, plural, price } from '../../web/src/ui/format.ts'

test('money has two decimals, and only nothing is $0.00', () => {
  assert.deepEqual([0, 0.004, 0.005, 1234.5, -0.3].map(money), ['$0.00', '<$0.01', '$0.01', '$1,234.50', '−$0.30'])
})

test('the price of a call has more decimals only below a cent', () => {
  assert.deepEqual([0, 0.0307, 0.01, 0.0049, 0.00025].map(price), ['$0.00', '$0.03', '$0.01', '$0.0049', '$0.000250'])
})

test('one thing is one thing, and nothing is a negative number fewer', () => {
  assert.equal(plural(1, 'call'), '1 call')
  assert.equal(plural(1200, 'call'), '1,200 calls')
  assert.deepEqual([44, -44, 1, 0.2].map(fewer), [
    '44 tokens fewer',
    '44 tokens more',
    '1 token fewer',
    'as many tokens as before',
  ])
})

test('a time in another year is short enough for its column: the month', () => {
  const now = Date.parse('2026-11-19T12:00:00')
  assert.equal(ago(now - 30_000, now), 'just now')
  assert.equal(ago(now - 3 * 86_400_000, now), '3 days ago')
  assert.equal(ago(Date.parse('2026-11-01T12:00:00'), now), 'Nov 1')
  assert.equal(ago(Date.parse('2025-04-30T12:00:00'), now), 'Apr 2025')
})
