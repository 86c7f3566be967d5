/**
 * The timeline and the map follow a ledger forward. The law: at every call they agree with a fold of the events before
 * that call, on any session with edits made, undone and redone between its calls.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadCounter, messageTokens } from '../../src/model/tokens.ts'
import type { CacheMiss, Edit, Event, Message, Usage } from '../../src/model/types.ts'
import { modelInfo } from '../../src/providers/models.ts'
import { replay } from '../../src/replay/replay.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { applyEvent, createFold, foldAll, shown, shownTokens } from '../../src/view/fold.ts'
import { Timeline } from '../../src/view/timeline.ts'
import { inSteps, summaryOf } from '../../src/view/totals.ts'
import { count } from '../laws/law.ts'
import { session } from '../laws/sessions.ts'
import * as fc from '../property.ts'
import { openSmall, smallMessages } from '../small-session.ts'

const model = modelInfo('claude')
const MINUTE = 60_000
type Placed = { seq: number; at: number; event: Event }
type Choice = { kind: 'part' | 'range' | 'insert' | 'undo' | 'redo' | 'none'; a: number; b: number }

const choice: fc.Arbitrary<Choice> = fc.record({
  kind: fc.constantFrom('none', 'part', 'range', 'insert', 'undo', 'redo'),
  a: fc.double({ min: 0, max: 0.999, noNaN: true }),
  b: fc.double({ min: 0, max: 0.999, noNaN: true }),
})

test('at every call the map and the sums equal those of a fold of the earlier events', () => {
  fc.assert(
    fc.property(session, fc.array(choice, { minLength: 30, maxLength: 30 }), (messages, choices) => {
      const events = ledgerOf(messages, choices)
      const timeline = new Timeline({ count, model })
      for (const placed of events) timeline.take(placed)
      let before: Message[] = []
      for (const [n, { entry, sent }] of [...timeline.calls.entries()]) {
        const seq = events.findIndex(({ event }, i) => event.type === 'entry' && entriesUpTo(events, i) === entry)
        const fold = foldAll(events.slice(0, seq), count)
        const view = shown(fold)
        const bars = [...timeline.bars(n)]
        assert.equal(sum(bars.map(bar => bar.shown)), shownTokens(fold), 'the map shows what was sent')
        assert.equal(
          sum(bars.map(bar => bar.raw)),
          sum(fold.entries.map(({ message }) => messageTokens(message!, count))),
        )
        assert.equal(sent.tokens, shownTokens(fold))
        if (n > 0)
          assert.equal(sent.cached, sum(sharedMessages(before, view).map(message => messageTokens(message, count))))
        before = view
      }
      const now = foldAll(events, count)
      assert.equal(sum([...timeline.bars()].map(bar => bar.shown)), shownTokens(now))
      assert.equal(timeline.tokens.shown, shownTokens(now))
    }),
    { numRuns: 300 },
  )
})

test('a timeline that follows a growing ledger equals one that reads it at once', () => {
  fc.assert(
    fc.property(session, fc.array(choice, { minLength: 30, maxLength: 30 }), (messages, choices) => {
      const events = ledgerOf(messages, choices)
      const [once, followed] = [new Timeline({ count, model }), new Timeline({ count, model })]
      for (const placed of events) once.take(placed)
      for (const placed of events) {
        followed.take(placed)
        // Looking changes nothing.
        void [followed.cacheAt(0), [...followed.bars()]]
      }
      assert.deepEqual(followed.calls, once.calls)
      assert.deepEqual([...followed.bars()], [...once.bars()])
    }),
    { numRuns: 100 },
  )
})

describe('a call of the timeline', () => {
  const long = 'word '.repeat(2000)
  const say = (role: Message['role'], text: string, at: number): Placed['event'] => ({
    type: 'entry',
    message: { role, parts: [{ type: 'text', text }], at },
  })
  const run = (...events: [at: number, event: Event][]) => {
    const timeline = new Timeline({ count, model, overhead: 1000 })
    for (const [seq, [at, event]] of events.entries()) timeline.take({ seq, at, event })
    return timeline
  }
  const dollars = (cached: number, written: number) =>
    ((cached * model.read + written * model.write) * model.input * model.scale) / 1e6
  const cut: Edit = {
    id: 'e1',
    target: { type: 'part', entry: 0, part: 0 },
    replacement: 'cut',
    by: 'user',
    why: 'long',
    saved: 2499,
  }

  test('without edits costs the same with and without us', () => {
    const { calls } = run(
      [0, say('user', long, 0)],
      [1, say('assistant', 'a', 1)],
      [2, say('user', long, 2)],
      [3, say('assistant', 'b', 3)],
    )
    assert.deepEqual(calls[0]!.sent, calls[0]!.raw)
    assert.deepEqual(calls[1]!.sent, calls[1]!.raw)
    assert.equal(calls[0]!.sent.cost, dollars(0, 3500))
    assert.equal(calls[1]!.sent.cost, dollars(3500, 2501))
    assert.equal(calls[1]!.miss, undefined)
  })

  test('costs more when an edit breaks the prefix, with the decision as the cause, and less after it', () => {
    const { calls } = run(
      [0, say('user', long, 0)],
      [1, say('assistant', 'a', 1)],
      [2, { type: 'edit', edits: [cut], decision: 'it pays back after 3 calls' }],
      [3, say('user', 'go on', 3)],
      [4, say('assistant', 'b', 4)],
      [5, say('user', 'go on', 5)],
      [6, say('assistant', 'c', 6)],
    )
    assert.deepEqual(calls[1]!.miss, { kind: 'edit', lost: 2500, cause: 'it pays back after 3 calls' })
    assert.deepEqual(calls[1]!.sent, { tokens: 1004, cached: 1000, written: 4, cost: dollars(1000, 4) })
    assert.equal(calls[1]!.raw.cost, dollars(3500, 3))
    assert.deepEqual(calls[1]!.edits, { ids: ['e1'], saved: 2499, undone: [], ours: true })
    assert.equal(calls[2]!.miss, undefined)
    assert.ok(calls[2]!.sent.cost < calls[2]!.raw.cost)
  })

  test('has cache reads of earlier text, until the provider has forgotten it', () => {
    const timeline = run([0, say('user', long, 0)])
    assert.deepEqual(timeline.cacheAt(0), { tokens: 0, cold: true, lastCallAt: undefined })
    timeline.take({ seq: 1, at: 1000, event: say('assistant', 'abcd', 1000) })
    const end = 1000 + model.ttl
    assert.deepEqual(timeline.cacheAt(end), { tokens: 1000 + 2500, cold: false, lastCallAt: 1000 })
    assert.equal(timeline.cacheAt(end + 1).cold, true)
    timeline.take({ seq: 2, at: 2000, event: { type: 'edit', edits: [cut] } })
    assert.equal(timeline.cacheAt(2000).tokens, 1000, 'of what was cut only what stands before it is left')
    timeline.take({ seq: 3, at: 3000, event: { type: 'revert', edits: ['e1'], by: 'user' } })
    assert.equal(timeline.cacheAt(3000).tokens, 1000 + 2500)
  })

  test('has the time of the last message, and of the answer', () => {
    const { calls } = run(
      [3, say('assistant', 'hello', 3)],
      [5, say('user', 'a', 5)],
      [9, say('assistant', 'b', 9)],
      [20, say('user', 'c', 20)],
      [18, say('assistant', 'd', 18)],
    )
    assert.deepEqual(
      calls.map(({ at, answeredAt }) => [at, answeredAt]),
      [
        [3, 3],
        [5, 9],
        [20, 20],
      ],
    )
    const asked = run(
      [5, say('user', 'a', 5)],
      [7, { type: 'usage', usage: { input: 9 } }],
      [12, { type: 'usage', usage: { input: 9 } }],
    )
    assert.deepEqual(
      asked.calls.map(({ at, answeredAt }) => [at, answeredAt]),
      [
        [5, 7],
        [12, 12],
      ],
      'a request that is sent again counts from then',
    )
  })

  test('is on a cold cache only after a pause longer than the lifetime', () => {
    const after = (pause: number) =>
      run(
        [0, say('user', long, 0)],
        [0, say('assistant', 'a', 0)],
        [pause, say('user', 'b', pause)],
        [pause, say('assistant', 'c', pause)],
      )
    assert.equal(after(model.ttl).calls[1]!.miss, undefined)
    assert.deepEqual(after(model.ttl + 1).calls[1]!.miss?.lost, 2500 + 1000)
  })

  test('has the last change as the cause of a miss without a decision, undo and redo included', () => {
    const events = (...more: Event[]): [number, Event][] => [
      [0, say('user', long, 0)],
      [1, say('assistant', 'a', 1)],
      ...more.flatMap((event, i): [number, Event][] => [
        [2 + i, event],
        [2 + i, say('user', 'go on', 2 + i)],
        [2 + i, say('assistant', 'b', 2 + i)],
      ]),
    ]
    const undo: Event = { type: 'revert', edits: ['e1'], by: 'user' }
    const redo: Event = { type: 'reapply', edits: ['e1'], by: 'policy:thrifty' }
    const { calls } = run(...events({ type: 'edit', edits: [cut] }, undo, redo))
    assert.deepEqual(
      calls.slice(1).map(({ miss, edits }) => [miss?.cause, edits.ids, edits.undone, edits.ours]),
      [
        ['e1 by user: long', ['e1'], [], true],
        ['user undid e1', [], ['e1'], true],
        ['policy:thrifty redid e1', ['e1'], [], true],
      ],
    )
    const { calls: byEngine } = run(
      ...events({ type: 'edit', edits: [{ ...cut, by: 'engine' }] }, { ...undo, by: 'engine' }),
    )
    assert.deepEqual(
      byEngine.map(({ edits }) => edits.ours),
      [false, false, false],
    )
    assert.deepEqual(byEngine[1]!.sent, byEngine[1]!.raw, 'what the client itself changed is lost without us, too')
  })

  test('has a miss without our edits too if the client changed the prefix itself', () => {
    const { calls } = run(
      [0, say('user', long, 0)],
      [1, say('assistant', 'a', 1)],
      [2, say('user', long, 2)],
      [3, { type: 'edit', edits: [{ ...cut, id: 'ours', target: { type: 'part', entry: 2, part: 0 } }] }],
      [4, say('assistant', 'b', 4)],
      [5, { type: 'edit', edits: [{ ...cut, id: 'theirs', by: 'engine' }] }],
      [6, say('user', 'c', 6)],
      [7, say('assistant', 'd', 7)],
    )
    assert.equal(calls[2]!.sent.cached, 1000)
    // Of 5,001 tokens that were sent before without our edit, the client lost the 2,502 that we had sent.
    assert.equal(calls[2]!.raw.cached, 1000 + 5001 - 2502)
  })

  test('is estimated if only the answer was reported, with the reported answer', () => {
    const { calls } = run(
      [0, say('user', long, 0)],
      [1, say('assistant', 'a', 1)],
      [2, { type: 'usage', usage: { output: 100 } }],
    )
    const { paid, modelled, sent } = calls[0]!
    const output = (100 * model.output) / 1e6
    assert.deepEqual(paid, { dollars: sent.cost + output, output, estimated: true })
    assert.equal(modelled, sent.cost + output)
  })

  test('uses the longer lifetime if the latest write has it', () => {
    const timeline = run([0, say('user', long, 0)], [1, say('assistant', 'a', 1)])
    const wrote = (usage: Usage) => {
      const seq = timeline.length
      timeline.take({ seq, at: seq, event: say('user', 'go', seq) })
      timeline.take({ seq: seq + 1, at: seq + 1, event: say('assistant', 'on', seq + 1) })
      timeline.take({ seq: seq + 2, at: seq + 2, event: { type: 'usage', usage: { model: 'claude', ...usage } } })
      return timeline.lifetime
    }
    assert.equal(timeline.lifetime, undefined)
    const name = model.lifetimes[1]!.name
    assert.deepEqual(
      [
        wrote({ input: 5, cacheWrite: 100, cacheWriteLong: 100 }),
        wrote({ input: 5, cacheRead: 100 }),
        wrote({ input: 5, cacheWrite: 100 }),
      ],
      [name, name, undefined],
    )
  })

  test('has only the fields with a value', () => {
    const { calls } = run([0, say('user', 'a', 0)], [1, say('assistant', 'b', 1)])
    const optional = ['inherited', 'unanswered', 'miss', 'missed', 'decision', 'reported']
    assert.deepEqual(
      optional.filter(key => key in calls[0]!),
      [],
    )
  })

  test('has no miss if an edit was undone before anything was sent', () => {
    const { calls } = run(
      [0, say('user', long, 0)],
      [1, say('assistant', 'a', 1)],
      [2, { type: 'edit', edits: [cut] }],
      [3, { type: 'revert', edits: ['e1'], by: 'user' }],
      [4, say('user', 'go on', 4)],
      [5, say('assistant', 'b', 5)],
    )
    assert.equal(calls[1]!.miss, undefined)
    assert.equal(calls[1]!.sent.cached, 3500)
  })

  test('has a miss of the text that was sent after an edit, and no more', () => {
    const at = (entry: number) => ({ type: 'part' as const, entry, part: 0 })
    const { calls } = run(
      [0, say('user', long, 0)],
      [1, say('assistant', 'a', 1)],
      [2, say('user', long, 2)],
      [3, say('assistant', 'b', 3)],
      [4, { type: 'edit', edits: [{ ...cut, target: at(2) }] }],
      [5, say('user', 'go on', 5)],
      [6, say('assistant', 'c', 6)],
      [7, { type: 'edit', edits: [{ ...cut, id: 'e2', by: 'engine', target: at(4) }] }],
      [8, say('assistant', 'd', 8)],
    )
    const [, , ours, theirs] = calls
    assert.equal(ours!.miss?.lost, 2500)
    assert.equal(theirs!.miss?.lost, 2)
    assert.equal(theirs!.raw.cached, ours!.raw.tokens - 2, 'what the client changed is lost without our edits, too')
  })

  test('has no cache reads after a pause, with and without an edit', () => {
    const later = 10 * MINUTE
    const { calls } = run(
      [0, say('user', long, 0)],
      [1, say('assistant', 'a', 1)],
      [2, { type: 'edit', edits: [cut] }],
      [later, say('user', 'go on', later)],
      [later, say('assistant', 'b', later)],
    )
    assert.deepEqual([calls[1]!.sent.cached, calls[1]!.raw.cached], [0, 0])
    assert.ok(calls[1]!.sent.tokens < calls[1]!.raw.tokens)
  })

  test("has the planner's sentence about its last edits, or else its last sentence", () => {
    const said = (...events: Event[]) => {
      const all: Event[] = [say('user', 'a', 0), say('assistant', 'b', 1), ...events, say('assistant', 'c', 3)]
      return run(...all.map((event, i): [number, Event] => [i, event])).calls.map(({ decision }) => decision)
    }
    const wait: Event = { type: 'decision', text: 'it waits' }
    const pays: Event = { type: 'edit', edits: [cut], decision: 'it pays' }
    assert.deepEqual(said(), [undefined, undefined])
    assert.deepEqual(said(wait), [undefined, 'it waits'])
    assert.deepEqual(said(pays), [undefined, 'it pays'])
    assert.deepEqual(said(pays, wait), [undefined, 'it pays'])
    const silent: Event = { type: 'edit', edits: [{ ...cut, id: 'e2', target: { type: 'part', entry: 1, part: 0 } }] }
    assert.deepEqual(said(pays, silent), [undefined, 'it pays'])
    const { moments } = run([0, say('user', 'a', 0)], [1, pays], [2, say('assistant', 'b', 2)], [3, silent])
    assert.deepEqual(
      [...moments.values()].map(({ at, call, decision }) => [at, call, decision]),
      [
        [1, 0, 'it pays'],
        [3, 1, undefined],
      ],
    )
  })

  test('is estimated with the tokens of its answer if the provider reported nothing', () => {
    const { calls } = run([0, say('user', 'a', 0)], [1, say('assistant', long, 1)])
    assert.equal(calls[0]!.paid.output, (2500 * model.scale * model.output) / 1e6)
  })

  test('writes everything after a pause, with and without us, and says so', () => {
    const later = 10 * MINUTE
    const { calls } = run(
      [0, say('user', long, 0)],
      [1, say('assistant', 'a', 1)],
      [later, say('user', 'still there?', later)],
      [later, say('assistant', 'yes', later)],
    )
    assert.equal(calls[1]!.sent.cached, 0)
    assert.equal(calls[1]!.raw.cached, 0)
    assert.match(calls[1]!.miss!.cause, /^10 minutes since/)
    assert.equal(calls[1]!.miss!.kind, 'cold')
    const start = 1_000 * MINUTE
    const paused = (minutes: number) => {
      const end = start + minutes * MINUTE
      return run(
        [start, say('user', long, start)],
        [start, say('assistant', 'a', start)],
        [end, say('user', 'still there?', end)],
        [end, say('assistant', 'yes', end)],
      ).calls[1]!.miss!.cause.replace(/ since.*/, '')
    }
    assert.deepEqual([90, 300, 47 * 60, 4 * 24 * 60].map(paused), ['90 minutes', '5 hours', '47 hours', '4 days'])
  })

  test("is estimated beside the provider's report, which also gives the size of system prompt and tools", () => {
    const usage = { input: 100, cacheWrite: 3900, output: 10 }
    const timeline = run(
      [0, say('user', long, 0)],
      [1, say('assistant', 'a', 1)],
      [2, { type: 'usage', usage, shown: 2500 }],
      [3, say('user', 'go on', 3)],
      [4, say('assistant', 'b', 4)],
    )
    const [first, second] = timeline.calls
    const overhead = Math.round(4000 / model.scale) - 2500
    assert.equal(first!.sent.tokens, overhead + 2500)
    assert.ok(Math.abs(first!.sent.tokens * model.scale - 4000) < 2, 'our sum is what the provider counted')
    const dollars = ((100 + 3900 * 1.25) * model.input + 10 * model.output) / 1e6
    assert.deepEqual([first!.paid.dollars, first!.paid.estimated], [dollars, false])
    assert.ok(Math.abs(first!.paid.output - (10 * model.output) / 1e6) < 1e-12)
    assert.equal(second!.reported, undefined)
    assert.ok(second!.paid.estimated && second!.paid.dollars === second!.modelled && second!.modelled > 0)
    assert.equal(second!.sent.tokens, overhead + 2500 + 1 + 2)
  })
})

