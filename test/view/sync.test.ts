import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import { parseJson } from '../../src/model/json.ts'
import type { Edit, Message, Part } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { shown } from '../../src/view/fold.ts'
import { CLEARED, SERVER } from '../../src/view/server-clears.ts'
import { inPresentForm, inPresentFormUpTo, keyOf, syncPlan } from '../../src/view/sync.ts'
import { session as anySession } from '../laws/sessions.ts'
import * as fc from '../property.ts'

const text = (role: Message['role'], said: string): Message => ({ role, parts: [{ type: 'text', text: said }] })
const [system, user, says] = (['system', 'user', 'assistant'] as const).map(
  role => (said: string) => text(role, said),
) as [(said: string) => Message, (said: string) => Message, (said: string) => Message]

async function open(model = 'claude-sonnet-4-5'): Promise<Session> {
  const pal = await openPalimpsest({ home: ':memory:', clock: () => 1000 })
  return pal.session('test', { model })
}

describe('the content of a message', () => {
  const part = (fields: Part): Message => ({ role: 'assistant', parts: [fields] })
  const call = (input: unknown): Message => part({ type: 'tool-call', id: 'c', name: 'x', input })
  const result = (output: string | Part[], more: object = {}): Message => ({
    role: 'tool',
    parts: [{ type: 'tool-result', id: 'c', name: 'x', output, ...more }],
  })

  test('does not depend on time, form, cache marks, or the order of keys', () => {
    const original = { dialect: 'anthropic' as const, value: { cache_control: {} } }
    const same: [Message, Message][] = [
      [user('a'), { ...user('a'), at: 5, original }],
      [user('a'), { role: 'user', parts: [{ text: 'a', type: 'text', original, edit: 'e1' }] }],
      [call({ a: 1, b: { c: 2, d: 3 } }), call({ b: { d: 3, c: 2 }, a: 1 })],
      [result('x'), result([{ type: 'text', text: 'x' }])],
      [result('x'), result('x', { isError: false })],
      [
        part({ type: 'raw', provider: 'p', value: { a: 1, b: 2 } }),
        part({ type: 'raw', provider: 'p', value: { b: 2, a: 1 } }),
      ],
    ]
    for (const [a, b] of same) assert.equal(keyOf(a), keyOf(b))
  })

  test('depends on every text in it', () => {
    const messages = [
      user('a'),
      user('b'),
      says('a'),
      part({ type: 'reasoning', text: 'a' }),
      call({ a: 1 }),
      call({ a: [1, 2] }),
      call({ a: [2, 1] }),
      call({ a: { 0: 1, 1: 2 } }),
      call({ a: null }),
      part({ type: 'raw', provider: 'p', value: 1 }),
      part({ type: 'raw', provider: 'p', value: 2 }),
      part({ type: 'raw', provider: 'q', value: 1 }),
      result('x'),
      result('y'),
      result('x', { isError: true }),
      result([
        { type: 'text', text: 'x' },
        { type: 'text', text: '' },
      ]),
      part({ type: 'image', mediaType: 'image/png', data: 'A' }),
      part({ type: 'image', mediaType: 'image/png', data: 'B' }),
      { role: 'user', parts: [] } as Message,
    ]
    assert.equal(new Set(messages.map(keyOf)).size, messages.length)
  })
})

describe('the plan', () => {
  test('a conversation that continues is appended to, one that went back is forked there', () => {
    fc.assert(
      fc.property(anySession, fc.nat(), fc.nat(), (messages, some, cut) => {
        const known = messages.slice(0, some % (messages.length + 1))
        const copy: Message[] = parseJson(JSON.stringify(messages))
        assert.deepEqual(syncPlan(known, copy), { kind: 'append', append: copy.slice(known.length) })
        const at = cut % messages.length
        const other = [...copy.slice(0, at), user('something that nobody had said before')]
        if (at < messages.length) assert.deepEqual(syncPlan(messages, other), { kind: 'fork', at: at - 1 })
      }),
      { numRuns: 200 },
    )
  })

  test('a shorter conversation is one that went back', () => {
    assert.deepEqual(syncPlan([user('a'), says('b')], [user('a')]), { kind: 'fork', at: 0 })
    assert.deepEqual(syncPlan([user('a')], []), { kind: 'fork', at: -1 })
    assert.deepEqual(syncPlan([], []), { kind: 'append', append: [] })
  })

  test('another system prompt is an edit of the first entry, made once, and undone if it returns', () => {
    const known = [system('one'), user('a')]
    const two = [system('two'), user('a'), says('b')]
    const edit = { target: { type: 'entry', entry: 0 }, replacement: { messages: [system('two')] } }
    assert.deepEqual(syncPlan(known, two), { kind: 'append', append: [says('b')], edit })
    assert.deepEqual(syncPlan(known, two, system('two')), { kind: 'append', append: [says('b')] })
    const back = syncPlan(known, known, system('two'))
    assert.deepEqual(back.kind === 'append' && back.edit?.replacement, { messages: [system('one')] })
  })
})

