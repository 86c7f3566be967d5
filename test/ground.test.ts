/** The ground: linter, types, layers and exports. Each can be run alone with `npm run`. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { checkExports, modulesIn } from '../scripts/check-exports.ts'
import { checkLayers, importsOf, readSources } from '../scripts/check-layers.ts'
import { EXCUSED_FILES, staleRows } from '../scripts/mutate-equivalent.ts'
import { linesIn } from '../src/model/text.ts'

const ROOT = join(import.meta.dirname, '..')
const MOST_LINES = 500

async function run(program: string, ...args: string[]): Promise<string> {
  const path = join(ROOT, 'node_modules', program)
  return promisify(execFile)(process.execPath, [path, ...args], { cwd: ROOT, maxBuffer: 1e8 }).then(
    () => '',
    error => `${error.stdout}${error.stderr}`,
  )
}

test('the linter finds nothing', async () => {
  assert.equal(await run('@biomejs/biome/bin/biome', 'check', '--max-diagnostics=20', '.'), '')
})

/** Nobody writes it: scripts/build-api-types.ts does. */
const MADE = 'web/src/api-types.ts'

test('no source file has more than 500 lines', () => {
  const long = ['src', 'web/src'].flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter(path => /\.(tsx?|css)$/.test(path))
      .map(path => ({ path: `${folder}/${path}`, lines: linesIn(readFileSync(join(ROOT, folder, path), 'utf8')) }))
      .filter(({ path, lines }) => lines > MOST_LINES && path !== MADE),
  )
  assert.deepEqual(long, [])
})

// Those of examples/ are checked with the programs of docs/library.md (library.test.ts).
test('the types fit', async () => {
  for (const project of ['.', 'web', 'test/e2e/web']) {
    assert.equal(await run('typescript/bin/tsc', '-p', project), '')
  }
})

test('imports point down, pure files import no node: module, and there is no cycle', () => {
  assert.deepEqual(checkLayers(readSources(join(ROOT, 'src'))), [])
})

test('every export of the package is built, has types and loads', async () => {
  const { checked, problems } = await checkExports()
  assert.deepEqual(problems, [])
  assert.ok(checked >= 5)
})

test('the check of layers finds imports that point up, impure ones, cycles and strangers', () => {
  const problemsOf = (...sources: { path: string; imports: string[] }[]) =>
    checkLayers(sources, ['low', 'high', 'high/more'], 'low').join('; ')
  const a = { path: 'low/a.ts', imports: [] }
  const c = { path: 'high/c.ts', imports: ['../low/a.ts', 'node:fs'] }
  const index = { path: 'index.ts', imports: ['./high/c.ts'] }
  assert.equal(problemsOf(a, c, { path: 'high/more/d.ts', imports: ['../c.ts'] }, index), '')
  assert.match(problemsOf({ path: 'low/a.ts', imports: ['../high/c.ts'] }, c), /above it/)
  assert.match(problemsOf(a, c, index, { path: 'high/e.ts', imports: ['../index.ts'] }), /above it/)
  assert.match(problemsOf({ path: 'low/a.ts', imports: ['node:fs'] }), /pure/)
  assert.match(problemsOf({ path: 'z.ts', imports: [] }), /no folder/)
  assert.match(problemsOf({ path: 'low/a.ts', imports: ['./b.ts'] }), /does not exist/)
  const around = problemsOf({ path: 'low/a.ts', imports: ['./b.ts'] }, { path: 'low/b.ts', imports: ['./a.ts'] })
  assert.match(around, /a\.ts → low\/b\.ts → low\/a\.ts/)
})

test('imports are found in all their forms, and not in comments or templates', () => {
  const code = [
    "import a, {\n  type B,\n} from './a.ts'",
    "import './b.ts'",
    "export { c } from './c.ts'",
    "const d = await import('./d.ts')",
    " * import x from './comment.ts'",
    "const text = `\nimport y from './template.ts'\n`",
  ]
  assert.deepEqual(importsOf(code.join('\n')), ['./a.ts', './b.ts', './c.ts', './d.ts'])
})

test('a star in the exports is refused', () => {
  const at = (name: string) => ({ types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` })
  assert.deepEqual(
    modulesIn({ '.': at('index'), './package.json': './package.json' }).map(({ name }) => name),
    ['.'],
  )
  assert.throws(() => modulesIn({ './x/*': at('x/*') }), /listed one by one/)
})

test('every change that is said to be unnoticeable is of a line that is there', () => {
  const stale = EXCUSED_FILES.flatMap(file => staleRows(file, readFileSync(join(ROOT, file), 'utf8')))
  assert.deepEqual(stale, [], 'look at these rows of scripts/mutate-equivalent.ts again')
})

test('dependencies are pinned to exact versions', () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
    assert.match(String(version), /^\d+\.\d+\.\d+$/, name)
  }
})
