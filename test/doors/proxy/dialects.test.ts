/**
 * Each dialect alone: what is read from answers, what must stay in a request, and where a line is added below an
 * answer.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { anthropic, CLEAR_TOOL_USES } from '../../../src/doors/proxy/anthropic.ts'
import { type Answer, emptyAnswer, type ProxyDialect } from '../../../src/doors/proxy/dialect.ts'
import { gemini } from '../../../src/doors/proxy/gemini.ts'
import { openaiChat } from '../../../src/doors/proxy/openai-chat.ts'
import { openaiResponses } from '../../../src/doors/proxy/openai-responses.ts'
import type { Wire } from '../../../src/formats/adapters/original.ts'
import type { Message } from '../../../src/model/types.ts'

function told(dialect: ProxyDialect, ...events: Wire[]): Answer {
  const answer = emptyAnswer()
  for (const event of events) dialect.event(answer, event)
  return answer
}

function wholly(dialect: ProxyDialect, body: Wire): Answer {
  const answer = emptyAnswer()
  dialect.whole(answer, body)
  return answer
}

/** The events of a stream with a line below its answer: unchanged ones, and those that replace others. */
function below(dialect: ProxyDialect, events: readonly Wire[], line = '!'): Wire[] {
  const step = dialect.below.stream(line)
  const [out, held]: [Wire[], Wire[]] = [[], []]
  for (const event of events) {
    const next = step(event)
    if (next === 'hold') {
      held.push(event)
      continue
    }
    out.push(...(next === 'pass' ? [...held, event] : next))
    held.length = 0
  }
  return [...out, ...held]
}

