import assert from 'node:assert/strict'
import { test } from 'node:test'
import { escapeXml, type Plot, type Point, shortNumber, toSvg } from '../../src/replay/plot.ts'

const plot = (points: Point[], name = 'thrifty'): Plot => ({
  title: 'Cost',
  description: 'Cost per call',
  panels: [{ x: { label: 'call' }, y: { label: 'tokens' }, series: [{ name, points }] }],
})

test('a plot has a description in words', () => {
  const svg = toSvg(
    plot([
      [1, 1],
      [2, 4],
    ]),
  )
  assert.match(svg, /role="img" aria-labelledby="plot-title plot-description"/)
  assert.match(svg, /<title id="plot-title">Cost<\/title>\n<desc id="plot-description">Cost per call<\/desc>/)
  assert.match(svg, /prefers-color-scheme:dark/)
})

test('a plot loads nothing', () => {
  const svg = toSvg(
    plot([
      [1, 1],
      [2, 4],
    ]),
  ).replace('http://www.w3.org/2000/svg', '')
  assert.doesNotMatch(svg, /https?:|<script|<image|@import|url\(/)
})

test('names are escaped', () => {
  const evil = '</text><script>alert("1")</script>&\u0000'
  const svg = toSvg({ ...plot([[1, 1]], evil), title: evil })
  assert.doesNotMatch(svg, /<script/)
  assert.ok(svg.includes(escapeXml(evil)))
  assert.equal(escapeXml('\u0001'), '\ufffd')
})

test('every tag that opens also closes', () => {
  const series = [
    {
      name: 'a',
      points: [
        [0, 0],
        [1, 2],
      ] as Point[],
      form: 'curve' as const,
      labels: ['x', 'y'],
    },
    { name: 'b', points: [[1, 1]] as Point[], form: 'points' as const },
    { name: 'c', points: [] as Point[] },
  ]
  const axis = { label: 'x' }
  const svg = toSvg({ title: 't', description: 'd', panels: [{ title: 'p', x: axis, y: axis, series }] })
  const open: string[] = []
  for (const [, close, name, self] of svg.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
    if (close) assert.equal(open.pop(), name)
    else if (!self) open.push(name!)
  }
  assert.deepEqual(open, [])
})

test('invalid numbers are left out, and one point is enough', () => {
  for (const points of [
    [],
    [[3, 5]],
    [
      [0, 0],
      [0, 0],
    ],
  ] as Point[][])
    assert.doesNotMatch(toSvg(plot(points)), /NaN|Infinity/)
})

test('a long series is thinned and keeps its highest point', () => {
  const points = Array.from({ length: 20_000 }, (_, i) => [i, i === 7777 ? 1000 : i % 10] as const)
  const svg = toSvg(plot(points))
  assert.ok(svg.length < 20_000, `${svg.length} characters`)
  const highest = Math.min(...[...svg.matchAll(/L[\d.]+ ([\d.]+)/g)].map(([, y]) => Number(y)))
  const flat = toSvg(plot(points.filter(([x]) => x !== 7777)))
  assert.ok(highest < 150 && flat !== svg)
})

test('the same data gives the same bytes', () => {
  assert.equal(
    toSvg(
      plot([
        [1, 2],
        [2, 3],
      ]),
    ),
    toSvg(
      plot([
        [1, 2],
        [2, 3],
      ]),
    ),
  )
})

test('large numbers are written in short form', () => {
  assert.deepEqual([0, 7, 0.25, 1234, 15_000, 2_500_000].map(shortNumber), ['0', '7', '0.25', '1.2k', '15k', '2.5M'])
})
