/**
 * `npm run mutate`: which wrong changes would the fast tests let through? Takes a sample of small changes of each
 * source file (scripts/mutations.ts), runs those tests of its group that execute the place, with one change at a time, and prints the changes
 * that no test noticed, with the share that was noticed for each group. Exits with 1 when a group is under its goal.
 *
 *   npm run mutate                                   every group
 *   npm run mutate -- view src/planner/log.ts        some groups, some files
 *   npm run mutate -- src/view/scope.ts test/view/scope.test.ts      with some tests only
 *   npm run mutate -- --seed 7 --per-file 20 gate    another sample, a larger one
 *
 * The same seed takes the same sample of the same file. Source files are not written to: a module hook changes what a
 * test process loads (scripts/mutant-hook.ts). A change that makes tests run far longer than usual counts as noticed.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { GROUPS, type Group } from './mutate-groups.ts'
import { type Mutation, mutationsOf } from './mutations.ts'

/** A change that the nearest tests do not notice counts as unnoticed: it would take long to find, too. */
const TESTS_PER_CHANGE = 8

const root = join(import.meta.dirname, '..')
const hook = pathToFileURL(join(import.meta.dirname, 'mutant-hook.ts')).href

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string', default: '1' }, 'per-file': { type: 'string', default: '8' } },
})
const seed = Number(values.seed)
const perFile = Number(values['per-file'])

let failed = false
for (const group of GROUPS) {
  const files = filesOf(group)
  if (files.length > 0) failed = !(await reachesGoal(group, files)) || failed
}
process.exitCode = failed ? 1 : 0

function filesOf(group: Group): string[] {
  const exclude = group.without?.map(({ file }) => file) ?? []
  const files = globSync(group.sources as string[], { cwd: root, exclude }).sort()
  if (positionals.length === 0 || positionals.includes(group.name)) return files
  return files.filter(file => positionals.includes(file))
}

function testsOf(group: Group): string[] {
  const named = positionals.filter(name => name.endsWith('.test.ts'))
  if (named.length > 0) return named
  return globSync(group.tests as string[], { cwd: root, exclude: group.slow as string[] }).sort()
}

async function reachesGoal(group: Group, files: readonly string[]): Promise<boolean> {
  const runs: Run[] = []
  for (const test of testsOf(group)) runs.push(await measure(test))
  let [noticed, all] = [0, 0]
  for (const file of files) {
    const source = readFileSync(join(root, file), 'utf8')
    for (const mutation of sampleOf(file, source)) {
      all++
      const reaching = runs.filter(run => reaches(run, file, mutation.start))
      if (await anyNotices(reaching, file, mutation)) noticed++
      else console.log(`${file}:${describe(source, mutation)}${reaching.length === 0 ? '  (no test reaches it)' : ''}`)
    }
  }
  const share = all === 0 ? 1 : noticed / all
  console.log(`${group.name}: ${noticed} of ${all} noticed, ${(100 * share).toFixed(1)} % (goal ${100 * group.goal} %)`)
  return share >= group.goal
}

/** A test file, how long it takes as things are, and what of each source file it executes. */
type Run = { test: string; milliseconds: number; executed: Map<string, Block[][]> }

/** V8's own form: the blocks of a function, outer ones before the blocks inside them. */
type Block = { startOffset: number; endOffset: number; count: number }

async function measure(test: string): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'mutate-'))
  const start = performance.now()
  if (await fails(test, { NODE_V8_COVERAGE: folder }))
    throw new Error(`${test} fails without any change. Mend it first.`)
  const run: Run = { test, milliseconds: performance.now() - start, executed: new Map() }
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as {
      result: { url: string; functions: { ranges: Block[] }[] }[]
    }
    for (const { url, functions } of result) {
      const known = run.executed.get(url) ?? []
      run.executed.set(url, [...known, ...functions.map(({ ranges }) => ranges)])
    }
  }
  rmSync(folder, { recursive: true })
  return run
}

/** Whether the innermost block around a place was executed, in any of the test's processes. */
function reaches({ executed }: Run, file: string, place: number): boolean {
  const isAround = ({ startOffset, endOffset }: Block) => startOffset <= place && place < endOffset
  const functions = executed.get(pathToFileURL(join(root, file)).href) ?? []
  const around = functions.filter(([whole]) => isAround(whole!))
  const smallest = Math.min(...around.map(([whole]) => whole!.endOffset - whole!.startOffset))
  return around.some(blocks => {
    const [whole] = blocks
    return whole!.endOffset - whole!.startOffset === smallest && blocks.findLast(isAround)!.count > 0
  })
}

/** Tests that have the file's name come first, then the quick ones: most changes are noticed there. */
async function anyNotices(runs: readonly Run[], file: string, mutation: Mutation): Promise<boolean> {
  const name = basename(file, '.ts')
  const isFar = ({ test }: Run) => (basename(test).split(/[-.]/)[0] === name ? 0 : 1)
  const MUTANT = JSON.stringify({ url: pathToFileURL(join(root, file)).href, ...mutation })
  const ordered = runs.toSorted((a, b) => isFar(a) - isFar(b) || a.milliseconds - b.milliseconds)
  for (const { test, milliseconds } of ordered.slice(0, TESTS_PER_CHANGE)) {
    if (await fails(test, { MUTANT }, 5000 + 3 * milliseconds)) return true
  }
  return false
}

/** Orders all mutations by a hash of the seed, the file and the place, and takes the first few. */
function sampleOf(file: string, source: string): Mutation[] {
  const rank = ({ start, text }: Mutation) =>
    createHash('sha256').update(`${seed} ${file} ${start} ${text}`).digest('hex')
  return mutationsOf(file, source)
    .map(mutation => ({ mutation, rank: rank(mutation) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, perFile)
    .map(({ mutation }) => mutation)
    .sort((a, b) => a.start - b.start)
}

/** Runs a test file up to its first failure. */
function fails(test: string, variables: Record<string, string>, patience?: number): Promise<boolean> {
  return new Promise(resolve => {
    const child = spawn(process.execPath, ['--test-reporter=tap', test], {
      cwd: root,
      env: { ...process.env, NODE_OPTIONS: `--import=${hook}`, ...variables },
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const end = () => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
    }
    const timer = patience === undefined ? undefined : setTimeout(end, patience)
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (/^ *not ok /m.test(text)) end()
    })
    child.on('close', code => {
      clearTimeout(timer)
      resolve(code !== 0)
    })
  })
}

function describe(source: string, { start, end, text }: Mutation): string {
  const before = source.slice(0, start)
  const line = before.split('\n').length
  const short = (words: string) => words.replaceAll(/\s+/g, ' ').slice(0, 80)
  return `${line}:${start - before.lastIndexOf('\n')}  ${short(source.slice(start, end))}  →  ${text || '(nothing)'}`
}
