import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Message, Part } from '../../src/model/types.ts'
import { clearResults } from '../../src/policies/clear-results.ts'
import { failedCalls } from '../../src/policies/failed-calls.ts'
import { images } from '../../src/policies/images.ts'
import { editsText, keepEdits } from '../../src/policies/keep-edits.ts'
import { staleOutput } from '../../src/policies/stale-output.ts'
import { superseded } from '../../src/policies/superseded.ts'
import { bash, openWith, play, read, says, shown, step, user } from './talk.ts'

const long = (letter: string) => letter.repeat(500)
const edit = (path: string, text: string, intent?: string) =>
  step({
    name: 'edit_file',
    input: { path, old_string: text, new_string: `${text}!`, ...(intent ? { intent } : {}) },
    output: `Edited ${path}`,
  })

describe('keep-edits', () => {
  test('edits, their results and writes are not changed by other policies', async () => {
    const others = [
      clearResults({
        trigger: { type: 'tool_uses', value: 0 },
        keep: { type: 'tool_uses', value: 0 },
        clear_tool_inputs: true,
      }),
      staleOutput({ after: 0, preview: 1 }),
    ]
    const session = await openWith([...others, keepEdits()])
    await play(session, user('go'), ...edit('a.ts', long('a')), ...bash('x', long('b')))
    await play(session, ...step({ name: 'write_file', input: { path: 'b', content: long('c') }, output: long('d') }))
    const results = await shown(session)
    assert.equal(results[0], 'Edited a.ts')
    assert.notEqual(results[1], long('b'))
    assert.equal(results[2], long('d'))
    const calls = await shown(session, 'assistant')
    assert.ok(calls[0]!.includes(long('a')))
  })

  test('in a very long session older edits of a file are listed together, with their intents', async () => {
    const session = await openWith([keepEdits({ veryLong: 8, recent: 2, together: 3 })])
    await play(session, user('go'))
    await play(session, ...edit('config.py', long('a'), 'Added AGENT_CONFIG'))
    await play(session, ...edit('config.py', long('b'), 'Modified system prompt'), ...edit('other.py', long('c')))
    await play(session, ...edit('config.py', long('d'), 'Modified system prompt'), says('one'), says('two'))
    assert.deepEqual(session.edits(), [])
    await play(session, says('three'), says('four'))
    assert.equal(
      (await shown(session))[3],
      '[Edits to config.py: 3 changes between turns 1-4]\n- Added AGENT_CONFIG\n- Modified system prompt 2x\n[Full diff available in ground truth]',
    )
    const calls = await shown(session, 'assistant')
    assert.equal(
      calls[0],
      JSON.stringify({
        path: 'config.py',
        old_string: '[500 chars: see the list of edits to config.py below]',
        new_string: '[501 chars: see the list of edits to config.py below]',
        intent: 'Added AGENT_CONFIG',
      }),
    )
    assert.ok(calls[2]!.includes(long('c')), 'one edit of another file stays')
  })

  test('the text is the documented one', () => {
    const edits = [
      { turn: 10, intent: 'Added AGENT_CONFIG' },
      { turn: 50, intent: 'Added tool definitions' },
    ]
    assert.equal(
      editsText('config.py', edits),
      '[Edits to config.py: 2 changes between turns 10-50]\n- Added AGENT_CONFIG\n- Added tool definitions\n[Full diff available in ground truth]',
    )
  })
})

describe('failed calls', () => {
  test('long inputs are removed after 4 turns; the error and short inputs stay', async () => {
    const session = await openWith([failedCalls()])
    const failed = step({
      name: 'edit_file',
      input: { path: 'a.ts', old_string: long('a'), new_string: 'short' },
      output: 'Error: old_string not found',
      isError: true,
    })
    await play(session, user('go'), ...failed, says('1'), says('2'), says('3'))
    assert.deepEqual(session.edits(), [])
    await play(session, says('4'))
    assert.equal(
      (await shown(session, 'assistant'))[0],
      JSON.stringify({ path: 'a.ts', old_string: '[500 chars of a call that failed]', new_string: 'short' }),
    )
    assert.deepEqual(await shown(session), ['Error: old_string not found'])
  })

  test('successful calls keep their inputs', async () => {
    const session = await openWith([failedCalls({ after: 0 })])
    await play(session, user('go'), ...edit('a.ts', long('a')), says('1'), says('2'))
    assert.deepEqual(session.edits(), [])
  })
})

describe('superseded', () => {
  const write = (path: string, content: string, isError = false) =>
    step({ name: 'write_file', input: { path, content }, output: isError ? 'Error: full' : 'Written', isError })

  test('a whole write replaces earlier reads and writes of the file by a note', async () => {
    const session = await openWith([superseded()])
    await play(session, user('go'), ...read('a.ts', long('a')), ...read('b.ts', long('b')), ...write('a.ts', long('c')))
    await play(session, ...write('./a.ts', long('d')))
    const note = '[Content of a.ts at that time - a later write below replaced it]'
    assert.deepEqual(await shown(session), [note, long('b'), 'Written', 'Written'])
    const calls = await shown(session, 'assistant')
    assert.deepEqual(JSON.parse(calls[2]!), { path: 'a.ts', content: note })
    assert.deepEqual(JSON.parse(calls[3]!), { path: './a.ts', content: long('d') })
  })

  test('an edit, a failed write and short texts change nothing', async () => {
    const session = await openWith([superseded()])
    await play(session, user('go'), ...read('a.ts', long('a')), ...edit('a.ts', 'x'), ...write('a.ts', long('b'), true))
    await play(session, ...read('c.ts', 'short'), ...write('c.ts', long('d')))
    assert.deepEqual(session.edits(), [])
  })
})

describe('images', () => {
  const image = (bytes: number): Part => ({ type: 'image', mediaType: 'image/png', data: 'A'.repeat(bytes) })
  const shot = (bytes: number) =>
    step({ name: 'browser_screenshot', output: [{ type: 'text', text: 'the page' }, image(bytes)] })

  test('at most 20 stay; the oldest become placeholders, and texts beside them stay', async () => {
    const session = await openWith([images()])
    await play(session, user('go'))
    for (let i = 0; i < 22; i++) await play(session, ...shot(1_200))
    const results = await shown(session)
    const stub = 'the page\n[Image left out: image/png, 1,200 bytes]'
    assert.deepEqual(results.slice(0, 3), [stub, stub, 'the page\n<image>'])
  })

  test('their bytes are limited too, even in user messages', async () => {
    const session = await openWith([images({ bytes: 5_000 })])
    const message: Message = { role: 'user', parts: [{ type: 'text', text: 'look' }, image(3_000)] }
    await play(session, message, says('I see'), ...shot(1_500))
    assert.deepEqual(session.edits(), [])
    await play(session, ...shot(1_500))
    assert.deepEqual(await shown(session, 'user'), ['look\n[Image left out: image/png, 3,000 bytes]'])
    assert.deepEqual(await shown(session), ['the page\n<image>', 'the page\n<image>'])
  })
})
