import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Ledger } from '../../src/ledger/ledger.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import { leavesOf } from '../../src/model/leaves.ts'
import type { Dialect, Edit, Message, Part } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { checkView, waitingCalls } from '../../src/view/legality.ts'
import { legalize } from '../../src/view/legalize.ts'
import { EMPTY } from '../../src/view/repairs.ts'
import { session as anySession } from '../laws/sessions.ts'
import * as fc from '../property.ts'

const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
const says = (text: string): Message => ({ role: 'assistant', parts: [{ type: 'text', text }] })
const call = (id: string): Part => ({ type: 'tool-call', id, name: 'bash', input: { command: 'ls' } })
const calls = (...ids: string[]): Message => ({ role: 'assistant', parts: ids.map(call) })
const result = (id: string): Message => ({
  role: 'tool',
  parts: [{ type: 'tool-result', id, name: 'bash', output: `output of ${id}` }],
})
const textsOf = (messages: readonly Message[]) => messages.flatMap(({ parts }) => parts.flatMap(leavesOf))

describe('any list of messages', () => {
  /** Left out, doubled, moved, or with half a character, as edits and undos can leave a session. */
  const fate = fc.constantFrom('keep', 'keep', 'keep', 'drop', 'double', 'swap', 'half', 'empty')
  const broken = fc
    .tuple(anySession, fc.array(fate, { minLength: 20, maxLength: 20 }))
    .map(([messages, fates]) => damage(messages, fates))
  const dialect = fc.constantFrom<Dialect>('anthropic', 'openai-chat', 'openai-responses', 'gemini')

  test('becomes legal, and a legal list stays the same object', () => {
    fc.assert(
      fc.property(broken, dialect, fc.constantFrom(undefined, 'user' as const), (messages, dialect, began) => {
        const rules = { dialect, began }
        const { messages: legal, repaired } = legalize(messages, rules)
        assert.deepEqual(checkView(legal, rules), [])
        assert.equal(repaired.length === 0, legal === messages)
        assert.equal(legalize(legal, rules).messages, legal)
      }),
      { numRuns: 500 },
    )
  })

  test('keeps every text that can be sent, and every call that waits', () => {
    fc.assert(
      fc.property(broken, dialect, (messages, dialect) => {
        const { messages: legal } = legalize(messages, { dialect })
        const shown = textsOf(legal).join('\n')
        for (const text of textsOf(messages.filter(({ role }) => role !== 'assistant'))) {
          assert.ok(text.trim() === '' || shown.includes(text.toWellFormed()), text)
        }
        const once = new Set(messages.flatMap(({ parts }) => parts.flatMap(p => (p.type === 'tool-call' ? p.id : []))))
        const waiting = waitingCalls(messages).filter(id => once.has(id))
        if (checkView(messages, { dialect }).length === 0) assert.deepEqual(waitingCalls(legal), waiting)
      }),
      { numRuns: 300 },
    )
  })

  test('is repaired from its first change on as if it were repaired whole', () => {
    fc.assert(
      fc.property(broken, broken, dialect, (front, back, dialect) => {
        const { messages: legal } = legalize(front, { dialect })
        if (waitingCalls(legal).length > 0) return
        const ids = new Set(callIds(legal))
        const fresh = back.filter(message => !callIds([message]).some(id => ids.has(id)))
        const all = [...legal, ...fresh]
        assert.deepEqual(legalize(all, { dialect, from: legal.length }).messages, legalize(all, { dialect }).messages)
      }),
      { numRuns: 300 },
    )
  })

  function callIds(messages: readonly Message[]): string[] {
    return messages.flatMap(({ parts }) => parts.flatMap(part => (part.type === 'tool-call' ? part.id : [])))
  }

  function damage(messages: readonly Message[], fates: readonly string[]): Message[] {
    const left: Message[] = []
    for (const [i, message] of messages.entries()) {
      const what = fates[i % fates.length]
      if (what === 'drop') continue
      if (what === 'swap') left.splice(Math.max(0, left.length - 1), 0, message)
      else if (what === 'half') left.push({ ...message, parts: [...message.parts, { type: 'text', text: 'x \ud83d' }] })
      else if (what === 'empty') left.push({ ...message, parts: [] })
      else left.push(message, ...(what === 'double' ? [message] : []))
    }
    return left
  }
})

