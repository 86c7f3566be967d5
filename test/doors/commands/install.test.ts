/** Agents that always go through Palimpsest: settings are changed and put back, and the service is a real process. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '../../../scripts/free-port.ts'
import { AGENTS, basesAt } from '../../../src/doors/commands/agents.ts'
import { applyChange, takeBack } from '../../../src/doors/commands/installed.ts'
import { describeService, isPortTaken } from '../../../src/doors/commands/service.ts'
import { spawnCli } from '../../e2e/run-cli.ts'
import { dotenv, jsonc, toml } from '../../files/settings-texts.ts'
import * as fc from '../../property.ts'
import { startUpstream } from '../../upstream.ts'

const bases = basesAt('http://127.0.0.1:8787')
const TEXTS = { json: jsonc, toml, env: dotenv }
const run = promisify(execFile)

async function ownHome() {
  const home = await mkdtemp(join(tmpdir(), 'palimpsest-install-'))
  return { home, [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }) }
}

/** A home in which Claude Code has these settings. */
async function claudeWith(text: string) {
  const own = await ownHome()
  const env = { HOME: own.home }
  const agent = AGENTS['claude']!
  const { path } = agent.settings!(env)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  const installed = await applyChange('claude', { agent, bases, env, earlier: undefined })
  return { path, installed, [Symbol.asyncDispose]: own[Symbol.asyncDispose] }
}

const installable = Object.entries(AGENTS).filter(([, { settings }]) => settings)

for (const [name, agent] of installable) {
  test(`install and uninstall together leave any settings of ${name} unchanged, byte for byte`, async () => {
    await using own = await ownHome()
    const env = { HOME: own.home }
    const { path, form } = agent.settings!(env)
    const texts = fc.option(TEXTS[form], { nil: undefined })
    await fc.assert(
      fc.asyncProperty(texts, async text => {
        await rm(path, { force: true })
        if (text !== undefined) {
          await mkdir(dirname(path), { recursive: true })
          await writeFile(path, text)
        }
        const given = { agent, bases, env }
        try {
          const first = await applyChange(name, { ...given, earlier: undefined })
          const again = await applyChange(name, { ...given, bases: basesAt('http://127.0.0.1:1'), earlier: first })
          await takeBack(again)
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'CONFIG_INVALID')
        }
        assert.equal(existsSync(path) ? await readFile(path, 'utf8') : undefined, text)
      }),
      { numRuns: 60 },
    )
  })
}

test('uninstall removes only our address from settings that were changed since', async () => {
  await using own = await claudeWith('{\n  "env": {},\n  "model": "opus"\n}\n')
  const { path, installed } = own
  await writeFile(path, (await readFile(path, 'utf8')).replace('opus', 'haiku'))
  assert.equal(await takeBack(installed), 'taken out')
  const after = await readFile(path, 'utf8')
  assert.deepEqual(JSON.parse(after), { env: {}, model: 'haiku' })
  assert.equal(await takeBack(installed), 'changed since')
  assert.equal(await readFile(path, 'utf8'), after)
})

test('an existing status line of the user is kept', async () => {
  await using own = await claudeWith('{"statusLine":{"type":"command","command":"mine"}}')
  assert.deepEqual(JSON.parse(await readFile(own.path, 'utf8')).statusLine, { type: 'command', command: 'mine' })
})

