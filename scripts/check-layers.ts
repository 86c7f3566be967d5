/**
 * Proves three things about the imports of src/: they only point down the list of folders below, the pure folders
 * import no `node:` module, and there is no cycle. The list is the architecture; a new file needs no row in it.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

/** The folders of src/, from the bottom to the top. A file imports from its own folder and from those before it. */
export const LAYERS: readonly string[] = [
  'model',
  'providers',
  'calls',
  'view',
  'asked',
  'summaries',
  'policies',
  'planner',
  'recall',
  'formats',
  'ledger',
  'files',
  'memory',
  'session',
  'tools',
  'agent',
  'replay',
  'doors',
  'doors/terminal',
  'doors/mcp',
  'doors/proxy',
  'doors/server',
  'doors/library',
  'doors/commands',
  'doors/chat',
  'doors/cli',
]

/** The folders up to this one are pure: no clock, no I/O. */
const LAST_PURE = 'recall'

export type Source = { path: string; imports: string[] }

/** The import errors of some files, one sentence each. */
export function checkLayers(sources: readonly Source[], layers = LAYERS, lastPure = LAST_PURE): string[] {
  const problems: string[] = []
  const known = new Set(sources.map(({ path }) => path))
  const layerOf = (path: string) => layers.findLastIndex(folder => path.startsWith(`${folder}/`))
  const edges = new Map<string, string[]>()
  for (const { path, imports } of sources) {
    const own = layerOf(path)
    if (own < 0 && !['index.ts', 'cli.ts'].includes(path)) problems.push(`${path} lies in no folder of the plan`)
    const impure = own >= 0 && own <= layers.indexOf(lastPure) ? imports.filter(name => name.startsWith('node:')) : []
    problems.push(...impure.map(name => `${path} is pure and imports ${name}`))
    const local = imports.filter(name => name.startsWith('.')).map(name => normalize(join(dirname(path), name)))
    edges.set(path, local)
    const missing = local.filter(target => !known.has(target))
    const above = local.filter(target => known.has(target) && own >= 0 && !pointsDown(layerOf(target), own))
    problems.push(...missing.map(target => `${path} imports ${target}, which does not exist`))
    problems.push(...above.map(target => `${path} imports ${target}, which lies above it`))
  }
  const cycle = findCycle(edges)
  if (cycle) problems.push(`a cycle: ${cycle.join(' → ')}`)
  return problems
}

/** Nothing below the top imports the two files at the top. */
function pointsDown(target: number, own: number): boolean {
  return target >= 0 && target <= own
}

/** A path of imports from a file back to itself, if there is one. */
function findCycle(edges: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>()
  const walk = (path: string, trail: readonly string[]): string[] | undefined => {
    const at = trail.indexOf(path)
    if (at >= 0) return [...trail.slice(at), path]
    if (done.has(path)) return undefined
    for (const next of edges.get(path) ?? []) {
      const cycle = walk(next, [...trail, path])
      if (cycle) return cycle
    }
    done.add(path)
    return undefined
  }
  for (const path of edges.keys()) {
    const cycle = walk(path, [])
    if (cycle) return cycle
  }
  return undefined
}

/** The names that a module imports, types included. Statements begin a line; examples in comments do not. */
export function importsOf(code: string): string[] {
  const statements = /^(?:import|export)\b[^'"`;]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'/gm
  const calls = /\bimport\('([^']+)'\)/g
  return [...code.matchAll(statements), ...code.matchAll(calls)]
    .filter(match => !isInTemplate(code, match.index))
    .map(match => match[1] ?? match[2]!)
}

/** Code inside a template string is text. */
function isInTemplate(code: string, at: number): boolean {
  return (code.slice(0, at).match(/(?<!\\)`/g)?.length ?? 0) % 2 === 1
}

export function readSources(folder: string): Source[] {
  return globSync('**/*.{ts,json}', { cwd: folder })
    .sort()
    .map(path => ({ path, imports: path.endsWith('.ts') ? importsOf(readFileSync(join(folder, path), 'utf8')) : [] }))
}

if (import.meta.main) {
  const sources = readSources(join(import.meta.dirname, '../src'))
  const problems = checkLayers(sources)
  for (const problem of problems) console.error(problem)
  console.log(
    `${sources.length} files, ${problems.length === 0 ? 'all imports point down' : `${problems.length} problems`}`,
  )
  process.exitCode = problems.length === 0 ? 0 : 1
}
