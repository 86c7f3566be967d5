import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { BoundedText, publicEnvironment, runCommand } from '../../src/tools/command.ts'
import { runTool } from '../../src/tools/tool.ts'
import { makeSandbox } from './sandbox.ts'

test('a command gives its output and its exit code', async () => {
  const { run } = await makeSandbox()
  assert.deepEqual(await run(runCommand, { command: 'echo out; echo err >&2; exit 3' }), {
    text: 'out\nerr\n[exit code 3]',
  })
  assert.equal((await run(runCommand, { command: 'true' })).text, '[exit code 0]')
})

test('a command runs in the root or a folder below it, and nowhere else', async () => {
  const { root, run, put } = await makeSandbox()
  await put('sub/x', '')
  assert.equal((await run(runCommand, { command: 'pwd -P' })).text, `${root}\n[exit code 0]`)
  assert.equal((await run(runCommand, { command: 'pwd -P', cwd: 'sub' })).text, `${join(root, 'sub')}\n[exit code 0]`)
  for (const cwd of ['..', '/', 'none', 'sub/x'])
    assert.equal((await run(runCommand, { command: 'pwd', cwd })).isError, true)
})

test('a command gets no input', async () => {
  const { run } = await makeSandbox()
  assert.equal((await run(runCommand, { command: 'cat; echo end' })).text, 'end\n[exit code 0]')
})

test('at the time limit a command and all its processes are ended', async () => {
  const { root, run } = await makeSandbox()
  const command = 'sleep 600 & echo $! > child; echo started; sleep 600'
  const result = await run(runCommand, { command, timeout_seconds: 0.5 })
  assert.deepEqual(result, { text: 'started\n[timed out after 0.5 s; ended]', isError: true })
  await gone(Number(readFileSync(join(root, 'child'), 'utf8')))
})

test('a process that ignores the first signal is killed', async () => {
  const { run } = await makeSandbox()
  const command = 'trap "" TERM; echo deaf; while :; do sleep 0.1; done'
  const result = await run(runCommand, { command, timeout_seconds: 0.3 })
  assert.match(result.text, /^deaf\n\[timed out/)
})

test('background processes of a command are ended, and do not delay the result', async () => {
  const { root, run } = await makeSandbox()
  const result = await run(runCommand, { command: 'sleep 600 & echo $! > child; echo done' })
  assert.equal(result.text, 'done\n[exit code 0]')
  await gone(Number(readFileSync(join(root, 'child'), 'utf8')))
})

test('long output keeps its beginning and its end', async () => {
  const { run } = await makeSandbox()
  const { text, whole } = await run(runCommand, { command: 'echo first; yes | head -c 5000000; echo last' })
  assert.match(text, /^first\ny\n/)
  assert.match(text, /y\nlast\n\[exit code 0\]$/)
  assert.match(text, /\.\.\. \[4,980,011 of 5,000,011 chars left out\] \.\.\./)
  assert.ok(text.length < 21_000)
  assert.ok(whole!.length > 4_000_000 && whole!.length < 4_001_000, 'the ledger gets four million characters')
  assert.equal((await run(runCommand, { command: 'echo short' })).whole, undefined)
})

test('bounded text is limited while it grows, and whole if it is short', () => {
  const kept = new BoundedText(10)
  for (const part of ['ab', 'cd', 'efghij']) kept.add(part)
  assert.equal(kept.toString(), 'abcdefghij')
  for (let i = 0; i < 1000; i++) kept.add('0123456789')
  assert.equal(kept.toString(), 'abcde\n... [10,000 of 10,010 chars left out] ...\n56789')
})

test('a cancelled call ends the command and throws', async () => {
  const { context, root } = await makeSandbox()
  const controller = new AbortController()
  const command = 'echo $$ > shell; mv shell begun; sleep 600'
  const running = runTool(runCommand, { command }, { ...context, signal: controller.signal })
  while (!existsSync(join(root, 'begun'))) await delay(5)
  controller.abort()
  await assert.rejects(running, { name: 'AbortError' })
  await gone(Number(readFileSync(join(root, 'begun'), 'utf8')))
})

test('a call that was cancelled before its start runs nothing', async () => {
  const { context } = await makeSandbox()
  const stopped = { ...context, signal: AbortSignal.abort() }
  await assert.rejects(runTool(runCommand, { command: 'touch begun' }, stopped), { name: 'AbortError' })
  assert.equal((await runTool(runCommand, { command: 'ls' }, context)).text.includes('begun'), false)
})

test('secrets are removed from the environment, by name and by value', async () => {
  const env = {
    PATH: process.env.PATH,
    LANG: 'C',
    KEYBOARD: 'de',
    MONKEY_BARS: 'x',
    AUTHOR: 'me',
    OPENAI_API_KEY: 'x',
    openaiApiKey: 'x',
    GITHUB_TOKEN: 'x',
    PGPASSWORD: 'x',
    MYSQL_PWD: 'x',
    AWS_SECRET_ACCESS_KEY: 'x',
    SSH_AUTH_SOCK: '/tmp/s',
    DATABASE_URL: 'postgres://user:pass@host/db',
    SOME_SETTING: 'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
    EMPTY: undefined,
  }
  assert.deepEqual(Object.keys(publicEnvironment(env)), ['PATH', 'LANG', 'KEYBOARD', 'MONKEY_BARS', 'AUTHOR'])
  assert.ok('GITHUB_TOKEN' in publicEnvironment(env, ['GITHUB_TOKEN']))
  const { run } = await makeSandbox({ env })
  const { text } = await run(runCommand, { command: 'env' })
  assert.match(text, /^LANG=C$/m)
  assert.doesNotMatch(text, /TOKEN|API_KEY|PASSWORD|ghp_/)
})

/** Resolves after a process is gone or a zombie; a process that stays fails the test by its time limit. */
async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      if (/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) return
      process.kill(pid, 0)
    } catch {
      return
    }
    await delay(20)
  }
}
