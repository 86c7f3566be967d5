import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { heal } from '../../src/formats/doctor.ts'
import { loadCounter } from '../../src/model/tokens.ts'
import type { Message, Part } from '../../src/model/types.ts'
import { thrifty } from '../../src/planner/thrifty.ts'
import { findQuotes } from '../../src/replay/measure/evidence.ts'
import { GramIndex } from '../../src/replay/measure/grams.ts'
import { type Measures, Meter, type Prices } from '../../src/replay/measure/measure.ts'
import { replay } from '../../src/replay/replay.ts'
import * as fc from '../property.ts'

const PRICES: Prices = { read: 0.1, write: 1.25, ttl: 300_000, output: 5 }
const LINE = 'export function settle(invoice: Invoice, account: Account): Receipt {'

const user = (text: string, at = 0): Message => ({ role: 'user', at, parts: [{ type: 'text', text }] })
const says = (text: string, at = 0): Message => ({ role: 'assistant', at, parts: [{ type: 'text', text }] })
const calls = (id: string, name: string, input: unknown, at = 0): Message => ({
  role: 'assistant',
  at,
  parts: [{ type: 'tool-call', id, name, input }],
})
const result = (id: string, output: string, at = 0): Message => ({
  role: 'tool',
  at,
  parts: [{ type: 'tool-result', id, name: 'read_file', output }],
})

/** Reads a file, then edits a line of it. */
const session = (output = `     1→${LINE}\n     2→}`): Message[] => [
  user('please settle it'),
  calls('a', 'read_file', { path: 'src/settle.ts' }, 1000),
  result('a', output, 2000),
  calls('b', 'edit_file', { path: 'src/settle.ts', old_string: LINE, new_string: '// gone' }, 3000),
]

/** All messages before each assistant message. */
const everything = (messages: readonly Message[]) =>
  messages.flatMap((message, i) => (message.role === 'assistant' ? [{ messages: messages.slice(0, i) }] : []))

const replaceResult = (messages: readonly Message[], output: string) =>
  messages.map(message => ({
    ...message,
    parts: message.parts.map((part): Part => (part.type === 'tool-result' ? { ...part, output } : part)),
  }))

async function measured(
  messages: readonly Message[],
  sent: readonly { messages: readonly Message[] }[],
  extra: { inPlace?: boolean } = {},
): Promise<Measures<'p', 'quotes'>> {
  const count = await loadCounter()
  const evidence = { quotes: findQuotes(messages) }
  const meter = new Meter(messages, { count, prices: { p: PRICES }, evidence, overhead: 1000, ...extra })
  for (const call of sent) meter.add(call.messages)
  return meter.result()
}

describe('quotes', () => {
  test('a span shown by an earlier result is a quote, with any line numbers before it', () => {
    const { quotes, sources } = findQuotes(session())
    assert.deepEqual([...quotes], [[1, [{ text: LINE, sources: [1] }]]])
    assert.equal(sources[1]!.key, 'result a')
  })

  test('text that the user said is not a quote of a tool', () => {
    const told = [user(`we need ${LINE}`), ...session().slice(1)]
    assert.equal(findQuotes(told).quotes.size, 0)
  })

  test('a shorter span counts only on request', () => {
    const short = [...session('const settle = 12345 // the old way'), says('const settle = 12345 // the old way')]
    assert.equal(findQuotes(short).quotes.size, 0)
    assert.equal(findQuotes(short, { span: 24 }).quotes.size, 1)
  })

  test('different spaces and numbers are accepted on request', () => {
    const output = `00001| ${LINE.replaceAll(' ', '   ')}`
    assert.equal(findQuotes(session(output)).quotes.size, 0)
    assert.equal(findQuotes(session(output), { near: true }).quotes.size, 1)
  })
})

describe('runs of characters', () => {
  test('are found exactly like by a search for substrings', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '→', '\n'), maxLength: 60 })
    fc.assert(
      fc.property(fc.array(text, { maxLength: 14 }), text, fc.integer({ min: 1, max: 6 }), (texts, wanted, length) => {
        const index = new GramIndex(length)
        for (const each of texts) index.add(each)
        index.scan(wanted, (at, hash) => {
          const run = wanted.slice(at, at + length)
          const holding = texts.flatMap((each, i) => (each.includes(run) ? [{ text: i, at: each.indexOf(run) }] : []))
          assert.deepEqual(index.find(wanted, at, hash), holding.slice(0, 12))
          assert.equal(index.has(wanted, at, hash), holding.length > 0)
          return at + 1
        })
      }),
    )
  })

  test('in many texts are known from the first twelve, or the first eleven and the newest', () => {
    const last = (texts: number, newest: boolean) => {
      const index = new GramIndex(4, { newest })
      for (let i = 0; i < texts; i++) index.add(`${i}: the same`)
      let found: number[] = []
      index.scan('same', (at, hash) => {
        found = index.find('same', at, hash).map(({ text }) => text)
        return at + 1
      })
      return found
    }
    assert.deepEqual(last(30, false), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
    assert.deepEqual(last(30, true), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 29])
    assert.deepEqual(last(5, true), [0, 1, 2, 3, 4])
  })

  test('get the same hashes from a scan that jumps as from one that does not', () => {
    const index = new GramIndex(3)
    const text = 'the quick brown fox jumps over the lazy dog'
    const walked = new Map<number, number>()
    index.scan(text, (at, hash) => {
      walked.set(at, hash)
      return at + 1
    })
    index.scan(text, (at, hash) => {
      assert.equal(hash, walked.get(at))
      return at + 7
    })
  })
})

