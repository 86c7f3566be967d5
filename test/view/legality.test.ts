import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Dialect, Edit, Message, Part, Replacement, Target } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { checkEdit, checkSize, checkView, RULES, type Rule, stepStart, waitingCalls } from '../../src/view/legality.ts'

const text = (said: string): Part => ({ type: 'text', text: said })
const emptied: Part = { type: 'text', text: '', edit: 'e1' }
const reasoning: Part = { type: 'reasoning', text: 'hm' }
const raw: Part = { type: 'raw', provider: 'anthropic', value: { type: 'server_tool_use', id: 's1' } }
const call = (id: string): Part => ({ type: 'tool-call', id, name: 'bash', input: { command: 'ls' } })
const result = (id: string): Part => ({ type: 'tool-result', id, name: 'bash', output: 'out' })
const user = (...parts: Part[]): Message => ({ role: 'user', parts })
const assistant = (...parts: Part[]): Message => ({ role: 'assistant', parts })
const tool = (...parts: Part[]): Message => ({ role: 'tool', parts })
const go = user(text('go'))

const rules = (messages: Message[], dialect?: Dialect) =>
  checkView(messages, dialect ? { dialect } : {}).map(({ rule }) => rule)

describe('rules about messages, each broken alone', () => {
  const step = [go, assistant(call('a'), call('b')), tool(result('a')), tool(result('b')), assistant(text('done'))]
  const cases: [name: string, rule: Rule, messages: Message[], dialect?: Dialect][] = [
    ['T1: a call whose result is missing', 'call-without-result', step.toSpliced(3, 1)],
    ['T1: a call whose results are all missing', 'call-without-result', [...step.toSpliced(2, 2), go]],
    ['T1: a result whose call is missing', 'result-without-call', step.with(1, assistant(call('a'), text('x')))],
    ['T1: a result behind something else', 'result-without-call', [go, tool(result('z')), go]],
    ['T1: a result in a message of the user', 'result-without-call', [user(text('x'), result('a'))]],
    ['T2: two results for one call', 'two-results', step.toSpliced(4, 0, tool(result('a')))],
    ['T2: two results in one message', 'two-results', step.with(2, tool(result('a'), result('a')))],
    ['T2: half of a parallel batch', 'call-without-result', [...step.slice(0, 3), go]],
    ['two calls with one id', 'duplicate-call', [...step.slice(0, 4), assistant(call('a')), tool(result('a'))]],
    [
      'two calls with one id in one message',
      'duplicate-call',
      [go, assistant(call('a'), call('a')), tool(result('a'))],
    ],
    ['a message without parts', 'empty-message', [go, assistant()]],
    ['an empty text, at Anthropic', 'blank-text', [go, assistant(text(''))], 'anthropic'],
    ['T7: a conversation that begins with a call, at Gemini', 'call-comes-first', step.slice(1), 'gemini'],
    ['a blank text, at Anthropic', 'blank-text', [user(text(' \n')), assistant(text('x'))], 'anthropic'],
    [
      'T7: an answer and then a call begin the conversation, at Gemini',
      'call-comes-first',
      [assistant(text('x')), ...step.slice(1)],
      'gemini',
    ],
    ['a message that an edit has emptied, at OpenAI', 'blank-text', [go, assistant(emptied)], 'openai-chat'],
    ['one that is blank then, at Gemini', 'blank-text', [user({ ...emptied, text: ' ' }), go], 'gemini'],
    [
      'T6: reasoning whose answer an edit has emptied',
      'reasoning-pair',
      [go, assistant(reasoning, emptied), go],
      'openai-responses',
    ],
    [
      'T6: the same, with other reasoning behind it',
      'reasoning-pair',
      [go, assistant(reasoning, emptied, reasoning, text('x')), go],
      'openai-responses',
    ],
    ['the same, at OpenAI Chat', 'reasoning-pair', [go, assistant(reasoning, emptied), go], 'openai-chat'],
    ['the second of two answers in a row, without parts', 'empty-message', [go, assistant(text('x')), assistant()]],
  ]
  for (const [name, rule, messages, dialect] of cases) {
    test(`${name}: ${rule}`, () => assert.deepEqual(rules(messages, dialect), [rule]))
  }

  test('the beginning is checked against the beginning of the conversation itself', () => {
    const system: Message = { role: 'system', parts: [text('You build.')] }
    const answer = assistant(text('x'))
    const begun = (messages: Message[], began: Message['role'] | undefined, dialect: Dialect) =>
      checkView(messages, { began, dialect }).map(({ rule }) => rule)
    for (const dialect of ['anthropic', 'gemini', 'openai-chat', 'openai-responses'] as const) {
      for (const messages of [[], [system]]) {
        assert.deepEqual(begun(messages, 'user', dialect), ['nothing-left'])
        assert.deepEqual(begun(messages, undefined, dialect), [])
      }
      const isRefused = dialect === 'anthropic' ? ['answer-comes-first'] : []
      assert.deepEqual(begun([system, answer, go], 'user', dialect), isRefused)
      assert.deepEqual(begun([answer, go], 'assistant', dialect), [])
      assert.deepEqual(begun([system, go, answer], 'user', dialect), [])
    }
  })

  test('results in any order and grouping, calls in several messages, and waiting calls at the end are legal', () => {
    const legal: Message[][] = [
      [],
      step,
      [go, assistant(call('a'), call('b')), tool(result('b'), result('a'))],
      [go, assistant(call('a')), assistant(call('b')), tool(result('a'), result('b')), go],
      [go, assistant(text('x'), call('a'), call('b'))],
      [go, assistant(call('a'), call('b')), tool(result('b'))],
      [go, go, assistant(raw), assistant(text(''))],
    ]
    for (const messages of legal) assert.deepEqual(rules(messages), [], JSON.stringify(messages))
  })

  test('a message that one provider refuses is legal at another, and in another place', () => {
    const blank = { ...emptied, text: ' ' }
    const legal: [Message[], Dialect][] = [
      [[assistant(text('x')), go, ...step.slice(1)], 'gemini'],
      [[go, assistant(blank)], 'openai-chat'],
      [[go, assistant({ ...blank, edit: undefined } as Part)], 'gemini'],
      [[go, assistant(reasoning, emptied), go], 'gemini'],
      [[user(reasoning, emptied)], 'openai-chat'],
      [[go, assistant(reasoning, emptied, text('x'), reasoning)], 'openai-responses'],
      [[go, assistant(text('x'), emptied)], 'openai-responses'],
    ]
    for (const [messages, dialect] of legal) assert.deepEqual(rules(messages, dialect), [], JSON.stringify(messages))
  })

  test('a violation names its place and its subject', () => {
    const [found] = checkView(step.toSpliced(3, 1))
    assert.deepEqual(found, { rule: 'call-without-result', message: 'no result for b', index: 1, ids: ['b'] })
    const [empty] = checkView([go, assistant()])
    assert.deepEqual(empty, { rule: 'empty-message', message: 'message 1 has no parts', index: 1 })
  })

  test('a message that has passed is not checked again for the same provider; others are', () => {
    const checked = new WeakMap<Message, Dialect | 'any'>()
    const messages = [user(text(' ')), assistant(), user(text('\ud800'))]
    const found = (dialect?: Dialect) =>
      checkView(messages, { checked, ...(dialect ? { dialect } : {}) }).map(one => one.rule)
    const broken: Rule[] = ['empty-message', 'invalid-unicode']
    assert.deepEqual([found(), found()], [broken, broken])
    assert.deepEqual(found('anthropic'), ['blank-text', ...broken])
    assert.deepEqual(found('anthropic'), ['blank-text', ...broken])
    assert.deepEqual([checked.has(messages[0]!), checked.has(messages[1]!)], [true, false])
    messages[0]!.parts.length = 0
    assert.deepEqual(found(), broken, 'it has passed')
  })

  test('a view is checked from the step before its first change', () => {
    const broken = [tool(result('z')), ...step, go]
    assert.deepEqual(rules(broken), ['result-without-call'])
    assert.deepEqual(checkView(broken, { from: 5 }), [])
    assert.deepEqual(checkView(step.toSpliced(3, 1), { from: 3 }).length, 1)
  })

  test('of messages known to be legal only changed stretches are checked, each step once', () => {
    const broken = [go, assistant(call('x')), go, ...step.toSpliced(3, 1), go]
    assert.deepEqual(rules(broken), ['call-without-result', 'call-without-result'])
    const found = (...changed: { from: number; to: number }[]) =>
      checkView(broken, { from: broken.length, changed }).map(({ index }) => index)
    assert.deepEqual(found(), [])
    assert.deepEqual(found({ from: 1, to: 2 }), [1])
    assert.deepEqual(found({ from: 5, to: 6 }, { from: 5, to: 7 }), [4])
    assert.deepEqual(found({ from: 1, to: 2 }, { from: 4, to: 5 }), [1, 4])
    assert.deepEqual(found({ from: 2, to: 2 }), [1], 'what was taken out leaves the step before it without its results')
    assert.deepEqual(found({ from: 4, to: 4 }), [4], 'and the step behind it without what it began with')
    const parted = [go, assistant(call('a')), go, tool(result('a')), tool(result('b')), go]
    const strays = checkView(parted, { from: parted.length, changed: [{ from: 2, to: 3 }] })
    assert.deepEqual(
      strays.map(({ index }) => index),
      [1, 3, 4],
      'what was put in takes all results behind it from their call',
    )
  })

  test('T13: bytes have a separate limit: too-many-bytes', () => {
    assert.deepEqual(checkSize(10, 10), [])
    const message = 'the messages have 11 bytes; the provider takes 10'
    assert.deepEqual(checkSize(11, 10), [{ rule: 'too-many-bytes', message }])
  })
})

