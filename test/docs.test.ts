/** The docs match the code: every command, option, error code and rule is there, and the README runs. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { pictures } from '../scripts/pictures.ts'
import { PAGES } from '../site/pages.ts'
import { COMMANDS } from '../src/doors/cli/commands.ts'
import { GLOBAL } from '../src/doors/cli/help.ts'
import { ERROR_CODES } from '../src/model/errors.ts'
import { RULES } from '../src/view/legality.ts'
import { readmeProgram } from './readme.ts'

const ROOT = join(import.meta.dirname, '..')
const page = (name: string) => readFileSync(join(ROOT, name), 'utf8')

describe('docs/cli.md', () => {
  const text = page('docs/cli.md')
  const sections = new Map(text.split(/^## /m).map(section => [section.split('\n')[0]!, section]))

  test('has a section for every command, with its usage, its options and its examples', () => {
    for (const { name, usage, options, examples } of COMMANDS) {
      const section = sections.get(name)
      assert.ok(section, `there is no section for ${name}`)
      assert.ok(section.includes(`\`palimpsest ${`${name} ${usage}`.trim()}\``), `the usage of ${name}`)
      for (const option of Object.keys(options)) assert.ok(section.includes(`\`--${option}`), `${name} --${option}`)
      for (const example of examples) assert.ok(section.includes(example), `${name}: ${example}`)
    }
  })

  test('has the options of every command', () => {
    for (const option of Object.keys(GLOBAL)) assert.ok(text.includes(`--${option}`), option)
  })

  test('has no section for a removed command', () => {
    const names = new Set(COMMANDS.map(({ name }) => name))
    const others = [...sections.keys()].filter(title => !names.has(title) && /^[a-z-]+$/.test(title))
    assert.deepEqual(others, [])
  })
})

test('docs/errors.md lists exactly the error codes, with their exit codes', () => {
  const rows = [...page('docs/errors.md').matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm)]
  const written = Object.fromEntries(rows.map(([, code, exit]) => [code, Number(exit)]))
  assert.deepEqual(written, { ...ERROR_CODES })
})

test("docs/legality.md lists exactly the rules, in the code's words", () => {
  const rows = [...page('docs/legality.md').matchAll(/^\| `([a-z-]+)` \| (.+?) \|/gm)]
  assert.deepEqual(Object.fromEntries(rows.map(([, rule, words]) => [rule, words])), { ...RULES })
})

test('docs/decisions.md has a reason for every dependency', () => {
  const { dependencies, devDependencies } = JSON.parse(page('package.json'))
  const text = page('docs/decisions.md')
  for (const name of Object.keys({ ...dependencies, ...devDependencies })) assert.ok(text.includes(`\`${name}\``), name)
})

test('the program of the README runs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-readme-'))
  try {
    const code = readmeProgram()
    assert.ok(code.trim().split('\n').length <= 12)
    writeFileSync(join(folder, 'program.mts'), code.replace("'palimpsest'", `'${ROOT}/src/index.ts'`))
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'program.mts')])
    assert.match(stdout, /^\d{4} tokens saved: /)
    assert.match(stdout, /undone: \d{4} tokens\n$/)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('every page is in the menu of the site and in the index of questions', () => {
  const names = globSync('*.md', { cwd: join(ROOT, 'docs') }).map(name => name.replace(/\.md$/, ''))
  assert.deepEqual(Object.values(PAGES).flat().sort(), names.sort())
  const index = page('docs/index.md')
  const unnamed = names.filter(name => name !== 'index' && !index.includes(`(${name}.md`))
  assert.deepEqual(unnamed, [])
})

test("pictures and numbers in the docs match the program's output", async () => {
  for (const [path, text] of Object.entries(await pictures())) {
    assert.equal(page(path), text, `${path} is out of date: npm run pictures`)
  }
})

test('programs in the docs import only names that the package exports', () => {
  const surface: Record<string, { values: string[]; types: string[] }> = JSON.parse(page('test/surface.json'))
  const pattern = /^import (?:type )?\{([^}]*)\} from '((?:\.|palimpsest)[^']*)'/gm
  const imports = globSync('docs/*.md', { cwd: ROOT }).flatMap(name =>
    [...page(name).matchAll(pattern)].flatMap(([, given = '', from = '']) =>
      given.split(',').map(one => ({ name, from, imported: one.replace(/^\s*type /, '').trim() })),
    ),
  )
  assert.ok(imports.length > 30)
  const isExported = (from: string, it: string) => Object.values(surface[from] ?? {}).some(names => names.includes(it))
  assert.deepEqual(
    imports.filter(({ from, imported }) => imported !== '' && !isExported(from, imported)),
    [],
  )
})

test('links between pages have targets', () => {
  const paths = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT })
  assert.ok(paths.includes('README.md') && paths.includes('docs/cli.md'))
  for (const path of paths) {
    for (const [, target] of page(path).matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)) {
      assert.ok(existsSync(join(ROOT, dirname(path), target!)), `${path} → ${target}`)
    }
  }
})

test('docs/benchmarks.md compares the cost model with real bills before it states a saving', () => {
  const [first, second] = [...page('docs/benchmarks.md').matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
  assert.deepEqual([first, second], ['The cost model compared with bills', 'Results'])
})

test('AGENTS.md has fewer than 150 lines', () => {
  assert.ok(page('AGENTS.md').split('\n').length < 150)
})
