import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Message, Part } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { endsWhole, firstEntry, firstStartFrom, isCut, lastCutBefore, stretchBefore } from '../../src/view/cuts.ts'
import { addEntry, createFold } from '../../src/view/fold.ts'
import { checkView, waitingCalls } from '../../src/view/legality.ts'
import { session as anySession } from '../laws/sessions.ts'
import { bash, says, step, user } from '../policies/talk.ts'
import * as fc from '../property.ts'

async function open(messages: readonly Message[], model = 'claude-sonnet-4-5'): Promise<Session> {
  const pal = await openPalimpsest({ home: ':memory:', clock: () => 1000 })
  const session = await pal.session('cuts', { model })
  await session.append(...messages)
  await session.view()
  return session
}

const cutsOf = ({ fold, options }: Session) =>
  fold.entries.flatMap((_, entry) => (isCut(fold, entry, options.model) ? [entry] : []))

const thinking = (text: string, calls: Message): Message => {
  const reasoning: Part = { type: 'reasoning', text }
  return { role: 'assistant', parts: [reasoning, ...calls.parts] }
}

describe('a cut', () => {
  for (const model of ['claude-sonnet-4-5', 'gpt-5', 'gpt-4o', 'claude-opus-5-5']) {
    test(`can be made in any session, wherever it is said to be one (${model})`, () =>
      fc.assert(
        fc.asyncProperty(anySession, fc.nat(), async (messages, pick) => {
          const session = await open(messages, model)
          const cuts = cutsOf(session)
          if (cuts.length === 0) return
          const to = cuts[pick % cuts.length]!
          const replacement = { messages: [user('so far')] }
          await session.apply([{ target: { type: 'range', from: 0, to }, replacement, why: 'test' }])
          const view = await session.view()
          assert.deepEqual(view.report, [])
          assert.deepEqual(checkView(view.messages, { dialect: session.options.model.dialect }), [])
          for (const inner of cuts) {
            if (inner < to) assert.equal(isCut(session.fold, inner), false, 'there is none inside another range')
          }
        }),
        { numRuns: 60 },
      ))
  }

  test('is found by lastCutBefore: the last one that keeps the entry', () =>
    fc.assert(
      fc.asyncProperty(anySession, async messages => {
        const session = await open(messages)
        const cuts = cutsOf(session)
        for (let entry = 0; entry <= messages.length; entry++) {
          assert.equal(
            lastCutBefore(session.fold, entry),
            cuts.findLast(cut => cut < entry),
          )
        }
      }),
      { numRuns: 40 },
    ))

  test('never separates a batch of calls from its results', async () => {
    const one = { name: 'bash', input: { command: 'x' }, output: 'ok' }
    const session = await open([user('go'), ...step(one, one), says('done'), user('next')])
    assert.deepEqual(cutsOf(session), [0, 3, 4])
  })

  test('comes after the next entry if a step was interrupted', async () => {
    const [call] = bash('x', 'never')
    const session = await open([user('go'), call!, user('stop'), says('ok')])
    assert.deepEqual(cutsOf(session), [0, 2])
  })

  test('in a running tool loop leaves reasoning at its beginning, if the loop began with reasoning', async () => {
    const [first, firstResult] = bash('1', 'ok')
    const [second, secondResult] = bash('2', 'ok')
    const [third, thirdResult] = bash('3', 'ok')
    const loop = [user('go'), thinking('hm', first!), firstResult!, second!, secondResult!]
    const session = await open([...loop, thinking('well', third!), thirdResult!])
    assert.deepEqual(cutsOf(session), [0, 4])
    const places = [0, 1, 2, 3, 4, 5, 6, 7].map(entry => lastCutBefore(session.fold, entry))
    assert.deepEqual(places, [undefined, 0, 0, 0, 0, 4, 4, 4])
    await session.append(says('done'), user('next'), says('sure'))
    await session.view()
    assert.deepEqual(cutsOf(session), [0, 2, 4, 6, 7, 8])
  })

  test('after a step without reasoning is the one before the reasoning', async () => {
    const steps = ['1', '2', '3', '4'].map(command => bash(command, 'ok') as [Message, Message])
    const loop = steps.flatMap(([call, result], i) => [i % 2 === 0 ? thinking('hm', call) : call, result])
    const { fold } = await open([user('go'), ...loop])
    assert.equal(lastCutBefore(fold, 7), 4)
    assert.equal(lastCutBefore(fold, 4), 0)
  })

  test('in a running loop assumes that an entry that is not loaded begins with reasoning', () => {
    const unloaded = (at: number, ...messages: Message[]) => {
      const fold = createFold(words => words.length)
      for (const [seq, message] of messages.entries())
        addEntry(fold, { seq, at: seq, role: message.role, message: seq === at ? undefined : message })
      return fold.entries.flatMap((_, entry) => (isCut(fold, entry) ? [entry] : []))
    }
    const plain = [user('go'), says('a'), says('b'), says('c')]
    assert.deepEqual(unloaded(-1, ...plain), [0, 1, 2])
    assert.deepEqual(unloaded(1, ...plain), [0], 'the loop may have begun with reasoning')
    const began = plain.with(1, thinking('hm', says('a')))
    assert.deepEqual(unloaded(-1, ...began), [0])
    assert.deepEqual(unloaded(2, ...began), [0, 1], 'what is left may begin with reasoning')
  })

  test('in a running loop does not depend on reasoning before its request', async () => {
    const session = await open([user('a'), thinking('hm', says('b')), user('go'), says('c'), says('d')])
    assert.deepEqual(cutsOf(session), [0, 1, 2, 3])
  })

  test('after the reasoning that a running loop began with needs other reasoning after it', async () => {
    const began = thinking('hm', says('a'))
    assert.deepEqual(cutsOf(await open([user('go'), began, says('b')])), [0])
    assert.deepEqual(cutsOf(await open([user('go'), began, thinking('well', says('b'))])), [0, 1])
  })

  test('in a running loop skips messages without calls and results', async () => {
    const note: Message = { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] }
    const loop = ['1', '2'].map(command => bash(command, 'ok') as [Message, Message])
    const [first, second] = loop.map(([call, result]) => [thinking('hm', call), result])
    const session = await open([user('go'), ...first!, note, ...second!, says('done')])
    assert.deepEqual(cutsOf(session), [0, 2, 3])
  })

  test('comes after the next answer if results of a step are missing', async () => {
    const one = { name: 'bash', input: { command: 'x' }, output: 'ok' }
    const [calls, result] = step(one, one)
    const session = await open([user('go'), calls!, result!, says('a'), says('b')])
    assert.deepEqual(cutsOf(session), [0, 3])
  })

  test('may remove the last reasoning of the running turn, on models that bind it', () => {
    const fold = createFold(words => words.length)
    const messages = [user('go'), ...bash('1', 'ok'), thinking('hm', says('a')), user(' ')]
    for (const [seq, message] of messages.entries()) addEntry(fold, { seq, at: seq, role: message.role, message })
    const bound = { binding: 'refuse' } as const
    assert.deepEqual(
      [0, 2, 3].map(entry => isCut(fold, entry, bound)),
      [false, false, true],
    )
  })

  test('is never before reasoning that is still sent, on models that bind it', async () => {
    const [first, result] = bash('1', 'ok')
    const session = await open([user('go'), says('a'), thinking('hm', first!), result!, says('b')], 'claude-opus-5-5')
    assert.deepEqual(cutsOf(session), [3])
  })
})

