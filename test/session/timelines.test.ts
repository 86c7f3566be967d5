/** Stored sums: they are valid only for the prices with which they were made. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ModelTable } from '../../src/providers/models.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { type KeptSummary, Timelines } from '../../src/session/timelines.ts'

const NAME = 'claude-sonnet-4-5'

async function paid() {
  const pal = await openPalimpsest({ home: ':memory:' })
  const session = await pal.session('one', { model: NAME })
  await session.append({ role: 'user', parts: [{ type: 'text', text: 'hello' }] })
  await session.append({ role: 'assistant', parts: [{ type: 'text', text: 'hi' }] })
  await session.reportUsage({ input: 1_000_000, model: NAME })
  return { session, info: (await pal.find('one'))! }
}

/** A store like the server's: it does not return summaries of other versions. */
function storeOf(kept: Map<string, KeptSummary & { version: number }>) {
  return {
    summaries: async (version: number) => [...kept.values()].filter(one => one.version === version),
    keepSummary: async (one: KeptSummary, version: number) => void kept.set(one.session, { ...one, version }),
  }
}

test('sums follow changed prices of the configuration while a server runs', async () => {
  const { session, info } = await paid()
  const prices: { models: ModelTable } = { models: {} }
  const timelines = new Timelines(prices)
  const cost = async () => (await timelines.summary(session, info)).money.with
  assert.equal(await cost(), 3)
  prices.models = { [NAME]: { input: 50 } }
  await timelines.load()
  assert.equal(timelines.latest(info).isOld, true)
  assert.equal(await cost(), 50)
  prices.models = { [NAME]: { input: 50 } }
  assert.equal(timelines.latest(info).isOld, false, 'the same prices in another object')
})

test('stored sums are used for the same prices only', async () => {
  const { session, info } = await paid()
  const kept = new Map<string, KeptSummary & { version: number }>()
  const before = new Timelines({ models: {} }, { store: storeOf(kept) })
  await before.summary(session, info)
  const again = new Timelines({ models: {} }, { store: storeOf(kept) })
  await again.load()
  assert.equal(again.latest(info).isOld, false)
  const dearer = new Timelines({ models: { [NAME]: { input: 50 } } }, { store: storeOf(kept) })
  await dearer.load()
  assert.equal(dearer.latest(info).summary, undefined)
  assert.equal((await dearer.summary(session, info)).money.with, 50)
})
