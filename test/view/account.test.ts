/**
 * One small session whose sums are computed by hand: statistics, totals, rent and turns agree on it. The counter counts
 * letters and the prices are round, so that every figure below can be checked on paper.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Edit, Event, Message, Part, Usage } from '../../src/model/types.ts'
import { type ModelTable, modelInfo } from '../../src/providers/models.ts'
import { addRents, largestRows, OTHER, RENT_BY, rentOf } from '../../src/view/rent.ts'
import { addStatistics, noStatistics, statisticsOf } from '../../src/view/statistics.ts'
import { Timeline } from '../../src/view/timeline.ts'
import { dayOf, summaryOf } from '../../src/view/totals.ts'
import { stepsOf, subAgentOf, turnsOf } from '../../src/view/turns.ts'

const NOON = new Date(2026, 10, 15, 12).getTime()
const MINUTE = 60_000
const PRICES = { round: { input: 1_000_000, output: 2_000_000, read: 0.1, write: 1, window: 100_000, minimum: 0 } }

const says = (role: 'user' | 'assistant', ...parts: Part[]): Message => ({ role, parts })
const text = (words: string): Part => ({ type: 'text', text: words })
const call = (id: string, name: string, input: object): Part => ({ type: 'tool-call', id, name, input })
const result = (id: string, name: string, output: string, isError = false): Message => ({
  role: 'tool',
  parts: [{ type: 'tool-result', id, name, output, ...(isError ? { isError } : {}) }],
})

function timelineOf(
  events: readonly (Event & { after?: number })[],
  inherited?: { events: number; entries: number },
  models: typeof PRICES & ModelTable = PRICES,
) {
  const timeline = new Timeline({
    count: words => words.length,
    model: modelInfo('round', models),
    name: 'round',
    models,
    overhead: 100,
    ...(inherited ? { inherited } : {}),
  })
  let at = NOON
  for (const [seq, { after = MINUTE, ...event }] of events.entries()) {
    at += after
    timeline.take({ seq, at, event: event as Event })
  }
  return timeline
}

const entry = (message: Message, after?: number) => ({
  type: 'entry' as const,
  message,
  ...(after === undefined ? {} : { after }),
})
const used = (usage: Usage) => ({ type: 'usage' as const, usage })
const edit = (id: string, target: Edit['target'], by: Edit['by'], replacement: Edit['replacement'] = null) => ({
  type: 'edit' as const,
  edits: [{ id, target, replacement, by, why: 'because', saved: 0 }],
})

/** Two requests; a file is read and a command fails for the first, another agent is asked for the second. */
const EVENTS = [
  entry(says('user', text('mend the report'))),
  entry(says('assistant', call('1', 'Read', { file_path: '/a.ts' }), call('2', 'Bash', { command: 'make' }))),
  used({ input: 10, cacheRead: 0, cacheWrite: 200, output: 50 }),
  entry(result('1', 'Read', 'x'.repeat(400))),
  entry(result('2', 'Bash', 'no rule', true)),
  entry(says('assistant', text('It is mended.'))),
  used({ input: 20, cacheRead: 200, cacheWrite: 5000, output: 10 }),
  edit('e1', { type: 'part', entry: 2, part: 0 }, 'policy:thrifty', 'cut'),
  entry(says('user', text('ask somebody'))),
  entry(says('assistant', call('3', 'Task', { prompt: 'look' }))),
  used({ input: 5, cacheRead: 0, cacheWrite: 400, output: 20 }),
  edit('e2', { type: 'part', entry: 0, part: 0 }, 'engine', 'mend the report!'),
  entry(result('3', 'Task', 'seen')),
  entry(says('assistant', text('Seen.')), 20 * MINUTE),
]
/** Dollars of what was reported, at 1 for a token of input, 0.1 for one read, 1 for one written, 2 for one of output. */
const PAID = [10 + 200 + 2 * 50, 20 + 20 + 5000 + 2 * 10, 5 + 400 + 2 * 20]