describe('Anthropic', () => {
  test('reads a stream: model, usage, texts, calls with their input, errors', () => {
    const answer = told(
      anthropic,
      { type: 'message_start', message: { model: 'm', usage: { input_tokens: 3, cache_read_input_tokens: 5 } } },
      { type: 'content_block_start', content_block: { type: 'text', text: 'a' } },
      { type: 'content_block_delta', delta: { type: 'text_delta', text: 'b' } },
      { type: 'content_block_start', content_block: { type: 'tool_use', id: 't', name: 'bash', input: {} } },
      { type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: '{"x":' } },
      { type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: '1}' } },
      { type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'hm' } },
      {
        type: 'message_delta',
        usage: {
          output_tokens: 7,
          cache_creation_input_tokens: 4,
          cache_creation: { ephemeral_1h_input_tokens: 2 },
          output_tokens_details: { thinking_tokens: 1 },
          service_tier: 'priority',
          server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 },
        },
      },
    )
    assert.deepEqual([answer.text, answer.calls], ['ab', [{ id: 't', name: 'bash', input: '{"x":1}' }]])
    assert.deepEqual(answer.usage, {
      model: 'm',
      ...{ input: 3, cacheRead: 5, cacheWrite: 4, cacheWriteLong: 2, output: 7, reasoning: 1, tier: 'priority' },
      searches: 2,
    })
    assert.equal(told(anthropic, { type: 'error', error: { type: 'overloaded' } }).error, '{"type":"overloaded"}')
  })

  test('reads what an advisor and earlier steps of the answer cost; the size of the prompt is that of the last step', () => {
    const step = (input_tokens: number, output_tokens: number, more = {}) => {
      return { type: 'message', input_tokens, output_tokens, cache_read_input_tokens: 100, ...more }
    }
    const advisor = step(900, 80, { type: 'advisor_message', model: 'big', cache_read_input_tokens: 0 })
    const usage = { input_tokens: 5, output_tokens: 50, cache_read_input_tokens: 200, speed: 'fast' }
    const start = { type: 'message_start', message: { model: 'm', usage: { ...usage, iterations: [step(2, 20)] } } }
    const iterations = [step(2, 20), advisor, step(3, 30)]
    const end = { type: 'message_delta', usage: { ...usage, iterations } }
    const zero = { cacheWrite: 0, cacheWriteLong: 0, tier: 'fast' }
    const last = { input: 3, cacheRead: 100, output: 30, ...zero }
    const beside = [
      { input: 2, cacheRead: 100, output: 20, ...zero },
      { input: 900, cacheRead: 0, output: 80, model: 'big', ...zero },
    ]
    assert.deepEqual(told(anthropic, start, end).usage, { model: 'm', ...last, beside })
    // The steps do not add up to the counts above them: only what is billed beside these counts is added.
    const odd = { ...usage, input_tokens: 7, iterations }
    const { beside: added, input } = wholly(anthropic, { model: 'm', usage: odd }).usage
    assert.deepEqual([input, added], [7, [beside[1]]])
  })

  test('takes no count that is impossible', () => {
    const usage = { input_tokens: -5, cache_read_input_tokens: 1e300, output_tokens: 7 }
    const { input, cacheRead, output } = wholly(anthropic, { model: 'm', usage }).usage
    assert.deepEqual([input, cacheRead, output], [undefined, undefined, 7])
  })

  test("reads the server's edits of the history and its report on the cache", () => {
    const answer = wholly(anthropic, {
      content: [
        { type: 'compaction', content: 'so far' },
        { type: 'compaction', content: '' },
      ],
      context_management: { applied_edits: [{ type: 'clear', cleared_input_tokens: 9, cleared_tool_uses: 2 }, 'odd'] },
      input_transformations: [{ type: 'thinking_dropped' }, { type: 'other' }, { type: 'thinking_dropped' }],
      diagnostics: { cache_miss_reason: { type: 'tools_changed' } },
    })
    assert.deepEqual(answer.serverEdits, [
      { type: 'clear', tokens: 9, toolUses: 2 },
      { type: 'compaction', summary: 'so far' },
      { type: 'compaction' },
    ])
    assert.deepEqual([answer.dropped, answer.diagnosis], [2, 'tools_changed'])
  })

  test('sends the number of results to keep, counted from the newest, beside other edits', () => {
    const use = (id: string) => ({ role: 'assistant', content: [{ type: 'text' }, { type: 'tool_use', id }] })
    const messages = [use('a'), { role: 'user', content: 'x' }, use('b'), use('c')]
    const keep = (value: number) => ({ type: 'tool_uses', value })
    const edit = { type: CLEAR_TOOL_USES, trigger: { type: 'tool_uses', value: 1 } }
    assert.deepEqual(anthropic.clear!({ messages }, ['a', 'b'])['context_management'], {
      edits: [{ ...edit, keep: keep(1) }],
    })
    const managed = { edits: [{ type: 'clear_thinking' }], other: 1 }
    assert.deepEqual(anthropic.clear!({ messages, context_management: managed }, ['a'])['context_management'], {
      other: 1,
      edits: [{ type: 'clear_thinking' }, { ...edit, keep: keep(2) }],
    })
    const body = { messages }
    for (const calls of [[], ['b'], ['a', 'b', 'c']]) assert.equal(anthropic.clear!(body, calls), body, `${calls}`)
  })

  test('gets our text after its system prompt, in any form of prompt', () => {
    const system = (given: unknown) => anthropic.addSystem({ system: given }, 'more')['system']
    assert.deepEqual(system([{ type: 'text', text: 'a' }]), [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'more' },
    ])
    assert.deepEqual([system('a'), system(''), system(undefined)], ['a\n\nmore', 'more', 'more'])
  })

  test('has requests that must not be changed: sealed ones and threads', () => {
    const sealed = [{ type: 'text', text: 'x-anthropic-billing-header: v=1; cch=abc' }]
    assert.equal(anthropic.untouchable({ system: sealed }), 'pass')
    assert.equal(anthropic.untouchable({ system: [{ type: 'text', text: 'cch=abc' }] }), undefined)
    assert.equal(anthropic.untouchable({ thread: 'x' }), undefined)
    const refused = (type: string) => {
      const answer = anthropic.untouchable({ thread: { type } }) as { status: number; body: Wire }
      return [answer.status, (answer.body['error'] as Wire)['type']]
    }
    assert.deepEqual(refused('continue'), [404, 'not_found_error'])
    assert.deepEqual(refused('start'), [400, 'invalid_request_error'])
  })

  test('can be asked without reasoning, and messages with only reasoning are dropped', () => {
    const said = (...types: string[]) => ({ role: 'assistant', content: types.map(type => ({ type })) })
    const messages = ['odd', { role: 'user', content: 'a' }, said('thinking', 'text'), said('redacted_thinking')]
    const kept = [...messages.slice(0, 2), said('text')]
    assert.deepEqual(anthropic.withoutReasoning!({ messages, model: 'm' }), { model: 'm', messages: kept })
  })

  const start = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
  const said = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'done' } }
  const stop = { type: 'content_block_stop', index: 0 }
  const end = (stop_reason: string) => ({ type: 'message_delta', delta: { stop_reason } })
  const line = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '!' } }

  test('gets a notice after a stream that ends a turn with text, and after no other', () => {
    const told = [start, said, line, stop, end('end_turn')]
    assert.deepEqual(below(anthropic, [start, said, stop, end('end_turn')]), told)
    assert.deepEqual(below(anthropic, [start, said, stop, { type: 'ping' }, end('end_turn')]), told)
    const call = { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 't', name: 'b' } }
    const others = [
      [start, said, stop, end('tool_use')],
      [start, stop, end('end_turn')],
      [call, stop, start, said, stop, end('end_turn')],
      [start, said, stop, { ...start, content_block: { type: 'thinking' } }, stop, end('end_turn')],
    ]
    for (const events of others) assert.deepEqual(below(anthropic, events), events)
  })

  test('gets a notice after a whole answer that ends a turn with text, and after no other', () => {
    const answer = { stop_reason: 'end_turn', content: [{ type: 'text', text: 'a' }] }
    assert.deepEqual(anthropic.below.whole(answer, '!'), { ...answer, content: [{ type: 'text', text: 'a!' }] })
    const use = { type: 'tool_use', id: 't' }
    const others = [
      { ...answer, stop_reason: 'max_tokens' },
      { ...answer, content: [] },
      { ...answer, content: [use, ...answer.content] },
      { ...answer, content: [...answer.content, { type: 'thinking' }] },
    ]
    for (const other of others) assert.equal(anthropic.below.whole(other, '!'), undefined)
    assert.deepEqual(
      [{ output_format: {} }, { output_config: { format: {} } }, { output_config: {} }, {}].map(anthropic.below.isData),
      [true, true, false, false],
    )
  })

  test('our own errors say who caused them', () => {
    const types = [400, 401, 502].map(status => (anthropic.error(status, 'x')['error'] as Wire)['type'])
    assert.deepEqual(types, ['invalid_request_error', 'authentication_error', 'api_error'])
  })
})