describe('steps', () => {
  const messages = [go, assistant(call('a')), assistant(call('b')), tool(result('a')), tool(result('b')), go]

  test('a step begins with the first of its assistant messages', () => {
    assert.deepEqual(
      [0, 1, 2, 3, 4, 5, 9, -1].map(at => stepStart(messages, at)),
      [0, 1, 1, 1, 1, 5, 5, 0],
    )
    assert.equal(stepStart([], 3), 0)
  })

  test('the waiting calls are those of the last step without a result', () => {
    assert.deepEqual(waitingCalls(messages.slice(0, 4)), ['b'])
    assert.deepEqual(waitingCalls(messages.slice(0, 3)), ['a', 'b'])
    assert.deepEqual(waitingCalls(messages), [])
    assert.deepEqual(waitingCalls([]), [])
    assert.deepEqual(waitingCalls(messages.slice(1, 3)), ['a', 'b'], 'nobody has said anything before')
    assert.deepEqual(waitingCalls(messages.slice(3, 5)), [])
  })
})

describe('rules about one edit', () => {
  const scope = {
    entry: 3,
    role: 'assistant' as const,
    latest: false,
    running: false,
    reasons: false,
    isLedTo: false,
  }
  const edit = (replacement: Replacement, target: Target = { type: 'part', entry: 3, part: 0 }): Edit => ({
    id: 'e1',
    target,
    replacement,
    by: 'user',
    why: '',
    saved: 0,
  })
  const leaf: Target = { type: 'part', entry: 3, part: 0, leaf: 0 }
  const signed: Part = { ...call('a'), original: { dialect: 'gemini', value: { thoughtSignature: 'c2ln' } } }
  const broken: [name: string, rule: Rule, edit: Edit, scope: Parameters<typeof checkEdit>[1], dialect?: Dialect][] = [
    ['T3, T12: an opaque block', 'opaque-edited', edit('x'), { ...scope, part: raw }],
    ['T3, T12: an opaque block dropped', 'opaque-edited', edit(null), { ...scope, part: raw }],
    ['T4: reasoning rewritten', 'reasoning-altered', edit('x'), { ...scope, part: reasoning }],
    [
      'T4: reasoning shortened in part',
      'reasoning-altered',
      edit('x', { ...leaf, span: [0, 1] }),
      { ...scope, part: reasoning },
    ],
    [
      'T4, T8: reasoning of the running turn dropped',
      'running-reasoning',
      edit(null),
      { ...scope, part: reasoning, running: true },
    ],
    [
      'T4, T7: a neighbour of reasoning that is being answered',
      'running-reasoning',
      edit('x'),
      { ...scope, part: text('y'), latest: true, reasons: true },
    ],
    [
      'T6: reasoning dropped and its call kept',
      'reasoning-pair',
      edit(null),
      { ...scope, part: reasoning },
      'openai-responses',
    ],
    [
      'T6: everything dropped that reasoning led to',
      'reasoning-pair',
      edit(null),
      { ...scope, part: text('y'), isLedTo: true },
      'openai-responses',
    ],
    ['T7: a signed call shortened', 'signed-altered', edit({ input: {} }), { ...scope, part: signed }, 'gemini'],
    ['T7: a text in a signed call', 'signed-altered', edit('x', leaf), { ...scope, part: signed }],
    [
      'T7: a call with a signature in the spelling of Python',
      'signed-altered',
      edit({ input: {} }),
      { ...scope, part: { ...call('a'), original: { dialect: 'gemini', value: { thought_signature: 'c2ln' } } } },
    ],
    [
      'T6: everything dropped that reasoning led to, at OpenAI Chat',
      'reasoning-pair',
      edit(null),
      { ...scope, part: text('y'), isLedTo: true },
      'openai-chat',
    ],
    [
      'T4: a text beside reasoning dropped while it is being answered',
      'running-reasoning',
      edit(null),
      { ...scope, part: text('y'), latest: true, reasons: true },
    ],
    [
      'T4: the reasoning of an answer shortened while it is being answered',
      'running-reasoning',
      edit('x'),
      { ...scope, part: reasoning, latest: true, reasons: true },
    ],
    ['T1: a call turned into messages', 'call-dropped', edit({ messages: [] }), { ...scope, part: call('a') }],
    [
      'T1: a text of a call turned into an input',
      'call-dropped',
      edit({ input: {} }, leaf),
      { ...scope, part: call('a') },
    ],
    ['T1: a text of a call dropped', 'call-dropped', edit(null, leaf), { ...scope, part: call('a') }],
    ['T1: a call dropped', 'call-dropped', edit(null), { ...scope, part: call('a') }],
    ['T1: a call turned into text', 'call-dropped', edit('x'), { ...scope, part: call('a') }],
    ['T1: a result dropped', 'result-dropped', edit(null), { ...scope, part: result('a') }],
  ]
  for (const [name, rule, made, where, dialect] of broken) {
    test(`${name}: ${rule}`, () => assert.equal(checkEdit(made, where, dialect)?.rule, rule))
  }

  test('shorter texts, results and inputs are allowed, and so is dropping old reasoning and images whole', () => {
    const image: Part = { type: 'image', mediaType: 'image/png', data: '' }
    const allowed: [Edit, Part][] = [
      [edit('x'), text('long')],
      [edit('x'), result('a')],
      [edit('x', { ...leaf, span: [0, 2] }), result('a')],
      [edit({ input: {} }), call('a')],
      [edit('x', leaf), call('a')],
      [edit(null), reasoning],
      [edit(null), image],
      [edit('[image]'), image],
    ]
    for (const [made, part] of allowed) assert.equal(checkEdit(made, { ...scope, part }, 'anthropic'), undefined)
  })

  test('some edits are allowed in one place only, or at one provider', () => {
    const by = (dialect: Dialect, value: unknown): Part => ({ ...call('a'), original: { dialect, value } })
    const allowed: [Edit, Partial<typeof scope> & { part: Part }, Dialect][] = [
      [edit(null), { part: reasoning, latest: true, reasons: true }, 'anthropic'],
      [edit('x'), { part: text('y'), latest: true }, 'anthropic'],
      [edit('x'), { part: text('y'), reasons: true, running: true }, 'anthropic'],
      [edit(null), { part: text('y'), isLedTo: true }, 'anthropic'],
      [edit('x'), { part: text('y'), isLedTo: true }, 'openai-responses'],
      [edit(null), { part: text('y') }, 'openai-responses'],
      [edit({ input: {} }), { part: by('gemini', { other: 1 }) }, 'gemini'],
      [edit({ input: {} }), { part: by('gemini', 'thoughtSignature') }, 'gemini'],
      [edit({ input: {} }), { part: by('openai-chat', { thoughtSignature: 'c2ln' }) }, 'openai-chat'],
    ]
    for (const [made, where, dialect] of allowed)
      assert.equal(checkEdit(made, { ...scope, ...where }, dialect), undefined, JSON.stringify([made, where, dialect]))
  })
})