const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`)

test('an impossible report, for example of a gateway, does not change the scale of tokens', () => {
  const letters = 1_000
  const asked = (usage: Usage) =>
    statisticsOf(
      timelineOf([entry(says('user', text('x'.repeat(letters)))), entry(says('assistant', text('ok'))), used(usage)]),
    )
  const plain = asked({ input: 0 }).tokensSent
  assert.ok(plain >= letters)
  assert.equal(asked({ input: 10 }).tokensSent, plain)
  assert.ok(asked({ input: 900 }).tokensSent < plain)
})

describe('statistics', () => {
  const timeline = timelineOf(EVENTS)
  const statistics = statisticsOf(timeline)

  test('use the report of the provider, and the cost model for the last call', () => {
    const { calls, input, output, cacheRead, cacheWrite, cost } = statistics
    assert.deepEqual([calls, input, output, cacheRead, cacheWrite], [4, 35, 80, 200, 5600])
    const last = timeline.calls.at(-1)!
    assert.equal(last.paid.estimated, true)
    near(cost, PAID[0]! + PAID[1]! + PAID[2]! + last.paid.dollars)
  })

  test('count the original and the sent messages, without system prompt and tools', () => {
    const { tokensIn, tokensSent } = statistics
    const counted = [210, 5220, 405, timeline.calls[3]!.sent.tokens * timeline.model.scale]
    const own = timeline.calls.map(({ raw, sent, overhead }, i) => {
      const scale = counted[i]! / sent.tokens
      return { all: Math.round((raw.tokens - overhead) * scale), sent: Math.round((sent.tokens - overhead) * scale) }
    })
    near(
      tokensIn,
      own.reduce((sum, { all }) => sum + all, 0),
    )
    near(
      tokensSent,
      own.reduce((sum, { sent }) => sum + sent, 0),
    )
    assert.ok(tokensIn > tokensSent, 'the file was cut for two calls')
  })

  test('have the extra cost of calls, the authors of edits, and the causes of cache misses', () => {
    const saved = timeline.calls.map(({ raw, sent }) => raw.cost - sent.cost)
    near(
      statistics.saved,
      saved.reduce((a, b) => a + b, 0),
    )
    near(statistics.rewritten, -saved.filter(one => one < 0).reduce((a, b) => a + b, 0))
    assert.deepEqual(statistics.edits, { 'policy:thrifty': 1 }, 'the book-keeping of the engine is none')
    // The last call was not reported: by the cost model, the cache after the client's change was lost.
    assert.deepEqual(statistics.busts, { edit: 1, pause: 0, client: 1, model: 0, server: 0, provider: 0 })
  })

  test('of a fork cover only its own calls and edits', () => {
    const fork = statisticsOf(timelineOf(EVENTS, { events: 8, entries: 5 }))
    assert.deepEqual([fork.calls, fork.cacheWrite], [2, 400])
    assert.deepEqual(fork.edits, { 'policy:thrifty': 1 }, 'made before its first own call')
    const later = statisticsOf(timelineOf(EVENTS, { events: 12, entries: 8 }))
    assert.deepEqual([later.calls, later.edits], [1, {}])
  })

  test('add up', () => {
    const twice = addStatistics(addStatistics(noStatistics(), statistics), statistics)
    assert.deepEqual(twice.edits, { 'policy:thrifty': 2 })
    assert.deepEqual(twice.busts, { ...statistics.busts, edit: 2, client: 2 })
    assert.deepEqual([twice.calls, twice.output], [8, 160])
    near(twice.cost, 2 * statistics.cost)
  })
})

test('the size of system prompt and tools is kept if a report does not have it', () => {
  const models = { round: { ...PRICES.round, scale: 1.5 } }
  const silent = timelineOf([...EVENTS.slice(0, 2), used({ output: 5 })], undefined, models)
  assert.equal(silent.overhead, 100)
  const telling = timelineOf([...EVENTS.slice(0, 2), used({ input: 1.5 * 15 + 300 })], undefined, models)
  assert.equal(telling.overhead, 200)
})

describe('totals', () => {
  test('are listed by day, with reported tokens or, for the last call, estimated ones', () => {
    const { days, money } = summaryOf(timelineOf(EVENTS))
    assert.equal(days.length, 1)
    const [day] = days
    assert.deepEqual([day!.day, day!.calls], ['2026-11-15', 4])
    near(day!.billed, money.with)
    near(money.without - money.with, money.saved)
    assert.equal(money.estimated, 1)
    const timeline = timelineOf(EVENTS)
    const { sent } = timeline.calls.at(-1)!
    assert.equal(day!.input, 35 + 200 + 5600 + Math.round(sent.tokens * timeline.scale))
    assert.equal(day!.cacheRead, 200 + Math.round(sent.cached * timeline.scale))
    near(day!.saved, money.saved)
  })

  test('have the possible savings of each day, if they are known for some calls', () => {
    const timeline = timelineOf(EVENTS)
    assert.equal(summaryOf(timeline).days[0]!.could, undefined)
    assert.equal(summaryOf(timeline).money.could, undefined)
    assert.equal(summaryOf(timeline, [5, 3]).money.could, 8)
    assert.equal(summaryOf(timeline, [5, 3]).days[0]!.could, 8)
    assert.equal(summaryOf(timeline, [1, 1, 1, 1]).days[0]!.could, 4)
  })

  test('have the length of the session, and the part of it that is shown', () => {
    const timeline = timelineOf(EVENTS)
    const { title, entries, turns, calls, edits, tokens, sent, money, series } = summaryOf(timeline)
    assert.deepEqual([title, entries, turns, calls, edits], ['mend the report', 9, 2, 4, 2])
    assert.deepEqual(tokens, {
      raw: timeline.theirs(timeline.tokens.raw + timeline.overhead),
      shown: timeline.theirs(timeline.tokens.raw + timeline.overhead - (400 - 3) + 1),
      window: 100_000,
    })
    const sum = (pick: (call: (typeof timeline.calls)[number]) => number) =>
      timeline.calls.reduce((total, one) => total + pick(one), 0)
    assert.deepEqual(sent, {
      raw: timeline.theirs(sum(({ raw }) => raw.tokens)),
      shown: timeline.theirs(sum(one => one.sent.tokens)),
    })
    near(
      money.modelled,
      sum(({ modelled }) => modelled),
    )
    assert.deepEqual(
      series.shown,
      timeline.calls.map(one => timeline.theirs(one.sent.tokens)),
    )
    assert.deepEqual(
      series.raw,
      timeline.calls.map(({ raw }) => timeline.theirs(raw.tokens)),
    )
  })

  test('of a fork leave out the calls of its parent, and undone edits do not count', () => {
    const fork = summaryOf(timelineOf(EVENTS, { events: 8, entries: 5 }))
    assert.deepEqual([fork.calls, fork.days[0]!.calls, fork.series.raw.length], [2, 2, 4])
    const undone = summaryOf(timelineOf([...EVENTS, { type: 'revert', edits: ['e1'], by: 'user' }]))
    assert.equal(undone.edits, 1)
    const nothing = summaryOf(timelineOf([]))
    assert.deepEqual([nothing.title, nothing.calls, nothing.days], ['', 0, []])
  })

  test('of a session of several days are listed by day, with the possible savings of each', () => {
    const day = 24 * 60 * MINUTE
    const timeline = timelineOf([...EVENTS.slice(0, 5), { ...EVENTS[5]!, after: day }, ...EVENTS.slice(6)])
    const { days, money } = summaryOf(timeline, [1, 2, 4, 8])
    assert.deepEqual(
      days.map(({ day, calls, could, cacheRead }) => [day, calls, could, cacheRead > 0]),
      [
        ['2026-11-15', 2, 3, true],
        ['2026-11-16', 2, 12, true],
      ],
    )
    near(days[0]!.billed, PAID[0]! + PAID[1]!)
    near(days[0]!.billed + days[1]!.billed, money.with)
    assert.equal(days[0]!.input, 10 + 200 + 20 + 200 + 5000)
  })

  test('of a continued session without a new request say that it continues another', () => {
    const goesOn = 'This session is being continued from a previous conversation that ran out of context.'
    assert.equal(summaryOf(timelineOf([entry(says('user', text(goesOn)))])).title, 'Continues an earlier session')
    const asked = timelineOf([entry(says('user', text(goesOn))), entry(says('user', text('mend it')))])
    assert.deepEqual([summaryOf(asked).title, summaryOf(asked).turns], ['mend it', 1])
    assert.equal(summaryOf(timelineOf([])).title, '')
  })

  test('an unknown time has no day', () => {
    assert.equal(dayOf(0), 'unknown')
    assert.equal(dayOf(new Date(2026, 0, 9, 23, 59).getTime()), '2026-01-09')
  })
})

describe('rent', () => {
  const timeline = timelineOf(EVENTS)
  const rent = rentOf(timeline)
  const of = (by: 'kind' | 'tool' | 'file' | 'agent' | 'edit', name: string) =>
    rent[by].find(row => row.name === name) ?? assert.fail(`${by} has no ${name}`)

  test('divides the whole bill; answers pay the price of output', () => {
    near(rent.dollars, summaryOf(timeline).money.with)
    near(
      of('kind', 'answers').dollars,
      timeline.calls.reduce((sum, { paid }) => sum + paid.output, 0),
    )
    assert.equal(of('kind', 'answers').tokens, 0)
  })

  test('of an empty prompt goes to the system prompt, without a division by zero', () => {
    const empty = timelineOf([entry(says('assistant', text('')), 0), used({ input: 0, output: 0 })], undefined, {
      round: { ...PRICES.round, minimum: 0 },
    })
    const { dollars, kind } = rentOf(empty)
    assert.ok(
      Number.isFinite(dollars) && kind.every(row => Number.isFinite(row.dollars) && Number.isFinite(row.tokens)),
    )
  })

  test('of less than one token goes to the system prompt, and the answer to the answers', () => {
    const models = { round: { ...PRICES.round, scale: 3 } }
    const tiny = rentOf(
      timelineOf([entry(says('assistant', text(''))), used({ input: 1, output: 5 })], undefined, models),
    )
    const dollars = (name: string) => tiny.kind.find(row => row.name === name)!.dollars
    near(dollars('system prompt + tools'), 1)
    near(dollars('answers'), 10)
    near(tiny.dollars, 11)
  })

  test('counts tokens times calls: once the whole text, then twice the edited one', () => {
    const own = (name: string) => of('kind', name).tokens / timeline.scale
    near(own('file reads'), 400 + 3 + 3)
    near(own('your messages'), 15 * 2 + (15 + 12) + (16 + 12))
  })

  test('is divided in the order of the prompt: first cache reads, then cache writes', () => {
    const models = { round: { ...PRICES.round, write: 1.25 } }
    const told = { input: 200, cacheRead: 400, cacheWrite: 200, output: 0 }
    const messages = [text('x'.repeat(300)), text('y'.repeat(300))].map(part => entry(says('user', part)))
    const one = timelineOf([...messages, entry(says('assistant', text(''))), used(told)], undefined, models)
    const [{ sent, overhead, paid }] = one.calls as [(typeof one.calls)[number]]
    const cached = sent.tokens / 2
    assert.ok(cached > overhead && cached < overhead + 600)
    const weights = { front: overhead * 0.1, rest: (cached - overhead) * 0.1 + (600 - (cached - overhead)) * 1.25 }
    const rate = paid.dollars / (weights.front + weights.rest)
    const { kind } = rentOf(one)
    near(kind.find(({ name }) => name === 'system prompt + tools')!.dollars, weights.front * rate)
    near(kind.find(({ name }) => name === 'your messages')!.dollars, weights.rest * rate)
    for (const by of RENT_BY) {
      const dollars = rent[by].map(row => row.dollars)
      assert.deepEqual(
        dollars,
        dollars.toSorted((a, b) => b - a),
        'the most expensive first',
      )
    }
  })

  test('lists the tools without the system prompt if the ledger has that as an entry', () => {
    const prompt: Message = { role: 'system', parts: [text('Be brief.')] }
    const { kind } = rentOf(timelineOf([entry(prompt), ...EVENTS]))
    assert.ok(kind.some(({ name }) => name === 'tool definitions') && kind.some(({ name }) => name === 'system prompt'))
    assert.ok(!kind.some(({ name }) => name === 'system prompt + tools'))
  })

  test('has the savings of edits: the removed tokens, at the price of cache reads', () => {
    const saved = of('edit', 'policy:thrifty').saved
    // The third call read nothing from the cache; the last one was not reported.
    const [, , third, last] = timeline.calls
    const rateOf = ({ sent, paid }: (typeof timeline.calls)[number], cached: number) =>
      (paid.dollars - paid.output) / (sent.tokens - cached + cached * 0.1)
    near(saved, (400 - 3) * 0.1 * (rateOf(third!, 0) + rateOf(last!, last!.sent.cached)))
  })

  test('leaves out the calls of a parent session', () => {
    const fork = timelineOf(EVENTS, { events: 8, entries: 5 })
    near(rentOf(fork).dollars, fork.calls[2]!.paid.dollars + fork.calls[3]!.paid.dollars)
  })

  test('is listed by edit and by agent', () => {
    assert.ok(of('edit', 'policy:thrifty').saved > 0)
    assert.equal(of('edit', 'not edited').saved, 0)
    assert.ok(of('agent', 'subagents').dollars > 0 && of('agent', 'subagents').dollars < of('agent', 'main').dollars)
    assert.deepEqual(
      rentOf(timeline, { isSubagent: true }).agent.map(({ name }) => name),
      ['subagents'],
    )
  })

  test('of several sessions is their sum, and the rows left out of a list are one row', () => {
    const twice = addRents([rent, rent])
    near(twice.dollars, 2 * rent.dollars)
    near(twice.kind[0]!.tokens, 2 * rent.kind[0]!.tokens)
    const few = largestRows(rent.kind, 2)
    assert.deepEqual([few.length, few[1]!.name], [2, `${rent.kind.length - 1} more`])
    near(
      few[0]!.saved + few[1]!.saved,
      rent.kind.reduce((sum, { saved }) => sum + saved, 0),
    )
    assert.deepEqual(largestRows(rent.kind, rent.kind.length), rent.kind)
    const tools = largestRows(rent.tool, 3)
    assert.deepEqual(
      tools.map(({ name }) => name),
      [rent.tool.find(({ name }) => name !== OTHER)!.name, `${rent.tool.length - 2} more`, OTHER],
      'what is of no tool is a row of its own, and the last',
    )
  })
})

describe('turns', () => {
  const timeline = timelineOf(EVENTS)
  const turns = turnsOf(timeline)

  test('begin with a request, and have its calls, tools and failures', () => {
    assert.deepEqual(
      turns.map(({ turn, entry, to, title, calls, firstCall }) => [turn, entry, to, title, calls, firstCall]),
      [
        [1, 0, 4, 'mend the report', 2, 1],
        [2, 5, 8, 'ask somebody', 2, 3],
      ],
    )
    assert.deepEqual(
      turns.map(({ tools, agents, errors, cacheLost }) => [tools, agents, errors, cacheLost]),
      [
        [2, 0, 1, 0],
        [1, 1, 0, 2],
      ],
    )
  })

  test('have the time, the money and the tokens of their calls', () => {
    assert.deepEqual([turns[0]!.at, turns[0]!.ended], [NOON + MINUTE, NOON + 6 * MINUTE])
    near(turns[0]!.dollars, PAID[0]! + PAID[1]!)
    const { calls } = timeline
    near(turns[1]!.dollars, calls[2]!.paid.dollars + calls[3]!.paid.dollars)
    near(
      turns[1]!.saved,
      calls.slice(2).reduce((sum, { raw, sent }) => sum + raw.cost - sent.cost, 0),
    )
    assert.ok(turns[0]!.tokens > 400 && turns[1]!.tokens < 200)
  })

  test('have the first paragraph of the request as their title, on one line and shortened, as sessions do', () => {
    const titles = (request: string) => {
      const timeline = timelineOf([entry(says('user', text(request)))])
      return [turnsOf(timeline)[0]!.title, summaryOf(timeline).title]
    }
    assert.deepEqual(titles('mend it\n\nIt was whole.'), ['mend it', 'mend it'])
    assert.deepEqual(titles('/compact'), ['/compact', '/compact'])
    const [turn, session] = titles('word\n '.repeat(200)) as [string, string]
    assert.deepEqual([turn.length, session.length], [90, 120])
    assert.ok([turn, session].every(title => /^(word ?)+.*…$/.test(title)))
  })

  test('of a fork cost as much as its own calls', () => {
    const [first, second] = turnsOf(timelineOf(EVENTS, { events: 8, entries: 5 }))
    assert.deepEqual([first!.dollars, first!.saved, first!.calls], [0, 0, 2])
    assert.ok(second!.dollars > 0)
  })

  test('have steps: each call with the tools that it called', () => {
    const steps = stepsOf(timeline, turns[0]!)
    assert.deepEqual(
      steps.map(step => [step.call, step.entry, step.cacheLost, step.tools.length]),
      [
        [1, 1, false, 2],
        [2, 4, false, 0],
      ],
    )
    const [read, ran] = steps[0]!.tools
    assert.deepEqual(
      [read!.name, read!.about, read!.kind, read!.error, read!.part],
      ['Read', '/a.ts', 'read', false, 0],
    )
    assert.deepEqual([ran!.about, ran!.kind, ran!.error, ran!.part], ['make', 'shell', true, 1])
    assert.ok(read!.tokens >= 400 && ran!.tokens < 20)
    near(steps[0]!.dollars, PAID[0]!)
    assert.deepEqual(
      stepsOf(timeline, turns[1]!).map(step => [step.call, step.cacheLost]),
      [
        [3, true],
        [4, true],
      ],
    )
  })

  test('keep calls with the same id apart, because each belongs to its own turn', () => {
    const twice = timelineOf([
      entry(says('assistant', call('1', 'Bash', { command: `echo ${'long '.repeat(50)}` }))),
      entry(result('1', 'Bash', 'none', true)),
      entry(says('user', text('again'))),
      entry(says('assistant', call('1', 'Bash', { command: 'make' }))),
      entry(result('1', 'Bash', 'it is made')),
      entry(says('user', text('and now?'))),
      entry(says('assistant', call('1', 'Bash', { command: 'make' }))),
    ])
    const tools = turnsOf(twice).flatMap(turn => stepsOf(twice, turn).flatMap(step => step.tools))
    assert.deepEqual(
      tools.map(({ entry, error, about }) => [entry, error, about.length]),
      [
        [0, true, 90],
        [3, false, 4],
        [6, false, 4],
      ],
    )
    const [failed, made, none] = tools.map(({ tokens }) => tokens)
    assert.ok(failed! > 0 && made! > failed! && none === 0)
  })

  test('without a request are turn 0', () => {
    const [first] = turnsOf(timelineOf([entry(says('assistant', text('Hello.')))]))
    assert.deepEqual([first!.turn, first!.title, first!.calls], [0, '', 1])
  })

  test('of an agent that a turn started are summed up', () => {
    const agent = subAgentOf('child', timeline)!
    assert.deepEqual([agent.session, agent.title, agent.at], ['child', 'mend the report', NOON + MINUTE])
    assert.equal(agent.ended, turns[1]!.ended)
    for (const key of ['calls', 'tokens', 'tools', 'dollars', 'errors'] as const) {
      near(agent[key], turns[0]![key] + turns[1]![key])
    }
    const greeted = subAgentOf('child', timelineOf([entry(says('assistant', text('Hello.'))), ...EVENTS.slice(0, 2)]))
    assert.equal(greeted!.title, 'mend the report', 'of the first turn that has one')
    assert.equal(subAgentOf('child', timelineOf([])), undefined)
  })
})
