/**
 * One account for all doors: the report, the session page, Compare, replay, stats, /metrics and the terminal show the
 * same sum for a session, which is the sum of the provider's reports.
 */
import assert from 'node:assert/strict'
import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TranscriptSession } from '../../src/formats/transcripts/sessions.ts'
import type { Message, Usage } from '../../src/model/types.ts'
import {
  dollarsPerUnit,
  prepareReplay,
  recordedTimeline,
  replayOptionsOf,
  savedByCall,
} from '../../src/replay/account.ts'
import { prepareSession, tryPolicy } from '../../src/replay/measure/policies.ts'
import { billsBy, reportOn, totalsOf } from '../../src/replay/report.ts'
import { billPartsOf } from '../../src/replay/why.ts'
import { statisticsOf } from '../../src/view/statistics.ts'
import { summaryOf } from '../../src/view/totals.ts'
import { checkDoors, isCent, RECORDED, skip, TRACES } from './doors.ts'

function recorded(turns: number, usage: (call: number) => Usage | undefined, carried = 0): TranscriptSession {
  const messages: Message[] = []
  const reported: TranscriptSession['usage'] = []
  for (let call = 0; call < turns; call++) {
    const at = 1_760_000_000_000 + call * 60_000
    messages.push({ role: 'user', at, parts: [{ type: 'text', text: `question ${call} ${'why '.repeat(200)}` }] })
    messages.push({ role: 'assistant', at: at + 1000, parts: [{ type: 'text', text: `answer ${call}` }] })
    const used = usage(call)
    if (used) reported.push({ message: messages.length - 1, usage: used })
  }
  return { id: 's', messages, carried, usage: reported }
}

test('reported usage is the bill, by model and lifetime of each call, and the rest is estimated', async () => {
  const usages: Record<number, Usage> = {
    0: { input: 5, cacheWrite: 20_000, cacheWriteLong: 20_000, output: 100, model: 'claude-sonnet-4-5' },
    1: { input: 5, cacheRead: 20_000, cacheWrite: 300, output: 200, model: 'claude-opus-4-5' },
  }
  const timeline = await recordedTimeline(recorded(3, call => usages[call]))
  const { money, calls } = summaryOf(timeline)
  assert.equal(calls, 3)
  assert.equal(money.estimated, 1)
  const [first, second, third] = timeline.calls
  assert.equal(first!.paid.dollars, (5 * 3 + 20_000 * 6 + 100 * 15) / 1e6, 'one-hour writes cost twice the input')
  assert.equal(second!.paid.dollars, (5 * 5 + 20_000 * 0.5 + 300 * 6.25 + 200 * 25) / 1e6)
  assert.ok(third!.paid.estimated && third!.paid.dollars > 0)
  assert.ok(first!.overhead > 15_000, 'system prompt and tools are what was counted beyond the messages')
})

test('a report of zeros is no report: the call is estimated, and its cache is not lost', async () => {
  const told = { input: 10, cacheRead: 20_000, output: 10, model: 'claude-sonnet-4-5' }
  const zeros = { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, model: 'claude-sonnet-4-5' }
  const timeline = await recordedTimeline(recorded(4, call => (call === 2 ? zeros : told)))
  const [, , third] = timeline.calls
  assert.ok(third!.paid.estimated && third!.paid.output > 0 && third!.paid.dollars > 0.005, `${third!.paid.dollars}`)
  assert.equal(statisticsOf(timeline).busts.provider, 0)
  assert.equal(summaryOf(timeline).money.estimated, 1)
})

test('a long prompt is predicted, divided and replayed at the price of its size, as billed', async () => {
  const long = { input: 0, cacheRead: 300_000, cacheWrite: 1000, output: 100, model: 'gpt-6-sol' }
  const session = recorded(6, () => long)
  const timeline = await recordedTimeline(session)
  const paid = (300_000 * 0.2 * 2 + 1000 * 2.5 * 2 + 100 * 10 * 1.5) / 1e6
  const last = timeline.calls.at(-1)!
  assert.equal(last.paid.dollars.toFixed(9), paid.toFixed(9))
  assert.ok(Math.abs(last.modelled / paid - 1) < 0.05, `predicted ${last.modelled}, billed ${paid}`)
  const read = billPartsOf(timeline).find(({ part }) => part === 'read')!
  assert.equal(read.dollars.toFixed(9), ((6 * 300_000 * 0.4) / 1e6).toFixed(9))
  const { base } = await prepareReplay(timeline, session.messages)
  const replayed = base.measures.perCall.at(-1)!.cost * dollarsPerUnit(timeline)
  assert.ok(Math.abs(replayed / last.sent.cost - 1) < 0.05, `replayed ${replayed}, predicted ${last.sent.cost}`)
})

test('calls that a parent session has paid are not counted', async () => {
  const usage = { input: 1000, output: 10, model: 'claude-sonnet-4-5' }
  const whole = summaryOf(await recordedTimeline(recorded(4, () => usage)))
  const own = summaryOf(await recordedTimeline(recorded(4, () => usage, 4)))
  assert.deepEqual([whole.calls, own.calls], [4, 2])
  assert.ok(isCent(own.money.with, whole.money.with / 2))
})

test('every command and page shows the same sum for recorded sessions, to the cent', {
  skip,
}, async () => {
  for (const format of RECORDED) {
    const bySize = globSync(`${format}/*`, { cwd: TRACES }).map(file => join(TRACES, file))
    bySize.sort((one, other) => statSync(one).size - statSync(other).size)
    assert.ok((await checkDoors(bySize.slice(0, 1))) > 0, format)
  }
})

test('the report adds up by day, project, model and agent, and agrees with replay and Compare', async () => {
  const usage = { input: 5, cacheWrite: 600, cacheRead: 9000, output: 50, model: 'claude-sonnet-4-5' }
  const session = { ...recorded(40, () => usage), cwd: '/work/shop' }
  const one = await reportOn(session, { format: 'claude-code' })
  const totals = totalsOf([one, { ...one, isSubagent: true }])
  assert.equal(totals.calls, 80)
  assert.ok(isCent(totals.billedUsd, 2 * one.billedUsd) && isCent(totals.subagents.billedUsd, one.billedUsd))
  for (const list of Object.values(billsBy([one, one]))) {
    assert.ok(list.length > 0)
    assert.ok(
      isCent(
        list.reduce((total, { billedUsd }) => total + billedUsd, 0),
        2 * one.billedUsd,
      ),
    )
  }
  const timeline = await recordedTimeline(session)
  assert.ok(isCent(one.billedUsd, summaryOf(timeline).money.with))
  const again = prepareSession('s', session.messages)
  const options = replayOptionsOf(timeline)
  const [base, outcome] = [await tryPolicy(again, 'none', options), await tryPolicy(again, 'thrifty', options)]
  const saved = savedByCall(timeline, base, outcome).reduce((total, dollars) => total + dollars, 0)
  assert.ok(isCent(one.savedUsd, saved))
})
