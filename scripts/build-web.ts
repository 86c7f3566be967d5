/**
 * Builds the web UI into dist/web if it is missing or its sources have changed, or always with `--force`.
 *
 * Sources are compared by content, so that switching to an older commit triggers a build too. Of two builds at the same
 * time, the second waits and finds the work done.
 */
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { withLocks } from '../src/files/lock.ts'

const ROOT = join(import.meta.dirname, '..')
const PLACE = join(ROOT, 'dist/web')
const CACHE = join(ROOT, 'node_modules/.cache')
const RECORD = join(CACHE, 'web-sources.json')

/** The inputs of the last build: each file with its hash. */
type Sources = Record<string, string>

/** Builds if need be; says whether it did. */
export async function buildWeb({ force = false }: { force?: boolean } = {}): Promise<boolean> {
  return withLocks([PLACE], async () => (force || !isFresh()) && rebuild())
}

async function rebuild(): Promise<true> {
  const started = performance.now()
  console.error('Building the web UI …')
  const outDir = join(CACHE, `web-${process.pid}`)
  const modules = await bundle(outDir)
  mkdirSync(join(ROOT, 'dist'), { recursive: true })
  rmSync(PLACE, { recursive: true, force: true })
  renameSync(outDir, PLACE)
  writeFileSync(RECORD, JSON.stringify(hashesOf([...ownFiles(), ...modules])))
  console.error(`Built the web UI in ${((performance.now() - started) / 1000).toFixed(1)} s.`)
  return true
}

/** Gives the modules of src/ that went into it. */
async function bundle(outDir: string): Promise<string[]> {
  const { build } = await import('vite')
  const made = await build({
    configFile: join(ROOT, 'web/vite.config.ts'),
    logLevel: 'warn',
    build: { outDir, emptyOutDir: true },
  })
  const outputs = [made].flat().flatMap(result => ('output' in result ? result.output : []))
  const ids = outputs.flatMap(part => (part.type === 'chunk' ? part.moduleIds : []))
  return ids.map(id => relative(ROOT, id)).filter(path => path.startsWith('src/'))
}

function isFresh(): boolean {
  if (!existsSync(join(PLACE, 'index.html')) || !existsSync(RECORD)) return false
  const built: Sources = JSON.parse(readFileSync(RECORD, 'utf8'))
  if (ownFiles().some(path => built[path] === undefined)) return false
  const paths = Object.keys(built)
  const now = hashesOf(paths)
  return paths.every(path => built[path] === now[path])
}

function ownFiles(): string[] {
  return [...globSync('web/**/*.*', { cwd: ROOT }).sort(), 'package-lock.json']
}

function hashesOf(paths: readonly string[]): Sources {
  return Object.fromEntries(paths.map(path => [path, hashOf(join(ROOT, path))]))
}

function hashOf(path: string): string {
  return existsSync(path) ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'gone'
}

if (import.meta.main) await buildWeb({ force: process.argv.includes('--force') })