describe('a session that begins with messages of another one', () => {
  const events: Event[] = ['user', 'assistant', 'user', 'assistant', 'user'].flatMap((role, i): Event[] => [
    { type: 'entry', message: { role: role as 'user', parts: [{ type: 'text', text: `text ${i}` }] } },
    { type: 'decision', text: 'wait' },
  ])
  const firstOf = (inherited: { events?: number; entries?: number }) => {
    const timeline = new Timeline({ count, model, inherited })
    for (const [seq, event] of events.entries()) timeline.take({ seq, at: seq, event })
    assert.equal(timeline.length, events.length)
    return timeline.requests
  }

  test('has its own first request as the title, or the first shared one if it has none', () => {
    const first = ['text 0', 'text 2', 'text 2', 'text 4', 'text 4', 'text 0']
    for (const [entries, expected] of first.entries()) {
      assert.equal(firstOf({ entries }).first, expected, `${entries} entries`)
      assert.equal(firstOf({ events: 2 * entries }).first, expected, `${2 * entries} events`)
      if (entries > 0) assert.equal(firstOf({ events: 2 * entries - 1 }).first, expected)
    }
    assert.deepEqual(firstOf({ entries: 3 }).count, 3)
  })

  test('does not pay for their calls', () => {
    for (const [inherited, expected] of [
      [{ entries: 1 }, [undefined, undefined]],
      [{ entries: 2 }, [true, undefined]],
      [{ events: 2 }, [undefined, undefined]],
      [{ events: 3 }, [true, undefined]],
      [{ entries: 4 }, [true, true]],
    ] as const) {
      const timeline = new Timeline({ count, model, inherited })
      for (const [seq, event] of events.entries()) timeline.take({ seq, at: seq, event })
      assert.deepEqual(
        timeline.calls.map(call => call.inherited),
        expected,
      )
    }
  })
})

