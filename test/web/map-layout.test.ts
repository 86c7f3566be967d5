/** The positions of the bars of the context map. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Bar, ContextMap } from '../../web/src/api-types.ts'
import { boxAt, layoutMap, spanOf, totalsOf } from '../../web/src/pages/session/map-layout.ts'
import { thin } from '../../web/src/ui/plot-points.ts'
import * as fc from '../property.ts'

function barOf(entry: number, raw: number, shown: number, kind = 'read'): Bar {
  const edits = raw === shown ? [] : ['e1']
  const common = { role: 'tool' as const, type: 'tool-result', label: '', pinned: false }
  return { entry, part: 0, to: entry, parts: 1, kind, raw, shown, edits, ...common }
}

function mapOf(bars: Bar[], rest: Partial<ContextMap> = {}): ContextMap {
  const total = (key: 'raw' | 'shown') => bars.reduce((sum, bar) => sum + bar[key], 0)
  return {
    session: 's',
    length: 1,
    at: null,
    time: 0,
    calls: 1,
    entries: bars.length,
    window: 1000,
    marks: [],
    overhead: 0,
    cached: 0,
    cold: false,
    tokens: { raw: total('raw'), shown: total('shown') },
    scale: 1,
    bars,
    ...rest,
  }
}

const sizes = fc.array(fc.tuple(fc.nat(5000), fc.nat(5000)), { minLength: 1, maxLength: 60 })

test('bars follow each other without gaps, inside the width, in both rows', () => {
  fc.assert(
    fc.property(sizes, fc.integer({ min: 1, max: 2000 }), fc.nat(3000), (pairs, width, overhead) => {
      const bars = pairs.map(([raw, shown], i) => barOf(i, raw, shown))
      const { boxes, scale } = layoutMap(mapOf(bars, { overhead }), width)
      assert.equal(boxes.length, bars.length)
      for (const row of ['raw', 'shown'] as const) {
        let at = overhead * scale
        for (const box of boxes) {
          assert.ok(Math.abs(box[row].x - at) < 1e-6)
          at += box[row].width
        }
        assert.ok(at <= width + 1e-6)
      }
    }),
  )
})

test('the bar at a position is the one that was drawn there', () => {
  fc.assert(
    fc.property(sizes, pairs => {
      const layout = layoutMap(mapOf(pairs.map(([raw, shown], i) => barOf(i, raw + 1, shown + 1))), 10_000)
      assert.equal(layout.boxes.length, pairs.length)
      for (const box of layout.boxes) {
        for (const row of ['raw', 'shown'] as const) {
          assert.equal(boxAt(layout, row, box[row].x + box[row].width / 2)?.bar.entry, box.bar.entry)
        }
      }
    }),
  )
})

test('nothing is found before the first bar or after the last', () => {
  const layout = layoutMap(mapOf([barOf(0, 50, 10)], { overhead: 50 }), 100)
  assert.equal(boxAt(layout, 'raw', 20), undefined)
  assert.equal(boxAt(layout, 'shown', 90), undefined)
  assert.equal(boxAt(layout, 'raw', 75)?.bar.entry, 0)
})

test('the limit is drawn only if the bars reach it, and the cached prefix never beyond the shown tokens', () => {
  assert.equal(layoutMap(mapOf([barOf(0, 500, 100)]), 100).limit, undefined)
  assert.equal(layoutMap(mapOf([barOf(0, 2000, 100)]), 100).limit, 50)
  assert.equal(layoutMap(mapOf([barOf(0, 100, 50)], { cached: 900 }), 100).cached, 50)
})

test('entries on the screen become one span', () => {
  const layout = layoutMap(mapOf([barOf(0, 10, 10), barOf(1, 20, 20), barOf(2, 70, 70)]), 100)
  assert.deepEqual(spanOf(layout, 1, 1), { x: 10, width: 20 })
  assert.deepEqual(spanOf(layout, 1, 9), { x: 10, width: 90 })
  assert.equal(spanOf(layout, 7, 9), undefined)
})

test('tokens are added up by kind, the largest first', () => {
  const bars = [
    barOf(0, 10, 10, 'user'),
    barOf(1, 30, 5, 'shell-read'),
    barOf(2, 40, 5, 'read'),
    barOf(3, 1, 1, 'new kind'),
  ]
  assert.deepEqual(totalsOf(bars), [
    { group: 'read', raw: 70, shown: 10 },
    { group: 'user', raw: 10, shown: 10 },
    { group: 'other', raw: 1, shown: 1 },
  ])
})

test('a thinned series keeps its order, its peak, and no more points than pixels', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(1000), { minLength: 1, maxLength: 500 }),
      fc.integer({ min: 1, max: 200 }),
      (values, pixels) => {
        const points = thin(values, pixels)
        assert.ok(points.length <= Math.max(pixels, 1) + 1)
        assert.equal(Math.max(...points.map(([, value]) => value)), Math.max(...values))
        for (const [i, [place, value]] of points.entries()) {
          assert.equal(values[place], value)
          if (i > 0) assert.ok(place > points[i - 1]![0])
        }
      },
    ),
  )
})
