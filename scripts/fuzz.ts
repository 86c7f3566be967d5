/**
 * `npm run fuzz`: every property test with a random seed, each property for a share of the time. A finding is printed
 * with its seed and path; `seeds` in the property's parameters makes a case of it for `npm test` (test/property.ts).
 *
 * npm run fuzz                                       about five minutes
 * npm run fuzz -- --seconds 60                       about one minute
 * npm run fuzz -- --seed 7 test/laws/edits.test.ts   one seed, one file
 */
import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'

const ROOT = join(import.meta.dirname, '..')
const PROPERTY = join(ROOT, 'test/property.ts')
/** Starting a file and its other tests takes about as long as its properties are given. */
const SHARE_OF_PROPERTIES = 0.5

const { values, positionals } = parseArgs({
  options: { seconds: { type: 'string', default: '300' }, seed: { type: 'string' } },
  allowPositionals: true,
})
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const deadline = Date.now() + Number(values.seconds) * 1000
const files = positionals.length > 0 ? positionals : shuffled(filesWithProperties(), seed)
const workers = Math.min(files.length, availableParallelism())
const properties = files.reduce((sum, file) => sum + propertiesIn(file), 0)
const milliseconds = Math.ceil((Number(values.seconds) * 1000 * workers * SHARE_OF_PROPERTIES) / properties)
console.log(`seed ${seed}: ${properties} properties in ${files.length} files, ${milliseconds} ms for each`)

const queue = [...files]
const failed: string[] = []
await Promise.all(Array.from({ length: workers }, work))
if (queue.length > 0) console.log(`no time for ${queue.length} files: ${queue.join(' ')}`)
for (const file of failed) console.log(`again: npm run fuzz -- --seconds ${values.seconds} --seed ${seed} ${file}`)
console.log(failed.length > 0 ? `findings in ${failed.length} files` : 'no findings')
process.exitCode = failed.length > 0 ? 1 : 0

async function work(): Promise<void> {
  while (Date.now() < deadline) {
    const file = queue.shift()
    if (file === undefined) return
    const { code, output } = await run(file)
    if (code === 0) continue
    failed.push(file)
    console.log(output)
  }
}

function run(file: string): Promise<{ code: number | null; output: string }> {
  const compiled = { NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compile') }
  const env = { ...process.env, ...compiled, FUZZ_SEED: String(seed), FUZZ_MILLISECONDS: String(milliseconds) }
  const child = spawn(process.execPath, ['--test', '--test-reporter=dot', file], { cwd: ROOT, env })
  let output = ''
  child.stdout.on('data', chunk => (output += chunk))
  child.stderr.on('data', chunk => (output += chunk))
  return new Promise(resolve => child.on('close', code => resolve({ code, output })))
}

function filesWithProperties(): string[] {
  return globSync('test/**/*.test.ts', { cwd: ROOT }).filter(file => propertiesIn(file) > 0)
}

/** How many properties a test file asserts, itself or by the suites that it imports. */
function propertiesIn(file: string): number {
  const code = readFileSync(join(ROOT, file), 'utf8')
  const suites = [...code.matchAll(/from '(\.[^']*\/contracts\/[^']+)'/g)].map(([, path]) =>
    join(ROOT, dirname(file), path!),
  )
  const texts = [code, ...suites.map(path => readFileSync(path, 'utf8'))]
  return texts
    .filter(text => text.includes(PROPERTY.slice(PROPERTY.lastIndexOf('/'))))
    .reduce((sum, text) => sum + text.split('fc.assert(').length - 1, 0)
}

function shuffled(list: readonly string[], seed: number): string[] {
  const rank = (file: string) =>
    [...file].reduce((hash, char) => Math.imul(hash ^ char.charCodeAt(0), 0x9e3779b1), seed)
  return list.toSorted((a, b) => rank(a) - rank(b))
}
