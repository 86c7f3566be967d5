import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { modelInfo } from '../../../src/providers/models.ts'
import { rowsFrom } from '../../../src/providers/sources.ts'
import { table } from '../../../src/providers/table.ts'
import { settingsFor } from '../../../src/session/config.ts'
import { runCli } from '../../cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-models-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const run = (home: string, ...argv: string[]) => runCli(['models', ...argv, '--home', home])

function newHome(name: string, config?: object): { home: string; config: string } {
  mkdirSync(join(folder, name))
  const path = join(folder, name, 'palimpsest.json')
  if (config) writeFileSync(path, JSON.stringify(config))
  return { home: join(folder, name, '.agent'), config: path }
}

const MODELS_DEV = {
  anthropic: {
    id: 'anthropic',
    models: {
      'claude-opus-5-5': {
        id: 'claude-opus-5-5',
        cost: { input: 3, output: 15, cache_read: 0.15, cache_write: 3.75 },
        limit: { context: 2_000_000, output: 128_000 },
      },
      'claude-opus-5': { id: 'claude-opus-5', cost: { input: 5, output: 25, cache_read: 0.5, cache_write: 6.25 } },
      'claude-new-9': { id: 'claude-new-9', cost: { input: 1, output: 2 } },
    },
  },
  reseller: { id: 'reseller', models: { 'claude-sonnet-5-5': { cost: { input: 9, output: 90 } } } },
}

const LITE_LLM = {
  sample_spec: { max_tokens: 'about' },
  'gpt-6.1-sol': {
    input_cost_per_token: 3e-6,
    output_cost_per_token: 12e-6,
    cache_read_input_token_cost: 0.3e-6,
    input_cost_per_token_above_272k_tokens: 6e-6,
    output_cost_per_token_above_272k_tokens: 18e-6,
    max_input_tokens: 922_000,
  },
}

describe('tables of others', () => {
  test("models.dev's document gives the differences for models that we list", () => {
    assert.deepEqual(rowsFrom(MODELS_DEV, 'here'), {
      'claude-opus-5-5': { input: 3, output: 15, window: 2_000_000, source: 'here' },
    })
  })

  test("LiteLLM's table gives prices by token, and bands by size", () => {
    assert.deepEqual(rowsFrom(LITE_LLM, 'here'), {
      'gpt-6.1-sol': { input: 3, output: 12, read: 0.1, source: 'here' },
    })
  })

  test('our own table gives no differences from itself', () => {
    assert.deepEqual(Object.keys(rowsFrom(table, 'here') ?? {}), ['gemini-4-argon'])
  })

  test('other input is refused', () => {
    for (const document of [null, [], 'text', { a: 1 }, {}]) {
      const rows = rowsFrom(document, 'here')
      assert.ok(rows === undefined || Object.keys(rows).length === 0, JSON.stringify(document))
    }
  })
})

describe('palimpsest models', () => {
  test('lists the table with the rows of palimpsest.json, and shows one model', async () => {
    const { home } = newHome('list', { models: { 'my-own': { window: 64_000, binding: 'none' } } })
    const { stdout, code } = await run(home)
    assert.equal(code, 0)
    assert.match(stdout, /claude-opus-5-5 +1,000,000 +4 +20 +0\.05 +1\.25 +5 +marked +bound, refused/)
    assert.match(stdout, /my-own +64,000/)
    const shown = JSON.parse((await run(home, 'show', 'claude-opus-5-5', '--cache-ttl', '1h', '--json')).stdout)
    assert.deepEqual(shown, modelInfo('claude-opus-5-5', {}, { cacheTtl: '1h' }))
    assert.equal((await run(home, 'show', 'claude-opus-5-5', '--cache-ttl', '2w')).code, 2)
    assert.equal((await run(home, 'nothing')).code, 2)
  })

  test("update writes differences of a source into palimpsest.json, and leaves the user's rows unchanged", async () => {
    const own = { model: 'claude-opus-5-5', models: { 'gpt-6.1-sol': { input: 7 } } }
    const { home, config } = newHome('update', own)
    const server = createServer((_, response) => response.end(JSON.stringify(MODELS_DEV))).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api.json`
    assert.match((await run(home, 'update', url)).stdout, /1 row in .*: claude-opus-5-5/)
    server.close()
    const file = join(folder, 'litellm.json')
    writeFileSync(file, JSON.stringify(LITE_LLM))
    assert.match((await run(home, 'update', file)).stderr, /Your own rows were kept: gpt-6\.1-sol/)
    const written = JSON.parse(readFileSync(config, 'utf8'))
    assert.equal(written.model, 'claude-opus-5-5')
    assert.deepEqual(written.models['gpt-6.1-sol'], { input: 7 })
    const { models } = await settingsFor(home)
    assert.equal(modelInfo('claude-opus-5-5', models).input, 3)
  })

  test('an unreadable source, or one that is not a table, is reported', async () => {
    const { home } = newHome('broken')
    assert.match((await run(home, 'update', join(folder, 'none.json'))).stderr, /Cannot read/)
    const file = join(folder, 'odd.json')
    writeFileSync(file, '{"a": [1]}')
    assert.match((await run(home, 'update', file)).stderr, /must be one of: models\.dev/)
  })
})