describe('Chat Completions', () => {
  test('reads chunks and whole completions: model, tier, usage, text, errors', () => {
    const answer = wholly(openaiChat, {
      model: 'm',
      service_tier: 'flex',
      usage: {
        prompt_tokens: 100,
        completion_tokens: 7,
        prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 10 },
        completion_tokens_details: { reasoning_tokens: 3 },
      },
      choices: [{ message: { content: 'a', tool_calls: [{ id: 'c', function: { name: 'bash', arguments: '{}' } }] } }],
    })
    assert.deepEqual([answer.text, answer.calls], ['a', [{ id: 'c', name: 'bash', input: '{}' }]])
    const usage = { model: 'm', tier: 'flex', input: 30, cacheRead: 60, cacheWrite: 10, output: 7, reasoning: 3 }
    assert.deepEqual(answer.usage, usage)
    assert.equal(told(openaiChat, { error: { message: 'x' } }).error, '{"message":"x"}')
    assert.deepEqual(told(openaiChat, { choices: [] }, { choices: ['odd'] }, { choices: [{}] }), emptyAnswer())
  })

  test('is not changed if it uses the old functions', () => {
    const old = [{ functions: [] }, { function_call: 'auto' }]
    const said = [[{ role: 'function' }], [{ role: 'user' }, { role: 'assistant', function_call: {} }]]
    for (const body of [...old, ...said.map(messages => ({ messages }))])
      assert.equal(openaiChat.untouchable(body), 'pass')
    assert.equal(openaiChat.untouchable({ messages: [{ role: 'user' }, 'odd'] }), undefined)
    assert.equal(openaiChat.modelIn!('/deployments/gpt/chat/completions'), 'gpt')
  })

  test('gets our text in its first system message, or in a new one', () => {
    const first = (messages: unknown) => (openaiChat.addSystem({ messages }, 'more')['messages'] as Wire[])[0]
    for (const role of ['system', 'developer']) {
      assert.deepEqual(first([{ role, content: 'a' }]), { role, content: 'a\n\nmore' })
      assert.deepEqual(first([{ role, content: '' }]), { role, content: 'more' })
      assert.deepEqual(first([{ role, content: [] }]), { role, content: [{ type: 'text', text: 'more' }] })
    }
    assert.deepEqual(first([{ role: 'user', content: 'a' }]), { role: 'system', content: 'more' })
    assert.deepEqual(first(undefined), { role: 'system', content: 'more' })
  })

  const chunk = (delta: Wire, finish_reason: string | null = null, more: Wire = {}) => ({
    ...more,
    choices: [{ index: 0, delta, finish_reason }],
  })

  test('gets a notice after a stream that stops with text, and after no other', () => {
    const [text, stop] = [chunk({ content: 'a' }), chunk({}, 'stop', { usage: 1 })]
    assert.deepEqual(below(openaiChat, [text, stop]), [text, chunk({ content: '!' }), stop])
    const last = chunk({ content: 'b' }, 'stop')
    assert.deepEqual(below(openaiChat, [text, last]), [text, chunk({ content: 'b!' }, 'stop')])
    const others = [
      [text, chunk({}, 'length')],
      [chunk({ content: ' ' }), stop],
      [text, chunk({ tool_calls: [{}] }), stop],
      [{ choices: [] }, stop],
    ]
    for (const events of others) assert.deepEqual(below(openaiChat, events), events)
  })

  test('gets a notice after a whole answer that stops with text, and after no other', () => {
    const choice = { finish_reason: 'stop', message: { content: 'a' } }
    const told = { choices: [{ ...choice, message: { content: 'a!' } }] }
    assert.deepEqual(openaiChat.below.whole({ choices: [choice] }, '!'), told)
    const others = [
      { choices: [choice, choice] },
      { choices: [] },
      { choices: [{ ...choice, finish_reason: 'length' }] },
      { choices: [{ ...choice, message: { content: 'a', tool_calls: [{}] } }] },
      { choices: [{ ...choice, message: { content: ' ' } }] },
    ]
    for (const other of others) assert.equal(openaiChat.below.whole(other, '!'), undefined)
    const asked = [
      { response_format: { type: 'json_object' } },
      { response_format: { type: 'text' } },
      { n: 2 },
      { n: 1 },
      {},
    ]
    assert.deepEqual(asked.map(openaiChat.below.isData), [true, false, true, false, false])
  })
})

