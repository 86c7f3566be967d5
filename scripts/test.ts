/**
 * `npm test`: says which optional parts are missing here and how to get them, then runs every test with Node's own
 * runner. The linter, the types, the layers and the exports are tests too (test/ground.test.ts), so that its
 * summary and exit code are the whole truth. `npm test -- test/session/session.test.ts` runs some of them, and
 * `npm run test:slow` those that take minutes: every recorded transcript, and the package as others install it.
 *
 * Loading the program takes longer than most files' tests. Files therefore share processes, ten to one, each file as
 * a suite of its own with its own hooks. What changes or measures its process has one to itself.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { OPTIONAL_PARTS } from './optional-parts.ts'

const SLOW = 'test/slow/*.test.ts'
const FILES_PER_PROCESS = 10
/** Folders whose tests start processes and browsers: first, so that nothing long comes last. */
const LONG = ['test/e2e/', 'test/doors/', 'test/agent/', 'test/memory/', 'test/ledger/', 'test/']
/** A file that changes or measures its process, or that has to wait while it loads (a suite is read at once). */
const NEEDS_PROCESS =
  /process\.(chdir|umask|cpuUsage|memoryUsage|on)\(|process\.env[.[]\S+ (\?\?)?= |\bt\.mock\.|^[^\s/*].*\bawait /m

const root = join(import.meta.dirname, '..')
for (const { name, isHere, how } of OPTIONAL_PARTS) {
  if (!isHere(root)) console.log(`skipped: ${name}. ${how}`)
}
// What Node compiled is kept: many processes load the same files, and compiling them took most of their start.
process.env.NODE_COMPILE_CACHE = join(root, 'node_modules/.cache/compile')
const [first, ...others] = process.argv.slice(2)
const files =
  first === '--slow'
    ? globSync(SLOW, { cwd: root }).sort()
    : first === undefined
      ? inProcesses(globSync('test/**/*.test.ts', { cwd: root, exclude: [SLOW] }).sort())
      : globSync([first, ...others], { cwd: root })
// One more than there are processors: tests of servers and browsers wait for each other a good part of their time.
run({ cwd: root, files: files.map(file => join(root, file)), concurrency: availableParallelism() + 1 })
  .on('test:summary', ({ file, success }) => {
    if (file === undefined) process.exitCode = success ? 0 : 1
  })
  .compose(spec)
  .pipe(process.stdout)

/** The files to start, longest first: each is a test file, or one that reads up to ten of them as suites. */
function inProcesses(tests: string[]): string[] {
  const folder = 'node_modules/.cache/test-processes'
  rmSync(join(root, folder), { recursive: true, force: true })
  mkdirSync(join(root, folder), { recursive: true })
  const started: string[] = []
  for (const folderOfTests of [...LONG]) {
    const shared: string[] = []
    for (const test of tests.filter(test => LONG.find(long => test.startsWith(long)) === folderOfTests)) {
      const own = test.startsWith('test/e2e/') || NEEDS_PROCESS.test(readFileSync(join(root, test), 'utf8'))
      ;(own ? started : shared).push(test)
    }
    for (let from = 0; from < shared.length; from += FILES_PER_PROCESS) {
      const path = join(folder, `${started.length}.test.mjs`)
      writeFileSync(join(root, path), sharedBy(shared.slice(from, from + FILES_PER_PROCESS)))
      started.push(path)
    }
  }
  return started
}

/** The text of a file that reads test files as suites. `require` reads at once, so hooks belong to their suite. */
function sharedBy(tests: readonly string[]): string {
  const suites = tests.map(test => `suite(${JSON.stringify(test)}, () => void require(${JSON.stringify(`./${test}`)}))`)
  const head = [
    `import { createRequire } from 'node:module'`,
    `import { suite } from 'node:test'`,
    `const require = createRequire(${JSON.stringify(join(root, 'package.json'))})`,
  ]
  return `${[...head, ...suites].join('\n')}\n`
}
