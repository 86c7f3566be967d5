import assert from 'node:assert/strict'
import { test } from 'node:test'
import { alwaysPatterns, createApprover } from '../../../src/doors/chat/approvals.ts'

const request = (command: string) => ({
  id: command,
  name: 'run_command',
  input: { command },
  question: `Run ${command}?`,
})

test('"always" allows the program with its subcommand, or only the exact line if arguments can run anything', () => {
  const cases: [command: string, patterns: string[]][] = [
    ['npm test', ['npm test', 'npm test *']],
    ['npm run build -- --watch', ['npm run', 'npm run *']],
    ['ls -la src', ['ls', 'ls *']],
    ['git status', ['git status', 'git status *']],
    ['git push --force', ['git push --force']],
    ['rm -rf build', ['rm -rf build']],
    ['python3 x.py', ['python3 x.py']],
    ['/usr/bin/node x.js', ['/usr/bin/node x.js']],
    ['ls | sh', ['ls | sh']],
    ['echo "$HOME"', ['echo "$HOME"']],
    ['npm test && rm x', ['npm test && rm x']],
  ]
  for (const [command, patterns] of cases) assert.deepEqual(alwaysPatterns(command), patterns, command)
})

test('questions are asked one at a time, and "always" answers waiting ones', async () => {
  const asked: string[] = []
  let open = 0
  const approve = createApprover(async ({ id }) => {
    assert.equal(++open, 1)
    asked.push(id)
    await new Promise(resolve => setImmediate(resolve))
    open--
    return id === 'npm test' ? 'always' : undefined
  })
  const commands = ['npm test', 'npm test -- x', 'npm test; rm y', 'touch z']
  const answers = await Promise.all(commands.map(command => approve(request(command))))
  assert.deepEqual(answers, [true, true, false, false])
  assert.deepEqual(asked, ['npm test', 'npm test; rm y', 'touch z'])
})

test('a stopped turn asks no questions', async () => {
  const approve = createApprover(async () => assert.fail('asked'))
  assert.equal(await approve(request('ls'), AbortSignal.abort()), false)
})

test('a command that cannot be a pattern offers no "always"', async () => {
  const patterns: (readonly string[])[] = []
  const approve = createApprover(async (_, given) => {
    patterns.push(given)
    return 'yes'
  })
  await approve({ id: '1', name: 'write_file', input: { path: '/etc/x', content: '' }, question: 'Change it?' })
  assert.deepEqual(patterns, [[]])
})