describe('Responses', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'bash', arguments: '{}' }

  test('reads a stream and a whole answer alike', () => {
    const response = {
      model: 'm',
      usage: { input_tokens: 10, output_tokens: 4, input_tokens_details: { cached_tokens: 6 } },
      prompt_cache_diagnostics: { reason: 'input_changed' },
    }
    const streamed = told(
      openaiResponses,
      { type: 'response.output_text.delta', delta: 'a' },
      { type: 'response.output_item.done', item: call },
      { type: 'response.output_item.done', item: { type: 'compaction' } },
      { type: 'response.completed', response },
    )
    const output = [{ type: 'message', content: [{ text: 'a' }, 'odd'] }, call, { type: 'compaction' }, 'odd']
    assert.deepEqual(wholly(openaiResponses, { ...response, output }), streamed)
    assert.deepEqual([streamed.text, streamed.diagnosis], ['a', 'input_changed'])
    assert.deepEqual(streamed.calls, [{ id: 'c', name: 'bash', input: '{}' }])
    assert.deepEqual(streamed.serverEdits, [{ type: 'compaction' }])
    assert.deepEqual(streamed.usage, { model: 'm', input: 4, cacheRead: 6, output: 4 })
    assert.equal(told(openaiResponses, { type: 'error', code: 1 }).error, '{"type":"error","code":1}')
    assert.equal(told(openaiResponses, { type: 'response.failed', response: { error: 'x' } }).error, '"x"')
  })

  test('waits while a stream may still fail, and is not changed if the server has the history', () => {
    const types = ['response.created', 'response.in_progress', 'response.queued', 'response.output_text.delta']
    assert.deepEqual(
      types.map(type => openaiResponses.isOpening({ type })),
      [true, true, true, false],
    )
    assert.deepEqual(openaiResponses.read({ input: 'a', instructions: 7 }), openaiResponses.read({ input: 'a' }))
    const bodies = [{ previous_response_id: 'r' }, { conversation: 'c' }, { previous_response_id: null }, {}]
    assert.deepEqual(bodies.map(openaiResponses.untouchable), ['pass', 'pass', undefined, undefined])
    const added = (instructions: unknown) => openaiResponses.addSystem({ instructions }, 'more')['instructions']
    assert.deepEqual([added('a'), added(''), added(undefined)], ['a\n\nmore', 'more', 'more'])
  })

  const place = { item_id: 'i', output_index: 0, content_index: 0 }
  const message = { type: 'message', content: [{ type: 'output_text', text: 'a' }] }
  const ends = [
    { type: 'response.output_text.done', ...place, text: 'a', sequence_number: 5 },
    { type: 'response.content_part.done', ...place, part: { text: 'a' }, sequence_number: 6 },
    { type: 'response.output_item.done', output_index: 0, item: message, sequence_number: 7 },
  ]
  const completed = { type: 'response.completed', response: { output: [message] }, sequence_number: 8 }

  test('gets a notice after a stream that ends with one text, in every event with that text, and in the count', () => {
    const longer = { type: 'message', content: [{ type: 'output_text', text: 'a!' }] }
    assert.deepEqual(below(openaiResponses, [...ends, completed]), [
      { type: 'response.output_text.delta', ...place, sequence_number: 5, delta: '!', logprobs: [] },
      { ...ends[0], text: 'a!', sequence_number: 6 },
      { ...ends[1], part: { text: 'a!' }, sequence_number: 7 },
      { ...ends[2], item: longer, sequence_number: 8 },
      { ...completed, response: { output: [longer] }, sequence_number: 9 },
    ])
  })

  test('gets no notice after a stream with calls, with another text in between, or without completion', () => {
    const called = { type: 'response.output_item.done', item: call }
    const others = [
      [called, ...ends, completed],
      [...ends, { type: 'response.incomplete' }],
      [ends[0]!, ends[1]!, completed],
      [ends[0]!, { ...ends[1]!, output_index: 1 }, ends[2]!, completed],
      [{ ...ends[0]!, text: ' ' }, ends[1]!, ends[2]!, completed],
      [ends[0]!, { ...ends[1]!, part: 'odd' }, ends[2]!, completed],
      [ends[0]!, ends[1]!, { ...ends[2]!, item: 'odd' }, completed],
      [...ends, { ...completed, response: 'odd' }],
    ]
    for (const events of others) assert.deepEqual(below(openaiResponses, events), events)
  })

  test('gets a notice after a complete whole answer that ends with text', () => {
    const answer = { status: 'completed', output: [message] }
    const longer = [{ type: 'message', content: [{ type: 'output_text', text: 'a!' }] }]
    assert.deepEqual(openaiResponses.below.whole(answer, '!'), { ...answer, output: longer })
    const others = [
      { ...answer, status: 'incomplete' },
      { ...answer, output: [call, message] },
      { ...answer, output: [{ type: 'reasoning' }] },
      { ...answer, output: 'text' },
      { status: 'completed' },
    ]
    for (const other of others) assert.equal(openaiResponses.below.whole(other, '!'), undefined)
    const asked = [{ text: { format: { type: 'json_schema' } } }, { text: { format: { type: 'text' } } }, {}]
    assert.deepEqual(asked.map(openaiResponses.below.isData), [true, false, false])
  })
})

