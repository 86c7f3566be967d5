import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { SCHEMA_FOLDER, SCHEMAS, schemaText } from '../../scripts/build-schema.ts'
import { policyNames } from '../../src/planner/catalog.ts'
import { presets, seedPresets } from '../../src/planner/presets.ts'
import { CONFIG_FILE, configPath, parseConfig, readConfig, toSettings } from '../../src/session/config.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { bash, says, user } from '../policies/talk.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-config-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const place = (name: string, config: unknown): { home: string; path: string } => {
  mkdirSync(join(folder, name))
  const path = join(folder, name, CONFIG_FILE)
  writeFileSync(path, typeof config === 'string' ? config : JSON.stringify(config))
  return { home: join(folder, name, '.agent'), path }
}

const custom = { apply: 'every-turn', policies: [{ use: 'truncate-shell', limit: 100, head: 10, tail: 10 }] } as const

describe('palimpsest.json', () => {
  test('is found in the folder that contains the home', async () => {
    const { home, path } = place('beside', { policy: custom, model: 'gpt-5', overhead: 700 })
    assert.equal(configPath(home), path)
    const pal = await openPalimpsest({ home })
    const session = await pal.session('s')
    assert.equal(session.options.policy.name, 'custom')
    assert.equal(session.options.model.dialect, 'openai-responses')
    assert.equal(session.options.overhead, 700)
    await session.append(user('go'), ...bash('x', '0123456789'.repeat(30)))
    assert.match(JSON.stringify((await session.view()).messages), /truncated: 300 chars total/)
    await pal.close()
  })

  test('has lower priority than an explicit option, and than the policy with which a session was opened before', async () => {
    const { home } = place('order', { policy: 'smart-history' })
    const pal = await openPalimpsest({ home })
    assert.equal((await pal.session('a')).options.policy.name, 'smart-history')
    assert.equal((await pal.session('b', { policy: 'stale-output' })).options.policy.name, 'stale-output')
    assert.equal((await pal.session('b')).options.policy.name, 'stale-output')
    const without = await openPalimpsest({ home, config: false })
    assert.equal((await without.session('c')).options.policy.name, 'thrifty')
    assert.equal((await without.session('a')).options.policy.name, 'smart-history')
  })

  test('can be named, or given as a value; a home in memory has none by default', async () => {
    const { path } = place('named', { policy: 'clear-tool-uses' })
    const named = await openPalimpsest({ home: ':memory:', config: path })
    assert.equal((await named.session('s')).options.policy.name, 'clear-tool-uses')
    const value = await openPalimpsest({ home: ':memory:', config: { policy: 'thrifty' } })
    assert.equal((await value.session('s')).options.policy.name, 'thrifty')
    const plain = await openPalimpsest({ home: ':memory:' })
    assert.equal((await plain.session('s')).options.policy.name, 'thrifty')
  })

  test('can define custom models and tools', async () => {
    const settings = await toSettings(
      parseConfig({ models: { 'my-model': { window: 32_000 } }, tools: { peek: { kind: 'read', path: 'where' } } }),
    )
    assert.deepEqual(settings.models, { 'my-model': { window: 32_000 } })
    assert.deepEqual(settings.tools?.get('peek'), { kind: 'read', path: 'where' })
  })

  test('can define a composition, which is found again by its name', async () => {
    const { home } = place('again', { policy: { name: 'ours', ...custom } })
    const pal = await openPalimpsest({ home })
    await pal.session('s')
    assert.equal((await pal.session('s')).options.policy.name, 'ours')
    const without = await openPalimpsest({ home, config: false })
    await assert.rejects(without.session('s'), {
      code: 'CONFIG_INVALID',
      message: /no policy ours; there are none, smart/,
    })
  })

  test('can use "thrifty", with which edits wait until they pay, and give their reasons', async () => {
    const policy = { apply: 'thrifty' as const, policies: [{ use: 'stale-output' as const, after: 2, preview: 10 }] }
    const pal = await openPalimpsest({ home: ':memory:', config: { policy }, clock: () => 1000 })
    const session = await pal.session('s')
    await session.append(user('go'), ...bash('x', 'word '.repeat(40)), says('1'), user(`${'word '.repeat(2000)}`))
    const waiting = await session.view()
    assert.deepEqual(waiting.edits, [])
    assert.match(
      waiting.pending[0]!.reason,
      /1 edit, \d+ tokens: rewriting [\d,]+ tokens pays off after [\d,]+ calls, with about \d+ calls? to come/,
    )
    const cold = await session.view({ now: 1000 + 3_600_000 })
    assert.match(cold.decision!, /the cache is cold, so they cost nothing/)
    assert.equal(cold.edits.length, 1)
  })

  test('can configure every policy, with its defaults', async () => {
    const { planner } = await toSettings(parseConfig({ policy: { policies: policyNames.map(use => ({ use })) } }))
    assert.equal(planner?.name, 'custom')
    planner?.start()
  })
})

