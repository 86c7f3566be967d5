/** Summaries by a model, checked and refused; compaction on request. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openModel } from '../../src/agent/model.ts'
import { modelSummary } from '../../src/agent/summarizer.ts'
import { SECTIONS, SUMMARY_MARK } from '../../src/summaries/summary.ts'
import { startUpstream } from '../upstream.ts'
import { all, doneOf, openGround, textsOf } from './harness.ts'

const GOOD = [SUMMARY_MARK, ...SECTIONS.map(section => `## ${section}\n- said by a model`)].join('\n\n')

async function startWriter(text: string) {
  const upstream = await startUpstream(() => ({ text }))
  const model = await openModel({ provider: 'openai-compatible', name: 'cheap-model', baseUrl: `${upstream.url}/v1` })
  return { upstream, summarize: modelSummary(model, { attempts: 1, base: 1, longest: 1 }) }
}

const noise = `seq -f 'line %g that nobody will quote' 1 80`
const work = (_: unknown, index: number) =>
  index < 40 ? { calls: [{ name: 'run_command', input: { command: `${noise}; echo ${index}` } }] } : { text: 'done' }

for (const [what, text, byModel] of [
  ['a good summary of the cheaper model is used', GOOD, true],
  ['one without its five sections is refused', `${SUMMARY_MARK}\n\n## Task Overview\n- x`, false],
  ['one that is longer than what it replaces is refused', `${GOOD}\n${'padding '.repeat(30_000)}`, false],
] as const) {
  test(`${what}, and the session goes on`, async () => {
    const writer = await startWriter(text)
    await using ground = await openGround(work, {
      engine: { summarize: writer.summarize, models: { 'gpt-4.1': { window: 9_000 } } },
      allow: { all: true },
    })
    assert.equal(doneOf(await all(ground.agent.run('Count for me, please.'))).reason, 'answered')
    const summaries = ground.agent.session.edits().filter(({ edit }) => edit.by === 'policy:summarize')
    assert.ok(summaries.length > 0)
    for (const { edit } of summaries) {
      assert.match(edit.why, byModel ? /written by a model/ : /the model's summary was refused/)
      assert.equal(JSON.stringify(edit.replacement).includes('said by a model'), byModel)
      assert.ok(edit.saved > 0)
    }
    const [asked] = writer.upstream.requests
    assert.equal(asked?.json.model, 'cheap-model')
    assert.match(textsOf(asked!)[1]!.text, /The user's last request:\nCount for me, please\./)
    await writer.upstream.close()
  })
}

test('compacting on request makes an edit by the user and archives the full conversation', async () => {
  await using ground = await openGround(work, { allow: { all: true } })
  await all(ground.agent.run('Count for me, please.'))
  const { session } = ground.agent
  const before = (await session.view({ plan: false })).tokens
  const edit = await ground.agent.compact()
  assert.equal(edit.by, 'user')
  const { messages, tokens } = await session.view({ plan: false })
  assert.ok(tokens < before / 2 && before - tokens >= edit.saved * 0.9)
  assert.ok(
    messages.some(({ parts }) => parts.some(part => part.type === 'text' && part.text === 'Count for me, please.')),
  )
  const [archive] = readdirSync(join(ground.home, 'archive'))
  const kept = JSON.parse(readFileSync(join(ground.home, 'archive', archive!), 'utf8'))
  assert.equal(kept.messages.length, kept.entries[1] - kept.entries[0] + 1)
  await session.undo(edit.id)
  assert.equal((await session.view({ plan: false })).tokens, before)
})

test('a range is narrowed to whole steps, and a range without one is refused', async () => {
  await using ground = await openGround(work, { allow: { all: true } })
  await all(ground.agent.run('Count for me, please.'))
  const edit = await ground.agent.compact({ from: 4, to: 30 })
  assert.deepEqual(edit.target, { type: 'range', from: 4, to: 29 })
  await assert.rejects(ground.agent.compact({ from: 1, to: 1 }), { code: 'INVALID_INPUT' })
})
