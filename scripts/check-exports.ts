/**
 * Proves that what package.json promises is there: builds into a folder of its own, resolves every subpath of
 * `exports` to a module and its types, and loads each module.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '..')

type Target = { types: string; default: string }
export type Exports = Record<string, Target | string | null>

/** Each subpath with its files: a `*` stands for every module that was built there and is not taken out by a null. */
export function expandExports(exports: Exports, built: readonly string[]): { name: string; target: Target }[] {
  const hidden = Object.keys(exports).filter(name => exports[name] === null)
  const found: { name: string; target: Target }[] = []
  for (const [name, target] of Object.entries(exports)) {
    if (target === null || typeof target === 'string') continue
    if (!name.includes('*')) {
      found.push({ name, target })
      continue
    }
    const [before = '', after = ''] = target.default.split('*')
    for (const path of built) {
      if (!path.startsWith(before) || !path.endsWith(after)) continue
      const star = path.slice(before.length, path.length - after.length)
      const whole = name.replace('*', star)
      if (hidden.some(pattern => fits(whole, pattern))) continue
      found.push({ name: whole, target: { types: target.types.replace('*', star), default: path } })
    }
  }
  return found
}

function fits(name: string, pattern: string): boolean {
  const [before = '', after] = pattern.split('*')
  return after === undefined ? name === pattern : name.startsWith(before) && name.endsWith(after)
}

export async function checkExports(): Promise<{ checked: number; problems: string[] }> {
  const cache = join(ROOT, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  // Below node_modules' parent, so that the built modules find their dependencies.
  const folder = mkdtempSync(join(cache, 'exports-'))
  try {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const args = [tsc, '-p', 'tsconfig.build.json', '--outDir', join(folder, 'dist')]
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
    if (status !== 0) return { checked: 0, problems: [`the build fails:\n${stdout}`] }
    return await checkBuilt(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function checkBuilt(folder: string): Promise<{ checked: number; problems: string[] }> {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const built = globSync('dist/**/*.js', { cwd: folder }).map(path => `./${relative('.', path)}`)
  const subpaths = expandExports(exports, built)
  const problems: string[] = []
  for (const { name, target } of subpaths) {
    for (const path of [target.types, target.default]) {
      if (!existsSync(join(folder, path))) problems.push(`${name}: ${path} is not built`)
    }
    if (!existsSync(join(folder, target.default))) continue
    await import(pathToFileURL(join(folder, target.default)).href).catch(error => {
      problems.push(`${name}: ${target.default} does not load: ${error.message}`)
    })
  }
  return { checked: subpaths.length, problems }
}

if (import.meta.main) {
  const { checked, problems } = await checkExports()
  for (const problem of problems) console.error(problem)
  console.log(`${checked} subpaths, ${problems.length === 0 ? 'all there' : `${problems.length} problems`}`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