test('a pin shows in the map from the next call on', () => {
  const timeline = new Timeline({ count, model })
  const entry = (role: 'user' | 'assistant'): Event => {
    return { type: 'entry', message: { role, parts: [{ type: 'text', text: 'a' }] } }
  }
  const pin: Event = { type: 'pin', entry: 0, on: true, by: 'user' }
  for (const [seq, event] of [entry('user'), entry('assistant'), pin].entries()) timeline.take({ seq, at: 0, event })
  assert.deepEqual(
    [0, 1].map(call => [...timeline.bars(call)][0]!.pinned),
    [false, true],
  )
})

test('usage that is recorded before the answer belongs to the answer', () => {
  const timeline = new Timeline({ count, model })
  const events: Event[] = [
    { type: 'entry', message: { role: 'user', parts: [{ type: 'text', text: 'word '.repeat(2000) }] } },
    { type: 'usage', usage: { input: 4000 }, shown: 2500 },
    { type: 'entry', message: { role: 'assistant', parts: [{ type: 'text', text: 'a' }] } },
  ]
  for (const [seq, event] of events.entries()) timeline.take({ seq, at: seq, event })
  assert.equal(timeline.calls[0]!.reported!.input, 4000)
  assert.equal(timeline.calls[0]!.sent.tokens, Math.round(4000 / model.scale))
})

