/** Which edits the state of a session allows: every case on a bare fold, so that each refusal has one reason. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isPalimpsestError } from '../../src/model/errors.ts'
import type { Author, Edit, Event, Message, Part, Replacement, Target } from '../../src/model/types.ts'
import { modelInfo } from '../../src/providers/models.ts'
import { STALE } from '../../src/view/binding.ts'
import { addEntry, foldAll, shown } from '../../src/view/fold.ts'
import { assertAllowed, assertRevertible, tryLegal } from '../../src/view/scope.ts'
import { count } from '../laws/law.ts'
import { bash, says, user } from '../policies/talk.ts'

const PLAIN = modelInfo('claude-sonnet-4-5')
const RESPONSES = modelInfo('gpt-5')
const CHAT = modelInfo('gpt-4o')
const BINDING = { ...PLAIN, binding: 'refuse' as const, bindsReasoning: true }

const range = (from: number, to: number): Target => ({ type: 'range', from, to })
const part = (entry: number, index = 0): Target => ({ type: 'part', entry, part: index })
const so: Replacement = { messages: [user('so far')] }

function edit(target: Target, { by = 'agent' as Author, replacement = so, id = 'new' } = {}): Edit {
  return { id, target, replacement, by, why: 'test', saved: 0 }
}

function thinks(message: Message, text = 'hm'): Message {
  const reasoning: Part = { type: 'reasoning', text }
  return { ...message, parts: [reasoning, ...message.parts] }
}

function stateOf(messages: readonly Message[], more: readonly Event[] = []) {
  const events: Event[] = [...messages.map(message => ({ type: 'entry' as const, message })), ...more]
  return foldAll(
    events.map((event, seq) => ({ seq, at: 0, event })),
    count,
  )
}

/** The code of a refusal, with the rule if it has one. */
function refusal(fold: ReturnType<typeof stateOf>, edits: readonly Edit[], model = PLAIN): string | undefined {
  try {
    assertAllowed(fold, edits, model)
    return undefined
  } catch (error) {
    assert.ok(isPalimpsestError(error), String(error))
    const [first] = (error.data?.['violations'] ?? []) as { rule: string }[]
    return first ? first.rule : error.code
  }
}

describe('a pin', () => {
  const five = [user('a'), says('b'), user('c'), says('d'), user('e')]
  const pinned = stateOf(five, [{ type: 'pin', entry: 2, on: true, by: 'user' }])

  test('prevents every range that includes its entry, even as the first or the last', () => {
    for (const [from, to] of [
      [2, 2],
      [0, 2],
      [2, 4],
      [0, 4],
      [1, 3],
    ] as const) {
      assert.equal(refusal(pinned, [edit(range(from, to))]), 'PINNED', `${from}–${to}`)
    }
    for (const [from, to] of [
      [0, 1],
      [3, 4],
      [3, 3],
      [1, 1],
    ] as const) {
      assert.equal(refusal(pinned, [edit(range(from, to))]), undefined, `${from}–${to}`)
    }
  })

  test('of a part prevents ranges around it and edits of it, and nothing else', () => {
    const two: Message = {
      role: 'user',
      parts: [
        { type: 'text', text: 'x' },
        { type: 'text', text: 'y' },
      ],
    }
    const fold = stateOf([user('a'), two], [{ type: 'pin', entry: 1, part: 1, on: true, by: 'user' }])
    assert.equal(refusal(fold, [edit(range(0, 1))]), 'PINNED')
    assert.equal(refusal(fold, [edit({ type: 'entry', entry: 1 })]), 'PINNED')
    assert.equal(refusal(fold, [edit(part(1, 1), { replacement: '-' })]), 'PINNED')
    assert.equal(refusal(fold, [edit(part(1, 0), { replacement: '-' })]), undefined)
    assert.equal(refusal(fold, [edit(range(0, 0))]), undefined)
  })

  test('of an entry protects each of its parts', () => {
    assert.equal(refusal(pinned, [edit(part(2), { replacement: '-' })]), 'PINNED')
    assert.equal(refusal(pinned, [edit(part(1), { replacement: '-' })]), undefined)
  })

  test('applies to policies and the agent, not to the user, the engine and insertions', () => {
    assert.equal(refusal(pinned, [edit(range(2, 2), { by: 'policy:thrifty' })]), 'PINNED')
    assert.equal(refusal(pinned, [edit(range(2, 2), { by: 'user' })]), undefined)
    assert.equal(refusal(pinned, [edit(range(2, 2), { by: 'engine' })]), undefined)
    assert.equal(refusal(pinned, [edit({ type: 'after', entry: 2 })]), undefined)
  })

  test('refuses a batch because of any one of its edits', () => {
    assert.equal(refusal(pinned, [edit(range(0, 0)), edit(range(2, 2))]), 'PINNED')
  })

  test('protects nothing after it was removed', () => {
    const free = stateOf(five, [
      { type: 'pin', entry: 2, on: true, by: 'user' },
      { type: 'pin', entry: 2, on: false, by: 'user' },
    ])
    assert.equal(refusal(free, [edit(range(0, 4))]), undefined)
  })
})

