import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clearResults } from '../../src/policies/clear-results.ts'
import { everyTurn, type Policy } from '../../src/policies/policy.ts'
import { warn } from '../../src/policies/warn.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { editsBy, openWith, play, shown, step, user } from './talk.ts'

const PLACEHOLDER = '[Result processed - see workspace if needed]'
const readFile = (output: string) => step({ name: 'read_file', input: { path: 'a' }, output })
const grep = (output: string) => step({ name: 'grep', input: { pattern: 'x' }, output })
/** A text of this many tokens. */
const words = (tokens: number) => 'word '.repeat(tokens).trimEnd()
const uses = (value: number) => ({ type: 'tool_uses' as const, value })

async function grown(policies: readonly Policy[], results: number, tokens = 10_000): Promise<Session> {
  const session = await openWith(policies)
  await play(session, user('go'))
  for (let i = 0; i < results; i++) await play(session, ...grep(`${i} ${words(tokens)}`))
  return session
}

describe('clearing', () => {
  test('up to 80,000 tokens nothing is cleared; over it all but the last 5 results', async () => {
    const session = await grown([clearResults()], 7)
    assert.deepEqual(session.edits(), [])
    await play(session, ...grep(words(10_000)))
    const results = await shown(session)
    assert.deepEqual(results.slice(0, 3), [PLACEHOLDER, PLACEHOLDER, PLACEHOLDER])
    assert.equal(results.length, 8)
    for (const result of results.slice(3)) assert.notEqual(result, PLACEHOLDER)
  })

  test('when others are cleared, remaining results are cut to 5,000 characters', async () => {
    const session = await grown([clearResults()], 8)
    const results = await shown(session)
    assert.equal(results.length, 8)
    for (const result of results.slice(3)) {
      assert.ok(result.length <= 5_000)
      assert.match(result, /\.\.\. \[truncated: 50,001 chars total\] \.\.\.$/)
    }
  })

  test('tokens of the system prompt and tools count', async () => {
    const session = await openWith([clearResults()], { overhead: 79_000 })
    await play(session, user('go'))
    for (let i = 0; i < 6; i++) await play(session, ...grep(words(200)))
    assert.equal(editsBy(session, 'clear-results').length, 1)
  })

  test('read_file, list_todos and get_progress are never cleared, and the list is a setting', async () => {
    const names = ['read_file', 'list_todos', 'get_progress', 'grep']
    const session = await openWith([clearResults({ trigger: uses(4), keep: uses(0) })])
    await play(session, user('go'))
    for (const name of [...names, 'grep']) await play(session, ...step({ name, output: `${name} says a lot` }))
    assert.deepEqual(await shown(session), [
      'read_file says a lot',
      'list_todos says a lot',
      'get_progress says a lot',
      PLACEHOLDER,
      PLACEHOLDER,
    ])
    const other = await openWith([clearResults({ trigger: uses(1), keep: uses(0), exclude_tools: ['grep'] })])
    await play(other, user('go'), ...grep('one'), ...step({ name: 'read_file', output: 'two' }))
    assert.deepEqual(await shown(other), ['one', PLACEHOLDER])
  })

  test('the trigger may be a number of results, and the placeholder any text', async () => {
    const session = await openWith([clearResults({ trigger: uses(3), keep: uses(1), placeholder: '[cleared]' })])
    await play(session, user('go'), ...grep('a'), ...grep('b'), ...grep('c'))
    assert.deepEqual(await shown(session), ['a', 'b', 'c'])
    await play(session, ...grep('d'))
    assert.deepEqual(await shown(session), ['[cleared]', '[cleared]', '[cleared]', 'd'])
  })

  test('nothing is cleared that would free less than clear_at_least', async () => {
    const options = { trigger: uses(2), keep: uses(1), clear_at_least: { type: 'input_tokens' as const, value: 500 } }
    const session = await openWith([clearResults(options)])
    await play(session, user('go'), ...grep(words(200)), ...grep(words(200)), ...grep(words(200)))
    assert.deepEqual(session.edits(), [])
    await play(session, ...grep(words(200)))
    assert.equal(session.edits().length, 3)
  })

  test('inputs are cleared too if configured: all, or those of some tools', async () => {
    for (const [rule, input] of [
      [true, {}],
      [['grep'], {}],
      [['bash'], { pattern: 'x' }],
      [false, { pattern: 'x' }],
    ] as const) {
      const session = await openWith([clearResults({ trigger: uses(1), keep: uses(0), clear_tool_inputs: rule })])
      await play(session, user('go'), ...grep('one'), ...grep('two'))
      const { messages } = await session.view()
      const call = messages[1]?.parts[0]
      assert.deepEqual(call?.type === 'tool-call' && call.input, input)
    }
  })
})

