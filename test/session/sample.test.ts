/** The sample session: recorded by our agent, the same in every home, and otherwise like any session. */
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { recordSample } from '../../scripts/record-sample.ts'
import { Memory } from '../../src/memory/memory.ts'
import { SqliteMemory } from '../../src/memory/sqlite.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { offerSampleProposals, openSample, SAMPLE, SAMPLE_FILE } from '../../src/session/sample.ts'
import { startServer } from '../doors/server/harness.ts'

const LARGEST_BYTES = 400_000

test('the shipped sample is what our agent produces with the script, byte for byte', async () => {
  const [shipped, recorded] = [readFileSync(SAMPLE_FILE, 'utf8').split('\n'), (await recordSample()).split('\n')]
  const differs = shipped.findIndex((line, i) => line !== recorded[i])
  const hint = 'node scripts/record-sample.ts records it anew'
  assert.equal(differs, -1, `line ${differs + 1} differs (${hint}):\n${shipped[differs]}\n${recorded[differs]}`)
  assert.equal(shipped.length, recorded.length, hint)
})

test('the sample is small, and names no machine', () => {
  const text = readFileSync(SAMPLE_FILE, 'utf8')
  assert.ok(statSync(SAMPLE_FILE).size <= LARGEST_BYTES, `${statSync(SAMPLE_FILE).size} bytes`)
  assert.doesNotMatch(text, /\/(tmp|home|root|Users|var)\/|palimpsest-sample-|localhost|127\.0\.0\.1/)
})

test('loading the sample twice changes nothing, and two homes have the same chain', async () => {
  const hashes: string[][] = []
  for (let i = 0; i < 2; i++) {
    await using pal = await openPalimpsest({ home: ':memory:' })
    const session = await openSample(pal)
    const { events, entries, violations } = await session.verify()
    assert.deepEqual(violations, [])
    const again = await openSample(pal)
    assert.deepEqual(await again.events(), await session.events())
    assert.deepEqual([again.fold.entries.length, (await again.events()).length], [entries, events])
    assert.deepEqual(
      (await pal.sessions()).map(({ id, policy }) => [id, policy]),
      [[SAMPLE, 'agent']],
    )
    hashes.push((await session.events()).map(({ seq, at, event }) => `${seq} ${at} ${JSON.stringify(event)}`))
  }
  assert.deepEqual(hashes[0], hashes[1])
})

test('the sample can be continued like any other session', async () => {
  await using pal = await openPalimpsest({ home: ':memory:' })
  const session = await openSample(pal)
  await session.append({ role: 'user', parts: [{ type: 'text', text: 'One more thing.' }] })
  const { messages, report } = await session.view()
  assert.deepEqual(report, [])
  assert.match(JSON.stringify(messages.at(-1)), /One more thing/)
  const distilled = session.edits().find(({ edit }) => edit.by === 'agent')!
  await session.undo(distilled.edit.id)
  assert.match(JSON.stringify((await session.view({ plan: false })).messages), /mailed to=list:reports/)
  const length = (await session.events()).length
  assert.equal((await (await openSample(pal)).events()).length, length, 'what was done with it stays')
})

describe('over HTTP', async () => {
  const { server, call, pal } = await startServer()
  await openSample(pal)
  after(() => server.close())

  test('the summary shows savings by edits of every author', async () => {
    const { json: summary } = await call('GET', `/sessions/${SAMPLE}/summary`)
    assert.equal(summary.turns, 3)
    assert.ok(summary.calls >= 30 && summary.calls <= 45, `${summary.calls} calls`)
    assert.ok(summary.money.without - summary.money.with > 0.05, JSON.stringify(summary.money))
    assert.ok(summary.sent.shown < summary.sent.raw * 0.8, JSON.stringify(summary.sent))
    assert.equal(summary.money.estimated, 0, 'every call has its usage')
    const { json } = await call('GET', `/sessions/${SAMPLE}/edits`)
    const authors = new Set(json.edits.map(({ by }: { by: string }) => by))
    for (const by of ['agent', 'policy:thrifty', 'policy:anchor', 'policy:ids']) assert.ok(authors.has(by), by)
    assert.equal(json.edits.filter(({ active }: { active: boolean }) => !active).length, 1, 'the user undid one')
  })

  test('every call with a cache miss has its cause: a pause, the agent, the planner', async () => {
    const { json } = await call('GET', `/sessions/${SAMPLE}/timeline`)
    const misses = json.calls.flatMap(({ miss }: { miss?: { kind: string; cause: string } }) => miss ?? [])
    assert.deepEqual(
      misses.map(({ kind }: { kind: string }) => kind),
      ['edit', 'pause', 'edit'],
    )
    assert.match(misses[0].cause, /by agent: distill/)
    assert.match(misses[1].cause, /50 minutes since the last answer/)
    assert.match(misses[2].cause, /^shortened \d parts, .* saves .* on each of about \d+ expected calls/)
  })
})

test("its agent's proposals wait in an empty memory, once, and never in a memory that is in use", async () => {
  const memory = new Memory(new SqliteMemory(':memory:'))
  await offerSampleProposals(memory, 'ada')
  await offerSampleProposals(memory, 'ada')
  const [proposal, ...more] = await memory.proposals('ada')
  assert.equal(more.length, 0)
  assert.deepEqual([proposal!.label, proposal!.state, proposal!.confidence], ['exports', 'open', 'high'])
  assert.equal(proposal!.entries[0]!.session, SAMPLE)
  await memory.reject('ada', proposal!.id, { by: 'user:ada' })
  await offerSampleProposals(memory, 'ada')
  assert.equal((await memory.proposals('ada', { state: 'open' })).length, 0, 'a decision is not asked for again')
  await memory.set('ben', 'goals', { body: 'Own words.', by: 'user:ben' })
  await offerSampleProposals(memory, 'ben')
  assert.deepEqual(await memory.proposals('ben'), [])
  await memory.close()
})

test('the sample has the age of its events, even when it is opened again', async () => {
  await using pal = await openPalimpsest({ home: ':memory:', config: false })
  const events = await (await openSample(pal)).events()
  await openSample(pal)
  const { createdAt, updatedAt, length } = (await pal.find(SAMPLE))!
  assert.deepEqual([createdAt, updatedAt, length], [events[0]!.at, events.at(-1)!.at, events.length])
})