describe('an edit of a part', () => {
  test('must name an existing part', () => {
    const fold = stateOf([user('a')])
    assert.equal(refusal(fold, [edit(part(0, 1), { replacement: '-' })]), 'ENTRY_NOT_FOUND')
    assert.equal(refusal(fold, [edit(part(0, 0), { replacement: '-' })]), undefined)
  })

  test('of the message that is being answered is refused only if that has reasoning', () => {
    const [call, result] = bash('ls', 'a') as [Message, Message]
    const input = { replacement: { input: {} } }
    assert.equal(refusal(stateOf([user('a'), thinks(call), result]), [edit(part(1, 1), input)]), 'running-reasoning')
    assert.equal(refusal(stateOf([user('a'), call, result]), [edit(part(1, 0), input)]), undefined)
  })

  test('may drop reasoning of an earlier turn, but not of the running one', () => {
    const drop = { replacement: null }
    const [call, result] = bash('ls', 'a') as [Message, Message]
    const running = stateOf([user('a'), thinks(call), result, says('b')])
    assert.equal(refusal(running, [edit(part(1, 0), drop)]), 'running-reasoning')
    const over = stateOf([user('a'), thinks(call), result, says('b'), user('c')])
    assert.equal(refusal(over, [edit(part(1, 0), drop)]), undefined)
    const own = stateOf([user('a'), says('b'), thinks(user('c'))])
    assert.equal(refusal(own, [edit(part(2, 0), drop)]), undefined, 'the turn begins behind the request')
  })

  test('may leave out stale reasoning, even of the running turn', () => {
    const running = stateOf([user('a'), thinks(says('b'))])
    const drop = edit(part(1, 0), { by: 'engine', replacement: null })
    assert.equal(refusal(running, [drop], BINDING), 'running-reasoning')
    assert.equal(refusal(running, [{ ...drop, mark: STALE }], BINDING), undefined)
  })

  test('is not checked against the parts of an entry that is not loaded', () => {
    const fold = stateOf([user('a')])
    addEntry(fold, { seq: 1, at: 0, message: undefined, role: 'assistant' })
    assert.equal(refusal(fold, [edit(part(1), { replacement: '-' })]), undefined)
  })

  describe('may not drop the last thing that reasoning led to, at OpenAI', () => {
    const [drop, shorten] = [null, 'x']
    /** R: reasoning, T: a text; before the edit that drops `part`, other parts are edited. */
    const cases: [parts: string, part: number, refused: boolean, why: string, before?: [number, Replacement][]][] = [
      ['RT', 1, true, 'it is the only one'],
      ['RTT', 1, false, 'another text follows'],
      ['RTT', 2, false, 'another text comes first'],
      ['RTRT', 1, true, 'the next part is other reasoning'],
      ['RTRT', 3, true, 'it is the only one of the second reasoning'],
      ['RTTR', 1, false, 'another text follows before other reasoning'],
      ['T', 0, false, 'there is no reasoning'],
      ['TT', 1, false, 'there is no reasoning'],
      ['TRT', 0, false, 'the reasoning is behind it'],
      ['TRT', 2, true, 'the text before the reasoning does not count'],
      ['RTT', 1, true, 'the other text is dropped', [[2, drop]]],
      ['RTT', 2, true, 'the other text is dropped', [[1, drop]]],
      ['RTT', 1, false, 'the other text is only shortened', [[2, shorten]]],
      ['RTT', 2, false, 'the other text is only shortened', [[1, shorten]]],
      ['RTRT', 1, false, 'the other reasoning is dropped, so the last text belongs to this one', [[2, drop]]],
    ]
    for (const [letters, index, refused, why, before = []] of cases) {
      test(`${letters}, part ${index}: ${why}`, () => {
        const parts = [...letters].map((type): Part => ({ type: type === 'R' ? 'reasoning' : 'text', text: 'x' }))
        const edits = before.map(([at, replacement], i) => edit(part(1, at), { replacement, id: `e${i}` }))
        const more: Event[] = edits.length > 0 ? [{ type: 'edit', edits }] : []
        const fold = stateOf([user('a'), { role: 'assistant', parts }, user('b'), says('c')], more)
        const last = edit(part(1, index), { replacement: drop })
        assert.equal(refusal(fold, [last], RESPONSES), refused ? 'reasoning-pair' : undefined)
        assert.equal(refusal(fold, [last], PLAIN), undefined, 'other providers take it')
      })
    }

    test('reasoning itself may be dropped if it is not sent in pairs', () => {
      const parts: Part[] = ['text', 'reasoning', 'reasoning'].map(type => ({ type: type as 'text', text: 'x' }))
      const fold = stateOf([user('a'), { role: 'assistant', parts }, user('b'), says('c')])
      assert.equal(refusal(fold, [edit(part(1, 2), { replacement: drop })], CHAT), undefined)
    })
  })
})