describe('a call whose answer is not in the ledger yet', () => {
  const said = (role: 'user' | 'assistant', text: string): Event => {
    return { type: 'entry', message: { role, parts: [{ type: 'text', text }] } }
  }
  const used = (input: number): Event => ({ type: 'usage', usage: { input, output: 10 } })
  const follow = (...events: Event[]) => {
    const timeline = new Timeline({ count, model, name: 'claude' })
    for (const [seq, event] of events.entries()) timeline.take({ seq, at: seq * 1000, event })
    return timeline
  }

  test('is a call, and its answer does not count as a second one', () => {
    const { calls: waiting } = follow(said('user', 'a'), used(500))
    assert.deepEqual([waiting.length, waiting[0]!.unanswered, waiting[0]!.paid.estimated], [1, true, false])
    const { calls } = follow(said('user', 'a'), used(500), said('assistant', 'b'), said('user', 'c'), used(600))
    assert.deepEqual(
      calls.map(({ entry, unanswered, reported }) => [entry, unanswered, reported?.input]),
      [
        [1, undefined, 500],
        [3, true, 600],
      ],
    )
  })

  test('is estimated without the answer before it, and keeps the cache for the next call', () => {
    const timeline = new Timeline({ count, model, name: 'claude' })
    let seq = 0
    const take = (at: number, event: Event) => timeline.take({ seq: seq++, at, event })
    const often = Math.floor(model.ttl * 0.7)
    take(0, said('user', 'word '.repeat(2000)))
    take(0, said('assistant', 'b'.repeat(4000)))
    take(0, used(500))
    take(often, said('user', 'c'))
    take(often, { type: 'usage', usage: { input: 600 } })
    const { modelled, sent, entry } = timeline.calls[1]!
    assert.deepEqual([modelled, entry], [sent.cost, 3])
    take(2 * often, said('user', 'd'))
    take(2 * often, said('assistant', 'e'))
    assert.equal(timeline.calls[2]!.miss, undefined)
  })

  test('may be reported again when its answer has ended: the later report with the same id counts', () => {
    const report = (id: string | undefined, output: number): Event => ({
      type: 'usage',
      usage: { id, input: 500, output },
    })
    const outputs = (...reports: Event[]) =>
      follow(said('user', 'a'), said('assistant', 'b'), ...reports).calls.map(({ reported }) => reported?.output)
    assert.deepEqual(outputs(report('m1', 1), report('m1', 30)), [30])
    assert.deepEqual(outputs(report('m1', 1), report('m2', 30)), [1, 30])
    assert.deepEqual(outputs(report(undefined, 1), report(undefined, 30)), [1, 30])
  })

  test('stays one call if the client asks something else instead, or sends it again', () => {
    const { calls } = follow(said('user', 'a'), used(500), used(510), said('user', 'b'), said('assistant', 'c'))
    assert.deepEqual(
      calls.map(({ unanswered, reported }) => [unanswered, reported?.input]),
      [
        [true, 500],
        [true, 510],
        [undefined, undefined],
      ],
    )
  })
})

