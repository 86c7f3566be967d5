/**
 * The plugins in the real clients: installed as users do, then a command of each on a session that came through the
 * proxy. Needs the agents of `npm run clients:install`; `npm run test:clients` runs this too.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { AGENTS, basesAt } from '../../src/doors/commands/agents.ts'
import { applyChange } from '../../src/doors/commands/installed.ts'
import { serveProxy } from '../../src/doors/proxy/front.ts'
import { createProxy } from '../../src/doors/proxy/proxy.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { CLI, ROOT } from '../e2e/run-cli.ts'
import { startUpstream } from '../upstream.ts'

const CLIENTS = process.env['PALIMPSEST_CLIENTS'] ?? ''

/** A client that uses the proxy, with `palimpsest` on its path; its calls are in a log. */
async function worldFor(name: string) {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-plugin-'))
  const upstream = await startUpstream(() => ({ text: 'As you say.' }))
  const home = join(folder, 'palimpsest')
  const pal = await openPalimpsest({ home })
  const upstreams = { anthropic: upstream.url, openai: `${upstream.url}/v1` }
  const proxy = createProxy({ pal, upstreams })
  const front = await serveProxy(proxy)
  const bin = join(folder, 'bin')
  const log = join(folder, 'calls')
  await mkdir(bin)
  await mkdir(join(folder, 'work'))
  const script = `#!/bin/sh\necho "$*" >> ${log}\nexec ${process.execPath} ${CLI} "$@"\n`
  await writeFile(join(bin, 'palimpsest'), script, { mode: 0o755 })
  const env = {
    HOME: folder,
    PATH: `${bin}:${process.env['PATH']}`,
    LANG: 'C.UTF-8',
    PALIMPSEST_HOME: home,
    ANTHROPIC_API_KEY: 'sk-ant-dummy',
    CODEX_API_KEY: 'dummy',
    PI_OFFLINE: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  }
  await applyChange(name, { agent: AGENTS[name]!, bases: basesAt(front.url), env, earlier: undefined })
  const run = async (...args: string[]) => {
    const program = join(CLIENTS, 'node_modules', '.bin', name)
    const child = spawn(program, args, { cwd: join(folder, 'work'), env, stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = new Promise<number | null>(resolve => child.on('exit', resolve))
    const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    await proxy.idle()
    assert.equal(code, 0, `${name} ${args.join(' ')}: ${err}${out}`)
    return out + err
  }
  const dispose = async () => {
    await front.close()
    await proxy.idle()
    await upstream.close()
    await pal.close()
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  const calls = async () => (existsSync(log) ? await readFile(log, 'utf8') : '')
  return { folder, upstream, pal, run, calls, [Symbol.asyncDispose]: dispose }
}

function clientTest(name: string, title: string, work: () => Promise<void>): void {
  const isHere = CLIENTS !== '' && existsSync(join(CLIENTS, 'node_modules', '.bin', name))
  test(title, { skip: isHere ? false : `${name} is not installed: npm run test:clients`, timeout: 600_000 }, work)
}

clientTest('claude', 'Claude Code: /palimpsest:context shows the session that is open', async () => {
  await using world = await worldFor('claude')
  await world.run('plugin', 'marketplace', 'add', ROOT)
  await world.run('plugin', 'install', 'palimpsest@palimpsest')
  const model = ['--model', 'claude-sonnet-4-5']
  await world.run('-p', 'Remember the green door.', ...model)
  await world.run('-p', '--continue', '/palimpsest:context', ...model)
  const asked = world.upstream.requests.at(-1)!.body
  assert.match(asked, /claude-[0-9a-f-]{36}: [\d,]+ of [\d,]+ tokens/)
  assert.match(asked, /Remember the green door/)
  assert.match(await world.calls(), /^context claude-[0-9a-f-]{36}\s*$/m)
  assert.match(await world.calls(), /^statusline --cold$/m)
})

clientTest('codex', 'Codex: the plugin is installed, and its skills are told to the model', async () => {
  await using world = await worldFor('codex')
  await world.run('plugin', 'marketplace', 'add', ROOT)
  await world.run('plugin', 'add', 'palimpsest@palimpsest')
  assert.match(await world.run('plugin', 'list'), /palimpsest@palimpsest\s+installed, enabled/)
  await world.run('exec', '--skip-git-repo-check', '-m', 'gpt-5.1-codex', 'Hello.')
  assert.match(world.upstream.requests.at(-1)!.body, /palimpsest-context[\s\S]*palimpsest-undo[\s\S]*palimpsest-why/)
})

clientTest('opencode', 'opencode: /palimpsest-context shows the session that is open', async () => {
  await using world = await worldFor('opencode')
  const plugins = join(world.folder, '.config', 'opencode', 'plugin')
  await mkdir(plugins, { recursive: true })
  await writeFile(join(plugins, 'palimpsest.ts'), await readFile(join(ROOT, 'plugins/opencode/palimpsest.ts')))
  // opencode gets the types of its plugins beside a plugin. Ours needs none, and here it would try again for minutes.
  await writeFile(join(plugins, '..', '.npmrc'), 'registry=http://127.0.0.1:9/\nfetch-retries=0\n')
  const model = ['-m', 'anthropic/claude-sonnet-4-5']
  await world.run('run', ...model, 'Remember the green door.')
  await world.run('run', ...model, '--continue', '--command', 'palimpsest-context')
  assert.match(world.upstream.requests.map(({ body }) => body).join('\n'), /session-ses_\w+: [\d,]+ of [\d,]+ tokens/)
  assert.match(await world.calls(), /^context session-ses_\w+$/m)
})

clientTest('pi', 'pi: every request names its session, and /palimpsest-context is about it', async () => {
  await using world = await worldFor('pi')
  await world.run('install', join(ROOT, 'plugins/pi'))
  const model = ['--provider', 'anthropic', '--model', 'claude-sonnet-4-5']
  await world.run('-p', ...model, 'Remember the green door.')
  const [session] = await world.pal.sessions({ limit: 10 })
  assert.match(session!.id, /^pi-/)
  await world.run('-p', ...model, '--continue', '/palimpsest-context')
  const calls = await world.calls()
  assert.ok(calls.includes(`context ${session!.id}\n`), calls)
  assert.ok(calls.includes(`statusline ${session!.id}\n`), calls)
})
