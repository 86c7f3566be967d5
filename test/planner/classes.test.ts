import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Message } from '../../src/model/types.ts'
import { classOf, expectedQuotes } from '../../src/planner/classes.ts'
import { type PartClass, QUOTES } from '../../src/planner/tuning.ts'
import { bash, read, says, step, user } from '../policies/talk.ts'
import { unitsOf } from './units.ts'

const classes = (messages: readonly Message[]) => unitsOf(messages).map(classOf)
const tool = (name: string, input: object) => step({ name, input, output: 'x' })

describe('the class of a part', () => {
  const cases: [string, Message[], call: PartClass, result: PartClass][] = [
    ['a read of code', read('a.ts', 'x'), 'command', 'code'],
    ['a read of prose', read('README.md', 'x'), 'command', 'doc'],
    ['a shell that reads', bash('cat a.ts', 'x'), 'command', 'code'],
    ['a run', bash('npm test', 'x'), 'command', 'run'],
    ['an edit', tool('edit_file', { path: 'a.ts', old_string: 'a', new_string: 'b' }), 'input', 'edit'],
    ['a write', tool('write_file', { path: 'a.ts', content: 'a' }), 'input', 'edit'],
    ['a search in one file', bash('grep foo a.ts', 'x'), 'command', 'grep'],
    ['a search in prose', bash('grep foo README.md', 'x'), 'command', 'list'],
    ['a search in a folder', bash('grep -r foo src', 'x'), 'command', 'list'],
    ['a list', tool('list_files', { path: 'src' }), 'command', 'list'],
    ['a page of the web', tool('WebFetch', { url: 'https://example.org' }), 'command', 'doc'],
    ['another agent', tool('Task', { prompt: 'look' }), 'command', 'doc'],
    ['anything else', tool('frobnicate', {}), 'command', 'run'],
  ]
  for (const [name, messages, call, result] of cases) {
    test(`of ${name}`, () => assert.deepEqual(classes(messages), [call, result]))
  }

  test('of a text message is undefined', () =>
    assert.deepEqual(classes([user('a'), says('b')]), [undefined, undefined]))
})

describe('the expected number of quotes', () => {
  const standing = { age: 0, sinceTouched: 0, changes: 0, tokens: 500 }
  const all = Object.keys(QUOTES) as PartClass[]
  const expected = (partClass: PartClass, more: Partial<typeof standing> = {}) =>
    expectedQuotes(QUOTES, partClass, { ...standing, ...more })

  test('begins with the number measured for the class', () => {
    for (const one of all) assert.ok(Math.abs(expected(one) - QUOTES[one] * 1e-4) < 1e-12, one)
  })

  test('falls with age, and with the time since the file was touched; a command has no file', () => {
    for (const one of all) {
      assert.ok(expected(one, { age: 10 }) < expected(one), one)
      assert.ok(expected(one, { age: 100 }) < expected(one, { age: 10 }), one)
      const untouched = expected(one, { sinceTouched: 50 })
      if (one === 'command') assert.equal(untouched, expected(one))
      else assert.ok(untouched < expected(one), one)
    }
    assert.equal(expected('code', { age: -1 }), expected('code'), 'what was not sent yet is new')
  })

  test('falls with each change of the file, for code only', () => {
    for (const one of all) {
      const changed = expected(one, { changes: 3 })
      if (one === 'code' || one === 'grep') assert.ok(changed < expected(one) / 2, one)
      else assert.equal(changed, expected(one), one)
    }
  })

  test('falls per token in a long text, except for code and edits', () => {
    for (const one of all) {
      const long = expected(one, { tokens: 5000 })
      if (one === 'code' || one === 'grep' || one === 'edit') assert.equal(long, expected(one), one)
      else assert.ok(long < expected(one) && expected(one, { tokens: 100 }) > expected(one), one)
    }
    assert.equal(expected('run', { tokens: 1 }), expected('run', { tokens: 50 }), 'there is a smallest size')
  })
})
