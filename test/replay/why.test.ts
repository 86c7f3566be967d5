/** Why a session cost this much: each call's cause, the sums, and edits that would have been free. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TranscriptSession } from '../../src/formats/transcripts/sessions.ts'
import type { Message } from '../../src/model/types.ts'
import { recordedTimeline } from '../../src/replay/account.ts'
import { freeEditsOf, whyOf } from '../../src/replay/why.ts'
import { summaryOf } from '../../src/view/totals.ts'

const MINUTE = 60_000

/** Rounds of a test run, with a pause, a change of model and a cache miss of the provider at the given calls. */
function recorded(calls: number, at: { pause?: number; model?: number; miss?: number }): TranscriptSession {
  const messages: Message[] = []
  const usage: TranscriptSession['usage'] = []
  let time = 1_760_000_000_000
  let size = 20_000
  messages.push({ role: 'user', at: time, parts: [{ type: 'text', text: 'read them all' }] })
  for (let call = 0; call < calls; call++) {
    time += call === at.pause ? 90 * MINUTE : 1000
    const id = `c${call}`
    if (call > 0)
      messages.push({
        role: 'tool',
        at: time,
        parts: [{ type: 'tool-result', id: `c${call - 1}`, name: 'Bash', output: `ok ${call} a test\n`.repeat(400) }],
      })
    const input = { command: 'npm test' }
    messages.push({ role: 'assistant', at: time, parts: [{ type: 'tool-call', id, name: 'Bash', input }] })
    const isCold = call === 0 || call === at.pause || call === at.model || call === at.miss
    const read = isCold ? 0 : size
    size += 2800
    const model = call >= (at.model ?? calls) ? 'claude-opus-4-5' : 'claude-sonnet-4-5'
    usage.push({ message: messages.length - 1, usage: { cacheRead: read, cacheWrite: size - read, output: 30, model } })
  }
  return { id: 's', messages, carried: 0, usage }
}

test('each call has its cause, and the sums equal those of the account', async () => {
  const timeline = await recordedTimeline(recorded(12, { pause: 4, model: 7, miss: 10 }))
  const why = whyOf(timeline)
  assert.deepEqual(
    why.calls.filter(({ cause }) => cause !== 'none').map(({ call, cause }) => [call, cause]),
    [
      [1, 'start'],
      [5, 'pause'],
      [8, 'model'],
      [11, 'provider'],
    ],
  )
  const { money } = summaryOf(timeline)
  assert.ok(Math.abs(why.billedUsd - money.with) < 1e-9 && Math.abs(why.predictedUsd - money.modelled) < 1e-9)
  assert.equal(why.moments.length, 5)
  assert.ok(why.moments.every(({ billedUsd }, i) => i === 0 || billedUsd <= why.moments[i - 1]!.billedUsd))
  const missed = why.calls[10]!
  assert.ok(missed.lost > 40_000 && missed.differenceUsd > 0.1, 'the provider forgot, and nobody predicted it')
  assert.ok(Math.abs(why.calls[4]!.differenceUsd) < 0.3 * why.calls[4]!.billedUsd, 'the pause was predicted')
  assert.match(why.calls[4]!.text, /90 minutes since the last answer/)
})

test('edits on a cold cache are free, and never break a warm one', async () => {
  const warm = await freeEditsOf(await recordedTimeline(recorded(40, {})))
  const cold = await freeEditsOf(await recordedTimeline(recorded(40, { pause: 25 })))
  assert.equal(warm.coldCalls, 0)
  assert.equal(cold.coldCalls, 1)
  assert.ok(warm.savedUsd >= 0)
  assert.ok(cold.edits > warm.edits && cold.savedUsd > warm.savedUsd, JSON.stringify({ warm, cold }))
})
