import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { isPalimpsestError } from '../../src/model/errors.ts'
import type { Message } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import * as fc from '../property.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
const bytes = async (session: Session) => JSON.stringify((await session.view()).messages)

let homes = 0
async function openTwice(): Promise<[Session, Session]> {
  const home = join(folder, `home-${homes++}`)
  const [one, two] = [await openPalimpsest({ home, clock: () => 1 }), await openPalimpsest({ home, clock: () => 1 })]
  return [await one.session('s'), await two.session('s')]
}

describe('two objects of one session', () => {
  test("see each other's changes at their next call", async () => {
    const [one, two] = await openTwice()
    await one.append(user('first, long enough to be replaced by something that is shorter'))
    await two.append(user('second'))
    const { edits } = await two.edit([{ start: 'first, long', end: 'shorter', replacement: 'first' }])
    assert.equal(await bytes(one), await bytes(two))
    await one.undo(edits[0]!.id)
    await assert.rejects(two.undo(edits[0]!.id), { code: 'ALREADY' })
    await two.redo(edits[0]!.id)
    await one.pin(0)
    assert.equal(await bytes(one), await bytes(two))
    const target = { type: 'part' as const, entry: 0, part: 0 }
    await assert.rejects(two.apply([{ target, replacement: 'x', why: 'test' }], 'agent'), { code: 'PINNED' })
    assert.deepEqual(
      one.edits().map(({ edit, active }) => [edit.id, active]),
      two.edits().map(({ edit, active }) => [edit.id, active]),
    )
  })

  test('record a conversation once, whichever of them gets each turn', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ who: fc.nat(1), retry: fc.boolean() }), { maxLength: 12 }), async turns => {
        const both = await openTwice()
        const messages = [user('start')]
        for (const [i, { who, retry }] of turns.entries()) {
          const views = [await both[who]!.sync(messages)]
          // The same request again, at the other one: without an answer, nothing is new.
          if (retry) views.push(await both[1 - who]!.sync(messages))
          for (const view of views) {
            assert.equal(view.session.id, 's')
            assert.equal(view.messages.length, messages.length)
          }
          messages.push({ role: 'assistant', parts: [{ type: 'text', text: `answer ${i}` }] }, user(`question ${i}`))
        }
        await both[0].sync(messages)
        await both[1].sync(messages)
        assert.equal(both[0].fold.entries.length, messages.length)
        assert.equal(await bytes(both[0]), await bytes(both[1]))
      }),
    )
  })

  test('record an older request as a fork of later entries', async () => {
    const [one, two] = await openTwice()
    const says: Message = { role: 'assistant', parts: [{ type: 'text', text: 'an answer' }] }
    await one.sync([user('start')])
    await two.sync([user('start')])
    await two.sync([user('start'), says, user('more')])
    const { session, messages } = await one.sync([user('start')])
    assert.notEqual(session.id, 's')
    assert.equal(messages.length, 1)
  })

  test('have the same view after any operations of both, one by one or at once', async () => {
    const doing = fc.record({
      who: fc.nat(1),
      kind: fc.constantFrom('append', 'edit', 'range', 'undo', 'redo', 'pin', 'look'),
      at: fc.nat(),
      atOnce: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(doing, { maxLength: 25 }), async doings => {
        const both = await openTwice()
        await both[0].append(user('start'))
        let running: Promise<unknown>[] = []
        for (const [i, { who, kind, at, atOnce }] of doings.entries()) {
          running.push(act(both[who]!, kind, at, `text ${i}`))
          if (atOnce) continue
          await Promise.all(running)
          running = []
        }
        await Promise.all(running)
        assert.equal(await bytes(both[0]), await bytes(both[1]))
        assert.deepEqual(both[0].edits(), both[1].edits())
        await both[0].verify()
        const fresh = (await openPalimpsest({ home: join(folder, `home-${homes - 1}`) })).session('s')
        assert.equal(await bytes(await fresh), await bytes(both[0]))
      }),
      { numRuns: 60 },
    )
  })

  /** Does something if the session allows it; a refusal must have a code. */
  async function act(session: Session, kind: string, at: number, text: string): Promise<unknown> {
    const entry = at % session.fold.entries.length
    const records = session.edits()
    const id = records[at % Math.max(1, records.length)]?.edit.id ?? 'e1'
    const doing: Record<string, () => Promise<unknown>> = {
      append: () => session.append(user(text), { role: 'assistant', parts: [{ type: 'text', text }] }),
      edit: () =>
        session.apply([{ target: { type: 'part', entry, part: 0 }, replacement: text, why: 'test' }], 'agent'),
      range: () =>
        session.apply([
          { target: { type: 'range', from: entry, to: entry }, replacement: { messages: [user(text)] }, why: 'test' },
        ]),
      undo: () => session.undo(id),
      redo: () => session.redo(id),
      pin: () => session.pin(entry, { on: at % 2 === 0 }),
      look: () => session.view(),
    }
    return doing[kind]!().catch((error: unknown) => assert.ok(isPalimpsestError(error), String(error)))
  }
})

describe('two processes', () => {
  test('can append and edit in one session at the same time, lose nothing, and end with the same view', async () => {
    const home = join(folder, 'processes')
    const pal = await openPalimpsest({ home })
    const session = await pal.session('s')
    await session.append(user('start'))
    const rounds = 25
    const writers = ['one', 'two'].map(name => {
      const child = fork(join(import.meta.dirname, 'two-writers-process.ts'), [home, name, String(rounds)])
      return once(child, 'message').then(async ([seen]) => {
        child.send('end')
        const [code] = await once(child, 'exit')
        assert.equal(code, 0)
        return seen as { texts: number; edits: number }
      })
    })
    const seen = await Promise.all(writers)
    const { messages, edits } = await session.view()
    assert.equal(messages.length, 1 + 2 * rounds)
    assert.equal(
      edits.length,
      seen.reduce((sum, { edits: made }) => sum + made, 0),
    )
    const texts = messages.flatMap(({ parts }) => parts.flatMap(part => (part.type === 'text' ? part.text : [])))
    for (const name of ['one', 'two']) {
      const own = texts.filter(text => text.includes(` ${name} `)).map(text => Number(/\d+/.exec(text)))
      assert.deepEqual(
        own,
        own.toSorted((a, b) => a - b),
      )
      assert.equal(own.length, rounds)
    }
    const { violations, events } = await session.verify()
    assert.deepEqual(violations, [])
    assert.equal(events, 1 + 2 * rounds + edits.length)
    await pal.close()
  })
})
