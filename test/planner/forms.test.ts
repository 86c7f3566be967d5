/** The shorter forms of a part, from the mildest on, and what each keeps. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Message, Part } from '../../src/model/types.ts'
import { classOf } from '../../src/planner/classes.ts'
import { about, formsOf, isOldText } from '../../src/planner/forms.ts'
import { count } from '../laws/law.ts'
import { bash, read, says, step, user } from '../policies/talk.ts'
import { unitsOf } from './units.ts'

const OPTIONS = { lookKeep: { head: 200, tail: 100, telling: 100 } }

/** The forms of the unit at an index of the messages' parts. */
function forms(messages: readonly Message[], index: number) {
  const unit = unitsOf(messages)[index]!
  return formsOf(unit, classOf(unit), count, OPTIONS)
}

const marks = (messages: readonly Message[], index: number) => forms(messages, index).map(({ mark }) => mark)
const log = Array.from({ length: 100 }, (_, i) => `compiled file ${i} in time`).join('\n')

describe('a result', () => {
  test('of a run has an excerpt, which loses less, and then a placeholder', () => {
    const found = forms(bash('make', `${log}\ndone`), 1)
    assert.deepEqual(
      found.map(({ mark, loses, share }) => [mark, loses, share]),
      [
        ['look', 'run', 0.6],
        ['stub', 'run', 1],
      ],
    )
    for (const { tokens, replacement } of found) assert.equal(tokens, count(String(replacement)))
    assert.ok(found[1]!.tokens < found[0]!.tokens)
  })

  test('of a run too short for an excerpt, or of a read, has only a placeholder', () => {
    assert.deepEqual(marks(bash('make', 'done'), 1), ['stub'])
    assert.deepEqual(marks(read('a.ts', log), 1), ['stub'])
  })

  test('of unknown class has none', () => {
    assert.deepEqual(formsOf(unitsOf(bash('make', log))[1]!, undefined, count, OPTIONS), [])
  })

  test('has a placeholder with its kind, its length and the way to get it back', () => {
    const stub = String(forms(read('src/a.ts', 'one\ntwo\nthree\n\n'), 1)[0]!.replacement)
    assert.match(stub, /^\[cleared by context manager: read_file src\/a\.ts, 3 lines; recall [0-9a-f]{8,}\]$/)
  })

  test('of a run keeps its outcome: the first important line and the last one, once', () => {
    const stubOf = (output: string) =>
      String(forms(bash('make', output), 1).at(-1)!.replacement)
        .split('\n')
        .slice(1)
    assert.deepEqual(stubOf('start\n  error: no rule  \nmore\nmake: gave up\n'), ['error: no rule', 'make: gave up'])
    assert.deepEqual(stubOf('start\nerror: no rule\n'), ['error: no rule'])
    assert.deepEqual(stubOf('start\nall good'), ['all good'])
    assert.deepEqual(stubOf(''), [])
    assert.deepEqual(stubOf(`start\n${'v'.repeat(300)}`), ['v'.repeat(100)])
  })
})

describe('a call', () => {
  const long = 'text of a file '.repeat(100)

  test('that edits loses the old text before the new', () => {
    const input = { path: 'a.ts', old_string: long, new_string: long }
    const [old, all, ...more] = forms(step({ name: 'edit_file', input, output: 'ok' }), 0)
    assert.deepEqual(more, [])
    assert.deepEqual([old!.mark, old!.loses, all!.mark, all!.loses], ['old', 'old', 'input', 'input'])
    const shorter = (old!.replacement as { input: typeof input }).input
    assert.deepEqual(Object.keys(shorter), Object.keys(input))
    assert.deepEqual([shorter.path, shorter.new_string], [input.path, long])
    assert.match(shorter.old_string, /^text of a file .*\[… 1320 chars cut\].*file $/)
    const shortest = (all!.replacement as { input: typeof input }).input
    assert.equal(shortest.old_string, shorter.old_string)
    assert.match(shortest.new_string, /chars cut/)
    assert.ok(all!.tokens < old!.tokens)
  })

  test('that writes has no old text to lose', () => {
    assert.deepEqual(marks(step({ name: 'write_file', input: { path: 'a', content: long }, output: '' }), 0), ['input'])
  })

  test('of another kind keeps more of its input', () => {
    const [form] = forms(bash(long, 'ok'), 0)
    const { command } = (form!.replacement as { input: { command: string } }).input
    assert.match(command, /\[… 950 chars cut\]/)
  })

  test('with an input that is short, not an object, or signed has no shorter form', () => {
    assert.deepEqual(marks(bash('ls', 'ok'), 0), [])
    assert.deepEqual(marks(step({ name: 'bash', input: null, output: 'ok' }), 0), [])
    assert.deepEqual(marks(step({ name: 'bash', input: 7, output: 'ok' }), 0), [])
    const [call, result] = bash(long, 'ok') as [Message, Message]
    const original = { dialect: 'gemini', value: { thoughtSignature: 'x' } } as const
    const signed = { ...call, parts: call.parts.map(part => ({ ...part, original })) } as Message
    assert.deepEqual(marks([signed, result], 0), [])
  })

  test('with a text as input has an excerpt of it', () => {
    const [form] = forms(step({ name: 'apply_patch', input: long, output: 'ok' }), 0)
    const { input } = form!.replacement as { input: string }
    assert.match(input, /^text of a file.*chars cut\]/s)
    assert.deepEqual([form!.mark, form!.tokens], ['input', count(input)])
  })
})

test('reasoning is dropped whole and loses nothing; messages of users and the agent have no shorter form', () => {
  const reasoning: Part = { type: 'reasoning', text: 'hm' }
  const thought: Message = { role: 'assistant', parts: [reasoning] }
  assert.deepEqual(forms([thought], 0), [
    { mark: 'reasoning', replacement: null, tokens: 0, loses: undefined, share: 0 },
  ])
  assert.deepEqual(forms([user('hello'), says('hi')], 0), [])
  assert.deepEqual(forms([user('hello'), says('hi')], 1), [])
})

test('the summary of a call is the end of its path, pattern or command, on one line', () => {
  const what = (messages: Message[]) => about(unitsOf(messages)[0]!)
  assert.equal(what(read('src/a.ts', '')), 'src/a.ts')
  assert.equal(what(bash('npm  run\n test', '')), 'npm run test')
  assert.equal(what(read(`/${'deep/'.repeat(20)}a.ts`, '')).length, 60)
  assert.ok(what(read(`/${'deep/'.repeat(20)}a.ts`, '')).endsWith('/a.ts'))
})

test('old text is recognised by the field names of edit tools', () => {
  for (const key of ['old', 'old_string', 'oldString', 'old_str', 'oldText', 'OLD_TEXT']) assert.ok(isOldText(key), key)
  for (const key of ['new_string', 'older', 'bold', 'old_path']) assert.equal(isOldText(key), false, key)
})