test('an answer that the client wrote itself is not a call, and does not change the cache', () => {
  const says = (role: 'user' | 'assistant', text: string): Event => {
    return { type: 'entry', message: { role, parts: [{ type: 'text', text }] } }
  }
  const follow = (...events: readonly (Event & { later?: number })[]) => {
    const timeline = new Timeline({ count, model: modelInfo('claude-sonnet-4-5'), name: 'claude-sonnet-4-5' })
    let at = 0
    for (const [seq, { later = 1000, ...event }] of events.entries()) {
      at += later
      timeline.take({ seq, at, event: event as Event })
    }
    return timeline.calls
  }
  const asked = (cacheRead: number): Event[] => [
    says('user', 'go'),
    says('assistant', 'on'),
    { type: 'usage', usage: { input: 5, cacheRead, cacheWrite: 30_000, output: 9 } },
  ]
  const limit: Event[] = [says('user', 'go'), says('assistant', 'You have hit your limit.')]
  const own: Event = { type: 'usage', usage: { by: 'client' } }
  const late = { ...says('user', 'again'), later: 4 * MINUTE }
  const calls = follow(...asked(0), { ...limit[0]!, later: 4 * MINUTE }, limit[1]!, own, late, ...asked(0).slice(1))
  assert.deepEqual(
    calls.map(({ entry, reported }) => [entry, reported?.output]),
    [
      [1, 9],
      [5, 9],
    ],
  )
  assert.equal(calls[1]!.miss?.kind, 'cold', 'the provider was last asked eight minutes before')
  assert.equal(calls[1]!.missed?.cause, 'pause')
  assert.deepEqual(follow(...limit, own), [])
})

