/** A turn on the screen, from the events of an agent: what is shown, collapsed and left out. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AgentEvent } from '../../../src/agent/events.ts'
import { Collapsed, expandedLines } from '../../../src/doors/chat/collapsed.ts'
import { TurnView } from '../../../src/doors/chat/turn-view.ts'
import { createScreen } from '../../../src/doors/terminal/screen.ts'
import { paintLine, span } from '../../../src/doors/terminal/spans.ts'
import * as fc from '../../property.ts'

type Env = Record<string, string>

/** The output of a turn; in a pipe, unless a terminal is requested. */
function shown(
  events: readonly AgentEvent[],
  { isTTY = false, columns = 80, env = {} as Env, collapsed = new Collapsed() } = {},
) {
  let out = ''
  const stdout = { write: (text: string) => (out += text), isTTY, columns, rows: 30 }
  const view = new TurnView(createScreen({ stdout, env }), collapsed)
  for (const event of events) view.show(event)
  view.end()
  return out
}

const dumb = { isTTY: true, env: { TERM: 'dumb' } }
const call = (id: string, name: string, input: unknown): AgentEvent => ({ type: 'call', id, name, input })
const result = (id: string, name: string, text: string, isError = false): AgentEvent => ({
  type: 'result',
  id,
  name,
  text,
  isError,
})
const text = (words: string): AgentEvent => ({ type: 'text', text: words })

describe('tool calls', () => {
  test('take one line each: a number, the subject and the result', () => {
    const out = shown([
      call('a', 'read_file', { path: 'src/login.ts' }),
      call('b', 'run_command', { command: 'npm test' }),
      call('c', 'edit_file', { path: 'a.ts', old_string: 'one', new_string: 'two\nthree' }),
      result('a', 'read_file', 'x\n'.repeat(700)),
      result('b', 'run_command', 'broken\n[exit code 2]'),
      result('c', 'edit_file', 'Error: old_string not found', true),
    ])
    assert.equal(
      out,
      [
        '  1 ✓ read_file src/login.ts  700 lines, 1.4k chars',
        '  2 ✓ run_command npm test  exit 2  2 lines, 20 chars',
        '  3 ✗ edit_file a.ts  old_string not found',
        '',
      ].join('\n'),
    )
  })

  test('fit the width for any input', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.string(),
        fc.integer({ min: 25, max: 100 }),
        (name, path, columns) => {
          const out = shown([call('a', name, { path }), result('a', name, path, true)], { ...dumb, columns })
          assert.equal(out.split('\n').length, 3, JSON.stringify(out))
          assert.doesNotMatch(out, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
        },
      ),
    )
  })

  test('expand to the arguments and the result, a change as a diff', () => {
    const collapsed = new Collapsed()
    shown(
      [
        call('a', 'edit_file', { path: 'a.ts', old_string: 'one', new_string: 'two' }),
        result('a', 'edit_file', 'done\u001b[2J'),
      ],
      { collapsed },
    )
    const lines = expandedLines(collapsed.find(1)!, { width: 80 }).map(line => paintLine(line, false))
    assert.deepEqual(lines.slice(1), ['  - one', '  + two', '  ──', '  done␛[2J'])
    assert.equal(collapsed.find(2), undefined)
  })
})

describe('other events of a turn', () => {
  test("reasoning is collapsed, and edits take one line with the planner's sentence", () => {
    const out = shown([
      { type: 'reasoning', text: 'I should look ' },
      { type: 'reasoning', text: 'at the test first.' },
      { type: 'edits', ids: ['e1', 'e2', 'e3', 'e4'], saved: 1234, decision: 'pays after 3 calls' },
    ])
    assert.match(out, /^ {2}1 ∴ thought, 7 words: I should look at the test first\.\n/)
    assert.match(out, /~ 4 edits \(e1 … e4\), 1,234 tokens saved: pays after 3 calls\n$/)
  })

  test('text and event lines are separated by blank lines', () => {
    const out = shown([text('One.'), call('a', 'ls', {}), result('a', 'ls', 'x'), text('Two.\n')])
    assert.equal(out, 'One.\n\n  1 ✓ ls 1 char\n\nTwo.\n')
  })

  test('interruptions, retries and stops are shown', () => {
    const out = shown([
      { type: 'interrupted', calls: [{ id: 'x', name: 'run_command' }] },
      { type: 'retry', attempt: 2, wait: 1500, reason: 'overloaded' },
      { type: 'done', reason: 'failed', message: 'The key is not known. Set another.', steps: 1, cost: 0 },
    ])
    assert.match(out, /↯ interrupted last time and not run again: run_command\n/)
    assert.match(out, /overloaded.*attempt 2, after 1\.5 s\n/)
    assert.match(out, /The key is not known\. Set another\.\n$/)
  })

  test("a subagent's calls are shown, its text only in its report", () => {
    const inner = (event: AgentEvent): AgentEvent => ({ type: 'delegated', session: 'work-sub-1', event })
    const out = shown([
      inner(text('secret words')),
      inner(call('a', 'read_file', { path: 'x' })),
      inner(result('a', 'read_file', 'y')),
      inner({ type: 'done', reason: 'answered', message: 'ok', steps: 2, cost: 0.5 }),
    ])
    assert.match(out, /⤷ work-sub-1\n {4}1 ✓ read_file x .*\n {4}⤷ answered after 2 steps, \$0\.50\n$/)
    assert.doesNotMatch(out, /secret/)
  })

  test('a call without a result stays as it was shown', () => {
    assert.equal(shown([call('a', 'run_command', { command: 'sleep 9' })]), '  1 · run_command sleep 9\n')
  })
})

describe('the output device', () => {
  const events = [text('# A\n\n'), text('b **c**'), call('a', 'ls', {}), result('a', 'ls', 'x')]

  test('pipes and dumb terminals get no escape sequences, and pipes unchanged Markdown', () => {
    assert.equal(shown(events), '# A\n\nb **c**\n\n  1 ✓ ls 1 char\n')
    assert.doesNotMatch(shown(events, dumb), /\u001b/)
  })

  test('on a terminal, no animation remains in the output', () => {
    const out = shown(events, { isTTY: true })
    const [, afterLast = ''] = out.split('1 ✓').slice(-2)
    assert.doesNotMatch(afterLast, /working/)
    assert.match(out, /\u001b\[J/)
  })

  test('streamed text looks in a pipe like text in one piece', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', '\n', '\r', ' ', '\u001b') })), pieces => {
        assert.equal(shown(pieces.map(text)), shown([text(pieces.join(''))]))
      }),
    )
  })

  test('a question stays at the bottom of the terminal, and only the answer remains', () => {
    let out = ''
    const stdout = { write: (piece: string) => (out += piece), isTTY: true, columns: 80, rows: 30 }
    const view = new TurnView(createScreen({ stdout, env: { NO_COLOR: '1' } }), new Collapsed())
    const answered = view.ask([[span('Run it?')], [span('[y]es')]], [span('? it ')])
    assert.match(out, /Run it\?\r\n\[y\]es$/)
    out = ''
    answered(span('yes'))
    view.end()
    assert.match(out, /\n\? it yes\n/)
    assert.doesNotMatch(out, /Run it/)
  })
})
