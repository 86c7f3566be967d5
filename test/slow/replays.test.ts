/**
 * Replays of real transcripts, if they are installed: every file with every preset, without a view that its provider
 * would refuse, and `thrifty` within its required numbers. Everything is deterministic.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readTranscript } from '../../src/formats/transcripts/read-transcript.ts'
import type { Message } from '../../src/model/types.ts'
import { presets } from '../../src/planner/presets.ts'
import { modelInfo } from '../../src/providers/models.ts'
import { OWN, prepareSession, sumUp, tryPolicy } from '../../src/replay/measure/policies.ts'
import { replay } from '../../src/replay/replay.ts'
import { checkView } from '../../src/view/legality.ts'

const traces = fileURLToPath(new URL('../../../shared/traces/', import.meta.url))
const skip = existsSync(`${traces}index.json`) ? false : 'no ../shared/traces'

const CODING = ['claude-code', 'codex', 'pi', 'opencode', 'mini-swe-agent']
const LONG = 30
const MODELS = ['claude-sonnet-4-5', 'gpt-5', 'gpt-4o']
/** For files with hundreds of short conversations, enough to be meaningful. */
const MOST_SESSIONS = 12

const filesOf = (format: string): string[] =>
  readdirSync(`${traces}${format}`).map(name => `${traces}${format}/${name}`)

describe('real transcripts', { skip }, () => {
  const formats = skip ? [] : readdirSync(traces, { withFileTypes: true }).filter(entry => entry.isDirectory())
  for (const { name: format } of formats.filter(entry => entry.name !== 'LICENSES')) {
    for (const [number, file] of filesOf(format).entries()) {
      test(`${file.slice(traces.length)} replays under all presets without an illegal view`, async () => {
        const { sessions } = await readTranscript(file)
        const chosen = sessions.toSorted((a, b) => b.messages.length - a.messages.length).slice(0, MOST_SESSIONS)
        const model = MODELS[number % MODELS.length]!
        for (const session of chosen) {
          for (const preset of presets) await assertLegal(session.messages, preset.name, model)
        }
      })
    }
  }

  test('thrifty costs at most 0.82, keeps 0.95 of the evidence and explains every break of a warm cache', async () => {
    const pairs = []
    for (const file of CODING.flatMap(filesOf)) {
      for (const { id, messages } of (await readTranscript(file)).sessions) {
        if (messages.filter(({ role }) => role === 'assistant').length < LONG) continue
        const session = prepareSession(id, messages)
        const { measures: base } = await tryPolicy(session, 'none')
        const { measures, unexplained, violations } = await tryPolicy(session, 'thrifty')
        assert.deepEqual(unexplained, [], `${file}: calls whose prefix broke without a decision`)
        assert.deepEqual(violations, [], file)
        assert.equal(base.costs[OWN]!.busts, 0)
        assert.equal(measures.said, 1)
        pairs.push({ measures, base })
      }
    }
    const { effectiveShare, evidence, worst } = sumUp('thrifty', pairs)
    assert.ok(effectiveShare <= 0.82, `effective cost ${effectiveShare}`)
    assert.ok(evidence >= 0.95, `evidence ${evidence}`)
    assert.ok(worst <= 1.03, `worst session ${worst}`)
  })
})

/** Checks every view, from the first message that differs from the view before. */
async function assertLegal(messages: readonly Message[], policy: string, model: string): Promise<void> {
  const { dialect } = modelInfo(model)
  let before: readonly Message[] = []
  for await (const { turn, messages: view, report } of replay(messages, { policy, model })) {
    const changed = view.findIndex((message, i) => message !== before[i])
    const found = checkView(view, { dialect, from: changed < 0 ? view.length : changed })
    const where = `${policy}, ${model}, call ${turn}`
    assert.deepEqual(found, [], where)
    assert.deepEqual(
      report.filter(({ rule }) => rule !== 'edit-refused'),
      [],
      where,
    )
    before = view
  }
}