describe('the warning', () => {
  const text = (percentage: number) =>
    `⚠️ CONTEXT APPROACHING LIMIT\n\nYou are at ${percentage}% of context capacity. Important tool results\nwill be cleared soon. Save any critical information in your answer now.`

  test('comes once, at 80% of the limit, after the last message, with the real percentage', async () => {
    const session = await grown([clearResults(), warn()], 6)
    assert.deepEqual(await shown(session, 'user'), ['go'])
    await play(session, ...grep(words(5_000)))
    const { messages } = await session.view()
    assert.deepEqual(messages.at(-1)?.parts, [{ type: 'text', text: text(81), edit: 'e1' }])
    await play(session, ...grep(words(5_000)))
    assert.equal((await shown(session, 'user')).length, 2)
  })

  test('comes again before the next clearing', async () => {
    const session = await grown([clearResults({ after_warning: true }), warn()], 22, 9_000)
    const marks = session.edits().flatMap(({ edit }) => (edit.mark === 'cut' ? [] : [edit.mark]))
    const order = marks.filter((mark, i) => mark !== marks[i - 1])
    assert.deepEqual(order.slice(0, 4), ['warning', 'cleared', 'warning', 'cleared'])
  })

  test('with after_warning nothing is cleared before the agent has had a call to save its work', async () => {
    const session = await openWith([clearResults({ after_warning: true }), warn()])
    await play(session, user('go'))
    await session.append(...Array.from({ length: 8 }, () => grep(words(11_000))).flat())
    await session.view()
    assert.deepEqual(
      session.edits().map(({ edit }) => edit.mark),
      ['warning'],
    )
    await play(session, ...grep('next'))
    assert.equal(editsBy(session, 'clear-results').filter(edit => edit.mark === 'cleared').length, 3)
  })

  test('names the tool with which the session saves', async () => {
    const pal = await openPalimpsest({ home: ':memory:' })
    const planner = everyTurn('w', [warn({ limit: 10 })])
    const session = await pal.session('s', { planner, saveWith: 'workspace_save_fact' })
    await play(session, user('a long request indeed, many words of it, and some more of them'))
    const { messages } = await session.view()
    assert.match(JSON.stringify(messages), /Save any critical information with workspace_save_fact now\./)
    await pal.close()
  })

  test('is not repeated when protected tools fill the window', async () => {
    const session = await grown([clearResults({ exclude_tools: ['read_file'] }), warn()], 0)
    for (let i = 0; i < 20; i++) {
      await play(session, ...(i % 2 === 0 ? readFile(words(11_000)) : grep(words(3_000))))
    }
    assert.ok(editsBy(session, 'clear-results').some(edit => edit.mark === 'cleared'))
    assert.equal(editsBy(session, 'warn').length, 1)
  })

  test('is never put between a call and its result', async () => {
    const session = await openWith([warn({ limit: 10 })])
    const [call, result] = grep(words(100))
    await play(session, user('a long request indeed, many words of it'), call!)
    const before = session.edits().length
    await play(session, result!)
    assert.deepEqual([before, session.edits().length], [1, 1])
    assert.deepEqual(session.edits()[0]?.edit.target, { type: 'after', entry: 0 })
  })
})