describe('cached tokens that the provider did not read', () => {
  const calls = (...usages: (Usage & { after?: number; miss?: CacheMiss })[]) => {
    const timeline = new Timeline({ count, model: modelInfo('claude-sonnet-4-5'), name: 'claude-sonnet-4-5' })
    let [seq, at] = [0, 1_700_000_000_000]
    const take = (event: Event) => timeline.take({ seq: seq++, at, event })
    for (const { after = 1000, miss, ...usage } of usages) {
      at += after
      take({ type: 'entry', message: { role: 'user', at, parts: [{ type: 'text', text: 'go' }] } })
      take({ type: 'entry', message: { role: 'assistant', at, parts: [{ type: 'text', text: 'on' }] } })
      take({ type: 'usage', usage, ...(miss ? { miss } : {}) })
    }
    return timeline.calls
  }
  const first: Usage = { cacheRead: 0, cacheWrite: 30_000 }
  const causeOf = (...usages: Parameters<typeof calls>) => calls(...usages).at(-1)!.missed

  test('have the cause that the ledger shows', () => {
    assert.equal(causeOf(first, { cacheRead: 30_000, cacheWrite: 100 }), undefined)
    assert.deepEqual(causeOf(first, { cacheRead: 0, cacheWrite: 30_100 }), { cause: 'provider', tokens: 30_000 })
    assert.deepEqual(causeOf(first, { cacheRead: 0, cacheWrite: 30_100, after: 10 * MINUTE }), {
      cause: 'pause',
      tokens: 30_000,
    })
    assert.deepEqual(causeOf(first, { cacheRead: 0, cacheWrite: 30_100, model: 'claude-haiku-4-5' }), {
      cause: 'model',
      tokens: 30_000,
    })
    const told = { cause: 'client', tokens: 9 } as const
    assert.deepEqual(causeOf(first, { cacheRead: 0, miss: told }), told)
  })

  test('are all of them after a change of model, as the cost model predicts', () => {
    const [, second] = calls(first, { cacheRead: 0, cacheWrite: 30_100, model: 'claude-haiku-4-5' })
    assert.equal(second!.sent.cached, 0)
    assert.match(second!.miss!.cause, /the model before was claude-sonnet-4-5/)
  })
})