test('install, status, logs and uninstall work with a separate service', async () => {
  await using own = await ownHome()
  await using upstream = await startUpstream([])
  const settings = join(own.home, '.claude', 'settings.json')
  const before = `{ "env": { "ANTHROPIC_BASE_URL": "${upstream.url}" } } \n`
  await mkdir(dirname(settings))
  await writeFile(settings, before)
  // No service manager answers outside a session of the user.
  const env = { HOME: own.home, XDG_RUNTIME_DIR: own.home, DBUS_SESSION_BUS_ADDRESS: '', PATH: process.env['PATH']! }
  const cli = (...args: string[]) => spawnCli(args, { env, cwd: own.home })
  const unsure = await cli('install', 'claude')
  assert.equal(unsure.code, 2)
  assert.match(unsure.stderr, /\+.*ANTHROPIC_BASE_URL[\s\S]*nobody can answer/)
  assert.equal(await readFile(settings, 'utf8'), before)
  assert.equal((await cli('install', 'cursor')).code, 2)

  const installed = await cli('install', 'claude', '--yes', '--json', '--port', String(await freePort()))
  assert.equal(installed.code, 0, installed.stderr)
  const { url, tested } = JSON.parse(installed.stdout)
  assert.match(tested[0], /anthropic answered through the service/)
  assert.deepEqual(JSON.parse(await readFile(settings, 'utf8')).env, { ANTHROPIC_BASE_URL: `${url}/anthropic` })
  const line = JSON.parse(await readFile(settings, 'utf8')).statusLine
  assert.equal(line.type, 'command')
  assert.match((await run('sh', ['-c', `echo '{}' | ${line.command}`], { env })).stdout, /^palimpsest/)
  const status = JSON.parse((await cli('status', '--json')).stdout)
  assert.equal(status.service.healthy, true)
  assert.deepEqual(status.service.upstreams, { anthropic: upstream.url })
  assert.match((await cli('logs')).stdout, /Palimpsest is at/)

  await launcherFallsBack(own.home, url)
  const left = await cli('uninstall', '--yes')
  assert.equal(left.code, 0, left.stderr)
  assert.equal(await readFile(settings, 'utf8'), before)
  assert.equal(await isPortTaken(Number(new URL(url).port)), false)
  assert.deepEqual(await readdir(join(own.home, '.palimpsest', 'bin')), [])
})

/** The launcher starts the agent as it is while the service answers, and with its old address when it does not. */
async function launcherFallsBack(home: string, url: string): Promise<void> {
  const programs = join(home, 'programs')
  await mkdir(programs)
  await writeFile(join(programs, 'claude'), '#!/bin/sh\necho "$ANTHROPIC_BASE_URL|$*"\n', { mode: 0o755 })
  const launcher = join(home, '.palimpsest', 'bin', 'claude')
  const env = { PATH: `${dirname(launcher)}:${programs}:/usr/bin:/bin`, HOME: home }
  assert.equal((await run(launcher, ['-p', 'x'], { env })).stdout, '|-p x\n')
  const script = (await readFile(launcher, 'utf8')).replaceAll(url, 'http://127.0.0.1:1')
  await writeFile(launcher, script, { mode: 0o755 })
  const { stdout, stderr } = await run(launcher, ['-p', 'x'], { env })
  assert.match(stdout, /^http:\/\/127[^|]*\|--settings \{"env":\{"ANTHROPIC_BASE_URL":"http[^}]*\}\} -p x\n$/)
  assert.match(stderr, /goes straight to its provider/)
}

describe('the description of the service', () => {
  const spec = { command: ['/usr/bin/node', '/a b/100%/"x"$y.js', 'serve'], log: '/tmp/service.log' }
  const env = { HOME: '/home/me' }

  test('is valid for systemd', async t => {
    if (!existsSync('/usr/bin/systemd-analyze')) return t.skip('there is no systemd-analyze')
    await using own = await ownHome()
    const { text } = describeService('systemd', { ...spec, command: [process.execPath, ...spec.command.slice(1)] }, env)
    const unit = join(own.home, 'palimpsest.service')
    await writeFile(unit, text)
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--user', unit], {
      env: { ...process.env, XDG_RUNTIME_DIR: own.home },
    })
    assert.equal(stdout + stderr, '')
    assert.match(text, /"\/a b\/100%%\/\\"x\\"\$\$y\.js"/)
  })

  test('is valid XML for launchd and the task scheduler, with every argument of the command', async t => {
    const reader = 'import sys,plistlib;print("\\n".join(plistlib.loads(sys.stdin.buffer.read())["ProgramArguments"]))'
    const plist = describeService('launchd', spec, env).text
    const read = await python(reader, plist)
    if (read === undefined) return t.skip('there is no python3')
    assert.deepEqual(read.trimEnd().split('\n'), spec.command)
    const task = describeService('task', spec, env).text
    const find =
      'import sys,xml.etree.ElementTree as e;print([x.text for x in e.parse(sys.stdin).iter() if x.tag.endswith("Arguments")][0])'
    assert.match(
      (await python(find, task))!,
      /^\/d \/c ""\/usr\/bin\/node" .* "serve" >> "\/tmp\/service\.log" 2>&1"$/m,
    )
  })
})

function python(program: string, input: string): Promise<string | undefined> {
  return new Promise(resolve => {
    const child = execFile('python3', ['-c', program], (error, stdout) => resolve(error ? undefined : stdout))
    child.on('error', () => resolve(undefined))
    child.stdin?.end(input)
  })
}
