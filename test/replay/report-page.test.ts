/** The page that people show to others: it loads nothing, can hide names, and looks like the web UI. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TranscriptSession } from '../../src/formats/transcripts/sessions.ts'
import type { Message } from '../../src/model/types.ts'
import { prepareReplay, recordedTimeline } from '../../src/replay/account.ts'
import {
  addKnobs,
  knobOf,
  knobOn,
  reportOn,
  totalRent,
  totalsOf,
  withoutNames,
  withTitles,
} from '../../src/replay/report.ts'
import { toHtml } from '../../src/replay/report-page.ts'
import { REPORT_STYLE } from '../../src/replay/report-style.ts'

const SECRET = 'secret-plan'
const EVIL = '<img src=x onerror=alert(1)>'

function recorded(id: string, { days = 1, first = `Fix ${SECRET} ${EVIL}`, more = {} } = {}): TranscriptSession {
  const messages: Message[] = []
  const usage: TranscriptSession['usage'] = []
  for (let call = 0; call < 12; call++) {
    const at = Date.parse('2026-03-01T12:00:00Z') + Math.floor((call * days) / 12) * 86_400_000 + call * 1000
    const name = call % 2 === 0 ? 'Read' : `mcp__${SECRET}__find`
    const input = { file_path: `/home/${SECRET}/a.ts` }
    if (call === 0) messages.push({ role: 'user', at, parts: [{ type: 'text', text: first }] })
    messages.push({ role: 'assistant', at, parts: [{ type: 'tool-call', id: `c${call}`, name, input }] })
    usage.push({ message: messages.length - 1, usage: { input: 900, cacheRead: 800 * call, output: 20 } })
    const output = `line ${call}\n`.repeat(300)
    messages.push({ role: 'tool', at, parts: [{ type: 'tool-result', id: `c${call}`, name, output }] })
  }
  return { id, messages, carried: 0, usage, model: 'claude-sonnet-4-5', cwd: `/home/${SECRET}/shop`, ...more }
}

const given = { format: 'claude-code' }

test('has the sums of the account, titles instead of ids, and texts from sessions escaped', async () => {
  const first = await reportOn(recorded('one'), given)
  const next = await reportOn(
    recorded('two', {
      first: 'This session is being continued from a previous conversation that ran out of context.',
      more: { parent: 'one', reason: 'compaction' },
    }),
    given,
  )
  const [one, two] = withTitles([first, next])
  assert.equal(one!.title, `Fix ${SECRET} ${EVIL}`)
  assert.equal(two!.title, one!.title, 'what goes on has the title of what it goes on from')
  const points = addKnobs([await knobOn(recorded('one'), first)])
  const html = toHtml([one!, two!], { knob: { points, sessions: 1 } })
  assert.ok(html.includes(`$${totalsOf([one!, two!]).billedUsd.toFixed(2)}`))
  assert.ok(html.includes('&lt;img src=x'))
  assert.doesNotMatch(html, /<img|https?:\/\/|<script|<link|url\(|\bon\w+="/)
  assert.match(html, /default-src 'none'/)
  assert.equal([...html.matchAll(/type="radio" name="keep"/g)].length, 5)
  assert.match(html, /2026|March/)
})

test("the slider names the number of its sessions, and its middle equals the page's sums of thrifty", async () => {
  const report = await reportOn(recorded('one'), given)
  const points = await knobOn(recorded('one'), report)
  const timeline = await recordedTimeline(recorded('one'))
  const replayed = await knobOf(timeline, await prepareReplay(timeline, recorded('one').messages))
  assert.deepEqual(points, replayed, 'the report has made the replay of the middle already')
  const says = (sessions: number, all: number) => toHtml(Array(all).fill(report), { knob: { points, sessions } })
  assert.match(says(2, 2), /replayed on all 2 sessions/)
  assert.match(says(1, 3), /replayed on 1 of 3 sessions, the most expensive first/)
  assert.doesNotMatch(says(0, 3), /Cost against what stays visible/)
})

test('without names it has no name of a project, file, server or request', async () => {
  const reports = withTitles([await reportOn(recorded('one'), given), await reportOn(recorded(SECRET), given)])
  assert.ok(toHtml(reports).includes(SECRET))
  const hidden = withoutNames(reports)
  assert.ok(!toHtml(hidden, { hidesNames: true }).includes(SECRET))
  assert.ok(!JSON.stringify(hidden).includes(SECRET))
  assert.equal(totalsOf(hidden).billedUsd, totalsOf(reports).billedUsd)
  assert.ok(Math.abs(totalRent(hidden).dollars - totalRent(reports).dollars) < 1e-9)
})

test('names as many days as its dates include, whatever the hour', async () => {
  const report = await reportOn(recorded('one'), given)
  const from = (first: Date, last: Date) => {
    const bill = [first, last].map(at => ({ ...report.bill[0]!, at: at.getTime() }))
    return /<h1>(.*?)<\/h1>/.exec(toHtml([{ ...report, bill }]))![1]
  }
  assert.equal(from(new Date(2026, 2, 1, 8), new Date(2026, 2, 26, 23)), 'What 26 days of agents cost')
  assert.equal(from(new Date(2026, 2, 1, 23), new Date(2026, 2, 2, 1)), 'What 2 days of agents cost')
  assert.equal(from(new Date(2026, 2, 1, 1), new Date(2026, 2, 1, 23)), 'What a day of agents cost')
})

test('long periods are grouped by week', async () => {
  assert.match(toHtml([await reportOn(recorded('long', { days: 120 }), given)]), /by day and project, by week/)
  assert.doesNotMatch(toHtml([await reportOn(recorded('short'), given)]), /by week/)
})

test('has the colours and type of the web UI', async () => {
  const tokens = await readFile(join(import.meta.dirname, '../../web/src/styles/tokens.css'), 'utf8')
  const valuesOf = (css: string) =>
    [...css.matchAll(/(--[\w-]+): ([^;]+);/g)].map(([, name, value]) => `${name}: ${value}`)
  const theirs = new Set(valuesOf(tokens.replaceAll(/(--[\w-]+): light-dark\((.+?), (.+?)\);/g, '$1: $2; $1: $3;')))
  const ours = valuesOf(REPORT_STYLE)
  assert.ok(ours.length > 40)
  assert.deepEqual(
    ours.filter(value => !theirs.has(value)),
    [],
  )
})