describe('Gemini', () => {
  const answer = (parts: unknown[], finishReason?: string) => ({
    candidates: [{ content: { role: 'model', parts }, ...(finishReason ? { finishReason } : {}) }],
  })

  test("reads texts without thoughts, calls with ids, and Gemini's counts", () => {
    const call = (id: string) => ({ functionCall: { id, name: 'bash', args: { a: 1 } } })
    const seen = told(gemini, answer([{ text: 'hm', thought: true }, { text: 'a' }, call('c'), call(''), 'odd']), {
      modelVersion: 'm',
      usageMetadata: {
        ...{ promptTokenCount: 100, cachedContentTokenCount: 60, candidatesTokenCount: 7, thoughtsTokenCount: 3 },
      },
    })
    assert.deepEqual([seen.text, seen.calls], ['a', [{ id: 'c', name: 'bash', input: { a: 1 } }]])
    assert.deepEqual(seen.usage, { model: 'm', input: 40, cacheRead: 60, output: 10, reasoning: 3 })
    assert.equal(told(gemini, { error: { code: 400 } }).error, '{"code":400}')
    assert.deepEqual(told(gemini, { usageMetadata: { thoughtsTokenCount: 3 } }).usage, { output: 3, reasoning: 3 })
    assert.deepEqual(told(gemini, { candidates: [] }, { usageMetadata: {} }), emptyAnswer())
  })

  test('accepts both spellings: of the system prompt, declared functions and server state', () => {
    for (const key of ['systemInstruction', 'system_instruction']) {
      assert.deepEqual(gemini.addSystem({ [key]: 'a' }, 'b'), { [key]: { parts: [{ text: 'a' }, { text: 'b' }] } })
      const parts = [{ text: 'a' }]
      assert.deepEqual(gemini.addSystem({ [key]: { role: 'x', parts } }, 'b'), {
        [key]: { role: 'x', parts: [...parts, { text: 'b' }] },
      })
    }
    assert.deepEqual(gemini.addSystem({}, 'b'), { systemInstruction: { parts: [{ text: 'b' }] } })
    for (const key of ['functionDeclarations', 'function_declarations']) {
      const tools = [{ googleSearch: {} }, { [key]: [{ name: 'a' }] }]
      assert.deepEqual(gemini.addTools!(tools, [{ name: 'b' }]), [tools[0], { [key]: [{ name: 'a' }, { name: 'b' }] }])
    }
    assert.deepEqual(gemini.addTools!([{ googleSearch: {} }], [{ name: 'b' }]), [{ googleSearch: {} }])
    const bodies = [{ cachedContent: 'c' }, { cached_content: 'c' }, { cachedContent: '' }, {}]
    assert.deepEqual(bodies.map(gemini.untouchable), ['pass', 'pass', undefined, undefined])
  })

  test('gets a notice after an answer that stops with text: in its last text, or after a thought or a signature', () => {
    const stop = answer([{ text: 'a' }], 'STOP')
    assert.deepEqual(below(gemini, [stop]), [answer([{ text: 'a!' }], 'STOP')])
    assert.deepEqual(gemini.below.whole(stop, '!'), answer([{ text: 'a!' }], 'STOP'))
    const first = answer([{ text: 'a' }])
    assert.deepEqual(below(gemini, [first, answer([{ text: 'hm', thought: true }], 'STOP')]), [
      first,
      answer([{ text: 'hm', thought: true }, { text: '!' }], 'STOP'),
    ])
    const bare = { candidates: [{ finishReason: 'STOP' }] }
    assert.deepEqual(below(gemini, [first, bare]), [first, answer([{ text: '!' }], 'STOP')])
    const others = [
      [answer([{ text: 'a' }], 'MAX_TOKENS')],
      [answer([{ text: 'a' }, { functionCall: {} }], 'STOP')],
      [answer([{ text: 'a', thought: true }], 'STOP')],
      [{ candidates: [] }],
    ]
    for (const events of others) {
      assert.deepEqual(below(gemini, events), events)
      assert.equal(gemini.below.whole(events[0]!, '!'), undefined)
    }
  })

  test('recognises requests for data by their response type or several candidates, and words errors as Gemini does', () => {
    const config = (given: Wire) => [{ generationConfig: given }, { generation_config: given }].map(gemini.below.isData)
    assert.deepEqual(config({ responseMimeType: 'application/json' }), [true, true])
    assert.deepEqual(config({ response_mime_type: 'application/json' }), [true, true])
    assert.deepEqual(config({ responseMimeType: 'text/plain' }), [false, false])
    assert.deepEqual(
      [config({ candidateCount: 2 }), config({ candidateCount: 1 })],
      [
        [true, true],
        [false, false],
      ],
    )
    assert.equal(gemini.below.isData({}), false)
    const words = [400, 401, 404, 426, 502].map(code => (gemini.error(code, 'x')['error'] as Wire)['status'])
    const expected = ['INVALID_ARGUMENT', 'UNAUTHENTICATED', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'UNAVAILABLE']
    assert.deepEqual(words, expected)
    assert.equal(gemini.modelIn!('/v1beta/models/gemini-3:generateContent'), 'gemini-3')
  })
})

