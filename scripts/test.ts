/**
 * `npm test`: says which optional parts are missing here and how to get them, then runs every test with Node's own
 * runner. The linter, the types, the layers and the exports are tests too (test/ground.test.ts), so that its
 * summary and exit code are the whole truth. `npm test -- test/session/session.test.ts` runs some of them, and
 * `npm run test:slow` those that take minutes: every recorded transcript, and the package as others install it.
 */
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { OPTIONAL_PARTS } from './optional-parts.ts'

const SLOW = 'test/slow/*.test.ts'

const root = join(import.meta.dirname, '..')
for (const { name, isHere, how } of OPTIONAL_PARTS) {
  if (!isHere(root)) console.log(`skipped: ${name}. ${how}`)
}
const [first, ...others] = process.argv.slice(2)
const files =
  first === '--slow'
    ? [SLOW]
    : first === undefined
      ? globSync('test/**/*.test.ts', { cwd: root, exclude: [SLOW] }).sort()
      : [first, ...others]
// Node's default leaves one processor free, which on two of them is half. Each file is a process of its own.
const args = ['--test', `--test-concurrency=${availableParallelism()}`, '--test-reporter=spec', ...files]
// What Node compiled is kept: hundreds of processes load the same files, and compiling them took most of their start.
const env = { ...process.env, NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile') }
const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env })
process.exitCode = status ?? 1
