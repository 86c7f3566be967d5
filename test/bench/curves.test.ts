import assert from 'node:assert/strict'
import { test } from 'node:test'
import { costAt, frontier, gapsTo } from '../../bench/curves.ts'
import type { Result } from '../../bench/replay.ts'
import * as fc from '../property.ts'

const share = fc.double({ min: 0, max: 1, noNaN: true })
const points = fc.array(fc.record({ evidence: share, cost: share }), { minLength: 1, maxLength: 12 })

test('no other point is better than one on the frontier', () => {
  fc.assert(
    fc.property(points, given => {
      const kept = frontier(given)
      for (const [i, point] of kept.slice(1).entries()) {
        assert.ok(point.evidence >= kept[i]!.evidence)
        assert.ok(point.cost >= kept[i]!.cost)
      }
      for (const { evidence, cost } of given) assert.ok(costAt(kept, evidence) <= cost + 1e-9)
    }),
  )
})

test('along a frontier, more evidence never costs less', () => {
  fc.assert(
    fc.property(points, share, share, (given, a, b) => {
      const kept = frontier(given)
      assert.ok(costAt(kept, Math.min(a, b)) <= costAt(kept, Math.max(a, b)) + 1e-9)
    }),
  )
})

test('a peer with lower cost for the same evidence is outside the frontier, one with higher cost is not', () => {
  const results = [
    result('thrifty', 'a', 0.9, 0.6),
    result('thrifty', 'b', 0.98, 0.8),
    result('peer', 'cheap', 0.94, 0.65),
    result('peer', 'dear', 0.94, 0.75),
  ].map((each, i) => ({ ...each, policy: i < 2 ? 'thrifty' : `peer ${i}` }))
  const gaps = gapsTo(results)
  assert.deepEqual(
    gaps.map(({ setting, gap }) => [setting, gap < 0]),
    [
      ['cheap', true],
      ['dear', false],
    ],
  )
  assert.ok(Math.abs(gaps[0]!.ours - 0.7) < 1e-9)
})

test('a peer that fits the window is compared with settings that fit it, another peer with all', () => {
  const results = [
    result('thrifty', 'a', 0.9, 0.6),
    { ...result('thrifty', 'any window', 1, 0.9), fits: false },
    { ...result('peer', 'passes', 1, 0.95), policy: 'passes', fits: false },
    { ...result('peer', 'fits', 1, 0.95), policy: 'fits' },
  ]
  assert.deepEqual(
    gapsTo(results).map(({ setting, ours }) => [setting, ours]),
    [
      ['fits', 1],
      ['passes', 0.9],
    ],
  )
})

test('the line between two settings of a peer is compared too', () => {
  const results = [
    result('thrifty', 'a', 0.9, 0.7),
    result('peer', 'left', 0.8, 0.71),
    result('peer', 'right', 0.9, 0.71),
  ]
  assert.deepEqual(
    gapsTo(results)
      .map(({ setting }) => setting)
      .toSorted(),
    ['between left and right', 'left', 'right'],
  )
})

function result(kind: Result['kind'], setting: string, evidence: number, effectiveShare: number): Result {
  return {
    policy: kind,
    kind,
    setting,
    evidence,
    effectiveShare,
    source: '',
    robust: {},
    fits: true,
    sessions: 1,
    calls: 1,
    tokens: 1,
    cost: 1,
    effective: 1,
    sentShare: 1,
    costShare: 1,
    worst: 1,
    busts: 0,
    refetches: 0,
    peak: 1,
    said: 1,
    reasoningLost: 0,
  }
}