test('messages are repaired from their first changed stretch on, though later ones are new', () => {
  const front = [user('go'), calls('a'), result('a'), user('on'), calls('b')]
  const all = [...front, user('stop'), says('well'), user('and?')]
  const changed = [{ from: 5, to: 5 }]
  const { messages, repaired } = legalize(all, { from: all.length, changed })
  assert.deepEqual(
    repaired.map(({ rule }) => rule),
    ['call-without-result'],
  )
  assert.deepEqual(messages, legalize(all).messages)
  assert.equal(messages.length, all.length + 1)
})

test('an opening comes after the system prompt', () => {
  const prompt: Message = { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] }
  const textsWith = (...messages: Message[]) =>
    textsOf(legalize([prompt, ...messages], { began: 'user', dialect: 'anthropic' }).messages)
  assert.deepEqual(textsWith(), ['Be brief.', '[Nothing is left of the conversation]'])
  assert.deepEqual(textsWith(says('so')), ['Be brief.', '[The conversation begins with an answer]', 'so'])
})

test('messages that need no repair stay the same objects', () => {
  const tool: Message = { ...result('a'), original: { dialect: 'gemini', value: 1 } }
  const sound = [user('go'), says('so'), calls('a', 'b'), tool, result('b'), user('on')]
  const { messages } = legalize([...sound, { role: 'user', parts: [] }])
  for (const [i, message] of sound.entries()) assert.equal(messages[i], message)
})

describe('a message of the wrong form', () => {
  const text = (words: string): Part => ({ type: 'text', text: words })
  const said: Part = { type: 'reasoning', text: 'hm' }
  const emptied: Part = { ...text(''), edit: 'e1' } as Part
  const empty = text(EMPTY)
  const cases: [name: string, parts: Part[], dialect: Dialect, shown: Part[]][] = [
    ['loses blank texts where the provider refuses them', [text(' '), text('a')], 'anthropic', [text('a')]],
    ['keeps them elsewhere', [text(' '), text('\ud800')], 'openai-chat', [text(' '), text('\ufffd')]],
    ['says that it is empty where nothing is left', [text(' ')], 'anthropic', [empty]],
    ['says so where it never had anything', [], 'openai-chat', [empty]],
    ['says so behind reasoning', [said, emptied], 'openai-responses', [said, { ...empty, edit: 'e1' } as Part]],
  ]
  for (const [name, parts, dialect, shown] of cases) {
    test(name, () => assert.deepEqual(legalize([{ role: 'assistant', parts }], { dialect }).messages[0]?.parts, shown))
  }

  test('is left out if it should hold results', () => {
    const { messages } = legalize([user('go'), calls('a'), { role: 'tool', parts: [] }, result('a')])
    assert.deepEqual(messages, [user('go'), calls('a'), result('a')])
  })
})

test('only a call that begins a conversation gets a request before it, and only at Gemini', () => {
  const rolesOf = (messages: Message[], dialect: Dialect) =>
    legalize(messages, { dialect }).messages.map(({ role }) => role)
  const nothing: Message = { role: 'user', parts: [] }
  const loop = [calls('a'), result('a')]
  assert.deepEqual(rolesOf([...loop, nothing], 'openai-chat'), ['assistant', 'tool', 'user'])
  assert.deepEqual(rolesOf([...loop, nothing], 'gemini'), ['user', 'assistant', 'tool', 'user'])
  assert.deepEqual(rolesOf([nothing, ...loop], 'gemini'), ['user', 'assistant', 'tool'])
})