describe('sync of a session', () => {
  test('the system prompt that the client sent last is in view, whatever came before, and after any restart', async () => {
    const turn = fc.record({ prompt: fc.constantFrom('A', 'B', 'C'), restarts: fc.boolean(), undoes: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 2, maxLength: 8 }), async turns => {
        const store = new SqliteLedger(':memory:')
        const pal = await openPalimpsest({ home: ':memory:', store, clock: () => 1000 })
        let session = await pal.session('test', { policy: 'none' })
        const said: Message[] = []
        for (const [i, { prompt, restarts, undoes }] of turns.entries()) {
          if (restarts) session = await pal.session('test')
          const last = session.edits().findLast(({ active }) => active)
          if (undoes && last) await session.undo(last.edit.id)
          said.push(user(`request ${i}`))
          const view = await session.sync([system(prompt), ...said])
          assert.equal(view.session.id, 'test')
          assert.deepEqual(
            view.messages[0]?.parts.map(part => part.type === 'text' && part.text),
            [prompt],
          )
          said.push(says(`answer ${i}`))
        }
      }),
      { numRuns: 60 },
    )
  })

  test('a system prompt that changes and stays changes the view once, and can change back', async () => {
    const session = await open()
    const conversation = (prompt: string, ...rest: Message[]) => [system(prompt), user('go'), ...rest]
    await session.sync(conversation('one'))
    for (let i = 0; i < 3; i++) await session.sync(conversation('two', says('ok')))
    assert.equal(session.edits().length, 1)
    const prompt = async (messages: Message[]) => (await session.sync(messages)).messages[0]!.parts[0]
    assert.equal(((await prompt(conversation('two', says('ok')))) as { text: string }).text, 'two')
    assert.equal(((await prompt(conversation('one', says('ok')))) as { text: string }).text, 'one')
    assert.equal(((await prompt(conversation('one', says('ok'), user('on')))) as { text: string }).text, 'one')
    assert.equal(session.edits().length, 2)
  })

  test('asking again with the same messages changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(anySession, async messages => {
        const session = await open()
        const first = await session.sync(messages)
        const length = session.fold.entries.length
        const again = await session.sync(parseJson(JSON.stringify(messages)))
        assert.equal(again.session.id, session.id)
        assert.equal(session.fold.entries.length, length)
        assert.deepEqual(parseJson(JSON.stringify(again.messages)), parseJson(JSON.stringify(first.messages)))
      }),
      { numRuns: 60 },
    )
  })
})