describe('a mistake is reported with its key, its place and the allowed values', () => {
  const wrong = (config: unknown, message: RegExp) =>
    assert.throws(() => parseConfig(config, 'palimpsest.json'), { code: 'CONFIG_INVALID', message })

  test('for an unknown preset', () => {
    wrong(
      { policy: 'smart' },
      /^palimpsest\.json: policy is "smart"; allowed: none, smart-history, clear-tool-uses, stale-output, thrifty, agent, seed-000, .*, or an object/,
    )
  })

  test('for a knob that is neither a known word nor a number', () => {
    wrong({ keep: 'lots' }, /^palimpsest\.json: keep is "lots"; allowed: least, less, normal, more, most, or a number/)
    wrong({ byAgent: { claude: { keep: 'lots' } } }, /byAgent\.claude\.keep is "lots"; allowed: least, less/)
  })

  test('for an unknown policy', () => {
    wrong(
      { policy: { policies: [{ use: 'repeat-reads' }, { use: 'truncate' }] } },
      /policy\.policies\[1\]\.use is "truncate"; allowed: repeat-reads, keep-edits, truncate-shell/,
    )
  })

  test('for a number out of range, and a text in place of a number', () => {
    wrong({ policy: { policies: [{ use: 'truncate-shell', limit: -1 }] } }, /policy\.policies\[0\]\.limit is -1: .*>=0/)
    wrong({ policy: { policies: [{ use: 'warn', from: 2 }] } }, /policy\.policies\[0\]\.from is 2: .*<=1/)
    wrong({ policy: { policies: [{ use: 'anchor', every: '5' }] } }, /policies\[0\]\.every is "5": .*expected number/)
    wrong({ overhead: 1.5 }, /overhead is 1\.5: .*int/)
  })

  test('for an unknown option, in a policy and elsewhere', () => {
    wrong(
      { policy: { policies: [{ use: 'warn', limits: 3 }] } },
      /unknown key policy\.policies\[0\]\.limits; allowed in policy\.policies\[0\]: use, limit, from/,
    )
    wrong(
      { polices: [] },
      /unknown key polices; allowed in the file: \$schema, policy, keep, byAgent, byProject, protect, anchor, marks, model, cacheTtl, overhead, models, tools/,
    )
    wrong({ policy: { policies: [], when: 1 } }, /unknown key policy\.when; allowed in policy: name, apply, policies/)
    wrong(
      { tools: { peek: { kind: 'read', paths: 'x' } } },
      /unknown key tools\.peek\.paths; allowed in tools\.peek: kind, path/,
    )
    wrong(
      { policy: { policies: [{ use: 'clear-results', keep: { type: 'tool_uses', value: 1, more: 2 } }] } },
      /unknown key policy\.policies\[0\]\.keep\.more; allowed in policy\.policies\[0\]\.keep: type, value/,
    )
  })

  test('for an unknown way to apply, a missing list, a wrong type', () => {
    wrong({ policy: { apply: 'never', policies: [] } }, /policy\.apply is "never": .*"every-turn"\|"thrifty"/)
    wrong({ policy: {} }, /policy\.policies is missing/)
    wrong([], /the file is \[\]: .*expected object/)
  })

  test('for a file that is not JSON, is missing, or is a folder', async () => {
    const { path } = place('broken', '{ "policy": ')
    await assert.rejects(readConfig(path), { code: 'CONFIG_INVALID', message: /is not JSON/ })
    await assert.rejects(readConfig(join(folder, 'nowhere.json')), {
      code: 'CONFIG_INVALID',
      message: /cannot be read/,
    })
    await assert.rejects(readConfig(folder), { code: 'CONFIG_INVALID', message: /cannot be read/ })
    assert.equal(await readConfig(join(folder, 'nowhere.json'), { mustExist: false }), undefined)
  })

  test('for an unknown policy when a session is opened', async () => {
    const pal = await openPalimpsest({ home: ':memory:' })
    const known = [...presets, ...seedPresets].map(({ name }) => name)
    const message = `There is no policy nice; there are ${known.join(', ')}.`
    await assert.rejects(pal.session('s', { policy: 'nice' }), { code: 'CONFIG_INVALID', message })
  })
})

test('the published schemas are the checked ones (node scripts/build-schema.ts)', () => {
  for (const name of Object.keys(SCHEMAS))
    assert.equal(readFileSync(join(SCHEMA_FOLDER, name), 'utf8'), schemaText(name))
})

test('presets can be tuned without code: protected tools stay, and the goal is repeated as often as set', async () => {
  const config = parseConfig({
    policy: 'agent',
    keep: 'least',
    protect: ['peek'],
    anchor: { every: 2 },
    marks: { budget: 0.9, limit: 500, preview: 100 },
  })
  const pal = await openPalimpsest({ home: ':memory:', config })
  const session = await pal.session('s', { model: 'claude-sonnet-4-5' })
  await session.append({ role: 'user', parts: [{ type: 'text', text: 'go' }] })
  for (const [i, name] of ['peek', 'look', 'peek', 'look'].entries()) {
    const output = `${name} ${'words '.repeat(40)}`
    await session.append(
      { role: 'assistant', parts: [{ type: 'tool-call', id: `c${i}`, name, input: {} }] },
      { role: 'tool', parts: [{ type: 'tool-result', id: `c${i}`, name, output }] },
    )
    await session.view()
  }
  const anchors = session.edits().filter(({ edit }) => edit.mark === 'anchor')
  assert.deepEqual(
    anchors.map(({ edit }) => edit.target),
    [
      { type: 'after', entry: 4 },
      { type: 'after', entry: 8 },
    ],
  )
  assert.ok(!(await openSettings({ anchor: false })).some(mark => mark === 'anchor'))
  await pal.close()

  async function openSettings(more: object) {
    const other = await openPalimpsest({ home: ':memory:', config: parseConfig({ policy: 'stale-output', ...more }) })
    const made = await other.session('s')
    await made.append({ role: 'user', parts: [{ type: 'text', text: 'go' }] })
    for (let i = 0; i < 6; i++) {
      await made.append(
        { role: 'assistant', parts: [{ type: 'tool-call', id: `c${i}`, name: 'look', input: {} }] },
        { role: 'tool', parts: [{ type: 'tool-result', id: `c${i}`, name: 'look', output: 'x' }] },
      )
    }
    await made.view()
    const marks = made.edits().map(({ edit }) => edit.mark)
    await other.close()
    return marks
  }
})
