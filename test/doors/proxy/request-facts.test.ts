/** Facts of a request: its cache lifetime, its window and the edits that the server makes. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { anthropic } from '../../../src/doors/proxy/anthropic.ts'
import { gemini } from '../../../src/doors/proxy/gemini.ts'
import { openaiChat } from '../../../src/doors/proxy/openai-chat.ts'
import { openaiResponses } from '../../../src/doors/proxy/openai-responses.ts'
import { CONTEXT_MANAGEMENT, factsOf, type ServerEdits } from '../../../src/doors/proxy/request-facts.ts'
import type { Wire } from '../../../src/formats/adapters/original.ts'

const plain = new Headers()
const withBeta = new Headers({ 'anthropic-beta': `other-1,${CONTEXT_MANAGEMENT}` })
const facts = (body: Wire, headers = plain, wanted?: ServerEdits) => factsOf(anthropic, headers, body, wanted)
const mark = (ttl?: string) => ({ cache_control: { type: 'ephemeral', ...(ttl ? { ttl } : {}) } })
const said = (...content: object[]) => ({ role: 'user', content })

describe('the requested cache lifetime (Anthropic)', () => {
  const lifetime = (body: Wire) => facts(body).cacheTtl

  test('is that of the last mark: in the messages, then the system prompt, then the tools', () => {
    const tools = [{ name: 'a', ...mark('1h') }]
    const system = [{ type: 'text', text: 'a', ...mark() }]
    assert.equal(lifetime({ tools }), '1h')
    assert.equal(lifetime({ tools, system }), '5m')
    const early = said({ type: 'text', text: 'a', ...mark('1h') })
    assert.equal(lifetime({ tools, system, messages: [early, said({ type: 'text', text: 'b' })] }), '1h')
    const late = said({ type: 'text', ...mark('1h') }, { type: 'text', ...mark() }, { type: 'text' })
    assert.equal(lifetime({ messages: [early, late] }), '5m')
  })

  test('is that of the request as a whole, if it has one', () => {
    assert.equal(lifetime({ ...mark('1h'), messages: [said({ type: 'text', ...mark() })] }), '1h')
    assert.equal(lifetime({ ...mark() }), '5m')
  })

  test('is none without a mark', () => {
    const odd = [{ messages: [said({ type: 'text', text: 'a' }), { role: 'user', content: 'a' }, 'a', null] }, {}]
    for (const body of [...odd, { system: 'a' }, { tools: {} }, { cache_control: 'yes' }]) {
      assert.equal(lifetime(body), 'none', JSON.stringify(body))
    }
  })
})

test('a beta asks for a longer window', () => {
  assert.equal(facts({}, new Headers({ 'anthropic-beta': 'a,context-1m-2025-08-07' })).longWindow, true)
  assert.equal(facts({}, withBeta).longWindow, undefined)
  assert.equal(facts({}, new Headers({ 'anthropic-beta': 'mycontext-1m-2025-08-07' })).longWindow, undefined)
})

describe('server edits (Anthropic)', () => {
  const told = (...types: unknown[]) => ({ context_management: { edits: types.map(type => ({ type })) } })

  test('are those that the request asks for, without clearing of thinking', () => {
    const all = told('clear_tool_uses_20250919', 'clear_thinking_20251015', 'compact_20260112', 7)
    assert.deepEqual(facts(all).serverEdits, ['clear_tool_uses_20250919', 'compact_20260112'])
    for (const body of [{}, { context_management: [] }, { context_management: { edits: 'a' } }]) {
      assert.deepEqual(facts(body).serverEdits, [])
    }
  })

  test('may clear results if the client sends the beta, or always, or never, by option', () => {
    const may = (headers: Headers, wanted?: ServerEdits) => facts({}, headers, wanted).mayClear === true
    assert.deepEqual([may(plain), may(withBeta)], [false, true])
    assert.deepEqual([may(plain, 'always'), may(withBeta, 'always')], [true, true])
    assert.deepEqual([may(plain, 'never'), may(withBeta, 'never')], [false, false])
  })

  test('may not clear results if the request has such edits or server tools', () => {
    const may = (body: Wire) => facts(body, withBeta).mayClear === true
    assert.equal(may(told('clear_tool_uses_20250919')), false)
    assert.equal(may(told('clear_thinking_20251015')), true)
    assert.equal(may({ mcp_servers: [] }), false)
    assert.equal(may({ tools: [{ name: 'a' }, { type: 'web_search_20250305', name: 'web_search' }] }), false)
    assert.equal(may({ tools: [{ name: 'a' }, { type: 'bash_20250124', name: 'bash' }, 'odd', null] }), true)
  })
})

describe('facts of OpenAI', () => {
  for (const dialect of [openaiChat, openaiResponses]) {
    const of = (body: Wire) => factsOf(dialect, plain, body)

    test(`include the lifetime from the option or the retention (${dialect.name})`, () => {
      assert.deepEqual(of({}), { serverEdits: [] })
      assert.equal(of({ prompt_cache_retention: '24h' }).cacheTtl, '24h')
      assert.equal(of({ prompt_cache_retention: '24h', prompt_cache_options: { ttl: '30m' } }).cacheTtl, '30m')
      assert.equal(of({ prompt_cache_retention: 7, prompt_cache_options: { ttl: 7 } }).cacheTtl, undefined)
    })

    test(`include the edits that the server makes (${dialect.name})`, () => {
      assert.deepEqual(of({ context_management: [{ type: 'compaction' }, {}] }).serverEdits, ['compaction'])
    })
  }
})

test('Gemini requests have no such facts', () => {
  assert.deepEqual(factsOf(gemini, withBeta, mark('1h')), { serverEdits: [] })
})
