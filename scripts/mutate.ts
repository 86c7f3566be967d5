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
 * test process loads. Changes that no test can notice are listed with their reason (scripts/mutate-equivalent.ts), printed
 * and not counted.
 */
import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { staleRows, whyEquivalent } from './mutate-equivalent.ts'
import { GROUPS, type Group } from './mutate-groups.ts'
import { measure, type Outcome, type Run, reaches, root, tryWith } from './mutate-tests.ts'
import { type Mutation, mutationsOf } from './mutations.ts'

/** A change that the nearest tests do not notice counts as unnoticed: it would take long to find, too. */
const TESTS_PER_CHANGE = 12
const MILLISECONDS_PER_CHANGE = 120_000
/** Tests without a measured duration run after the fast ones and before the slow ones. */
const UNKNOWN_MILLISECONDS = 5_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string', default: '1' }, 'per-file': { type: 'string', default: '8' } },
})
const seed = Number(values.seed)
const perFile = Number(values['per-file'])

const runs = new Map<string, Run>()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

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
  const tests = testsOf(group)
  let [noticed, ended, all] = [0, 0, 0]
  const counts: string[] = []
  for (const file of files) {
    const { noticed: here, ended: byTime, all: ofFile } = await tryFile(file, tests)
    noticed += here
    ended += byTime
    all += ofFile
    counts.push(`${basename(file, '.ts')} ${here}/${ofFile}`)
  }
  const share = all === 0 ? 1 : noticed / all
  console.log(`  ${counts.join(', ')}`)
  const byTime = ended === 0 ? '' : `; ${ended} by the time they take alone`
  console.log(
    `${group.name}: ${noticed} of ${all} noticed, ${(100 * share).toFixed(1)} % (goal ${100 * group.goal} %${byTime})`,
  )
  return share >= group.goal
}

type Count = { noticed: number; ended: number; all: number }

async function tryFile(file: string, tests: readonly string[]): Promise<Count> {
  const source = readFileSync(join(root, file), 'utf8')
  for (const line of staleRows(file, source)) throw new Error(`${file} has no line \`${line}\` any more.`)
  const kills = new Map<string, number>()
  let [noticed, ended, all] = [0, 0, 0]
  for (const mutation of sampleOf(file, source)) {
    const why = whyEquivalent(file, source, mutation)
    if (why !== undefined) {
      console.log(`${file}:${describe(source, mutation)}  (equivalent: ${why})`)
      continue
    }
    all++
    const { by, outcome, reached } = await firstToNotice(nearestFirst(tests, file, kills), file, mutation)
    if (by === undefined) {
      console.log(`${file}:${describe(source, mutation)}${reached === 0 ? '  (no test reaches it)' : ''}`)
      continue
    }
    noticed++
    if (outcome === 'ended') ended++
    kills.set(by, (kills.get(by) ?? 0) + 1)
  }
  return { noticed, ended, all }
}

/** The test that notices a change, and how many were tried for it. A test is measured when it is first wanted. */
async function firstToNotice(
  tests: readonly string[],
  file: string,
  mutation: Mutation,
): Promise<{ by?: string; outcome?: Outcome; reached: number }> {
  let [reached, spent] = [0, 0]
  for (const test of tests) {
    const run = await measured(test)
    if (!reaches(run, file, mutation)) continue
    reached++
    const outcome = await tryWith(run, file, mutation)
    if (outcome !== 'passed') return { by: test, outcome, reached }
    spent += run.milliseconds
    if (reached === TESTS_PER_CHANGE || spent > MILLISECONDS_PER_CHANGE) break
  }
  return { reached }
}

async function measured(test: string): Promise<Run> {
  const run = runs.get(test) ?? (await measure(test))
  runs.set(test, run)
  return run
}

/** Tests that noticed most in the file, then those that import it and have its name, then those that do one of the two. */
function nearestFirst(tests: readonly string[], file: string, kills: ReadonlyMap<string, number>): string[] {
  const name = basename(file, '.ts')
  const rank = (test: string) => {
    const importsIt = readFileSync(join(root, test), 'utf8').includes(`/${file.slice(4)}'`)
    const hasItsName = basename(test, '.test.ts') === name
    return 2 - Number(importsIt) - Number(hasItsName) - 3 * (kills.get(test) ?? 0)
  }
  const duration = (test: string) => runs.get(test)?.milliseconds ?? UNKNOWN_MILLISECONDS
  const ranked = tests.map(test => ({ test, rank: rank(test), duration: duration(test) }))
  return ranked.sort((a, b) => a.rank - b.rank || a.duration - b.duration).map(({ test }) => test)
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

function describe(source: string, { start, end, text }: Mutation): string {
  const before = source.slice(0, start)
  const line = before.split('\n').length
  const short = (words: string) => words.replaceAll(/\s+/g, ' ').slice(0, 80)
  return `${line}:${start - before.lastIndexOf('\n')}  ${short(source.slice(start, end))}  →  ${text || '(nothing)'}`
}