test('a session without entries has no cut, no stretch and no end', () => {
  const fold = createFold(words => words.length)
  assert.deepEqual([isCut(fold, 0), lastCutBefore(fold, 0), lastCutBefore(fold, 5)], [false, undefined, undefined])
  assert.deepEqual([firstEntry(fold), firstStartFrom(fold, 0), stretchBefore(fold, 0)], [0, undefined, undefined])
  assert.equal(endsWhole(fold), false)
})

test('a range may begin after a whole step, and not inside a visible range', async () => {
  const session = await open([user('go'), ...bash('1', 'ok'), ...bash('2', 'ok'), says('done'), user('next')])
  const starts = () => [0, 1, 2, 3, 4, 5, 6, 7].map(entry => firstStartFrom(session.fold, entry))
  assert.deepEqual(starts(), [1, 1, 3, 3, 5, 5, 6, undefined])
  await session.apply([
    { target: { type: 'range', from: 1, to: 4 }, replacement: { messages: [user('x')] }, why: 'test' },
  ])
  assert.deepEqual(starts(), [1, 1, 5, 5, 5, 5, 6, undefined])
})

describe('a stretch', () => {
  const talk = [user('go'), ...bash('1', 'word '.repeat(50)), ...bash('2', 'ok'), ...bash('3', 'ok'), says('done')]

  test('begins after the system prompt', async () => {
    const session = await open([{ role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] }, ...talk])
    assert.equal(firstEntry(session.fold), 1)
    assert.deepEqual(stretchBefore(session.fold, 6), { from: 1, to: 5 })
    assert.equal(stretchBefore(session.fold, 1), undefined)
  })

  test('has nothing pinned; of two it is the larger', async () => {
    const session = await open(talk)
    await session.pin(4)
    assert.deepEqual(stretchBefore(session.fold, 8), { from: 0, to: 2 })
    await session.pin(0)
    assert.deepEqual(stretchBefore(session.fold, 8), { from: 1, to: 2 })
    await session.pin(2)
    assert.deepEqual(stretchBefore(session.fold, 8), { from: 5, to: 6 })
  })

  test('is the first of two with equally many tokens, and ends where no step can begin', async () => {
    const talkOf = (words: string) => [user('go'), says('one'), user('go'), says(words), user('end'), says('bye')]
    const larger = await open(talkOf('one and two and three'))
    await larger.pin(2)
    await larger.pin(5)
    assert.deepEqual(stretchBefore(larger.fold, 4), { from: 3, to: 3 }, 'the second is larger')
    assert.deepEqual(stretchBefore(larger.fold, 2), { from: 0, to: 1 }, 'a pin at the end')
    const session = await open(talkOf('one'))
    await session.pin(2)
    assert.deepEqual(stretchBefore(session.fold, 5), { from: 0, to: 1 })
    assert.deepEqual(stretchBefore(session.fold, 5, { start: 3 }), { from: 3, to: 4 })
    await session.pin(4)
    assert.deepEqual(stretchBefore(session.fold, 5, { start: 3 }), { from: 3, to: 3 }, 'a pin after the first')
    assert.deepEqual(stretchBefore(session.fold, 4, { start: 2 }), { from: 3, to: 3 }, 'a pin at the start')
    assert.deepEqual(stretchBefore(session.fold, 2, { start: 2 }), undefined)
  })

  test('includes range edits whole, or not at all', async () => {
    const session = await open(talk)
    await session.apply([
      { target: { type: 'range', from: 1, to: 4 }, replacement: { messages: [user('x')] }, why: 'test' },
    ])
    assert.deepEqual(stretchBefore(session.fold, 4), { from: 0, to: 0 })
    assert.deepEqual(stretchBefore(session.fold, 5), { from: 0, to: 4 })
  })
})

test('a message can be inserted after the last entry if no call waits', async () => {
  await fc.assert(
    fc.asyncProperty(anySession, async messages => {
      const session = await open(messages)
      const { messages: shown } = await session.view()
      assert.equal(endsWhole(session.fold), waitingCalls(shown).length === 0)
    }),
    { numRuns: 60 },
  )
})
