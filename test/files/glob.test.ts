import assert from 'node:assert/strict'
import { matchesGlob } from 'node:path'
import { test } from 'node:test'
import { readGlob } from '../../src/files/glob.ts'
import { globFilter } from '../../src/files/walk.ts'
import * as fc from '../property.ts'

const joined = (of: fc.Arbitrary<string>, by: string) =>
  fc.array(of, { minLength: 1, maxLength: 4 }).map(pieces => pieces.join(by))
const isName = (name: string) => name !== '.' && name !== '..' && !/(?<!\*)\*\*(?!\*)/.test(name)
const path = joined(joined(fc.constantFrom('a', 'b', 'c', '.', 'ab', '-', '!'), '').filter(isName), '/')
const groups = ['[ab]', '[!a]', '[^a]', '[a-b]', '[!a-c]', '[a-]', '[-b]', '[abd]', '[b!]']
const name = joined(fc.constantFrom('a', 'b', '.', '*', '***', '?', '{a,b}', '{ab,ba}', ...groups), '')
const glob = joined(fc.oneof(name.filter(isName), fc.constant('**')), '/')

// After two globstars, Node's matcher finds no name with an initial dot, even if the dot is in the glob.
const isMisread = (path: string, glob: string) =>
  glob.split('/').filter(name => name === '**').length > 1 && /(?:^|\/)\./.test(path)

test('globs match the same paths as in Node', () => {
  let [tried, fitting] = [0, 0]
  fc.assert(
    fc.property(path, glob, (path, glob) => {
      const expected = matchesGlob(path, glob)
      fc.pre(expected || !isMisread(path, glob))
      assert.equal(readGlob(glob)(path), expected)
      tried++
      if (expected) fitting++
    }),
    { numRuns: 5000 },
  )
  // 100 of 5000; a fuzz run may have few cases.
  assert.ok(fitting > tried / 40 - 25, `${fitting} of ${tried} fit`)
})

/** A glob made from a path, so that it often matches, or almost. */
const alike = path.chain(text => {
  const piece = (char: string) =>
    char === '/'
      ? fc.constantFrom('/', '/', '/**/', '?')
      : fc.constantFrom(char, char, char, '*', '?', `[${char}x]`, `[!${char}]`, `{${char},xx}`, `*${char}`, `${char}*`)
  const pieces = fc.tuple(...[...text].map(piece)).map(all => all.join(''))
  return fc.tuple(fc.constant(text), pieces)
})

test('globs made from a path match it, or not, as in Node', () => {
  let [tried, fitting] = [0, 0]
  fc.assert(
    fc.property(alike, ([path, glob]) => {
      fc.pre(glob.split('/').every(name => name === '**' || isName(name)))
      const expected = matchesGlob(path, glob)
      fc.pre(expected || !isMisread(path, glob))
      assert.equal(readGlob(glob)(path), expected)
      tried++
      if (expected) fitting++
    }),
    { numRuns: 2000 },
  )
  // 500 of 2000.
  assert.ok(fitting > tried * 0.3 - 100, `${fitting} of ${tried} fit`)
})

test('a dot at the beginning of a name must be matched by a dot', () => {
  for (const [glob, path] of [
    ['.a', '.a'],
    ['x/.a', 'x/.a'],
    ['*.a', 'x.a'],
    ['{.a,b}', '.a'],
    ['**/.a', 'x/.a'],
    ['x/**/y/**/.a', 'x/y/.a'],
  ] as const)
    assert.ok(readGlob(glob)(path), glob)
  for (const [glob, path] of [
    ['*.a', '.a'],
    ['*a', '.a'],
    ['?a', '.a'],
    ['[.x]a', '.a'],
    ['x/*.a', 'x/.a'],
    ['**', '.a'],
    ['**/a', '.x/a'],
  ] as const)
    assert.ok(!readGlob(glob)(path), glob)
})

test('unclosed brackets and extended globs are ordinary text', () => {
  assert.ok(readGlob('a[b')('a[b'))
  assert.ok(readGlob('a{b')('a{b'))
  assert.ok(readGlob('a,b')('a,b') && !readGlob('a,b')('a'))
  assert.ok(readGlob('a}b')('a}b') && !readGlob('a}b')('a'))
  assert.ok(readGlob('\\*')('*'))
  assert.ok(!readGlob('\\*')('a'))
  assert.ok(readGlob('+(a|aa)b')('+(a|aa)b'))
})

test('every glob is parsed fast, however many brackets it opens, and a very long one is refused', () => {
  for (const sign of ['[', '{', '{,', '[!', '**/', '?', '\\', '{a,']) {
    const start = process.cpuUsage()
    const long = sign.repeat(1000 / sign.length)
    for (const end of ['', '}', ']', ',}']) globFilter(long.slice(0, 1000 - end.length) + end)(['b'])
    assert.ok(process.cpuUsage(start).user < 1_000_000, sign)
    assert.throws(() => globFilter(sign.repeat(100_000)), { code: 'PATH_REFUSED' })
  }
})

test('every glob takes at most linear time for a long name', () => {
  const start = process.cpuUsage()
  for (const glob of [
    '+(a|aa)b',
    '*a*a*a*a*a*a*a*a*b',
    '{a,aa}*{a,aa}*{a,aa}*b',
    '**/**/**/**/*a*b',
    '{a,b}'.repeat(40),
  ]) {
    assert.equal(readGlob(glob)('a'.repeat(20_000)), false)
    assert.equal(readGlob(glob)('a/'.repeat(10_000)), false)
  }
  assert.ok(process.cpuUsage(start).user < 10_000_000)
})
