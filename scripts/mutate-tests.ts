/**
 * How `npm run mutate` runs tests: which code each test file executes (V8's coverage), and whether it fails with a
 * mutation (scripts/mutant-hook.ts). Both are cached in node_modules/.cache/mutate under a hash of every project file
 * that the test loaded, so a second run only repeats what changed. A mutation that makes a test run far longer than
 * usual counts as detected, but is not cached, because the machine may have been busy.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Mutation } from './mutations.ts'

export const root = join(import.meta.dirname, '..')

const rootUrl = pathToFileURL(`${root}/`).href
const hook = pathToFileURL(join(import.meta.dirname, 'mutant-hook.ts')).href
const cache = join(root, 'node_modules/.cache/mutate')

/** A test file, its usual duration, the files it loads, and the code of each source file that it executes. */
export type Run = {
  test: string
  milliseconds: number
  loaded: string[]
  fingerprint: string
  executed: Record<string, Block[][]>
}

/** V8's own form: the blocks of a function, outer ones before the blocks inside them. */
type Block = { startOffset: number; endOffset: number; count: number }

/** Runs a test file once, unless nothing that it loads has changed since the last time. */
export async function measure(test: string): Promise<Run> {
  const place = join(cache, `${hashOf(test)}.json`)
  if (existsSync(place)) {
    const known = JSON.parse(readFileSync(place, 'utf8')) as Run
    if (known.fingerprint === fingerprintOf(known.loaded)) return known
  }
  const run = await measureAnew(test)
  mkdirSync(cache, { recursive: true })
  writeFileSync(place, JSON.stringify(run))
  return run
}

async function measureAnew(test: string): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'mutate-'))
  const start = performance.now()
  if ((await outcome(test, { NODE_V8_COVERAGE: folder })) !== 'passed')
    throw new Error(`${test} fails without any change. Mend it first.`)
  const milliseconds = performance.now() - start
  const executed: Run['executed'] = {}
  const loaded = new Set<string>()
  for (const name of readdirSync(folder)) {
    const { result } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as {
      result: { url: string; functions: { ranges: Block[] }[] }[]
    }
    for (const { url, functions } of result) {
      if (!url.startsWith(rootUrl) || url.includes('/node_modules/')) continue
      loaded.add(url)
      if (url.startsWith(`${rootUrl}src/`)) (executed[url] ??= []).push(...functions.map(({ ranges }) => ranges))
    }
  }
  rmSync(folder, { recursive: true })
  return { test, milliseconds, loaded: [...loaded], fingerprint: fingerprintOf([...loaded]), executed }
}

/** Whether the innermost block around a place was executed, in any of the test's processes. */
export function reaches({ executed }: Run, file: string, { start, at: place = start }: Mutation): boolean {
  const isAround = ({ startOffset, endOffset }: Block) => startOffset <= place && place < endOffset
  const around = (executed[urlOf(file)] ?? []).filter(([whole]) => isAround(whole!))
  const smallest = Math.min(...around.map(([whole]) => whole!.endOffset - whole!.startOffset))
  return around.some(blocks => {
    const [whole] = blocks
    return whole!.endOffset - whole!.startOffset === smallest && blocks.findLast(isAround)!.count > 0
  })
}

/** A test that was ended took far longer than usual. */
export type Outcome = 'passed' | 'failed' | 'ended'

/** The outcome of the test with the mutation. */
export async function tryWith(run: Run, file: string, { start, end, text }: Mutation): Promise<Outcome> {
  const MUTANT = JSON.stringify({ url: urlOf(file), start, end, text })
  const place = join(cache, `${hashOf(MUTANT, run.fingerprint)}.verdict`)
  if (existsSync(place)) return readFileSync(place, 'utf8') as Outcome
  const seen = await outcome(run.test, { MUTANT }, 10_000 + 4 * run.milliseconds)
  if (seen !== 'ended') writeFileSync(place, seen)
  return seen
}

/** Runs a test file up to its first failure, or until patience (milliseconds) ends. */
function outcome(test: string, variables: Record<string, string>, patience?: number): Promise<Outcome> {
  return new Promise(resolve => {
    const child = spawn(process.execPath, ['--test-reporter=tap', test], {
      cwd: root,
      env: {
        NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compile'),
        ...process.env,
        NODE_OPTIONS: `--import=${hook}`,
        ...variables,
      },
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let isEnded = false
    const stop = () => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
    }
    const end = () => {
      isEnded = true
      stop()
    }
    const timer = patience === undefined ? undefined : setTimeout(end, patience)
    // A change may make a test run for ever, even after this program was stopped.
    process.once('exit', stop)
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (/^ *not ok /m.test(text)) stop()
    })
    child.on('close', code => {
      clearTimeout(timer)
      process.off('exit', stop)
      resolve(isEnded ? 'ended' : code === 0 ? 'passed' : 'failed')
    })
  })
}

function urlOf(file: string): string {
  return pathToFileURL(join(root, file)).href
}

function fingerprintOf(urls: readonly string[]): string {
  const texts = urls.toSorted().map(url => {
    const path = fileURLToPath(url.split('?')[0]!)
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  })
  return hashOf(...texts)
}

function hashOf(...texts: string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text).update('\0')
  return hash.digest('hex').slice(0, 32)
}
