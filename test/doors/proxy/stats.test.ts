import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { runAgent, runSummary } from '../../../src/doors/commands/run.ts'
import { stats } from '../../../src/doors/commands/stats.ts'
import type { Context } from '../../../src/doors/terminal/command.ts'
import { shareOption } from '../../../src/doors/terminal/command.ts'
import { createPaint } from '../../../src/doors/terminal/output.ts'
import type { Event } from '../../../src/model/types.ts'
import { modelInfo } from '../../../src/providers/models.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { statisticsOf } from '../../../src/view/statistics.ts'
import { Timeline } from '../../../src/view/timeline.ts'
import { startUpstream } from '../../upstream.ts'
import { builder, LOOPS } from './loops.ts'
import { setUp } from './setup.ts'

const words = (text: string) => text.split(' ').length
const said = (role: 'user' | 'assistant', text: string): Event => ({
  type: 'entry',
  message: { role, parts: [{ type: 'text', text }] },
})
const used = (usage: object): Event => ({ type: 'usage', usage: { model: 'claude-sonnet-4-5', ...usage } })

function placed(events: readonly (Event | { pause: number })[]) {
  let at = 0
  return events.flatMap((event, seq) => {
    if ('pause' in event) at += event.pause
    return 'pause' in event ? [] : [{ seq, at: at++, event }]
  })
}

function statistics(events: ReturnType<typeof placed>) {
  const model = 'claude-sonnet-4-5'
  const timeline = new Timeline({ count: words, model: modelInfo(model), name: model })
  for (const event of events) timeline.take(event)
  return statisticsOf(timeline)
}

const HUNDRED = `${'w '.repeat(99)}w`

test('caching by the provider is not counted as saved', () => {
  const events = [said('user', HUNDRED), said('assistant', 'a'), used({ input: 10, cacheRead: 1_000_000, output: 0 })]
  const { saved, cost } = statistics(placed(events))
  assert.equal(saved, 0)
  assert.ok(Math.abs(cost - (10 * 3 + 1_000_000 * 0.3) / 1e6) < 1e-9)
})

test('text that is not sent is saved, minus the cost of writing it to the cache again', () => {
  const edit: Event = {
    type: 'edit',
    edits: [
      {
        id: 'e1',
        target: { type: 'part', entry: 0, part: 0 },
        replacement: 'short',
        by: 'policy:thrifty',
        why: '',
        saved: 99,
      },
    ],
  }
  const round = [said('user', HUNDRED), said('assistant', HUNDRED), used({ input: 100 })]
  const events = [...round, ...round, ...round, ...round, edit, ...round]
  const { saved, edits, busts } = statistics(placed(events))
  assert.ok(saved < 0, 'the first call after an edit pays for what is written again')
  assert.deepEqual(edits, { 'policy:thrifty': 1 })
  assert.deepEqual(busts, { edit: 1, pause: 0, client: 0, model: 0, server: 0, provider: 0 })
  const more = Array.from({ length: 30 }, () => [
    said('user', 'go'),
    said('assistant', 'on'),
    used({ input: 1 }),
  ]).flat()
  const later = statistics(placed([...events, ...more]))
  assert.ok(later.saved > saved, 'each later call gains')
})

test('misses after a pause or a change of model are counted apart from those after edits', () => {
  const call = used({ input: 1 })
  const events = [said('user', 'a'), call, { pause: 600_000 }, call, used({ input: 1, model: 'claude-haiku-4-5' })]
  const { busts } = statistics(placed(events))
  assert.deepEqual(busts, { edit: 0, pause: 1, client: 0, model: 1, server: 0, provider: 0 })
})

test('stats gives the numbers that the proxy counted, and metrics gives them in the format of Prometheus', async () => {
  await using it = await setUp(builder(30))
  await LOOPS[0]!.run(it.url)
  await it.proxy.idle()
  const context = { args: [], values: {}, home: 'here', open: async () => it.pal, openIfThere: async () => it.pal }
  const report = (await stats.run(context as unknown as Context))!
  const { all } = report.json as { all: { calls: number; tokensIn: number; tokensSent: number; cost: number } }
  const totals = await it.proxy.totals()
  assert.equal(all.calls, totals.calls)
  assert.equal(all.tokensSent, totals.tokensSent)
  assert.ok(Math.abs(all.tokensIn / totals.tokensIn - 1) < 0.02, `${all.tokensIn} and ${totals.tokensIn}`)
  assert.ok(Math.abs(all.cost - totals.cost) < 1e-9)
  assert.match([...report.text(createPaint(false))].join('\n'), /1 session, 31 calls\nmessages .* came in/)
  const metrics = await it.proxy.metrics()
  assert.match(metrics, /^# TYPE palimpsest_tokens_sent_total counter$/m)
  assert.match(metrics, new RegExp(`palimpsest_tokens_sent_total\\{model="claude-sonnet-5"\\} ${totals.tokensSent}`))
  assert.match(metrics, /palimpsest_requests_total\{dialect="anthropic",status="200"\} 31/)
  assert.match(metrics, /palimpsest_edits_total\{by="policy:thrifty"\} \d+/)
  assert.match(metrics, /palimpsest_busts_total 0/)
})

test('run starts an agent with the proxy, and reports the savings at the end', async t => {
  const home = await mkdtemp(join(tmpdir(), 'palimpsest-'))
  t.after(() => rm(home, { recursive: true }))
  await using upstream = await startUpstream([{ text: 'hello', usage: { input: 1000, output: 10 } }])
  const pal = await openPalimpsest({ home })
  t.after(() => pal.close())
  const program = `const url = process.env.ANTHROPIC_BASE_URL
    const body = JSON.stringify({ model: 'claude', messages: [{ role: 'user', content: 'hi' }] })
    fetch(url + '/v1/messages', { method: 'POST', body }).then(r => process.exit(r.status === 200 ? 7 : 1))`
  const context = {
    args: [process.execPath, '-e', program],
    values: { holdout: '0%' },
    home,
    io: { env: { ...process.env, ANTHROPIC_BASE_URL: upstream.url } },
    open: async () => pal,
  }
  const report = (await runAgent.run(context as unknown as Context))!
  assert.equal(report.exit, 7)
  assert.match(report.notes![0]!, /^palimpsest: 1 call, 0 edits; \d+ tokens came in, \d+ were sent \(0% less\)/)
  assert.equal((await pal.sessions()).length, 1)
})

test('a share is a percentage or a fraction', () => {
  assert.equal(shareOption('10%', 'x'), 0.1)
  assert.equal(shareOption('0.25', 'x'), 0.25)
  for (const wrong of ['x', '101%', '-1', '%']) assert.throws(() => shareOption(wrong, 'x'), { code: 'INVALID_INPUT' })
})

test('a loss is reported as a loss', () => {
  const totals = {
    calls: 2,
    passed: 0,
    tokensIn: 100,
    tokensSent: 90,
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
  }
  assert.match(runSummary({ ...totals, cost: 1, saved: -0.2, edits: 1 }), /lost \$0\.20 of \$1\.00/)
})
