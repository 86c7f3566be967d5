import assert from 'node:assert/strict'
import { test } from 'node:test'
import { patternsIn, verdictOn } from '../scripts/check-patterns.ts'

test('the check finds quadratic, cubic and exponential patterns, even after lookarounds', async () => {
  for (const source of ['\\s+$', '(a|aa)+b', '^(a+)+$', '\\s*[\\r\\n]\\s*', '(?!b)\\s+#.*$'])
    assert.match(await verdictOn({ source, flags: '' }), /polynomial|exponential/, source)
  assert.equal(await verdictOn({ source: '^\\s*#', flags: '' }), '')
})

test('the check reads literals everywhere and refuses patterns that are built in a function', () => {
  const code =
    'const a = /x+/g\nfunction f(s: string) {\n  return [/y/.test(s), new RegExp(s)]\n}\nconst b = new RegExp(a)'
  const { found, refused, builds } = patternsIn('src/a.ts', code)
  assert.deepEqual(
    found.map(({ where, source, flags }) => `${where} ${source} ${flags}`),
    ['src/a.ts:1 x+ g', 'src/a.ts:3 y '],
  )
  assert.equal(refused.length, 1)
  assert.match(refused[0]!, /src\/a\.ts:3/)
  assert.ok(builds)
})