describe('every dialect', () => {
  const BODIES: readonly (readonly [ProxyDialect, Wire])[] = [
    [anthropic, { model: 'm', system: 'Be brief.', messages: [{ role: 'user', content: 'go' }] }],
    [
      anthropic,
      { model: 'm', system: [{ type: 'text', text: 'Be brief.' }], messages: [{ role: 'user', content: 'go' }] },
    ],
    [
      openaiChat,
      {
        model: 'm',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'go' },
        ],
      },
    ],
    [openaiResponses, { model: 'm', instructions: 'Be brief.', input: [{ role: 'user', content: 'go' }] }],
    [openaiResponses, { model: 'm', instructions: 'Be brief.', input: 'go' }],
    [
      gemini,
      {
        systemInstruction: { parts: [{ text: 'Be brief.' }] },
        contents: [{ role: 'user', parts: [{ text: 'go' }] }],
        generationConfig: { temperature: 1 },
      },
    ],
  ]
  const texts = (messages: readonly Message[]) =>
    messages.map(({ role, parts }) => [role, parts.map(part => (part.type === 'text' ? part.text : part.type)).join()])

  for (const [dialect, body] of BODIES) {
    test(`sends edited messages and the system prompt: ${dialect.name}, ${JSON.stringify(body).slice(0, 60)}`, () => {
      const messages = dialect.read(body)!
      const [system, ...rest] = texts(messages)
      assert.deepEqual([system, rest], [['system', 'Be brief.'], [['user', 'go']]])
      const said = (role: Message['role'], text: string) => ({ role, parts: [{ type: 'text', text }] }) as Message
      const changed = [said('system', 'Be long.'), said('user', 'go!'), said('assistant', 'so'), said('user', 'on')]
      const written = dialect.write(body, changed)
      assert.deepEqual(texts(dialect.read(written)!), texts(changed))
      const without = dialect.write(body, messages.slice(1))
      assert.deepEqual(texts(dialect.read(without)!), [['user', 'go']], 'a system prompt that went is gone')
      assert.deepEqual(texts(dialect.read(dialect.write(without, messages))!), texts(messages), 'and comes back')
      for (const key of ['model', 'generationConfig']) assert.deepEqual(written[key], body[key])
      assert.deepEqual(dialect.read({ model: 'm' }), undefined, 'a body without a conversation has none')
    })
  }
})
