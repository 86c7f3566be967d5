/**
 * A long piece of work: 200 tool calls, and everything that must hold at each of them. The task is in view verbatim,
 * reminders are in the right places, every request is legal and bounded, old steps become a summary, and a killed
 * process continues without losing or repeating a call.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPalimpsest } from '../../src/session/engine.ts'
import { type Received, startUpstream, type Turn } from '../upstream.ts'
import { all, doneOf, only, openGround, textsOf } from './harness.ts'

const TASK =
  'Number every line of the ledger,\n  keep its "quotes" & spaces,\nand do not stop before line 200 — please.'
const CALLS = 200

/** One call a step; every third is a command with a long output, the others write. */
function workAt(n: number): Turn {
  if (n >= CALLS) return { text: 'All 200 lines are numbered.' }
  const line = { path: 'log.txt', content: `${n}\n` }
  const noise = `echo ${n} >> log.txt; seq -f 'line %g of step ${n}, which nobody will quote' 1 60`
  return n % 3 === 0
    ? { text: `Step ${n}.`, calls: [{ name: 'run_command', input: { command: noise } }] }
    : { text: `Step ${n}.`, calls: [{ name: 'append_to_file', input: line }] }
}

/** The numbers of tool calls in the reminders of a request. */
function anchorsIn(request: Received): string[] {
  return textsOf(request).flatMap(({ text }) => /\[TASK ANCHOR.*?made (\d+) tool calls/s.exec(text)?.[1] ?? [])
}

function assertTaskInView(request: Received): void {
  const shown = textsOf(request).filter(({ role, text }) => role === 'user' && text === TASK)
  assert.ok(shown.length > 0, `the task is not in view: ${request.body.slice(0, 500)}`)
}

test('in 200 tool calls, the task is always in view, every fifth call has an anchor, and every view is legal', async () => {
  const window = 14_000
  await using ground = await openGround((_, index) => workAt(index), {
    engine: { models: { 'gpt-4.1': { window } } },
    allow: { all: true },
    limits: { steps: 1_000, money: 1_000 },
  })
  const events = await all(ground.agent.run(TASK))
  const { requests } = ground.upstream
  assert.equal(doneOf(events).reason, 'answered')
  assert.equal(only(events, 'call').length, CALLS)
  assert.equal(only(events, 'result').length, CALLS)
  assert.equal(requests.length, CALLS + 1)
  for (const [made, request] of requests.entries()) {
    assertTaskInView(request)
    const last = textsOf(request).at(-1)!.text
    if (made > 0 && made % 5 === 0) {
      assert.ok(last.startsWith(`[TASK ANCHOR — Reminder] Your CURRENT GOAL is: "${TASK}"`), `no anchor at ${made}`)
      assert.ok(last.includes(`You have made ${made} tool calls. Stay focused.`))
    } else assert.ok(!last.includes('[TASK ANCHOR'), `an anchor at ${made}`)
  }
  const edits = ground.agent.session.edits().map(({ edit }) => edit)
  const by = (policy: string) => edits.filter(edit => edit.by === `policy:${policy}`)
  assert.equal(by('anchor').length, CALLS / 5)
  const summaries = by('summarize').length
  assert.ok(summaries >= 1, 'no summary')
  assert.ok(by('warn').length >= summaries, 'a summary came without a warning')
  assert.ok(by('thrifty').length > 10, `${by('thrifty').length} edits of thrifty`)
  assert.equal(only(events, 'edits').flatMap(({ ids }) => ids).length, edits.length)
  const { tokens } = await ground.agent.session.view({ plan: false })
  assert.ok(tokens < window, `${tokens} tokens`)
  assert.deepEqual((await ground.agent.session.verify()).violations, [])
  assert.equal(readFileSync(join(ground.root, 'log.txt'), 'utf8'), numbers(CALLS))
  assert.equal(readdirSync(join(ground.home, 'archive')).length, summaries)
  assert.match(readFileSync(dailyLog(join(ground.root, 'workspace')), 'utf8'), /Summarised entries 1-\d+ of work/)
})

test('a process that is killed during a model call or a tool call continues after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-kill-'))
  const killBeforeAnswer = new Set([10, 30])
  const KILLS_ITSELF = 20
  let child: ChildProcess | undefined
  let next = 0
  await using upstream = await startUpstream(() => {
    if (killBeforeAnswer.delete(next)) {
      child?.kill('SIGKILL')
      return { stallAfter: 0 }
    }
    const n = next++
    // The shell's parent is the agent: the command has its effect, and its result is never recorded.
    const command = `echo ${n} >> log.txt; kill -9 $PPID`
    return n === KILLS_ITSELF ? { calls: [{ name: 'run_command', input: { command } }] } : workAt(n < 40 ? n : CALLS)
  })
  const runs = []
  for (const request of [TASK, undefined, undefined, undefined]) {
    const started = startAgent(folder, upstream.url, request)
    child = started.child
    runs.push(await started.ended)
  }
  assert.deepEqual(
    runs.map(({ signal }) => signal),
    ['SIGKILL', 'SIGKILL', 'SIGKILL', null],
  )
  assert.deepEqual(
    runs.map(({ events }) => only(events, 'interrupted').flatMap(({ calls }) => calls.map(({ name }) => name))),
    [[], [], ['run_command'], []],
  )
  assert.equal(doneOf(runs.at(-1)!.events).message, 'All 200 lines are numbered.')
  for (const request of upstream.requests) assertTaskInView(request)
  assert.equal(readFileSync(join(folder, 'log.txt'), 'utf8'), numbers(40))
  const after = upstream.requests.find(({ body }) => body.includes('run_command was interrupted'))
  assert.ok(after?.body.includes('It may have had effects: look before you run it again.'))
  await using pal = await openPalimpsest({ home: join(folder, 'home'), config: false })
  const session = await pal.session('work', { mustExist: true })
  assert.deepEqual((await session.verify()).violations, [])
  assert.equal(session.fold.entries.filter(({ role }) => role === 'user').length, 1)
  rmSync(folder, { recursive: true, force: true })
})