describe('a call whose id is taken', () => {
  const told = { type: 'text', text: '[Call of bash] {"command":"ls"}' }
  const late = (id: string) => ({ type: 'text', text: `[Result of bash]\noutput of ${id}` })
  const parts = (messages: readonly Message[]) => legalize(messages).messages.map(({ parts: own }) => own)

  test('becomes text, with its result after the step; other calls stay', () => {
    const again = [calls('a', 'b'), result('a'), result('b'), calls('b'), result('b')]
    assert.deepEqual(parts([user('go'), calls('a'), result('a'), ...again]), [
      user('go').parts,
      [call('a')],
      result('a').parts,
      [told, call('b')],
      result('b').parts,
      [late('a')],
      [told],
      [late('b')],
    ])
  })

  test('is kept once in a message, and its repetitions become text', () => {
    assert.deepEqual(parts([user('go'), calls('a', 'a', 'b'), result('a'), result('b'), user('on')]), [
      user('go').parts,
      [call('a'), told, call('b')],
      result('a').parts,
      result('b').parts,
      user('on').parts,
    ])
  })

  test('stands among texts, which stay', () => {
    const between: Message = { role: 'assistant', parts: [...says('one').parts, call('a'), ...says('two').parts] }
    const shown = parts([user('go'), calls('a'), result('a'), between, user('on')])
    assert.deepEqual(shown[3], [...says('one').parts, told, ...says('two').parts])
  })
})

