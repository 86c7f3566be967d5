import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPalimpsest } from '../../src/session/engine.ts'
import { Look } from '../../src/session/look.ts'
import { openSample } from '../../src/session/sample.ts'

test('read-only operations write nothing to the ledger', async () => {
  await using pal = await openPalimpsest({ home: ':memory:', config: false })
  const session = await openSample(pal)
  const part = (await session.parts())[0]!.hash
  const given: Record<string, unknown[]> = {
    view: [{ plan: false }],
    recall: ['report'],
    around: [part],
    original: [part],
    suggest: [],
    parts: [],
    changelog: [],
    fileStateAt: ['src/report.js', 3],
    verify: [],
    edits: [],
    files: [],
    eventAt: [0],
    eventsAt: [[0, 1]],
    events: [],
    messages: [],
  }
  const methods = Object.entries(Object.getOwnPropertyDescriptors(Look.prototype)).flatMap(([name, { value }]) =>
    name !== 'constructor' && typeof value === 'function' ? [[name, value] as const] : [],
  )
  assert.deepEqual(methods.map(([name]) => name).sort(), Object.keys(given).sort())
  const before = await session.events()
  assert.ok(before.length > 100)
  for (const [name, method] of methods) {
    await method.apply(session, given[name]!)
    assert.deepEqual(await session.events(), before, name)
  }
})