describe('reasoning of the running turn', () => {
  const thinks = (id: string, text: string): Message => ({
    role: 'assistant',
    at: 1000,
    parts: [
      { type: 'reasoning', text },
      { type: 'tool-call', id, name: 'read_file', input: {} },
    ],
  })
  const turn = [
    user('go'),
    thinks('a', 'first'),
    result('a', 'long'),
    thinks('b', 'second'),
    result('b', 'x'),
    says('?'),
  ]

  test('is complete if nothing is changed, and empty at the beginning of a new turn', async () => {
    const { reasoning } = await measured(turn, everything(turn))
    assert.ok(reasoning.running > 0)
    assert.equal(reasoning.lost, 0)
    const next = [...turn, user('and now'), says('done')]
    assert.deepEqual((await measured(next, everything(next))).reasoning, reasoning)
  })

  test('is lost after a change and stays lost, but not before the change', async () => {
    const sent = everything(turn)
    const short = replaceResult(turn, 'short')
    const changed = [sent[0]!, sent[1]!, { messages: short.slice(0, 5) }]
    const { reasoning } = await measured(turn, changed)
    // Of three calls the last one has both thoughts: the second is after the changed result.
    const [first, second] = await Promise.all(['first', 'second'].map(async text => (await loadCounter())(text)))
    assert.deepEqual(reasoning, { running: 2 * first! + second!, lost: second! })
  })
})

describe('the three measures', () => {
  test('a call that only adds reads the sent prefix and writes the rest', async () => {
    const messages = session()
    const { perCall, costs } = await measured(messages, everything(messages))
    const [first, second] = perCall
    const before = first!.tokens
    assert.equal(first!.cost, before * 1.25)
    assert.equal(second!.cost, before * 0.1 + (second!.tokens - before) * 1.25)
    assert.equal(costs.p.busts, 0)
    assert.equal(costs.p.effective, costs.p.cost)
  })

  test('after a pause everything is written again, and a change then is no cache break', async () => {
    const messages = session()
    messages[2]!.at = 1_000_000
    const sent = everything(messages)
    sent[1] = { messages: [user('something else'), ...sent[1]!.messages.slice(1)] }
    const { perCall, costs } = await measured(messages, sent)
    assert.equal(perCall[1]!.cost, perCall[1]!.tokens * 1.25)
    assert.deepEqual([costs.p.busts, costs.p.cold], [0, 2])
  })

  test('an edit of sent text is a cache break, and everything after it is written again', async () => {
    const messages = [...session(), result('b', 'done', 4000), says('done', 5000)]
    const sent = everything(messages)
    sent[2] = { messages: replaceResult(sent[2]!.messages, '[cleared]') }
    const { costs, perCall } = await measured(messages, sent)
    assert.equal(costs.p.busts, 1)
    assert.ok(perCall[2]!.bust)
  })

  test('a quote of hidden text is lost, and costs a re-fetch', async () => {
    const messages = session()
    const sent = everything(messages).map(call => ({ messages: replaceResult(call.messages, '[cleared]') }))
    const { evidence, costs } = await measured(messages, sent)
    assert.deepEqual([evidence.quotes.kept, evidence.quotes.quotes], [0, 1])
    assert.equal(costs.p.refetches, 1)
    assert.ok(costs.p.effective > costs.p.cost)
  })

  test('one source is fetched again at most once in 20 calls', async () => {
    const lines = Array.from({ length: 30 }, (_, i) => `${'abcdefghij'.repeat(5)} number ${i} of the lines`)
    const text = lines.map(line => line.split('').reverse().join('')).join('\n')
    const messages = session(text).slice(0, 3)
    for (const line of text.split('\n')) messages.push(says(line), user('go on'))
    const sent = everything(messages).map(() => ({ messages: [user('please settle it')] }))
    const { costs, evidence } = await measured(messages, sent)
    assert.equal(evidence.quotes.quotes, 30)
    assert.equal(costs.p.refetches, 2)
  })

  test('a shortened result that still shows the passage keeps the quote', async () => {
    const messages = session(`${LINE}\n${'x\n'.repeat(500)}`)
    const sent = everything(messages).map(call => ({ messages: replaceResult(call.messages, `${LINE}\n[cut]`) }))
    assert.equal((await measured(messages, sent)).evidence.quotes.kept, 1)
  })

  test('a copied passage is in view, unless only its original place counts', async () => {
    const messages = session()
    const note = user(`Notes: ${LINE}`)
    const sent = everything(messages).map(call => ({ messages: [note, ...replaceResult(call.messages, '[cleared]')] }))
    assert.equal((await measured(messages, sent)).evidence.quotes.kept, 1)
    assert.equal((await measured(messages, sent, { inPlace: true })).evidence.quotes.kept, 0)
  })

  test("users' messages that are dropped are counted", async () => {
    const messages = session()
    assert.equal((await measured(messages, everything(messages))).said, 1)
    const silent = everything(messages).map(call => ({ messages: call.messages.filter(({ role }) => role !== 'user') }))
    assert.equal((await measured(messages, silent)).said, 0)
  })
})

