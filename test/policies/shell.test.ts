import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { exitCode } from '../../src/calls/tool-output.ts'
import { recentOnly } from '../../src/policies/recent-only.ts'
import { truncateOutput, truncateShell } from '../../src/policies/truncate-shell.ts'
import { bash, editsBy, openWith, play, shown, step, user } from './talk.ts'

const lines = (chars: number) =>
  'x'
    .repeat(79)
    .concat('\n')
    .repeat(Math.ceil(chars / 80))
    .slice(0, chars)

describe('shell output', () => {
  test('up to 10,000 characters stays whole', async () => {
    const session = await openWith([truncateShell()])
    await play(session, user('go'), ...bash('npm test', lines(999)), ...bash('npm test', lines(10_000)))
    assert.deepEqual(await shown(session), [lines(999), lines(10_000)])
    assert.deepEqual(session.edits(), [])
  })

  test('over the limit keeps the first and the last 2,000, with a line about the missing text', async () => {
    const output = `${'a'.repeat(3000)}\n${'b\n'.repeat(20_000)}${'c'.repeat(2231)}`
    assert.equal(output.length, 45_232)
    const session = await openWith([truncateShell()])
    await play(session, user('go'), ...bash('npm test', output))
    assert.deepEqual(await shown(session), [
      `$ npm test\n\n${'a'.repeat(2000)}\n\n... [truncated: 45,232 chars total, 20002 lines] ...\n\n${'c'.repeat(2000)}`,
    ])
  })

  test('between 1,000 and 10,000 is marked, and cut when the view fills 70% of the window', async () => {
    const session = await openWith([truncateShell()], { models: { claude: { window: 3_000 } } })
    await play(session, user('go'), ...bash('npm test', lines(4000)), ...bash('ls', lines(900)))
    const view = await session.view()
    assert.deepEqual(
      view.pending.map(({ proposal, reason }) => [proposal.target, reason]),
      [[{ type: 'part', entry: 2, part: 0 }, 'kept: it may be truncated when the view exceeds 70% of the window']],
    )
    await play(session, ...bash('npm test', `${'word '.repeat(1_999)}`))
    const [first, small] = await shown(session)
    assert.match(first!, /^\$ npm test\n\nx{79}\nx[\s\S]*\.\.\. \[truncated: 4,000 chars total, 50 lines\] \.\.\./)
    assert.equal(small, lines(900))
    assert.ok(first!.length < 1_000)
  })

  test('always keeps the exit code and the command line', () => {
    const codex = JSON.stringify({ output: 'x'.repeat(20_000), metadata: { exit_code: 3, duration_seconds: 1 } })
    const long = `${'y'.repeat(30_000)}\nExit code: 7`
    for (const output of [codex, long]) {
      const cut = truncateOutput(output, { head: 2000, tail: 2000, command: 'make -j8' })
      assert.ok(cut.startsWith('$ make -j8\n'))
      assert.equal(exitCode(cut), exitCode(output))
      assert.notEqual(exitCode(cut), undefined)
    }
  })

  test('is never cut between two halves of a character', () => {
    const cut = truncateOutput('🙂'.repeat(9000), { head: 2001, tail: 2001 })
    assert.ok(cut.isWellFormed())
  })

  test('is cut only for shell tools', async () => {
    const session = await openWith([truncateShell()])
    await play(session, user('go'), ...step({ name: 'read_file', input: { path: 'a' }, output: lines(50_000) }))
    assert.deepEqual(session.edits(), [])
  })

  test('every number is a setting', async () => {
    const session = await openWith([truncateShell({ limit: 50, head: 3, tail: 2, small: 10 })])
    await play(session, user('go'), ...bash('x', '0123456789'.repeat(20)))
    assert.deepEqual(await shown(session), ['$ x\n\n012\n\n... [truncated: 200 chars total, 1 lines] ...\n\n89'])
  })
})

describe('light tools', () => {
  test('their results stay while they are among the last 30', async () => {
    const session = await openWith([recentOnly()])
    const list = () => step({ name: 'list_files', input: { path: '.' }, output: 'a.ts\n'.repeat(40) })
    await play(session, user('go'), ...list(), ...step({ name: 'focus', input: { path: 'a' }, output: 'z'.repeat(90) }))
    for (let i = 0; i < 28; i++) await play(session, ...bash('true', 'ok'))
    assert.deepEqual(editsBy(session, 'recent-only'), [])
    await play(session, ...list())
    assert.deepEqual(editsBy(session, 'recent-only').length, 1)
    await play(session, ...list())
    const results = await shown(session)
    assert.equal(results[0], '[Old result of list_files removed - use list_files if needed]')
    assert.equal(results[1], '[Old result of focus removed - use focus if needed]')
    assert.equal(results.at(-1), 'a.ts\n'.repeat(40))
  })
})