test('the numbers of a real replay equal those of the measure, call by call', async () => {
  const counter = await loadCounter()
  const messages = smallMessages()
  const timeline = new Timeline({ count: counter, model, overhead: 18_000 })
  for (const [seq, message] of messages.entries()) {
    timeline.take({ seq, at: message.at ?? 0, event: { type: 'entry', message } })
  }
  let n = 0
  for await (const { tokens } of replay(messages, { policy: 'none' })) {
    assert.equal(timeline.calls[n++]!.sent.tokens, tokens + 18_000)
  }
  assert.equal(n, timeline.calls.length)
})

test('a session in a few numbers', async () => {
  const pal = await openPalimpsest({ home: ':memory:' })
  const session = await openSmall(pal)
  const { options } = session
  const timeline = new Timeline({ count: await loadCounter(), model: options.model, tools: options.tools })
  for (const placed of await session.events()) timeline.take(placed)
  const summary = summaryOf(timeline)
  assert.match(summary.title, /^The weekly report leaves out Sunday/)
  assert.deepEqual([summary.entries, summary.turns, summary.calls, summary.edits], [17, 1, 8, 2])
  assert.ok(summary.tokens.shown < summary.tokens.raw)
  // The edits were made after the last call, so no call became cheaper through them, and none is shown as cheaper.
  assert.deepEqual(summary.money.with, summary.money.without)
  assert.equal(summary.series.shown.length, 8)
  await pal.close()
})