const reference = fileURLToPath(new URL('../../../shared/measure/score.mjs', import.meta.url))
const traces = fileURLToPath(new URL('../../../shared/traces', import.meta.url))
const skip = existsSync(reference) && existsSync(traces) ? false : 'no ../shared/traces'

type Segment = {
  msgs: { role: string; at: number; parts: Record<string, unknown>[] }[]
  evidence: { spans: unknown[] }[]
}

test('on real sessions the numbers equal those of an independent script', { skip }, async () => {
  const count = await loadCounter()
  const { prepare, score } = await import(pathToFileURL(reference).href)
  const { readAll } = await import(pathToFileURL(reference.replace('score.mjs', 'transcript.mjs')).href)
  let number = 0
  for (const { name, seg } of readAll(traces, { minCalls: 30 }) as Iterable<{ name: string; seg: Segment }>) {
    if (number++ % 12 !== 3) continue
    prepare(seg, count)
    const messages = heal(toMessages(seg)).messages
    const views: (readonly Message[])[] = []
    for await (const step of replay(messages, { policy: thrifty({ quote: 10_000 }) })) views.push(step.messages)
    let view = 0
    const theirs = score(seg, { view: () => flatten(views[view++]!, seg, count) })
    const meter = new Meter(messages, { count, prices: { p: PRICES }, evidence: { quotes: findQuotes(messages) } })
    for (const each of views) meter.add(each)
    const ours = meter.result()
    const { cost, effective, busts } = ours.costs.p
    assert.deepEqual(
      { cost: Math.round(cost), effective: Math.round(effective), busts, sent: ours.sent, ...ours.evidence.quotes },
      {
        cost: Math.round(theirs.cost),
        effective: Math.round(theirs.effective),
        busts: theirs.busts,
        sent: theirs.sent,
        kept: Math.round(theirs.evidence * theirs.spans),
        quotes: theirs.spans,
        keptChars: ours.evidence.quotes.keptChars,
        quoteChars: ours.evidence.quotes.quoteChars,
      },
      name,
    )
  }
  assert.ok(number > 3, 'sessions were compared')
})

function toMessages({ msgs }: Segment): Message[] {
  const toPart = (part: Record<string, unknown>) => {
    if (part['kind'] === 'call')
      return { type: 'tool-call', id: part['id'], name: part['name'], input: part['input'] ?? {} }
    if (part['kind'] === 'result')
      return { type: 'tool-result', id: part['id'], name: part['name'], output: part['text'] }
    return { type: part['kind'] === 'think' ? 'reasoning' : 'text', text: part['text'] }
  }
  return msgs.flatMap(({ role, at, parts }) => {
    if (role === 'assistant') return [{ role, at, parts: parts.map(toPart) }]
    const results = parts.filter(part => part['kind'] === 'result').map(toPart)
    const rest = parts.filter(part => part['kind'] !== 'result').map(toPart)
    return [
      ...(results.length > 0 ? [{ role: 'tool', at, parts: results }] : []),
      ...(rest.length > 0 ? [{ role: 'user', at, parts: rest }] : []),
    ]
  }) as Message[]
}

function flatten(messages: readonly Message[], seg: unknown, count: (text: string) => number) {
  const { results } = seg as { results: { part: { kind: string; id: string } }[] }
  const numbers = new Map(results.map(({ part }, i) => [part.kind + part.id, i]))
  return messages.flatMap(({ role, parts }) =>
    parts.map(part => {
      const isCall = part.type === 'tool-call'
      const text = isCall
        ? typeof part.input === 'string'
          ? part.input
          : JSON.stringify(part.input)
        : part.type === 'tool-result'
          ? String(part.output)
          : 'text' in part
            ? part.text
            : ''
      const id = isCall ? `call${part.id}` : part.type === 'tool-result' ? `result${part.id}` : ''
      const ri = numbers.get(id)
      return { key: role + part.type + id + text, tok: count(text), ri, text, extra: ri === undefined }
    }),
  )
}