describe('a range in a running loop', () => {
  const [call, result] = bash('ls', 'a') as [Message, Message]
  const [more, its] = bash('cat a', 'b') as [Message, Message]
  const loop = [user('do it'), thinks(call), result, more, its]

  test('keeps reasoning at the beginning of a loop that began with it', () => {
    assert.equal(refusal(stateOf(loop), [edit(range(1, 2))]), 'loop-without-reasoning')
    assert.equal(refusal(stateOf(loop), [edit(range(0, 2))]), 'loop-without-reasoning')
    const told = stateOf([user('do it'), { ...user('be brief'), role: 'system' }, ...loop.slice(1)])
    assert.equal(refusal(told, [edit(range(1, 3))]), 'loop-without-reasoning')
    const long = stateOf([...loop, ...bash('make', 'c')])
    assert.equal(refusal(long, [edit(range(1, 4))]), 'loop-without-reasoning', 'its first step counts')
  })

  test('may reach to the end, or up to a step with reasoning', () => {
    assert.equal(refusal(stateOf(loop), [edit(range(1, 4))]), undefined)
    assert.equal(refusal(stateOf([...loop.slice(0, 3), thinks(more), its]), [edit(range(1, 2))]), undefined)
  })

  test('may cut a loop that began without reasoning, and anything before a loop', () => {
    assert.equal(refusal(stateOf([user('do it'), call, result, more, its]), [edit(range(1, 2))]), undefined)
    const second = stateOf([user('a'), thinks(says('b')), ...loop])
    assert.equal(refusal(second, [edit(range(0, 1))]), undefined)
    const plain = stateOf([user('a'), thinks(says('b')), user('do it'), call, result, more, its])
    assert.equal(refusal(plain, [edit(range(1, 4))]), undefined, 'reasoning before the loop does not count')
    const third = stateOf([user('a'), thinks(says('b')), user('c'), says('d')])
    assert.equal(refusal(third, [edit(range(0, 2))]), undefined)
  })
})

