/**
 * Proves that everything package.json promises exists: builds into a temporary folder, resolves every subpath of
 * `exports` to a module and its types, and loads each module.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '..')

type Target = { types: string; default: string }
export type Exports = Record<string, Target | string>

/**
 * Each subpath that is a module, with its files. Wildcards are refused, because they publish names that nobody listed.
 */
export function modulesIn(exports: Exports): { name: string; target: Target }[] {
  return Object.entries(exports).flatMap(([name, target]) => {
    if (name.includes('*')) throw new Error(`${name}: the exports of package.json are listed one by one`)
    return typeof target === 'string' ? [] : { name, target }
  })
}

export async function checkExports(): Promise<{ checked: number; problems: string[] }> {
  const cache = join(ROOT, 'node_modules/.cache')
  mkdirSync(cache, { recursive: true })
  // Below node_modules' parent, so that the built modules find their dependencies.
  const folder = mkdtempSync(join(cache, 'exports-'))
  try {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    // The types are checked by `npm run types`; here they are only written.
    const args = [tsc, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', join(folder, 'dist')]
    const { status, stdout } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })
    if (status !== 0) return { checked: 0, problems: [`the build fails:\n${stdout}`] }
    // Some modules read the version from it when they load.
    cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
    return await checkBuilt(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function checkBuilt(folder: string): Promise<{ checked: number; problems: string[] }> {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const subpaths = modulesIn(exports)
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
