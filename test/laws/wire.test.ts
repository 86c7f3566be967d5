/**
 * Requests to providers: conversations in the form of each provider, with any edits, converted back and checked by the
 * provider's own rules. The rules here are independent of src/view/legality.ts and check only the request, so that a
 * message that an adapter leaves out is noticed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromAnthropic, toAnthropic } from '../../src/formats/adapters/anthropic.ts'
import { fromGemini, toGemini } from '../../src/formats/adapters/gemini.ts'
import { fromOpenAIChat, toOpenAIChat } from '../../src/formats/adapters/openai-chat.ts'
import { fromOpenAIResponses, toOpenAIResponses } from '../../src/formats/adapters/openai-responses.ts'
import { isPalimpsestError } from '../../src/model/errors.ts'
import { leavesOf } from '../../src/model/leaves.ts'
import type { Edit, Message, Target } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import * as fc from '../property.ts'

// biome-ignore lint/suspicious/noExplicitAny: requests of four shapes
type Wire = any

type Step = { asks: boolean; thinks: boolean; says: boolean; calls: number; asList: boolean }

const step: fc.Arbitrary<Step> = fc.record({
  asks: fc.boolean(),
  thinks: fc.boolean(),
  says: fc.boolean(),
  calls: fc.nat(3),
  asList: fc.boolean(),
})

type Change = {
  kind: 'part' | 'drop' | 'leaf' | 'range' | 'front' | 'all' | 'behind' | 'undo' | 'prompt'
  at: number
  size: number
  text: string
}

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom('part', 'part', 'drop', 'leaf', 'range', 'front', 'all', 'behind', 'undo', 'prompt'),
  at: fc.nat(1000),
  size: fc.nat(4),
  text: fc.constantFrom('', '', ' ', 'short', '🙂'),
})

type Form = {
  model: string
  /** A conversation in the provider's form that begins with a request. */
  write(steps: readonly Step[]): Wire[]
  read(list: Wire[], prompt: string): Message[]
  sent(messages: readonly Message[]): Wire[]
  judge(list: Wire[]): void
}

const idsOf = (n: number, { calls }: Step) => Array.from({ length: calls }, (_, i) => `call_${n}_${i}`)
const user = (n: number) => `request ${n}`

