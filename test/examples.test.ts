/** The programs of examples/, as they are, against the scripted provider. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { startUpstream } from './upstream.ts'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = join(ROOT, 'examples')
const folder = mkdtempSync(join(tmpdir(), 'palimpsest-examples-'))
writeFileSync(join(folder, 'package.json'), '{ "name": "a-project" }')
after(() => rmSync(folder, { recursive: true, force: true }))

const SCRIPT = [
  { text: 'I look.', calls: [{ name: 'read_file', input: { path: 'package.json' } }] },
  { text: 'It is a project.' },
]

async function runExample(name: string, url: string): Promise<string> {
  const hook = pathToFileURL(join(import.meta.dirname, 'source-hook.ts')).href
  const env = {
    ...process.env,
    ANTHROPIC_API_KEY: 'none',
    OPENAI_API_KEY: 'none',
    ANTHROPIC_BASE_URL: url,
    OPENAI_BASE_URL: `${url}/v1`,
    PALIMPSEST_HOME: join(folder, name),
  }
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', hook, join(FOLDER, name)], {
    cwd: folder,
    env,
  })
  return stdout
}

for (const name of ['anthropic.ts', 'openai.ts', 'ai-sdk.ts', 'langchain.ts']) {
  test(`examples/${name} has a model read a file`, async () => {
    await using upstream = await startUpstream(SCRIPT)
    assert.match(await runExample(name, upstream.url), /It is a project\./)
    assert.equal(upstream.requests.length, 2)
    assert.match(upstream.requests[1]!.body, /a-project/)
  })
}

test('examples/own-policy.ts saves tokens and breaks no promise', async () => {
  const [, edits, saved, problems] = /(\d+) edit, (\d+) tokens saved, (\d+) problems/.exec(
    await runExample('own-policy.ts', 'http://127.0.0.1:9'),
  )!
  assert.deepEqual([edits, problems], ['1', '0'])
  assert.ok(Number(saved) > 1000)
})

test('every example is in its README', () => {
  const page = readFileSync(join(FOLDER, 'README.md'), 'utf8')
  const programs = readdirSync(FOLDER).filter(name => name.endsWith('.ts') && name !== 'read-file.ts')
  for (const name of programs) assert.ok(page.includes(`(${name})`), name)
})