test('a long series keeps its peaks', () => {
  const values = Array.from({ length: 1000 }, (_, i) => (i === 503 ? 9999 : i))
  const steps = inSteps(values, 40)
  assert.equal(steps.length, 40)
  assert.equal(Math.max(...steps), 9999)
  assert.equal(steps.at(-1), 999)
  assert.deepEqual(inSteps([1, 2, 9, 3, 5, 6, 7], 3), [2, 9, 7])
  assert.deepEqual(inSteps([3, 1, 2], 3), [3, 1, 2])
})

/** A ledger with edits between its entries: those that the fold refuses are left out. */
function ledgerOf(messages: readonly Message[], choices: readonly Choice[]): Placed[] {
  const fold = createFold(count)
  const events: Placed[] = []
  const put = (event: Event) => {
    applyEvent(fold, event, { seq: events.length, at: 0 })
    events.push({ seq: events.length, at: 0, event })
  }
  for (const [i, message] of messages.entries()) {
    put({ type: 'entry', message })
    const event = eventFor(choices[i % choices.length]!, [...fold.records.values()], fold.entries)
    if (!event) continue
    try {
      put(event)
    } catch {
      // It overlaps an edit that is there: not a ledger that could be.
    }
  }
  return events
}

function eventFor(
  { kind, a, b }: Choice,
  records: readonly { edit: Edit; active: boolean }[],
  entries: readonly { message: Message | undefined }[],
): Event | undefined {
  const some = <T>(list: readonly T[]): T | undefined => list[Math.floor(a * list.length)]
  const entry = Math.floor(a * entries.length)
  const inserted = { messages: [{ role: 'user' as const, parts: [{ type: 'text' as const, text: 'inserted text' }] }] }
  const edit = (target: Edit['target'], replacement: Edit['replacement']): Event => ({
    type: 'edit',
    edits: [{ id: `e${records.length + 1}`, target, replacement, by: 'user', why: 'generated', saved: 0 }],
  })
  switch (kind) {
    case 'part': {
      const part = Math.floor(b * entries[entry]!.message!.parts.length)
      return edit({ type: 'part', entry, part }, 'short')
    }
    case 'range':
      return edit({ type: 'range', from: entry, to: Math.min(entries.length - 1, entry + Math.floor(b * 5)) }, inserted)
    case 'insert':
      return edit({ type: 'after', entry }, inserted)
    case 'undo': {
      const found = some(records.filter(({ active }) => active))
      return found && { type: 'revert', edits: [found.edit.id], by: 'user' }
    }
    case 'redo': {
      const found = some(records.filter(({ active }) => !active))
      return found && { type: 'reapply', edits: [found.edit.id], by: 'user' }
    }
    case 'none':
      return undefined
  }
}

function entriesUpTo(events: readonly Placed[], index: number): number {
  return events.slice(0, index).filter(({ event }) => event.type === 'entry').length
}

function sharedMessages(before: readonly Message[], after: readonly Message[]): Message[] {
  const plain = ({ role, parts }: Message) => JSON.stringify([role, parts.map(({ edit: _, ...part }) => part)])
  const end = after.findIndex((message, i) => !before[i] || plain(message) !== plain(before[i]))
  return after.slice(0, end < 0 ? after.length : end)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