const FORMS: Record<string, Form> = {
  'OpenAI Chat': {
    model: 'deepseek-v4-pro',
    write: steps =>
      steps.flatMap((given, n) => {
        const ids = idsOf(n, given)
        const calls = ids.map(id => ({ id, type: 'function', function: { name: 'bash', arguments: '{}' } }))
        const content = given.says || ids.length === 0 ? `answer ${n}` : null
        const said = given.asList && content !== null ? [{ type: 'text', text: content }] : content
        return [
          ...(given.asks || n === 0 ? [{ role: 'user', content: user(n) }] : []),
          {
            role: 'assistant',
            content: said,
            ...(given.thinks ? { reasoning_content: 'hm' } : {}),
            ...(ids.length > 0 ? { tool_calls: calls } : {}),
          },
          ...ids.map(id => {
            const text = `result ${id}`
            return { role: 'tool', tool_call_id: id, content: given.asList ? [{ type: 'text', text }] : text }
          }),
        ]
      }),
    read: (list, prompt) => fromOpenAIChat([{ role: 'system', content: prompt }, ...list]),
    sent: messages => toOpenAIChat(messages) as Wire[],
    judge(list) {
      assert.ok(
        list.some(({ role }) => role !== 'system'),
        'no message but the system prompt',
      )
      for (let i = 0; i < list.length; i++) {
        const { role, content, tool_calls: calls = [] } = list[i]
        assert.notEqual(role, 'tool', 'a result without a call')
        assert.ok(content !== null || calls.length > 0, 'a message without content')
        assert.notDeepEqual(content, [], 'an empty list')
        const waiting = new Set(calls.map(({ id }: Wire) => id))
        for (; waiting.size > 0; i++) {
          const next = list[i + 1]
          assert.ok(next?.role === 'tool' && waiting.delete(next.tool_call_id), 'a call without a result')
          assert.notDeepEqual(next.content, [], 'an empty list')
        }
      }
    },
  },
  'OpenAI Responses': {
    model: 'gpt-5',
    write: steps =>
      steps.flatMap((given, n) => {
        const ids = idsOf(n, given)
        const text = { type: 'output_text', text: `answer ${n}`, annotations: [] }
        const said = given.says || ids.length === 0 ? [{ type: 'message', role: 'assistant', content: [text] }] : []
        return [
          ...(given.asks || n === 0 ? [{ role: 'user', content: user(n) }] : []),
          ...(given.thinks ? [{ type: 'reasoning', summary: [], encrypted_content: `secret ${n}` }] : []),
          ...said,
          ...ids.map(id => ({ type: 'function_call', call_id: id, name: 'bash', arguments: '{}' })),
          ...ids.map(id => {
            const output = given.asList ? [{ type: 'input_text', text: `result ${id}` }] : `result ${id}`
            return { type: 'function_call_output', call_id: id, output }
          }),
        ]
      }),
    read: (list, prompt) => fromOpenAIResponses(list, prompt),
    sent: messages => toOpenAIResponses(messages).input as Wire[],
    judge(list) {
      assert.ok(list.length > 0, 'no item')
      const waiting = new Set<string>()
      for (const [i, item] of list.entries()) {
        if (item.type === 'function_call') waiting.add(item.call_id)
        else if (item.type === 'function_call_output') {
          assert.ok(waiting.delete(item.call_id), 'an output without a call')
          assert.notDeepEqual(item.output, [], 'an empty list')
        } else if (item.type === 'reasoning') {
          const next = list[i + 1]
          assert.ok(next?.type === 'function_call' || next?.role === 'assistant', 'reasoning that leads to nothing')
        } else assert.notDeepEqual(item.content, [], 'an empty list')
      }
      assert.deepEqual([...waiting], [], 'a call without an output')
    },
  },
  Gemini: {
    model: 'gemini-2.5-pro',
    write: steps =>
      steps.flatMap((given, n) => {
        const calls = Array.from({ length: given.calls }, () => ({ functionCall: { name: 'bash', args: {} } }))
        const said = given.says || calls.length === 0 ? [{ text: `answer ${n}` }] : []
        const responses = calls.map(() => ({ functionResponse: { name: 'bash', response: { output: `result ${n}` } } }))
        return [
          ...(given.asks || n === 0 ? [{ role: 'user', parts: [{ text: user(n) }] }] : []),
          { role: 'model', parts: [...said, ...calls] },
          ...(calls.length > 0 ? [{ role: 'user', parts: responses }] : []),
        ]
      }),
    read: (list, prompt) => fromGemini(list, { parts: [{ text: prompt }] }),
    sent: messages => toGemini(messages).contents as Wire[],
    judge(list) {
      assert.ok(list.length > 0, 'no content')
      const count = (content: Wire, key: string) => content?.parts.filter((part: Wire) => part[key]).length ?? 0
      for (const [i, content] of list.entries()) {
        assert.ok(content.parts.length > 0, 'a content without parts')
        const calls = count(content, 'functionCall')
        assert.equal(count(list[i + 1], 'functionResponse'), calls, 'as many responses as calls')
        if (calls > 0) assert.ok(i > 0, 'a conversation that begins with a call')
      }
    },
  },
  Anthropic: {
    model: 'claude-sonnet-4-5',
    write: steps =>
      steps.flatMap((given, n) => {
        const ids = idsOf(n, given)
        const said = given.says || ids.length === 0 ? [{ type: 'text', text: `answer ${n}` }] : []
        const results = ids.map(id => {
          const content = given.asList ? [{ type: 'text', text: `result ${id}` }] : `result ${id}`
          return { type: 'tool_result', tool_use_id: id, content }
        })
        const calls = ids.map(id => ({ type: 'tool_use', id, name: 'bash', input: {} }))
        const thought = given.thinks ? [{ type: 'thinking', thinking: 'hm', signature: `signed ${n}` }] : []
        return [
          ...(given.asks || n === 0 ? [{ role: 'user', content: user(n) }] : []),
          { role: 'assistant', content: [...thought, ...said, ...calls] },
          ...(ids.length > 0 ? [{ role: 'user', content: results }] : []),
        ]
      }),
    read: (list, prompt) => fromAnthropic(list, prompt),
    sent: messages => toAnthropic(messages).messages as Wire[],
    judge(list) {
      assert.equal(list[0]?.role, 'user', 'the first message is of the user')
      const joined: { role: string; blocks: Wire[] }[] = []
      for (const { role, content } of list) {
        const blocks = Array.isArray(content) ? content : [{ type: 'text', text: content }]
        assert.ok(blocks.length > 0, 'a message without content')
        for (const { type, text } of blocks) if (type === 'text') assert.notEqual(text.trim(), '', 'a blank text')
        const last = joined.at(-1)
        if (last && last.role === role) last.blocks.push(...blocks)
        else joined.push({ role, blocks: [...blocks] })
      }
      const idsIn = (blocks: Wire[] = [], key: string) => blocks.flatMap(block => block[key] ?? []).sort()
      for (const [i, { blocks }] of joined.entries()) {
        const calls = idsIn(
          blocks.filter(({ type }) => type === 'tool_use'),
          'id',
        )
        assert.deepEqual(idsIn(joined[i + 1]?.blocks, 'tool_use_id'), calls, 'a result for each call')
        const other = blocks.findIndex(({ type }) => type !== 'tool_result')
        const behind = other < 0 ? [] : blocks.slice(other)
        assert.ok(!behind.some(({ type }) => type === 'tool_result'), 'results come first')
      }
    },
  },
}