describe('the present form of a conversation', () => {
  /** The same words as the client sends them now: with its own marks, which were others when they were recorded. */
  const marked = ({ role, parts }: Message): Message => ({
    role,
    parts,
    original: { dialect: 'anthropic', value: 'new' },
  })

  test('is the client’s, with edits in it; messages after those in the ledger are unchanged', async () => {
    const session = await open()
    const talk = [user('a question'), says('a long answer'), user('another'), says('and so on')]
    await session.append(...talk)
    await session.apply([{ target: { type: 'part', entry: 1, part: 0 }, replacement: 'short', why: 'test' }])
    const sent = inPresentForm(session.fold, talk.map(marked))
    assert.deepEqual(
      sent.map(({ parts: [part] }) => part?.type === 'text' && part.text),
      ['a question', 'short', 'another', 'and so on'],
    )
    assert.deepEqual(sent[0], marked(talk[0]!))
    const more = [...talk, user('one more')].map(marked)
    assert.deepEqual(inPresentFormUpTo(session.fold, more), [...sent, marked(user('one more'))])
    assert.deepEqual(inPresentFormUpTo(session.fold, more.slice(0, 2)), sent.slice(0, 2))
  })

  const recorded = ({ fold }: Session): Message[] => fold.entries.map(({ message }) => message!)

  test('is the view if the client sends the conversation as it was', async () => {
    const note = { messages: [user('a note')] }
    const none = { messages: [] }
    const part = (entry: number, index = 0) => ({ type: 'part' as const, entry, part: index })
    const cases: Pick<Edit, 'target' | 'replacement'>[][] = [
      [],
      [{ target: { type: 'range', from: 0, to: 1 }, replacement: note }],
      [{ target: { type: 'entry', entry: 2 }, replacement: none }],
      [{ target: { type: 'after', entry: 1 }, replacement: note }],
      [{ target: part(2), replacement: null }],
      [
        { target: part(2), replacement: null },
        { target: { type: 'after', entry: 2 }, replacement: note },
      ],
      [
        { target: part(1), replacement: 'short' },
        { target: { type: 'after', entry: 1 }, replacement: note },
      ],
    ]
    for (const edits of cases) {
      const session = await open()
      const talk = [user('a question'), says('a long answer'), user('another'), says('and so on')]
      await session.append(...talk)
      if (edits.length > 0) await session.apply(edits.map(edit => ({ ...edit, why: 'test' })))
      assert.deepEqual(inPresentForm(session.fold, recorded(session)), shown(session.fold))
    }
  })

  test('has the whole results that the provider clears itself', async () => {
    const talk: Message[] = [
      user('go'),
      { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'bash', input: {} }] },
      { role: 'tool', parts: [{ type: 'tool-result', id: 'c', name: 'bash', output: 'a long output' }] },
    ]
    const session = await open()
    await session.append(...talk)
    const target = { type: 'part' as const, entry: 2, part: 0 }
    await session.apply([{ target, replacement: CLEARED, why: 'test', mark: SERVER }], 'engine')
    assert.deepEqual(inPresentForm(session.fold, talk), talk)
  })

  test('follows each of several edits of a message', async () => {
    const session = await open()
    const parts = ['one', 'two'].map((said): Part => ({ type: 'text', text: said }))
    const talk: Message[] = [{ role: 'user', parts }, says('so')]
    await session.append(...talk)
    const put = async (part: number, replacement: string) => {
      const target = { type: 'part' as const, entry: 0, part }
      const [edit] = await session.apply([{ target, replacement, why: 'test' }])
      return edit!.id
    }
    const sent = () => inPresentForm(session.fold, recorded(session))
    await put(0, '1')
    const second = await put(1, '2')
    assert.deepEqual(sent(), shown(session.fold))
    await session.undo(second)
    await put(1, 'II')
    assert.deepEqual(sent(), shown(session.fold))
  })

  test('has the current system prompt if the client sends one, and none otherwise', async () => {
    const session = await open()
    const talk = [system('Be brief.'), user('a question'), says('a long answer')]
    await session.append(...talk)
    await session.apply([{ target: { type: 'part', entry: 2, part: 0 }, replacement: 'short', why: '' }])
    const [, question, answer] = inPresentForm(session.fold, talk)
    assert.deepEqual(inPresentFormUpTo(session.fold, talk.slice(1)), [question, answer])
    assert.deepEqual(inPresentFormUpTo(session.fold, [...talk.slice(1), user('more')]), [
      question,
      answer,
      user('more'),
    ])
    assert.deepEqual(inPresentFormUpTo(session.fold, [system('Be long.'), ...talk.slice(1)]), [
      system('Be long.'),
      question,
      answer,
    ])
    assert.deepEqual(inPresentFormUpTo(session.fold, talk.slice(0, 1)), talk.slice(0, 1))
  })

  test('has the same objects until the edits of a message change', async () => {
    const session = await open()
    const talk = [user('a question'), says('a long answer')].map(marked)
    await session.append(...talk)
    const [edit] = await session.apply([{ target: { type: 'part', entry: 1, part: 0 }, replacement: 'short', why: '' }])
    const answer = () => inPresentForm(session.fold, talk)[1]
    const first = answer()
    assert.equal(answer(), first)
    await session.undo(edit!.id)
    assert.equal(answer(), talk[1])
    await session.apply([{ target: { type: 'part', entry: 1, part: 0 }, replacement: 'other', why: '' }])
    assert.deepEqual(answer()?.parts[0], { ...first!.parts[0], text: 'other', edit: 'e2' })
  })
})
