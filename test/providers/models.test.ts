import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { allModels, isKnownModel, isListedModel, modelInfo, PRICES_AS_OF } from '../../src/providers/models.ts'
import { bandAt, dollarsOf } from '../../src/providers/pricing.ts'
import * as fc from '../property.ts'

/** Names as clients send them, and the id of the row that each must find. */
const SENT: [name: string, id: string][] = [
  // Claude Code, the agents SDK and cline
  ['claude-fable-5-2', 'claude-fable-5-2'],
  ['claude-opus-5-5', 'claude-opus-5-5'],
  ['claude-opus-5-5[1m]', 'claude-opus-5-5'],
  ['claude-sonnet-5-5', 'claude-sonnet-5-5'],
  ['claude-haiku-5-5', 'claude-haiku-5-5'],
  ['claude-opus-5', 'claude-opus-5'],
  ['claude-fable-5', 'claude-fable-5'],
  ['claude-opus-4-7', 'claude-opus-4-7'],
  ['claude-opus-4-6', 'claude-opus-4-6'],
  ['claude-opus-4-5-20251101', 'claude-opus-4-5'],
  ['claude-sonnet-4-5-20250929', 'claude-sonnet-4-5'],
  ['claude-sonnet-4-5', 'claude-sonnet-4-5'],
  ['claude-sonnet-4-20250514', 'claude-sonnet-4'],
  ['claude-haiku-4-5-20251001', 'claude-haiku-4-5'],
  ['claude-3-7-sonnet-20250219', 'claude-3-7-sonnet'],
  ['claude-3-5-haiku-20241022', 'claude-3-5-haiku'],
  ['claude-3-opus-20240229', 'claude-3-opus'],
  ['sonnet', 'claude-sonnet-5-5'],
  ['opus', 'claude-opus-5-5'],
  ['haiku', 'claude-haiku-5-5'],
  ['fable', 'claude-fable-5-2'],
  // Bedrock, Vertex and gateways
  ['us.anthropic.claude-opus-5-5', 'claude-opus-5-5'],
  ['global.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4-5'],
  ['anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-haiku-4-5'],
  ['claude-opus-4-5@20251101', 'claude-opus-4-5'],
  ['publishers/anthropic/models/claude-sonnet-5-5', 'claude-sonnet-5-5'],
  ['openrouter/anthropic/claude-opus-4.8', 'claude-opus-4-8'],
  ['anthropic/claude-3.7-sonnet:thinking', 'claude-3-7-sonnet'],
  ['anthropic:claude-opus-5', 'claude-opus-5'],
  ['Claude-Opus-5', 'claude-opus-5'],
  // Codex and other users of OpenAI
  ['gpt-6.1-sol', 'gpt-6.1-sol'],
  ['gpt-6.1-terra', 'gpt-6.1-terra'],
  ['gpt-6-astra', 'gpt-6-astra'],
  ['gpt-5.5', 'gpt-5.5'],
  ['gpt-5.4', 'gpt-5.4'],
  ['gpt-5.3-codex-spark', 'gpt-5.3-codex-spark'],
  ['gpt-5.2-2025-12-11', 'gpt-5.2'],
  ['gpt-5.1-codex-max', 'gpt-5.1-codex-max'],
  ['gpt-5.1-codex', 'gpt-5.1-codex'],
  ['gpt-5-mini-2025-08-07', 'gpt-5-mini'],
  ['openai/gpt-5', 'gpt-5'],
  ['gpt-4.1-mini-2025-04-14', 'gpt-4.1-mini'],
  ['ft:gpt-4o:org::id', 'gpt-4o'],
  ['openai/o3-mini', 'o3-mini'],
  ['o4-mini', 'o4-mini'],
  ['codex-mini-latest', 'codex-mini'],
  // gemini-cli, qwen-code, opencode, pi, aider
  ['gemini-4-argon', 'gemini-4-argon'],
  ['gemini-3-pro-preview', 'gemini-3.1-pro-preview'],
  ['google/gemini-3-pro-preview', 'gemini-3.1-pro-preview'],
  ['gemini-3-flash-preview', 'gemini-3-flash-preview'],
  ['models/gemini-2.5-pro', 'gemini-2.5-pro'],
  ['deepseek-v4-flash-free', 'deepseek-flash'],
  ['deepseek/deepseek-v4-pro', 'deepseek-v4-pro'],
  ['qwen3.8-max', 'qwen3.8-max'],
  ['moonshotai/kimi-k3', 'kimi-k3'],
  ['z-ai/glm-5.3', 'glm-5.3'],
  ['MiniMax-M3', 'MiniMax-M3'],
  ['x-ai/grok-4.7', 'grok-4.7'],
  ['mistralai/devstral-latest', 'devstral-latest'],
]

