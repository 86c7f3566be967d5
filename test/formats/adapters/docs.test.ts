/** Every program in docs/adapters.md runs, against a scripted provider. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startGemini } from '../../gemini-upstream.ts'
import { startUpstream } from '../../upstream.ts'

const ROOT = join(import.meta.dirname, '../../..')
const docs = readFileSync(join(ROOT, 'docs/adapters.md'), 'utf8')
const programs = [...docs.matchAll(/^## (.+)\n\n```ts\n([\s\S]+?)```/gm)].map(([, title, code]) => ({
  title,
  code: code!,
}))

test('there are programs in docs/adapters.md', () => assert.equal(programs.length, 5))

for (const { title, code } of programs) {
  test(`the program for ${title} prints hello`, async () => {
    const start = title === 'Gemini' ? startGemini : startUpstream
    await using upstream = await start([{ text: 'hello there' }])
    const { stdout } = await run(code, upstream.url)
    assert.match(stdout, /hello there/)
  })
}

/** The source of a subpath of the package. */
function sourceOf(path: string): string {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return join(ROOT, exports[`.${path}`].default.replace('/dist/', '/src/').replace(/\.js$/, '.ts'))
}

/** Under node_modules, so that the program finds the SDKs; `palimpsest` is our source. */
async function run(code: string, url: string): Promise<{ stdout: string }> {
  const cache = join(ROOT, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'docs-'))
  const source = code.replaceAll(/'palimpsest(\/[^']+)?'/g, (_, path = '') => `'${sourceOf(path)}'`)
  const file = join(folder, 'program.mjs')
  writeFileSync(file, stripTypeScriptTypes(source))
  const keys = { ANTHROPIC_API_KEY: 'none', OPENAI_API_KEY: 'none', LANGCHAIN_TRACING_V2: 'false' }
  // Anthropic's SDK needs the address without `/v1`, the AI SDK with it.
  const anthropic = code.includes('@ai-sdk/') ? `${url}/v1` : url
  const env = {
    ...process.env,
    ...keys,
    ANTHROPIC_BASE_URL: anthropic,
    OPENAI_BASE_URL: `${url}/v1`,
    GOOGLE_GEMINI_BASE_URL: url,
  }
  try {
    return await promisify(execFile)(process.execPath, [file], { env })
  } finally {
    rmSync(folder, { recursive: true })
  }
}