describe('a session', () => {
  const open = async (store = new SqliteLedger(':memory:'), model = 'claude-sonnet-4-5') => {
    const pal = await openPalimpsest({ home: ':memory:', store, clock: () => 1000 })
    return pal.session('s', { policy: 'none', model })
  }
  const summary = { messages: [user('[a summary]')] }

  test('refuses an edit over a call that waits for its result, alone or in a range', async () => {
    const session = await open()
    await session.append(user('go'), says('ok'), user('list'), calls('c1', 'c2'), result('c1'))
    for (const target of [
      { type: 'range', from: 1, to: 4 },
      { type: 'range', from: 3, to: 4 },
      { type: 'entry', entry: 3 },
    ] as const) {
      await assert.rejects(session.apply([{ target, replacement: summary, why: '' }]), {
        code: 'VIEW_ILLEGAL',
        message: /c2 still waits for its result/,
      })
    }
    await session.append(result('c2'))
    await session.apply([{ target: { type: 'range', from: 1, to: 5 }, replacement: summary, why: '' }])
  })

  test('shows the result and the next request if its ledger has such an edit, before and after a restart', async () => {
    const store = new SqliteLedger(':memory:')
    const session = await open(store)
    await session.append(user('go'), says('ok'), user('list'), calls('c1'))
    const edit: Edit = {
      id: 'e1',
      target: { type: 'range', from: 1, to: 3 },
      replacement: summary,
      by: 'user',
      why: 'written by an earlier version',
      saved: 0,
    }
    const ledger = new Ledger(store, 's')
    await ledger.load()
    await ledger.append([{ type: 'edit', edits: [edit] }], 1000)
    await session.append(result('c1'))
    await session.append(user('and now the next request'))
    const view = await session.view()
    assert.deepEqual(textsOf(view.messages), [
      'go',
      '[a summary]',
      '[Result of bash]\noutput of c1',
      'and now the next request',
    ])
    assert.deepEqual(
      view.report.map(({ rule }) => rule),
      ['result-without-call'],
    )
    const again = await (await open(store)).view()
    assert.deepEqual(again.messages, view.messages)
    assert.deepEqual(again.report, view.report)
    await session.undo('e1')
    assert.deepEqual((await session.view()).report, [])
  })

  test('undoes edits that were legal only together, in any order', async () => {
    for (const order of [
      [0, 1],
      [1, 0],
    ]) {
      const session = await open()
      await session.append(user('go'), calls('c1'), result('c1'), says('done'))
      const before = await session.view()
      const edits = await session.apply([
        { target: { type: 'entry', entry: 1 }, replacement: { messages: [] }, why: '' },
        { target: { type: 'entry', entry: 2 }, replacement: { messages: [] }, why: '' },
      ])
      for (const i of order) {
        await session.undo(edits[i]!.id)
        const { messages } = await session.view()
        assert.deepEqual(checkView(messages, { dialect: 'anthropic' }), [])
      }
      assert.deepEqual((await session.view()).messages, before.messages)
    }
  })

  test('accepts further edits after such an undo: only new violations are refused', async () => {
    const session = await open()
    await session.append(user('go'), calls('c1'), result('c1'), says('done'), user('more'))
    const [first] = await session.apply([
      { target: { type: 'entry', entry: 1 }, replacement: { messages: [] }, why: '' },
      { target: { type: 'entry', entry: 2 }, replacement: { messages: [] }, why: '' },
    ])
    await session.undo(first!.id)
    await session.apply([{ target: { type: 'part', entry: 4, part: 0 }, replacement: 'less', why: '' }])
    assert.equal(textsOf((await session.view()).messages).at(-1), 'less')
    await session.append(calls('c2'), result('c2'))
    await assert.rejects(
      session.apply([{ target: { type: 'entry', entry: 6 }, replacement: { messages: [] }, why: '' }]),
      { code: 'VIEW_ILLEGAL', message: /c2/ },
    )
  })

  test('has a view on Gemini if it begins with a call', async () => {
    const session = await open(undefined, 'gemini-2.5-pro')
    await session.append(calls('c1'), result('c1'), user('go on'))
    const { messages, report } = await session.view()
    assert.equal(messages.map(({ role }) => role).join(' '), 'user assistant tool user')
    assert.deepEqual(
      report.map(({ rule }) => rule),
      ['call-comes-first'],
    )
  })

  test('gets an opening at Anthropic while an edit makes it begin with an answer', async () => {
    const session = await open()
    await session.append(user('go'), says('done'), user('more'))
    const [edit] = await session.apply([
      { target: { type: 'entry', entry: 0 }, replacement: { messages: [] }, why: '' },
    ])
    const { messages, report } = await session.view()
    assert.deepEqual(textsOf(messages), ['[The conversation begins with an answer]', 'done', 'more'])
    assert.equal(messages[0]!.role, 'user')
    assert.deepEqual(
      report.map(({ rule }) => rule),
      ['answer-comes-first'],
    )
    assert.deepEqual((await session.verify()).violations, [])
    const synced = await session.sync([user('go'), says('done'), user('more')])
    assert.deepEqual(textsOf(synced.messages), textsOf(messages))
    await session.undo(edit!.id)
    assert.deepEqual(textsOf((await session.view()).messages), ['go', 'done', 'more'])
  })

  test('is left as it is if its client began it with an answer', async () => {
    const session = await open()
    const own = [says('Hello, what can I do?'), user('go')]
    const { messages, report } = await session.sync(own)
    assert.deepEqual(textsOf(messages), textsOf(own))
    assert.deepEqual(report, [])
  })

  test('keeps a message: an edit that would leave none is refused, and an undo that leaves none gets an opening', async () => {
    const session = await open()
    await session.append(user('go'), says('done'))
    const all = { type: 'range', from: 0, to: 1 } as const
    const apply = (messages: Message[]) => session.apply([{ target: all, replacement: { messages }, why: '' }])
    await assert.rejects(apply([]), { code: 'VIEW_ILLEGAL', message: /nothing-left/ })
    assert.deepEqual(textsOf((await session.view()).messages), ['go', 'done'])
    const gone = (entry: number) =>
      session.apply([{ target: { type: 'entry', entry }, replacement: { messages: [] }, why: '' }])
    const [outer] = await apply([user('all of it')])
    await gone(0)
    await gone(1)
    await session.undo(outer!.id)
    const { messages, report } = await session.view()
    assert.deepEqual(textsOf(messages), ['[Nothing is left of the conversation]'])
    assert.deepEqual(
      report.map(({ rule }) => rule),
      ['nothing-left'],
    )
  })

  test('refuses an edit that cuts a character in two', async () => {
    const session = await open()
    await session.append(user('a 🙂 b'))
    const span: [number, number] = [0, 3]
    await assert.rejects(
      session.apply([{ target: { type: 'part', entry: 0, part: 0, leaf: 0, span }, replacement: 'x', why: '' }]),
      { code: 'VIEW_ILLEGAL', message: /invalid-unicode/ },
    )
  })
})
