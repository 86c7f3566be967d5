/**
 * `npm test`: says which optional parts are missing here and how to get them, then runs every test with Node's own
 * runner. The linter, the types, the layers and the exports are tests too (test/ground.test.ts), so that its
 * summary and exit code are the whole truth. `npm test -- test/session/session.test.ts` runs some of them,
 * `npm run test:web` those of the pages in a browser, and `npm run test:slow` those that take minutes: every recorded
 * transcript, every pattern, and the package as others install it.
 *
 * Loading the program takes longer than most files' tests. Files therefore share processes, ten to one, each file as
 * a suite with its own hooks. What changes or measures its process has one to itself.
 */
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { importsOf } from './check-layers.ts'
import { OPTIONAL_PARTS } from './optional-parts.ts'

const WEB = 'test/e2e/web/*.test.ts'
const SLOW = 'test/slow/*.test.ts'
const FILES_PER_PROCESS = 10
/** Slow files, and folders with tests that start processes and servers: these run first, so that no slow one is last. */
const LONG = [
  ...['test/policies/contract', 'test/ground', 'test/hostile-text', 'test/library', 'test/ledger/postgres/'],
  'test/e2e/',
  ...['test/doors/', 'test/agent/', 'test/memory/', 'test/ledger/', 'test/'],
]
/** Files that change or measure their process. */
const NEEDS_PROCESS = /process\.(chdir|umask|cpuUsage|memoryUsage|on)\(|process\.env[.[]\S+ (\?\?)?= |\bt\.mock\./
/** Modules with a top-level await. They cannot be read as a suite, whose tests must be known at once. */
const WAITS = /^(?![\s/*])(?!.*\basync\b).*\bawait |^if \(import\.meta\.main\) \{\n(?: .*\n)*? .*\bawait /m
/** Modules with their own hooks, which would belong to the suite that reads the module first. */
const HAS_HOOKS = /^(before|after)(Each)?\(/m
/** Tests keep their homes in memory if this much is free, because they sync often and would wait for the disk. */
const MEMORY = '/dev/shm'
const MEMORY_BYTES = 4 * 2 ** 30

const root = join(import.meta.dirname, '..')
for (const { name, isHere, how } of OPTIONAL_PARTS) {
  if (!isHere(root)) console.log(`skipped: ${name}. ${how}`)
}
// Node's compile cache is kept: many processes load the same files, and compiling them took most of their start.
process.env.NODE_COMPILE_CACHE = join(root, 'node_modules/.cache/compile')
if (existsSync(MEMORY) && freeBytes(MEMORY) > MEMORY_BYTES) {
  const folder = mkdtempSync(join(MEMORY, 'palimpsest-tests-'))
  // PostgreSQL runs as another user if the tests run as root.
  chmodSync(folder, 0o711)
  process.env.TMPDIR = folder
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
}
// One more than there are processors, because tests with servers mostly wait.
run({ cwd: root, files: chosen(process.argv.slice(2)), concurrency: availableParallelism() + 1 })
  .on('test:summary', ({ file, success }) => {
    if (file === undefined) process.exitCode = success ? 0 : 1
  })
  .compose(spec)
  .pipe(process.stdout)

function chosen(args: string[]): string[] {
  const inRoot = (files: string[]) => files.map(file => join(root, file))
  if (args[0] === '--slow') return inRoot(globSync(SLOW, { cwd: root }).sort())
  if (args[0] === '--web') return inRoot(globSync(WEB, { cwd: root }).sort())
  if (args.length > 0) return inRoot(globSync(args, { cwd: root }))
  return inRoot(
    inProcesses(
      globSync('test/**/*.test.ts', { cwd: root, exclude: [SLOW, WEB] })
        .map(withSlashes)
        .sort(),
    ),
  )
}

/** The files to start, those of long folders first: each is a test file, or one that reads some of them as suites. */
function inProcesses(tests: string[]): string[] {
  const folder = 'node_modules/.cache/test-processes'
  rmSync(join(root, folder), { recursive: true, force: true })
  mkdirSync(join(root, folder), { recursive: true })
  const started: string[] = []
  for (const long of LONG) {
    const here = tests.filter(test => LONG.find(folder => test.startsWith(folder)) === long)
    const shared = here.filter(test => long !== 'test/e2e/' && mayShare(join(root, test)))
    started.push(...here.filter(test => !shared.includes(test)))
    for (let from = 0; from < shared.length; from += FILES_PER_PROCESS) {
      const path = join(folder, `${started.length}.test.mjs`)
      writeFileSync(join(root, path), sharedBy(shared.slice(from, from + FILES_PER_PROCESS)))
      started.push(path)
    }
  }
  return started
}

/** Whether a test file, and every module of the tests and scripts that it imports, can be read as a suite. */
function mayShare(path: string, seen = new Set<string>()): boolean {
  if (seen.has(path) || path.startsWith(join(root, 'src'))) return true
  const isTest = seen.size === 0
  seen.add(path)
  const code = readFileSync(path, 'utf8')
  if (WAITS.test(code) || (isTest ? NEEDS_PROCESS : HAS_HOOKS).test(code)) return false
  const imports = importsOf(code).filter(name => name.startsWith('.') && name.endsWith('.ts'))
  return imports.every(name => mayShare(resolve(path, '..', name), seen))
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

function withSlashes(path: string): string {
  return path.replaceAll('\\', '/')
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}
