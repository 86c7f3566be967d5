/** A session that is exported, imported into another home and exported again is the same, byte for byte. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { TranscriptSession } from '../../src/formats/transcripts/sessions.ts'
import type { Event } from '../../src/model/types.ts'
import { openPalimpsest, type Palimpsest } from '../../src/session/engine.ts'
import { everySession } from '../../src/session/every-session.ts'
import { importSession } from '../../src/session/import-transcript.ts'
import { openSample } from '../../src/session/sample.ts'
import { exportSession, readWhole } from '../../src/session/whole-session.ts'
import { session as anySession } from '../laws/sessions.ts'
import * as fc from '../property.ts'

const LONG = 'a large text that is kept by its hash. '.repeat(600)

async function memoryHome(clock?: () => number): Promise<Palimpsest> {
  return openPalimpsest({ home: ':memory:', config: false, ...(clock ? { clock } : {}) })
}

/** As read from a file. */
const fromFile = (text: string): TranscriptSession => {
  const whole = JSON.parse(text)
  return { id: whole.id, messages: [], carried: 0, usage: [], whole }
}

async function textOf(pal: Palimpsest, name: string): Promise<string> {
  return JSON.stringify(await exportSession(pal, name))
}

describe('an exported session', () => {
  test('is the same in another home, after any events', async () => {
    const step = fc.record({
      what: fc.constantFrom('discard', 'undo', 'pin', 'usage', 'title', 'redact', 'fork', 'view', 'distill'),
      at: fc.nat(30),
    })
    await fc.assert(
      fc.asyncProperty(anySession, fc.array(step, { maxLength: 8 }), fc.nat(1e6), async (messages, steps, start) => {
        let now = start
        await using pal = await memoryHome(() => now++)
        const session = await pal.session('talk', { planner: 'stale-output', model: 'gpt-5', overhead: start % 3 })
        await session.append(...messages, { role: 'user', parts: [{ type: 'text', text: LONG }] })
        for (const { what, at } of steps) await change(pal, what, at % messages.length).catch(refused)
        await using other = await memoryHome()
        const sessions: string[] = []
        for await (const { id } of everySession(pal)) sessions.push(id)
        // A fork shares the events of its parent again if the parent is imported first.
        for (const id of sessions.sort((a, b) => a.length - b.length)) {
          const before = await textOf(pal, id)
          await importSession(other, fromFile(before), { importedBy: 'i1' })
          assert.equal(await textOf(other, id), before)
          assert.deepEqual(await other.head(id), await pal.head(id))
          const view = async (home: Palimpsest) => (await home.session(id)).view({ plan: false })
          assert.deepEqual((await view(other)).messages, (await view(pal)).messages)
          assert.equal((await importSession(other, fromFile(before))).added, 0)
          assert.equal(await textOf(other, id), before)
        }
      }),
      { numRuns: 40 },
    )
  })

  test('extends an earlier import, and is refused if the two differ', async () => {
    await using pal = await memoryHome()
    const session = await pal.session('talk')
    await session.append({ role: 'user', parts: [{ type: 'text', text: 'one' }] })
    const early = await textOf(pal, 'talk')
    await session.append({ role: 'assistant', parts: [{ type: 'text', text: 'two' }] })
    await using other = await memoryHome()
    await importSession(other, fromFile(early))
    const later = await importSession(other, fromFile(await textOf(pal, 'talk')))
    assert.deepEqual([later.messages, later.added], [2, 1])
    assert.equal((await importSession(other, fromFile(early))).added, 0)
    await using third = await memoryHome()
    await (await third.session('talk')).append({ role: 'user', parts: [{ type: 'text', text: 'another' }] })
    await assert.rejects(importSession(third, fromFile(early)), {
      code: 'ALREADY',
      message: /different conversation \(from entry 0 on\)/,
    })
  })

  test('of one user belongs to the user who imports it', async () => {
    await using pal = await memoryHome()
    await openSample(pal.of('ann'))
    const text = await textOf(pal, '@ann/sample')
    await using other = await memoryHome()
    assert.equal((await importSession(other.of('bob'), fromFile(text))).session, 'sample')
    assert.equal((await importSession(other, fromFile(text))).session, '@ann/sample')
    assert.equal(await textOf(other, '@ann/sample'), text)
    assert.deepEqual((await other.head('@bob/sample')).hash, (await pal.head('@ann/sample')).hash)
  })

  test('is validated, and is not read as a whole session if anything in it is invalid', async () => {
    await using pal = await memoryHome()
    await openSample(pal)
    const whole = await exportSession(pal, 'sample')
    assert.ok(readWhole(whole))
    const places = [...whole.ledger.keys()].filter(i => whole.ledger[i]!.type !== 'decision')
    const wrong = fc.constantFrom<unknown>(null, 7, 'text', {}, [], { type: 'edit' }, { role: 'user', parts: [{}] })
    fc.assert(
      fc.property(fc.constantFrom(...places), fc.nat(20), wrong, (i, n, value) => {
        const event = whole.ledger[i]!
        const keys = Object.keys(event).filter(key => !['seq', 'shown', 'decision', 'usage', 'before'].includes(key))
        const key = keys[n % keys.length]!
        if (key === 'at' && value === 7) return
        if (['why', 'text', 'path', 'hash', 'after', 'intent', 'head'].includes(key) && value === 'text') return
        if (['after', 'intent'].includes(key) && value === null) return
        if (key === 'edits' && Array.isArray(value)) return
        const ledger = whole.ledger.with(i, { ...event, [key]: value } as never)
        assert.equal(readWhole({ ...whole, ledger }), undefined, `${event.type}.${key} = ${JSON.stringify(value)}`)
      }),
    )
    assert.equal(readWhole({ ...whole, ledger: whole.ledger.slice(1) }), undefined)
    assert.equal(readWhole({ ...whole, about: { other: 1 } }), undefined)
  })
})

async function change(pal: Palimpsest, what: string, at: number): Promise<void> {
  const session = await pal.session('talk')
  const last = [...session.fold.records.keys()].at(-1)
  if (what === 'discard')
    await session.apply([{ target: { type: 'entry', entry: at }, replacement: 'gone', why: 'not needed' }])
  else if (what === 'distill')
    await session.apply([{ target: { type: 'part', entry: at, part: 0 }, replacement: 'short', why: 'long' }])
  else if (what === 'undo' && last) await session.undo(last)
  else if (what === 'pin') await session.pin(at)
  else if (what === 'usage') await session.record(usageAt(at))
  else if (what === 'title') await pal.entitle('talk', `About ${at}`)
  else if (what === 'redact') await pal.redact(['talk'], { text: 'login' }, { by: 'admin:cli' })
  else if (what === 'fork') await session.fork(at, `talk-${at}`)
  else if (what === 'view') await session.view()
}

/** With every field that a report can have. */
function usageAt(at: number): Required<Extract<Event, { type: 'usage' }>> {
  const usage = { input: at, cacheRead: 7, model: 'gpt-5' }
  const server = [{ type: 'clear_tool_uses', toolUses: at }]
  return { type: 'usage', usage, shown: at, edited: true, miss: { cause: 'edit', tokens: at }, server, dropped: at }
}

/** Some attempts are not allowed there, and then change nothing. */
function refused(error: unknown): void {
  if (!(error instanceof Error && 'code' in error)) throw error
}