describe('on a model that binds reasoning to the text before it', () => {
  const bound = stateOf([user('a'), says('b'), user('c'), thinks(says('d')), user('e'), says('f')])
  const text = { replacement: '-' }

  test('an edit before reasoning is allowed: the engine leaves out what no longer fits', () => {
    assert.equal(refusal(bound, [edit(part(2), text)], BINDING), undefined)
    assert.equal(refusal(bound, [edit(part(3, 1), text)], BINDING), undefined)
    assert.equal(refusal(bound, [edit(part(2), { ...text, by: 'engine' })], BINDING), undefined)
  })
})

describe('an event that is tried', () => {
  const rules = () => ({})
  const attempt = (fold: ReturnType<typeof stateOf>, ...edits: Edit[]) =>
    tryLegal(fold, { type: 'edit', edits }, { seq: 99, rules })
  const [call, result] = bash('ls', 'a') as [Message, Message]

  test('may not hide a call that still waits for its result; the fold stays as it was', () => {
    const fold = stateOf([user('a'), says('b'), user('c'), call])
    const before = shown(fold)
    assert.throws(() => attempt(fold, edit(range(2, 3))), {
      code: 'VIEW_ILLEGAL',
      message: /call-dropped.*still waits/,
    })
    assert.deepEqual(shown(fold), before)
    attempt(fold, edit(range(0, 1)))
    assert.equal(shown(fold).length, 3)
  })

  test('may not break a rule, and names it; otherwise it returns a function that reverses it', () => {
    const fold = stateOf([user('a'), call, result, user('b')])
    const before = shown(fold)
    assert.throws(() => attempt(fold, edit(range(0, 1))), { code: 'VIEW_ILLEGAL', message: /result-without-call/ })
    assert.deepEqual(shown(fold), before)
    const takeBack = attempt(fold, edit(range(1, 2)))
    assert.equal(shown(fold).length, 3)
    takeBack()
    assert.deepEqual(shown(fold), before)
  })

  test("is never refused if it is the engine's, because it records what has happened", () => {
    const messages = [user('a'), call, result, user('b')]
    const [engine, agent] = [edit(range(0, 1), { by: 'engine' }), edit(range(3, 3), { id: 'other' })]
    const fold = stateOf(messages)
    attempt(fold, engine)
    assert.equal(shown(fold).length, 3)
    assert.throws(() => attempt(stateOf(messages), engine, agent), { code: 'VIEW_ILLEGAL' })
  })

  test('reports that the view is legal after it only if it is', () => {
    let told = 0
    const isLegal = () => told++
    const options = { seq: 99, rules, isLegal }
    const event: Event = { type: 'edit', edits: [edit(range(0, 0))] }
    tryLegal(stateOf([user('a'), says('b')]), event, options)
    assert.equal(told, 1)
    tryLegal(stateOf([user('a'), result, user('b')]), event, options)
    assert.equal(told, 1, 'the view was broken before')
  })

  test('is refused for new violations, not for earlier ones', () => {
    const fold = stateOf([user('a'), result, user('b'), call, result, user('c')])
    attempt(fold, edit(range(5, 5)))
    assert.deepEqual(
      shown(fold)
        .at(-1)
        ?.parts.map(({ type }) => type),
      ['text'],
    )
    assert.throws(() => attempt(fold, edit(range(3, 3), { id: 'worse' })), { code: 'VIEW_ILLEGAL' })
  })
})

test('reasoning that was left out is not put back if the provider would refuse it', () => {
  const stale = { ...edit(part(1), { replacement: null }), mark: STALE }
  const refusing = { ...PLAIN, binding: 'refuse' as const }
  assert.throws(() => assertRevertible([edit(part(0)), stale], refusing), {
    code: 'VIEW_ILLEGAL',
    message: /bound-reasoning/,
  })
  assert.throws(
    () =>
      assertRevertible(
        [
          { ...stale, id: 'e1' },
          { ...stale, id: 'e2' },
        ],
        refusing,
      ),
    {
      message: /undoing e1 would/,
    },
  )
  assertRevertible([edit(part(0))], refusing)
  assertRevertible([stale], { ...PLAIN, binding: 'none' })
})
