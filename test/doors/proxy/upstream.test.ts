/** Which provider a request goes to, under which address, and with which of its headers. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { forwardHeaders, PROVIDERS, routeOf, upstreamUrl } from '../../../src/doors/proxy/upstream.ts'

const none = new Headers()
const route = (path: string, headers = none) => routeOf(new URL(path, 'http://proxy.local'), headers)

describe('a request goes', () => {
  test('to the provider at the beginning of its path', () => {
    assert.deepEqual(route('/anthropic/v1/messages'), { upstream: 'anthropic', path: '/v1/messages' })
    assert.deepEqual(route('/openai/v1/models'), { upstream: 'openai', path: '/v1/models' })
    assert.deepEqual(route('/gemini/v1beta/models'), { upstream: 'gemini', path: '/v1beta/models' })
    assert.deepEqual(route('/openai'), { upstream: 'openai', path: '/' })
    assert.equal(route('/constructor/v1').path, '/constructor/v1', 'no word that every object knows')
  })

  test('otherwise to Anthropic for messages, with its version header, and for paths that OpenAI lacks', () => {
    const version = new Headers({ 'anthropic-version': '2023-06-01' })
    assert.equal(route('/v1/messages').upstream, 'anthropic')
    assert.equal(route('/v1/messages/count_tokens').upstream, 'anthropic')
    assert.equal(route('/v1/models').upstream, 'openai')
    assert.equal(route('/v1/models', version).upstream, 'anthropic')
    assert.equal(route('/api/hello').upstream, 'anthropic')
    assert.deepEqual(route('/v1/responses'), { upstream: 'openai', path: '/v1/responses' })
  })
})

describe('the address', () => {
  const at = (upstream: 'anthropic' | 'openai' | 'gemini', base: string, path: string, search = '') =>
    upstreamUrl({ upstream, path }, search, { ...PROVIDERS, [upstream]: base }).href

  test('of Anthropic can be given with or without its version', () => {
    for (const base of ['https://a.example', 'https://a.example/', 'https://a.example/v1']) {
      assert.equal(at('anthropic', base, '/v1/messages', '?beta=true'), 'https://a.example/v1/messages?beta=true')
    }
    assert.equal(at('anthropic', 'https://a.example/v1/x', '/v1/messages'), 'https://a.example/v1/x/v1/messages')
  })

  test('of OpenAI includes its version', () => {
    assert.equal(at('openai', 'https://o.example', '/v1/models'), 'https://o.example/v1/models')
    assert.equal(at('openai', 'https://o.example/v1', '/v1/models', '?a=1'), 'https://o.example/v1/models?a=1')
    assert.equal(at('openai', 'https://o.example/other', '/v1/models'), 'https://o.example/other/models')
    assert.equal(at('openai', 'https://o.example/other', '/v1'), 'https://o.example/other')
    assert.equal(at('openai', 'https://o.example/other', '/v1x/models'), 'https://o.example/other/v1x/models')
  })

  test('of Gemini is used unchanged', () => {
    assert.equal(at('gemini', 'https://g.example/v1', '/v1beta/a'), 'https://g.example/v1/v1beta/a')
  })
})

test('all headers are forwarded except those of this connection, those that it names, and ours', () => {
  const headers = new Headers({
    'x-api-key': 'k',
    'x-palimpsest-session': 'a',
    host: 'proxy.local',
    'transfer-encoding': 'chunked',
    connection: 'Keep-Alive, X-Hop',
    'x-hop': '1',
    'anthropic-beta': 'a',
  })
  headers.append('anthropic-beta', 'b')
  assert.deepEqual(forwardHeaders(headers), { 'x-api-key': 'k', 'anthropic-beta': 'a, b' })
})
