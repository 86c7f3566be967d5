/**
 * Real agents with only their installed settings: their requests come through the proxy. Needs the agents of `npm run
 * clients:install`; `npm run test:clients` runs this too.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { AGENTS, basesAt } from '../../../src/doors/commands/agents.ts'
import { applyChange } from '../../../src/doors/commands/installed.ts'
import { serveProxy } from '../../../src/doors/proxy/front.ts'
import { createProxy } from '../../../src/doors/proxy/proxy.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { startGemini } from '../../gemini-upstream.ts'
import { startUpstream } from '../../upstream.ts'

const CLIENTS = process.env['PALIMPSEST_CLIENTS'] ?? ''
const SAID = 'The installed address works.'

const RUNS: Record<string, { args: string[]; env?: Record<string, string>; files?: Record<string, string> }> = {
  claude: {
    args: ['-p', 'Say it.', '--model', 'claude-sonnet-4-5'],
    env: { ANTHROPIC_API_KEY: 'sk-ant-dummy', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1' },
    files: { '.claude/settings.json': '{\n  "cleanupPeriodDays": 7\n}\n' },
  },
  codex: {
    args: ['exec', '--skip-git-repo-check', 'Say it.'],
    env: { CODEX_API_KEY: 'dummy' },
    files: {
      '.codex/config.toml':
        '# mine\nmodel = "gpt-5.1-codex"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n',
    },
  },
  opencode: {
    args: ['run', '-m', 'anthropic/claude-sonnet-4-5', 'Say it.'],
    env: {
      ANTHROPIC_API_KEY: 'dummy',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
    },
    files: { '.config/opencode/opencode.jsonc': '{\n  // mine\n  "share": "disabled",\n}\n' },
  },
  pi: {
    args: ['-p', '--provider', 'anthropic', '--model', 'claude-sonnet-4-5', 'Say it.'],
    env: { ANTHROPIC_API_KEY: 'dummy', PI_OFFLINE: '1' },
  },
  gemini: {
    args: ['-p', 'Say it.', '-m', 'gemini-2.5-pro'],
    env: { GEMINI_API_KEY: 'dummy', GEMINI_CLI_TRUST_WORKSPACE: 'true' },
    files: { '.gemini/settings.json': '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' },
  },
  qwen: {
    args: ['-p', 'Say it.', '--auth-type', 'openai'],
    env: { OPENAI_API_KEY: 'dummy', OPENAI_MODEL: 'fake-model' },
  },
}

for (const [name, { args, env = {}, files = {} }] of Object.entries(RUNS)) {
  const program = join(CLIENTS, 'node_modules', '.bin', name)
  const skip = CLIENTS !== '' && existsSync(program) ? false : `${name} is not installed: npm run test:clients`
  test(`${name} uses the proxy with its installed settings alone`, { skip, timeout: 600_000 }, async t => {
    const home = await mkdtemp(join(tmpdir(), 'palimpsest-installed-'))
    t.after(() => rm(home, { recursive: true, force: true, maxRetries: 3 }))
    await using upstream = await (name === 'gemini' ? startGemini : startUpstream)(() => ({ text: SAID }))
    await using pal = await openPalimpsest({ home: join(home, '.palimpsest', 'home') })
    const upstreams = { anthropic: upstream.url, openai: `${upstream.url}/v1`, gemini: upstream.url }
    const proxy = createProxy({ pal, upstreams })
    await using front = await serveProxy(proxy)
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(home, path)), { recursive: true })
      await writeFile(join(home, path), content)
    }
    const agent = AGENTS[name]!
    await applyChange(name, { agent, bases: basesAt(front.url), env: { HOME: home }, earlier: undefined })
    const own = { HOME: home, PATH: process.env['PATH'], LANG: 'C.UTF-8', ...env }
    const child = spawn(program, args, { cwd: home, env: own, stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = new Promise<number | null>(resolve => child.on('exit', resolve))
    const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    await proxy.idle()
    assert.equal(code, 0, err + out)
    assert.ok(out.includes(SAID), out)
    assert.ok(upstream.requests.length > 0)
    assert.ok((await pal.sessions({ limit: 10 })).length > 0)
  })
}
