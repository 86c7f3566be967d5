import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { proxyMounts } from '../../../src/doors/proxy/mounts.ts'
import { createProxy } from '../../../src/doors/proxy/proxy.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { openSample } from '../../../src/session/sample.ts'
import { startUpstream } from '../../upstream.ts'
import { startServer } from './harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-settings-'))
const file = join(folder, 'palimpsest.json')
writeFileSync(file, '{\n  "model": "claude-sonnet-4-5"\n}\n')
const pal = await openPalimpsest({ home: join(folder, '.agent') })
const given = {
  env: { ANTHROPIC_BASE_URL: 'http://me:secret@gateway' },
  flags: { keep: { value: 'less', flag: '--keep' } },
}
const upstream = await startUpstream(() => ({ text: 'fine' }))
const proxy = createProxy({ pal, upstreams: { openai: `${upstream.url}/v1` } })
const { server, call, token } = await startServer({ pal, given, requireToken: true, mount: proxyMounts(proxy) })
const admin = { token: (await token('root', 'admin')).token }
after(async () => {
  await server.close()
  upstream.close()
  rmSync(folder, { recursive: true, force: true })
})

const put = (path: string[], value: unknown, who = admin) => call('PUT', '/settings', { ...who, body: { path, value } })

test('each setting names its source, and no password is shown', async () => {
  const { json, text } = await call('GET', '/settings', admin)
  const of = (key: string) => {
    const { value, source, from, settable } = json.settings.find((one: { key: string }) => one.key === key)
    return [value, source, from, settable]
  }
  assert.deepEqual(of('policy'), ['thrifty', 'default', null, true])
  assert.deepEqual(of('model'), ['claude-sonnet-4-5', 'file', file, true])
  assert.deepEqual(of('keep'), ['less', 'flag', '--keep', false])
  assert.deepEqual(of('upstreams.anthropic'), ['http://gateway/', 'environment', 'ANTHROPIC_BASE_URL', false])
  assert.doesNotMatch(text, /secret/)
})

test('a change is written into the file and keeps the rest; null removes the setting', async () => {
  assert.equal((await put(['byProject', 'my.app', 'keep'], 'most')).status, 200)
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {
    model: 'claude-sonnet-4-5',
    byProject: { 'my.app': { keep: 'most' } },
  })
  const { json } = await put(['byProject', 'my.app', 'keep'], null)
  assert.equal(readFileSync(file, 'utf8'), '{\n  "model": "claude-sonnet-4-5"\n}\n')
  assert.ok(!json.settings.some((one: { key: string }) => one.key.startsWith('byProject')))
})

test('an invalid value, a program and an address for keys are refused, and nothing is written', async () => {
  const before = readFileSync(file, 'utf8')
  const refused: [string[], unknown][] = [
    [['keep'], 'everything'],
    [['policy'], { policies: [{ use: 'module', path: './evil.js' }] }],
    [['policy', 'policies'], [{ use: 'module', path: './evil.js' }]],
    [['agent', 'baseUrl'], 'http://evil.example/v1'],
    [['agent', 'allow', 'commands'], ['*']],
    [['__proto__', 'keep'], 'more'],
    [['byAgent', 'codex', 'keep'], -1],
  ]
  for (const [path, value] of refused) {
    const { status } = await put(path, value)
    assert.ok(status >= 400 && status < 500, `${path.join('.')}: ${status}`)
  }
  for (const role of ['user', 'agent'] as const) {
    assert.equal((await put(['keep'], 'more', { token: (await token('alice', role)).token })).status, 403)
  }
  assert.equal(readFileSync(file, 'utf8'), before)
})

test('an agent or a project can have its own planner and knob, from the next call on', async () => {
  const ask = async (session: string, agent: string, cwd: string) => {
    const messages = [
      { role: 'system', content: `Working directory: ${cwd}` },
      { role: 'user', content: 'hi' },
    ]
    const headers = { 'user-agent': agent, 'x-palimpsest-session': session, 'x-palimpsest-token': admin.token }
    const { status } = await call('POST', '/v1/chat/completions', { headers, body: { model: 'gpt-4.1', messages } })
    assert.equal(status, 200)
    await proxy.idle()
    return (await pal.find(session))?.policy
  }
  assert.equal(await ask('one', 'opencode/1.0', '/home/me/app'), 'thrifty')
  await put(['byAgent', 'opencode', 'policy'], 'clear-tool-uses')
  assert.equal(await ask('one', 'opencode/1.0', '/home/me/app'), 'clear-tool-uses')
  await put(['byProject', 'app', 'policy'], 'none')
  assert.equal(await ask('two', 'opencode/1.0', '/home/me/app'), 'none')
  assert.equal(await ask('three', 'codex_cli_rs/1', '/home/me/other'), 'thrifty')
})

test('along the knob of a session, keeping more saves less and leaves more visible', async () => {
  const { id } = await openSample(pal)
  const { json } = await call('GET', `/sessions/${id}/knob`, admin)
  const points = json.points as { keep: string; savedUsd: number; kept: number; quotes: number }[]
  assert.deepEqual(
    points.map(({ keep }) => keep),
    ['least', 'less', 'normal', 'more', 'most'],
  )
  for (const [i, point] of points.entries()) {
    const before = points[i - 1]
    if (before) assert.ok(point.savedUsd <= before.savedUsd + 1e-9 && point.kept >= before.kept)
  }
})

test("the cost without edits is the same on a session's page, in Compare, in the knob and in the list", async () => {
  const { id } = await openSample(pal)
  const { json: page } = await call('GET', `/sessions/${id}/verdict`, admin)
  assert.ok(page.saved > 0.05, 'the sample was edited')
  const { json: compared } = await call('POST', `/sessions/${id}/compare`, { ...admin, body: { policies: ['none'] } })
  const { json: knob } = await call('GET', `/sessions/${id}/knob`, admin)
  const { json: summary } = await call('GET', `/sessions/${id}/summary`, admin)
  const { json: list } = await call('GET', '/families?contains=sample', admin)
  const said = {
    compare: compared.policies[0].dollars,
    knob: knob.points[0].withoutUsd,
    summary: summary.money.without,
    list: list.families[0].total.without,
    pageItself: page.billed + page.saved,
  }
  for (const [door, dollars] of Object.entries(said)) assert.ok(Math.abs(dollars - page.without) < 1e-9, door)
})
