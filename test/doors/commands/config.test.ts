import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runCli } from '../../cli.ts'

const folder = await mkdtemp(join(tmpdir(), 'palimpsest-config-'))
after(() => rm(folder, { recursive: true, force: true }))
const file = join(folder, 'palimpsest.json')
const run = (args: string[], env = {}) => runCli(['config', ...args, '--home', join(folder, 'home')], { env })

test('settings are shown with their source, set, refused if invalid, and unset', async () => {
  await writeFile(file, '{\n    "model": "claude-sonnet-4-5"\n}\n')
  assert.equal((await run(['set', 'keep', 'more'])).code, 0)
  assert.equal((await run(['set', 'agent.limits.steps', '12'])).code, 0)
  const { agent, keep } = JSON.parse(await readFile(file, 'utf8'))
  assert.deepEqual([keep, agent], ['more', { limits: { steps: 12 } }])
  const listed = await run(['list', '--json'], { ANTHROPIC_BASE_URL: 'http://gateway' })
  const settings = JSON.parse(listed.stdout).settings as { key: string; value: unknown; source: string }[]
  const sourceOf = (key: string) => settings.find(one => one.key === key)?.source
  assert.deepEqual(['policy', 'keep', 'agent.limits.steps', 'upstreams.anthropic', 'home'].map(sourceOf), [
    'default',
    'file',
    'file',
    'environment',
    'flag',
  ])
  const before = await readFile(file, 'utf8')
  const wrong = await run(['set', 'keep', 'everything'])
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /keep is "everything"/)
  assert.equal(await readFile(file, 'utf8'), before)
  assert.equal((await run(['get', 'keep'])).stdout, 'more\n')
  await run(['unset', 'agent.limits.steps'])
  await run(['set', 'protect', 'read_file, db_query'])
  assert.equal((await run(['get', 'protect'])).stdout, '["read_file","db_query"]\n')
  const odd = await run(['set', 'marks.bud', '1'])
  assert.match(odd.stderr, /unknown key marks\.bud; allowed in marks: budget, keep, warnFrom, limit, preview/)

  await run(['unset', 'protect'])
  await run(['unset', 'keep'])
  assert.equal(await readFile(file, 'utf8'), '{\n    "model": "claude-sonnet-4-5"\n}\n')
})
