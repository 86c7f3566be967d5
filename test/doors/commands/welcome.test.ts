/** The output of the program without arguments, and its answers to mistakes. */
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { spawnCli } from '../../e2e/run-cli.ts'

const folder = await mkdtemp(join(tmpdir(), 'palimpsest-welcome-'))
after(() => rm(folder, { recursive: true, force: true }))
const env = { HOME: folder, PATH: '/usr/bin:/bin' }

const line = (type: 'user' | 'assistant', n: number, message: object) =>
  JSON.stringify({
    type,
    uuid: `u${n}`,
    parentUuid: n > 1 ? `u${n - 1}` : null,
    sessionId: 'abc',
    cwd: '/shop',
    timestamp: `2026-11-0${n}T10:00:00.000Z`,
    message,
  })

test('without a session, it shows the sample and three commands that work', async () => {
  const { code, stdout, stderr } = await spawnCli([], { env, cwd: folder })
  assert.equal(code, 0, stderr)
  assert.match(stdout, /this is the sample: \d+ calls/)
  assert.match(stdout, /It cost \$\d+\.\d\d\. With Palimpsest \$\d+\.\d\d, \d+ % less\./)
  assert.deepEqual(
    [...stdout.matchAll(/npx palimpsest (\w+)/g)].map(([, name]) => name),
    ['serve', 'run', 'install'],
  )
})

test('with a session, it shows what the session cost', async () => {
  const file = join(folder, '.claude', 'projects', '-shop', 'abc.jsonl')
  await mkdir(dirname(file), { recursive: true })
  const usage = { input_tokens: 1_000_000, output_tokens: 0 }
  const content = [{ type: 'text', text: 'Done.' }]
  const answer = { id: 'msg_1', role: 'assistant', model: 'claude-sonnet-4-5', content, usage }
  await writeFile(file, [line('user', 1, { role: 'user', content: 'fix it' }), line('assistant', 2, answer)].join('\n'))
  const { stdout } = await spawnCli(['--json'], { env, cwd: folder })
  const { agents, last, next } = JSON.parse(stdout)
  assert.deepEqual(agents, [{ name: 'claude', title: 'Claude Code', sessions: 1, isHere: false }])
  assert.equal(last.isSample, false)
  assert.equal(last.project, '/shop')
  assert.ok(last.billedUsd >= 3, `${last.billedUsd}`)
  assert.deepEqual(next[0].command, ['import', file])
  const said = await spawnCli([], { env, cwd: folder })
  assert.match(said.stdout, /^The last session: Claude Code in \/shop, .*, 1 call of claude-sonnet-4-5\.$/m)
})

test('a missing agent can be installed, a mistyped option is reported, and suggested commands can be typed as printed', async () => {
  const run = (...args: string[]) => spawnCli([...args, '--home', folder], { env, cwd: folder })
  assert.match((await run('run', '--', 'claude')).stderr, /Get it with: npm install -g @anthropic-ai\/claude-code/)
  assert.match((await run('sessions', '--jsn')).stderr, /There is no option --jsn\. Did you mean --json\?/)
  assert.match((await run('--polcy', 'x', 'run')).stderr, /There is no option --polcy\. See: npx palimpsest --help/)
  assert.match((await run('run', 'claude', '--print')).stderr, /after --, as in: npx palimpsest run -- claude/)
  assert.match((await run('uninstall', 'claude')).stderr, /See: npx palimpsest status/)
  assert.match((await run('status')).stdout, /Install it: npx palimpsest install --all/)
})
