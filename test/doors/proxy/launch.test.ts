import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentNamed, basesAt, launchOf, upstreamsIn, upstreamsOf } from '../../../src/doors/commands/agents.ts'

const url = 'http://127.0.0.1:4711'
const bases = basesAt(url)

async function emptyFolder(t: { after(work: () => Promise<void>): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

test('claude, aider, qwen and gemini get the addresses in variables, codex in an argument', async () => {
  const given = { bases, args: ['x'], env: { HOME: '/nowhere', OTHER: '1' }, folder: '/nowhere' }
  const claude = await launchOf('/usr/bin/claude', given)
  assert.deepEqual(claude.args, ['x'])
  assert.equal(claude.env['ANTHROPIC_BASE_URL'], `${url}/anthropic`)
  assert.equal(claude.env['OTHER'], '1')
  assert.equal((await launchOf('aider', given)).env['OPENAI_API_BASE'], `${url}/openai/v1`)
  assert.equal((await launchOf('qwen', given)).env['OPENAI_BASE_URL'], `${url}/openai/v1`)
  assert.equal((await launchOf('gemini', given)).env['GOOGLE_GEMINI_BASE_URL'], `${url}/gemini`)
  assert.deepEqual((await launchOf('codex', given)).args, ['-c', `openai_base_url="${url}/openai/v1"`, 'x'])
})

test('an unknown program gets every variable', async () => {
  const { env } = await launchOf('my-agent', { bases, args: [], env: {}, folder: '/nowhere' })
  assert.deepEqual(env, {
    ANTHROPIC_BASE_URL: `${url}/anthropic`,
    ANTHROPIC_API_BASE: `${url}/anthropic`,
    OPENAI_BASE_URL: `${url}/openai/v1`,
    OPENAI_API_BASE: `${url}/openai/v1`,
    GOOGLE_GEMINI_BASE_URL: `${url}/gemini`,
  })
})

test("pi gets its own folder with links to the user's settings", async t => {
  const home = await emptyFolder(t)
  const folder = await emptyFolder(t)
  const own = join(home, '.pi', 'agent')
  await mkdir(own, { recursive: true })
  const models = JSON.stringify({ providers: { openai: { apiKey: 'mine' }, local: { baseUrl: 'http://localhost' } } })
  await writeFile(join(own, 'models.json'), models)
  await writeFile(join(own, 'settings.json'), '{}')
  const { env } = await launchOf('pi', { bases, args: [], env: { HOME: home }, folder })
  const dir = env['PI_CODING_AGENT_DIR']!
  assert.equal(await readlink(join(dir, 'settings.json')), join(own, 'settings.json'))
  assert.deepEqual(JSON.parse(await readFile(join(dir, 'models.json'), 'utf8')).providers, {
    openai: { apiKey: 'mine', baseUrl: `${url}/openai/v1` },
    local: { baseUrl: 'http://localhost' },
    anthropic: { baseUrl: `${url}/anthropic` },
  })
  assert.equal(await readFile(join(own, 'models.json'), 'utf8'), models)
  // Its conversations remain after the run, the very first one too.
  await writeFile(join(env['PI_CODING_AGENT_DIR']!, 'sessions', 'one.jsonl'), '{}')
  assert.equal(await readFile(join(own, 'sessions', 'one.jsonl'), 'utf8'), '{}')
})

test('claude gets the address in an argument if its settings would override the environment', async t => {
  const home = await emptyFolder(t)
  await mkdir(join(home, '.claude'))
  await writeFile(join(home, '.claude', 'settings.json'), '{"env":{"ANTHROPIC_BASE_URL":"http://gateway"}}')
  const { args, env } = await launchOf('claude', { bases, args: ['-p', 'x'], env: { HOME: home }, folder: home })
  const told = { ANTHROPIC_BASE_URL: `${url}/anthropic` }
  assert.deepEqual(args, ['--settings', JSON.stringify({ env: told }), '-p', 'x'])
  assert.equal(env['ANTHROPIC_BASE_URL'], told.ANTHROPIC_BASE_URL)
  assert.deepEqual(upstreamsOf(agentNamed('claude')!, { HOME: home }), { anthropic: 'http://gateway' })
})

test('opencode gets the addresses in the variable that it merges with its files', async () => {
  const own = '{"model":"anthropic/claude","provider":{"anthropic":{"options":{"apiKey":"k"}}}}'
  const { env } = await launchOf('opencode', {
    bases,
    args: [],
    env: { OPENCODE_CONFIG_CONTENT: own },
    folder: '/nowhere',
  })
  assert.deepEqual(JSON.parse(env['OPENCODE_CONFIG_CONTENT']!), {
    model: 'anthropic/claude',
    provider: {
      anthropic: { options: { apiKey: 'k', baseURL: `${url}/anthropic/v1` } },
      openai: { options: { baseURL: `${url}/openai/v1` } },
    },
  })
})

test('the agent’s own addresses become the upstreams', () => {
  assert.deepEqual(upstreamsIn({ ANTHROPIC_BASE_URL: 'http://a', OPENAI_API_BASE: 'http://o/v1' }), {
    anthropic: 'http://a',
    openai: 'http://o/v1',
  })
})