describe('rules about the state of a session', () => {
  async function open(model: string, ...messages: Message[]): Promise<Session> {
    const pal = await openPalimpsest({ home: ':memory:', clock: () => 1000 })
    const session = await pal.session('s', { model })
    await session.append(...messages)
    return session
  }
  const loop = [go, assistant(reasoning, call('a')), tool(result('a')), assistant(call('b')), tool(result('b'))]
  const apply = (session: Session, target: Target, replacement: Replacement) =>
    session.apply([{ target, replacement, why: 'test' }])
  const broken = (rule: Rule) => ({ code: 'VIEW_ILLEGAL', message: new RegExp(`\\(${rule}\\)`) })
  const cut = { messages: [user(text('folded'))] }
  const reasoningIn = (messages: readonly Message[]) =>
    messages.flatMap(({ parts }, i) => (parts.some(({ type }) => type === 'reasoning') ? [i] : []))

  test('T4: a running loop keeps the reasoning that it began with: loop-without-reasoning', async () => {
    const session = await open('claude-sonnet-4-5', ...loop)
    await assert.rejects(apply(session, { type: 'range', from: 1, to: 2 }, cut), broken('loop-without-reasoning'))
    await session.append(user(text('next')))
    await apply(session, { type: 'range', from: 1, to: 2 }, cut)
  })

  test('if a model binds reasoning, reasoning after a change is left out and not put back: bound-reasoning', async () => {
    const messages = [...loop, user(text('next')), assistant(text('x'))]
    const bound = await open('claude-opus-5-5', ...messages)
    await apply(bound, { type: 'part', entry: 4, part: 0 }, 'behind it')
    assert.deepEqual(reasoningIn((await bound.view()).messages), [1])
    await apply(bound, { type: 'part', entry: 0, part: 0 }, 'x')
    assert.deepEqual(reasoningIn((await bound.view()).messages), [])
    const [, , left] = bound.edits()
    assert.equal(left!.edit.by, 'engine')
    await assert.rejects(bound.undo(left!.edit.id), broken('bound-reasoning'))
    const free = await open('claude-opus-4-5', ...messages)
    await apply(free, { type: 'part', entry: 0, part: 0 }, 'x')
    assert.deepEqual(reasoningIn((await free.view()).messages), [1])
  })

  test('a system prompt that the client changes is not refused for bound reasoning', async () => {
    const prompt = (said: string): Message => ({ role: 'system', parts: [text(said)] })
    const session = await open('claude-opus-5-5')
    const rest = [...loop, user(text('next')), assistant(text('x'))]
    await session.sync([prompt('one'), ...rest])
    const view = await session.sync([prompt('two'), ...rest])
    assert.deepEqual(view.report, [])
    assert.equal(view.session.id, session.id)
  })

  test('T1, T2: a range that separates calls from results is refused, and nothing is changed', async () => {
    const session = await open('gpt-4o', go, assistant(call('a'), call('b')), tool(result('a')), tool(result('b')))
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [2, 2],
      [3, 3],
      [2, 3],
    ] as const) {
      await assert.rejects(apply(session, { type: 'range', from, to }, cut), { code: 'VIEW_ILLEGAL' })
    }
    assert.deepEqual(session.edits(), [])
    await apply(session, { type: 'range', from: 1, to: 3 }, cut)
  })

  test('T13: a view with too many bytes is reported, and no message is left out', async () => {
    const pal = await openPalimpsest({ home: ':memory:', models: { tiny: { maxBytes: 1000, dialect: 'openai-chat' } } })
    const session = await pal.session('s', { model: 'tiny' })
    await session.append(go, assistant(text('ok')))
    await session.append(user({ type: 'image', mediaType: 'image/png', data: 'A'.repeat(2000) }))
    const view = await session.view()
    assert.deepEqual(
      view.report.map(({ rule }) => rule),
      ['too-many-bytes'],
    )
    assert.equal(view.messages.length, 3)
    await apply(session, { type: 'part', entry: 2, part: 0 }, '[image]')
    assert.deepEqual((await session.view()).report, [])
    assert.equal((await session.view()).messages.length, 3)
  })
})

test('every rule has a sentence, and a name that reports can use', () => {
  for (const [name, words] of Object.entries(RULES)) {
    assert.match(name, /^[a-z]+(-[a-z]+)+$/)
    assert.match(words, /^[A-Z].*\.$/)
  }
})