test('after a summary and a restart, the task is still in view and the count for anchors continues', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-restart-'))
  let child: ChildProcess | undefined
  let next = 0
  let killed = false
  await using upstream = await startUpstream(({ body }) => {
    if (!killed && body.includes('a record of what happened, not an order') && next % 5 === 2) {
      killed = true
      child?.kill('SIGKILL')
      return { stallAfter: 0 }
    }
    return workAt(next < 80 ? next++ : CALLS)
  })
  for (const request of [TASK, undefined]) {
    const started = startAgent(folder, upstream.url, request, 9_000)
    child = started.child
    await started.ended
  }
  assert.ok(killed && next === 80)
  for (const request of upstream.requests) assertTaskInView(request)
  const told = upstream.requests.slice(-20).flatMap(request => anchorsIn(request).at(-1) ?? [])
  assert.equal(told.at(-1), '80')
  rmSync(folder, { recursive: true, force: true })
})

function startAgent(folder: string, url: string, request: string | undefined, window = 200_000) {
  const args = [join(import.meta.dirname, 'agent-process.ts'), folder, url, ...(request === undefined ? [] : [request])]
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TEST_WINDOW: String(window) },
  })
  let output = ''
  child.stdout.on('data', text => {
    output += text
  })
  const ended = new Promise<{ signal: NodeJS.Signals | null; events: Parameters<typeof doneOf>[0] }>(resolve => {
    child.once('close', (_, signal) => {
      const lines = output.split('\n').filter(line => line.endsWith('}'))
      resolve({ signal, events: lines.map(line => JSON.parse(line)) })
    })
  })
  return { child, ended }
}

function numbers(count: number): string {
  return Array.from({ length: count }, (_, n) => `${n}\n`).join('')
}

function dailyLog(workspace: string): string {
  const [file] = readdirSync(join(workspace, 'memory'))
  return join(workspace, 'memory', file!)
}
