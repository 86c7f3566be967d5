/** Paths as text: two spellings of one file are equal, by Node's rules where Node has rules. */
import assert from 'node:assert/strict'
import { posix } from 'node:path'
import { test } from 'node:test'
import { isAbsolutePath, normalizePath, sameFile } from '../../src/model/paths.ts'
import * as fc from '../property.ts'

const step = fc.constantFrom('a', 'b.ts', '.', '..', '', 'c d')
const path = fc.tuple(fc.constantFrom('', '/'), fc.array(step, { minLength: 1, maxLength: 7 })).map(([root, steps]) => {
  return root + steps.join('/')
})

test('a path is normalised as in Node, without a final slash, and normalising again changes nothing', () => {
  fc.assert(
    fc.property(path, given => {
      const text = given.replace(/^\/+/, '/')
      const expected = posix.normalize(text).replace(/(?<=.)\/$/, '')
      assert.equal(normalizePath(text), expected)
      assert.equal(normalizePath(expected), expected)
    }),
    { numRuns: 2000 },
  )
})

test('a relative path is joined to the folder, an absolute one is not', () => {
  assert.equal(normalizePath('b.ts', '/work/a/'), '/work/a/b.ts')
  assert.equal(normalizePath('../b.ts', 'C:\\work\\a'), 'C:/work/b.ts')
  for (const path of ['/b.ts', '~/b.ts', 'D:/b.ts']) assert.equal(normalizePath(path, '/work'), path)
  assert.equal(normalizePath('b.ts', ''), 'b.ts')
})

test('Windows has drives, and shares with two slashes', () => {
  assert.equal(normalizePath('c:\\a\\..\\b'), 'C:/b')
  assert.equal(normalizePath('//server/share/./x'), '//server/share/x')
  assert.equal(normalizePath('//'), '/')
  assert.equal(normalizePath('///a'), '/a')
  assert.equal(normalizePath('./c:/a'), './c:/a')
  assert.equal(normalizePath('..\\..\\a'), '../../a')
})

test('a relative path matches the file that ends with it', () => {
  const pairs: [a: string, b: string, same: boolean][] = [
    ['/work/src/a.ts', 'src/a.ts', true],
    ['src/a.ts', '/work/src/a.ts', true],
    ['/work/src/a.ts', '/work/src/a.ts', true],
    ['/work/src/a.ts', '/other/src/a.ts', false],
    ['src/a.ts', 'a.ts', false],
    ['/work/src/aa.ts', 'a.ts', false],
    ['/work/src/a.ts', '../src/a.ts', false],
    ['C:/work/a.ts', 'a.ts', true],
  ]
  for (const [a, b, same] of pairs) assert.equal(sameFile(a, b), same, `${a} and ${b}`)
  assert.deepEqual(['/a', '~/a', 'c:/a', 'a', './a'].map(isAbsolutePath), [true, true, true, false, false])
})