describe('names sent by real clients find their row', () => {
  for (const [name, id] of SENT) {
    test(name, () => {
      assert.equal(modelInfo(name).id, id)
      assert.ok(isListedModel(name) && isKnownModel(name))
    })
  }
})

test('every id, with any prefix and suffix, finds its own row', () => {
  const models = allModels()
  const fronts = ['', 'anthropic/', 'openrouter/x/', 'global.anthropic.', 'models/']
  const backs = ['', '-20251101', '-2026-01-31', '@20250514', '-v1:0', ':thinking', '[1m]', '-latest', '-preview']
  const decorated = fc.tuple(fc.constantFrom(...models), fc.constantFrom(...fronts), fc.constantFrom(...backs))
  const taken = new Set(models.map(({ id }) => id))
  fc.assert(
    fc.property(decorated, ([{ id }, front, back]) => {
      fc.pre(back === '' || !taken.has(id + back))
      assert.equal(modelInfo(front + id + back).id, id)
    }),
    { numRuns: 2000 },
  )
})

test('an unknown id gets the strictest row of its family, and counts as unlisted', () => {
  assert.equal(modelInfo('claude-opus-4-9').id, 'claude-opus-5-5')
  assert.equal(modelInfo('claude-haiku-6').id, 'claude-haiku-5-5')
  assert.equal(modelInfo('claude-next').binding, 'refuse')
  assert.equal(modelInfo('claude').binding, 'refuse')
  assert.equal(modelInfo('gpt-7').binding, 'drop')
  assert.equal(modelInfo('gpt:my-deployment').shape, 'breakpoints')
  assert.equal(modelInfo('gemini-5').dialect, 'gemini')
  assert.equal(modelInfo('deepseek-chat').dialect, 'openai-chat')
  for (const name of ['claude-opus-4-9', 'gpt-7', 'deepseek-chat']) {
    assert.equal(isListedModel(name), false, name)
    assert.equal(isKnownModel(name), true, name)
  }
})

test('a name of no family has the prices of the default model, and counts as unknown', () => {
  for (const name of ['my-own-model', 'llama-o3', 'default', '<synthetic>', '']) {
    assert.equal(isKnownModel(name), false, name)
    assert.deepEqual(modelInfo(name), modelInfo(), name)
  }
})

test('binding is refused, dropped or free, as the providers document', () => {
  for (const name of [
    'claude-fable-5-2',
    'claude-mythos-5-1',
    'claude-opus-5-5',
    'claude-sonnet-5-5',
    'claude-haiku-5-5',
  ])
    assert.equal(modelInfo(name).binding, 'refuse', name)
  for (const name of ['gpt-6.1-sol', 'gpt-6-astra']) assert.equal(modelInfo(name).binding, 'drop', name)
  for (const name of ['claude-opus-5', 'claude-sonnet-4-5', 'gpt-5.4', 'gemini-4-argon', 'deepseek-flash'])
    assert.equal(modelInfo(name).bindsReasoning, false, name)
})

test('a requested lifetime has its own price and time', () => {
  const hour = modelInfo('claude-sonnet-5-5', {}, { cacheTtl: '1h' })
  assert.deepEqual([hour.read, hour.write, hour.ttl], [0.05, 2, 3_600_000])
  const plain = modelInfo('claude-sonnet-5-5')
  assert.deepEqual([plain.write, plain.ttl], [1.25, 300_000])
  assert.deepEqual(modelInfo('claude-sonnet-5-5', {}, { cacheTtl: '3d' }), plain)
  assert.equal(modelInfo('gpt-6.1-terra', {}, { cacheTtl: '12h' }).write, 2.5)
})

test('prices change on their date', () => {
  const read = (day: string) => modelInfo('claude-sonnet-5-5', {}, { at: Date.parse(day) }).read
  assert.deepEqual([read('2026-10-06'), read('2026-10-07')], [0.1, 0.05])
  const argon = (day: string) => modelInfo('gemini-4-argon', {}, { at: Date.parse(day) }).input
  assert.deepEqual([argon('2026-11-30'), argon('2026-12-01')], [2, 4])
})

test('a custom table adds models and changes known ones, field by field', () => {
  const table = { 'my-model': { window: 5, write: 1 }, 'claude-opus': { input: 9 } }
  assert.equal(modelInfo('my-model-large', table).window, 5)
  assert.equal(modelInfo('local/my-model', table).write, 1)
  const opus = modelInfo('claude-opus-4-5', table)
  assert.deepEqual([opus.input, opus.output], [9, 25])
  assert.equal(modelInfo('claude-opus-5-5', { claude: { bindsReasoning: false } }).binding, 'none')
  assert.equal(modelInfo('claude-opus-4-5', { claude: { bindsReasoning: true } }).binding, 'refuse')
  assert.equal(modelInfo('claude-opus-4-5', { claude: { binding: 'drop' } }).bindsReasoning, true)
  const told = { 'claude-fable-5-2': { window: 1e6, read: 0.5, write: 3, ttl: 7 } }
  const { read, write, ttl } = modelInfo('claude-fable-5-2', told, { cacheTtl: '1h' })
  assert.deepEqual([read, write, ttl], [0.5, 3, 7])
})

