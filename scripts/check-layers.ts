/**
 * Proves three things about the imports of src/: they point down the list of layers below only, the pure layers
 * import no `node:` module, and there is no cycle. A file that stands in no layer is an error: give it its place.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

type Layer = {
  /** What the layer is for. */
  name: string
  pure: boolean
  /** Files and folders of src/. A name with a `*` stands for every name that fits. */
  files: string
}

/** From the bottom to the top. A file may import from its own layer and from those above it in this list. */
const LAYERS: readonly Layer[] = [
  { name: 'data', pure: true, files: 'types errors json' },
  {
    name: 'words',
    pure: true,
    files: 'leaves tokens prices paths similar patches tool-output shell-words shell-kinds tool-kinds requests cutting',
  },
  {
    name: 'core',
    pure: true,
    files:
      'legality edits view messages repairs scope doctor sync shown-texts context-edits suggest explain file-history ' +
      'units cuts stretches summary summary-notes planner part-map timeline session-summary',
  },
  { name: 'policies', pure: true, files: 'policies/ model-summary kept-files' },
  { name: 'formats', pure: true, files: 'adapters/ transcripts/ wire-form' },
  { name: 'stores', pure: false, files: 'sqlite ledger/ memory/ files/ read-transcript config' },
  { name: 'session', pure: false, files: 'session-view session-state session followed-session' },
  { name: 'tools', pure: false, files: 'workspace tools/' },
  { name: 'engine', pure: false, files: 'engine' },
  {
    name: 'uses',
    pure: false,
    files:
      'replay report measure measure-* plot import-transcript conversation-file sample ai-sdk langchain agent/ proxy/',
  },
  { name: 'doors', pure: false, files: 'index server server/ mcp mcp-* mcp/ chat/ cli/ cli' },
]

export type Source = { path: string; imports: string[] }

/** What is wrong with the imports of some files, one sentence each. */
export function checkLayers(sources: readonly Source[], layers: readonly Layer[] = LAYERS): string[] {
  const problems: string[] = []
  const known = new Set(sources.map(({ path }) => path))
  const layerOf = (path: string) => layers.findIndex(layer => isIn(path, layer))
  const edges = new Map<string, string[]>()
  for (const { path, imports } of sources) {
    const own = layerOf(path)
    if (own < 0) problems.push(`${path} stands in no layer: give it a place in scripts/check-layers.ts`)
    const local = imports.filter(name => name.startsWith('.')).map(name => normalize(join(dirname(path), name)))
    edges.set(path, local)
    for (const name of imports) {
      if (own >= 0 && layers[own]!.pure && name.startsWith('node:'))
        problems.push(`${path} is pure and imports ${name}`)
    }
    for (const target of local) {
      if (!known.has(target)) problems.push(`${path} imports ${target}, which does not exist`)
      const other = layerOf(target)
      if (own < 0 || other <= own) continue
      problems.push(`${path} (${layers[own]!.name}) imports ${target} (${layers[other]!.name}), which lies above it`)
    }
  }
  const cycle = findCycle(edges)
  if (cycle) problems.push(`a cycle: ${cycle.join(' → ')}`)
  return problems
}

function isIn(path: string, { files }: Layer): boolean {
  return files.split(' ').some(name => {
    if (name.endsWith('/')) return path.startsWith(name)
    if (name.endsWith('*')) return !path.includes('/') && path.startsWith(name.slice(0, -1))
    return path === `${name}.ts`
  })
}

/** A way from a file back to itself, if there is one. */
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
  return globSync('**/*.ts', { cwd: folder })
    .sort()
    .map(path => ({ path, imports: importsOf(readFileSync(join(folder, path), 'utf8')) }))
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