async function apply(session: Session, entries: readonly Message[], given: Change): Promise<void> {
  const { kind, at, size, text } = given
  const entry = at % entries.length
  const { parts } = entries[entry]!
  const part = size % parts.length
  const messages: Message[] = size === 0 ? [] : [{ role: 'user', parts: [{ type: 'text', text }] }]
  const of = (target: Target, replacement: Edit['replacement']) =>
    session.apply([{ target, replacement, why: 'generated' }], 'user')
  switch (kind) {
    case 'part':
      return void (await of({ type: 'part', entry, part }, parts[part]?.type === 'tool-call' ? { input: {} } : text))
    case 'drop':
      return void (await of({ type: 'part', entry, part }, null))
    case 'leaf':
      if (parts[part] && leavesOf(parts[part]).length > 0) await of({ type: 'part', entry, part, leaf: 0 }, text)
      return
    case 'range':
      return void (await of({ type: 'range', from: Math.max(0, entry - size), to: entry }, { messages }))
    case 'front':
      return void (await of({ type: 'range', from: 1, to: Math.max(1, entry) }, { messages }))
    case 'all':
      return void (await of({ type: 'range', from: size % 2, to: entries.length - 1 }, { messages }))
    case 'behind':
      return void (await of({ type: 'after', entry }, { messages }))
    case 'undo': {
      const active = session.edits().filter(one => one.active)
      if (active.length > 0) await session.undo(active[at % active.length]!.edit.id)
    }
  }
}

for (const [name, form] of Object.entries(FORMS)) {
  test(`${name} accepts every request after any edits`, async () => {
    const lives = fc.tuple(fc.array(step, { minLength: 1, maxLength: 6 }), fc.array(change, { maxLength: 8 }))
    await fc.assert(
      fc.asyncProperty(lives, async ([steps, changes]) => {
        await using pal = await openPalimpsest({ home: ':memory:', clock: () => 1000 })
        const session = await pal.session('s', { policy: 'none', model: form.model })
        const list = form.write(steps)
        form.judge(list)
        const entries = form.read(list, 'You build.')
        let { messages } = await session.sync(entries)
        assert.deepEqual(form.sent(messages), form.sent(entries))
        for (const given of changes) {
          // Changes by a client are accepted, whatever edits there are.
          if (given.kind === 'prompt') ({ messages } = await session.sync(form.read(list, `You build ${given.at}.`)))
          else {
            await apply(session, entries, given).catch(error => {
              if (!isPalimpsestError(error) || !['VIEW_ILLEGAL', 'EDITS_OVERLAP'].includes(error.code)) throw error
            })
            messages = (await session.view({ plan: false })).messages
          }
          form.judge(form.sent(messages))
        }
      }),
      { numRuns: 150, seeds: [1046, 1087] },
    )
  })
}
