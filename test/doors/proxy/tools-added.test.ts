/** Our tools in a client's request: their names, and how messages with their results are changed. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { anthropic } from '../../../src/doors/proxy/anthropic.ts'
import { inject, injectedTokens, newInjection } from '../../../src/doors/proxy/injection.ts'
import { defineLateTools, hasMcpTools, namesOfTools, withoutErrors } from '../../../src/doors/proxy/late-tools.ts'
import { dataIn, Events, parsed } from '../../../src/doors/proxy/stream.ts'
import type { Message } from '../../../src/model/types.ts'

test('the tool names of a request are found in every dialect, including nested tools', () => {
  const tools = [
    { name: 'a' },
    { type: 'function', function: { name: 'b' } },
    { type: 'custom', custom: { name: 'c' } },
    { type: 'namespace', name: 'd', tools: [{ name: 'e' }] },
    { functionDeclarations: [{ name: 'f' }] },
    { function_declarations: [{ name: 'g' }] },
    'odd',
    { name: 7 },
  ]
  assert.deepEqual([...namesOfTools({ tools })], ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
  assert.deepEqual([...namesOfTools({})], [])
})

test('a tool gets a free name, even if many are used', () => {
  const names = (...taken: string[]) => defineLateTools(anthropic, new Set(taken)).map(({ name }) => name)
  assert.deepEqual(names(), ['context', 'recall'])
  assert.deepEqual(names('context'), ['palimpsest_context', 'recall'])
  assert.deepEqual(names('context', 'palimpsest_context'), ['palimpsest_2_context', 'recall'])
  const many = ['context', 'palimpsest_context', 'palimpsest_2_context', 'palimpsest_3_context']
  assert.deepEqual(names(...many), ['palimpsest_4_context', 'recall'])
  const [first] = defineLateTools(anthropic, new Set(['context']))
  assert.deepEqual([first?.tool, first?.definition['name']], ['context', 'palimpsest_context'])
})

test("tools of our MCP server are recognised by its name and the tool's name", () => {
  const has = (...names: string[]) => hasMcpTools(new Set(names))
  assert.equal(has('mcp__palimpsest__recall', 'bash'), true)
  assert.equal(has('mcp__other__recall'), false)
  assert.equal(has('mcp__palimpsest__weather'), false)
  assert.equal(has(), false)
})

describe('the addition to a conversation', () => {
  const tools = [{ name: 'bash' }]
  const given = (body: object, options: object) =>
    newInjection({ dialect: anthropic, body: { ...body }, user: 'ann' }, options)
  const system = async (user: string | undefined) => `memory of ${user}`

  test('is a text, tools, both or nothing; a conversation without tools gets none', async () => {
    assert.equal(await given({ tools }, {}), undefined)
    assert.equal(await given({}, { tools: true }), undefined)
    assert.equal(await given({ tools }, { system: async () => '' }), undefined)
    assert.deepEqual(await given({}, { system, tools: true }), { system: 'memory of ann' })
    const both = await given({ tools }, { system, tools: true })
    assert.deepEqual([both?.system, both?.tools?.length], ['memory of ann', 2])
    const alone = await given({ tools }, { tools: true })
    assert.deepEqual(Object.keys(alone ?? {}), ['tools'])
    assert.equal(injectedTokens(undefined), 0)
    assert.equal(
      injectedTokens({ system: 'x'.repeat(400) }),
      Math.ceil(JSON.stringify({ system: 'x'.repeat(400) }).length / 4),
    )
  })

  test("comes after the client's own text and tools, and replaces nothing", async () => {
    const injection = (await given({ tools }, { system, tools: true }))!
    const body = inject(anthropic, { system: 'be brief', tools, model: 'm' }, injection)
    assert.equal(body['system'], 'be brief\n\nmemory of ann')
    assert.deepEqual([...namesOfTools(body)], ['bash', 'context', 'recall'])
    const later = inject(anthropic, { tools: [...tools, { name: 'recall', own: true }] }, injection)
    assert.deepEqual([...namesOfTools(later)], ['bash', 'recall', 'context'])
    assert.equal((later['tools'] as { own?: true }[])[1]?.own, true, 'what the client has brought since is its own')
    assert.equal(inject(anthropic, { tools: [] }, injection)['tools']?.toString(), '')
    const plain = { model: 'm' }
    assert.equal(inject(anthropic, plain, {}), plain)
  })
})

test('a late answer removes the error mark, and a restored call is not an edit', () => {
  const original = { dialect: 'anthropic' as const, value: { type: 'tool_result', is_error: true, cache: 1 } }
  const result = { type: 'tool-result' as const, id: 'c', name: 'recall', output: 'ours', isError: true, edit: 'e1' }
  const call = { type: 'tool-call' as const, id: 'c', name: 'recall', input: {}, edit: 'e2' }
  const other: Message = { role: 'tool', parts: [{ ...result, edit: 'e9' }] }
  const messages: Message[] = [
    { role: 'assistant', parts: [call, { type: 'text', text: 'a' }] },
    { role: 'tool', parts: [{ ...result, original }] },
    other,
  ]
  const { isError: _, ...fine } = result
  const { edit: __, ...made } = call
  const shown = withoutErrors(messages, new Set(['e1', 'e2']))
  assert.deepEqual(shown[0]?.parts, [made, { type: 'text', text: 'a' }])
  assert.deepEqual(shown[1]?.parts, [{ ...fine, original: { ...original, value: { type: 'tool_result', cache: 1 } } }])
  assert.equal(shown[2], other)
  assert.deepEqual(withoutErrors(messages, new Set()), messages)
})

describe('events of a stream', () => {
  test('end with a blank line of any kind, and an unfinished event is kept', () => {
    const taken: string[] = []
    const rest = (text: string) => {
      taken.length = 0
      const events = new Events()
      events.take(text, block => taken.push(block))
      return events.rest()
    }
    assert.equal(rest('data: 1\n\ndata: 2\n\ndata: 3'), 'data: 3')
    assert.deepEqual(taken, ['data: 1', 'data: 2'])
    assert.equal(rest('data: 1\r\n\r\ndata: 2\r\rdata: 3\n\ndata: 4\r\n'), 'data: 4\r\n')
    assert.deepEqual(taken, ['data: 1', 'data: 2', 'data: 3'])
  })

  test('give their data lines, with or without a space before the value', () => {
    const cases: [string, string][] = [
      ['data: {"a":1}', '{"a":1}'],
      ['data:x', 'x'],
      ['event: y\ndata: x', 'x'],
      ['data: a\ndata: b', 'a\nb'],
      ['data: a\r\nid: 1\r\ndata:b', 'a\nb'],
      ['event: ping', ''],
      ['data:  two', ' two'],
      [': data: no\ndata: yes', 'yes'],
    ]
    for (const [block, data] of cases) assert.equal(dataIn(block), data, JSON.stringify(block))
    assert.deepEqual(
      [parsed('{"a":1}'), parsed('[DONE]'), parsed('[1]'), parsed('"x"')],
      [{ a: 1 }, undefined, undefined, undefined],
    )
  })
})
