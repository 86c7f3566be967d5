/** `ask`, `persona` and `export` as people run them. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { AgentEvent } from '../../src/agent/events.ts'
import { runCli } from '../cli.ts'
import { spawnCli } from '../e2e/run-cli.ts'
import { startUpstream } from '../upstream.ts'
import { doneOf, only } from './harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'agent-cli-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const NO_KEYS = { ANTHROPIC_API_KEY: '', OPENAI_API_KEY: '', ANTHROPIC_BASE_URL: '', OPENAI_BASE_URL: '' }
const env = {
  ...NO_KEYS,
  NODE_TEST_CONTEXT: '',
  TMPDIR: folder,
  PALIMPSEST_USER: 'ada',
  PALIMPSEST_WORKSPACE: join(folder, 'workspace'),
}
const parse = (stdout: string): AgentEvent[] =>
  stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))

describe('ask --demo', () => {
  test('shows files, a command, an edit, the context and a proposal', async () => {
    const home = join(folder, 'demo-home')
    const ran = await runCli(['ask', '--demo', '--yes', '--json', '--home', home, 'Fix', 'it'], { env })
    assert.equal(ran.code, 0, ran.stderr)
    const events = parse(ran.stdout)
    assert.deepEqual([...new Set(only(events, 'call').map(({ name }) => name))].sort(), [
      'context',
      'edit_file',
      'list_files',
      'list_memory_blocks',
      'propose_memory_block',
      'read_file',
      'run_command',
    ])
    assert.ok(only(events, 'result').every(({ isError }) => !isError))
    assert.match(doneOf(events).message, /the tests pass now/)
    assert.equal(doneOf(events).cost, 0)
    const proposals = await runCli(['memory', 'proposals', '--home', home, '--json'], { env })
    assert.equal(JSON.parse(proposals.stdout).proposals.length, 1)
  })

  test('writes the answer to stdout and its actions to stderr, and runs no command without approval', async () => {
    const ran = await spawnCli(['ask', '--demo', 'What is this?'], { env })
    assert.equal(ran.code, 0)
    assert.match(ran.stdout, /^Done\. What happened:/)
    assert.match(ran.stdout, /the tests were not run/)
    assert.match(ran.stderr, /a script, not a language model.*you asked: “What is this\?”/s)
    assert.match(ran.stderr, /→ run_command \{"command":"node --test"\}\n✗ The command was not run/)
    assert.match(ran.stderr, /palimpsest show ask-\S+ --home \S+palimpsest-demo-/)
  })

  test('continues a session: undo, delegate, remember, search', async () => {
    const home = join(folder, 'talk')
    const ask = (request: string) =>
      runCli(['ask', '--demo', '--yes', '--session', 's', '--home', home, '--json', request], { env })
    await ask('hello')
    const names = async (request: string) => only(parse((await ask(request)).stdout), 'call').map(({ name }) => name)
    assert.deepEqual(await names('please delegate something'), ['delegate'])
    assert.deepEqual(await names('what do you remember?'), ['list_memory_blocks'])
    assert.deepEqual(await names('tell me about quantity'), ['recall'])
    const exported = await runCli(['export', 's', '--home', home])
    const { format, sessions } = JSON.parse(exported.stdout)
    assert.equal(format, 'palimpsest-sessions')
    assert.equal(sessions[0].about.client, 'palimpsest:default')
    const kinds = new Set(sessions[0].ledger.map(({ type }: { type: string }) => type))
    assert.ok(['entry', 'edit', 'usage', 'file'].every(kind => kinds.has(kind)))
    const all = JSON.parse((await runCli(['export', '--all', '--home', home])).stdout)
    assert.deepEqual(all.sessions.map(({ id }: { id: string }) => id).sort(), ['s', 's-sub-1'])
    assert.equal((await runCli(['export', '--home', home])).code, 2)
  })
})

describe('ask', () => {
  test('takes the model from the environment and the configuration, and the request from stdin', async () => {
    await using upstream = await startUpstream(() => ({ text: 'ok' }))
    const home = join(folder, 'configured', '.agent')
    const config = {
      agent: { provider: 'anthropic', baseUrl: `${upstream.url}/v1`, keyEnv: 'MY_KEY', temperature: 0.2 },
    }
    await runCli(['persona', 'create', 'x', '--prompt', 'You are x.', '--model', 'claude-x', '--home', home])
    writeFileSync(join(folder, 'configured', 'palimpsest.json'), JSON.stringify(config))
    const given = { env: { ...env, MY_KEY: 'sk-mine' }, input: 'from stdin' }
    assert.equal((await runCli(['ask', '--home', home], given)).stdout, 'ok\n')
    await runCli(['ask', '--home', home, '--persona', 'x', 'Look:', '-'], given)
    await runCli(['ask', '--home', home, '--persona', 'x', '--model', 'claude-y', 'hi'], given)
    const [first, second, third] = upstream.requests
    assert.equal(first?.path, '/v1/messages')
    assert.equal(first?.headers['x-api-key'], 'sk-mine')
    assert.equal(first?.json.temperature, 0.2)
    assert.equal(first?.json.model, 'claude-sonnet-4-5')
    assert.match(first!.body, /from stdin/)
    assert.equal(second?.json.model, 'claude-x')
    assert.match(second!.body, /Look:\\n\\nfrom stdin/)
    assert.equal(third?.json.model, 'claude-y')
  })

  test('explains a missing model and a failing model', async () => {
    const none = await runCli(['ask', 'hi', '--home', join(folder, 'none')], { env })
    assert.equal(none.code, 2)
    assert.match(none.stderr, /No model is configured\. Set ANTHROPIC_API_KEY.*--demo\. \(MODEL_MISSING\)/)
    await using upstream = await startUpstream(() => ({
      error: { status: 404, body: { error: { message: 'no model' } } },
    }))
    const given = { ...env, OPENAI_API_KEY: 'k', OPENAI_BASE_URL: `${upstream.url}/v1` }
    const failed = await runCli(['ask', 'hi', '--home', join(folder, 'failing')], { env: given })
    assert.equal(failed.code, 7)
    assert.match(failed.stderr, /gave no answer: 404: no model Check the name of the model.*\(MODEL_FAILED\)/)
    assert.equal((await runCli(['ask', '--home', join(folder, 'none')], { env, input: ' ' })).code, 2)
  })

  test('resumes an interrupted session', async () => {
    await using upstream = await startUpstream((_, index) =>
      index === 0 ? { error: { status: 400, body: { error: { message: 'bad' } } } } : { text: 'here you are' },
    )
    const given = { env: { ...env, OPENAI_API_KEY: 'k', OPENAI_BASE_URL: upstream.url } }
    const home = join(folder, 'resumed')
    assert.equal((await runCli(['ask', '-s', 'one', 'do it', '--home', home], given)).code, 7)
    const again = await runCli(['ask', '-s', 'one', '--resume', '--home', home], given)
    assert.equal(again.stdout, 'here you are\n')
  })
})

describe('persona', () => {
  const home = join(folder, 'personas-home')
  const run = (...args: string[]) => runCli(['persona', ...args, '--home', home])

  test('lists, creates, shows and chooses personas', async () => {
    assert.match((await run('list')).stdout, /default \* +package/)
    const made = await run(
      'create',
      'writer',
      '--prompt',
      'You write.',
      '--tools',
      'files,memory',
      '--temperature',
      '0.9',
    )
    assert.equal(made.code, 0, made.stderr)
    const path = join(home, 'personas', 'writer.json')
    assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), {
      name: 'writer',
      systemPrompt: 'You write.',
      tools: ['files', 'memory'],
      temperature: 0.9,
    })
    assert.equal((await run('use', 'writer')).code, 0)
    assert.match((await run('list')).stdout, /writer \* +home/)
    assert.equal(JSON.parse((await run('show', 'writer')).stdout).systemPrompt, 'You write.')
  })

  test('refuses invalid personas with the reason', async () => {
    assert.match((await run('create', 'writer', '--prompt', 'x')).stderr, /The persona writer already exists/)
    assert.match((await run('create', 'Bad Name', '--prompt', 'x')).stderr, /name: a name has 1–40 letters/)
    assert.match((await run('create', 'odd', '--prompt', 'x', '--tools', 'nothing')).stderr, /There is no tool nothing/)
    assert.match((await run('create', 'hot', '--prompt', 'x', '--temperature', '9')).stderr, /temperature/)
    assert.match(
      (await run('show', 'nobody')).stderr,
      /There is no persona nobody; there are default.*PERSONA_NOT_FOUND/,
    )
    assert.equal((await run('use')).code, 2)
  })
})