test('a call costs by its size and by the lifetime of its cache writes', () => {
  const haiku = modelInfo('claude-haiku-5-5')
  assert.equal(bandAt(haiku, 100_000), undefined)
  assert.equal(dollarsOf({ input: 100_000 }, haiku), 0.01)
  assert.ok(Math.abs(dollarsOf({ cacheRead: 100_001, output: 1000 }, haiku) - 0.0075) < 1e-6)
  const sonnet = modelInfo('claude-sonnet-5-5')
  assert.equal(dollarsOf({ cacheWrite: 1_000_000 }, sonnet), 2.5)
  assert.equal(dollarsOf({ cacheWrite: 1_000_000, cacheWriteLong: 1_000_000 }, sonnet), 4)
})

test('a call costs by the tier or the speed that the provider billed', () => {
  const paid = (name: string, tier: string) => dollarsOf({ input: 1_000_000, tier }, modelInfo(name))
  assert.equal(paid('claude-opus-5-5', 'fast'), 8)
  assert.equal(paid('claude-opus-4-6', 'fast'), 30)
  assert.equal(paid('claude-sonnet-5-5', 'batch'), 1)
  assert.equal(paid('gpt-6.1-sol', 'flex'), 2 * paid('gpt-6.1-sol', 'some tier') * 0.25)
  assert.equal(paid('gpt-5.1-codex', 'priority'), 2.5)
  assert.equal(paid('gpt-5-mini', 'priority'), 0.45)
  assert.equal(paid('claude-opus-5-5', 'us'), 4.4)
  assert.equal(paid('claude-opus-5-5', 'fast us'), 8.8)
})

test('a price that depends on the hour is that of the call', () => {
  const paid = (at: string) => modelInfo('deepseek-flash', {}, { at: Date.parse(at) }).input
  assert.equal(paid('2026-11-18T03:59:59Z'), 0.3, 'a Wednesday, peak')
  assert.equal(paid('2026-11-18T04:00:00Z'), 0.15)
  assert.equal(paid('2026-11-18T06:00:00Z'), 0.3)
  assert.equal(paid('2026-11-21T07:00:00Z'), 0.15, 'a Saturday')
  assert.equal(modelInfo('deepseek-flash').input, 0.3, 'without a time: the peak')
})

test('a web search is billed in addition to the tokens, for any tier', () => {
  const usage = { input: 1_000_000, searches: 3, tier: 'batch' }
  assert.equal(dollarsOf(usage, modelInfo('claude-sonnet-5-5')), 1.03)
  assert.equal(dollarsOf({ searches: 3 }, modelInfo('gpt-5.4')), 0)
})

test('a free model costs nothing, and caches like the paid one', () => {
  const [plain, free] = [modelInfo('deepseek-v4-flash'), modelInfo('deepseek-v4-flash-free')]
  assert.equal(dollarsOf({ input: 1000, cacheRead: 1000, output: 1000 }, free), 0)
  assert.deepEqual([free.read, free.write, free.ttl], [plain.read, plain.write, plain.ttl])
  assert.equal(modelInfo('openrouter/deepseek/deepseek-v4-flash:free').output, 0)
})

test('regional endpoints cost ten percent more', () => {
  assert.equal(modelInfo('us.anthropic.claude-opus-5-5').input, 4.4)
  assert.equal(modelInfo('global.anthropic.claude-opus-5-5').input, 4)
})

test('every row is plausible, and has its date and its source', () => {
  const models = allModels()
  assert.match(PRICES_AS_OF, /^\d{4}-\d\d-\d\d$/)
  assert.equal(new Set(models.map(({ id }) => id.toLowerCase())).size, models.length)
  for (const { id, input, output, read, write, window, ttl, scale, asOf, lifetimes, bands } of models) {
    assert.ok(input === 0 || (input > 0 && output >= input), id)
    assert.ok(read > 0 && read <= 1 && write >= read && write <= 3 && lifetimes.length > 0, id)
    assert.ok(window >= 100_000 && ttl >= 60_000 && scale >= 1 && asOf <= PRICES_AS_OF, id)
    assert.ok(
      bands.every(band => band.above < window && band.input > 1 && band.output > 1),
      id,
    )
  }
})
