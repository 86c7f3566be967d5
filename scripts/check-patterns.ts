/**
 * Proves that no regular expression of ours takes more than linear time on any text. recheck judges every literal of
 * src/ and web/src, and every `new RegExp` at the top of a module: exactly, by automata, where possible; for patterns
 * with lookaround, by searching for an attack with a fixed seed and running it. A pattern built inside a function
 * cannot be checked here and is refused. Verdicts are cached in node_modules/.cache, because they never change.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { runInNewContext } from 'node:vm'
import { type AttackPattern, check } from 'recheck'
import { parseSync } from 'vite'

export type Pattern = { where: string; source: string; flags: string }

const ROOT = join(import.meta.dirname, '..')
const CACHE = join(ROOT, 'node_modules/.cache/patterns.json')
const ATTACK_LENGTH = 30_000
const ATTACK_MS = 10_000
/** Without a limit of time: a busy machine changes no verdict. */
const SETTINGS = { maxRepeatCount: 100, randomSeed: 1, timeout: null } as const

/** Patterns that recheck cannot read, or that are built inside a function; each is harmless for the reason given. */
const JUDGED_BY_HAND: Readonly<Record<string, string>> = {
  'src/ledger/redaction.ts': 'not ours: a user gives it, and it is stopped when it takes too long',
  'web/src/ui/text.tsx': 'an alternative of escaped words, without repetition',
  '/^\\p{RGI_Emoji}$/v': 'one emoji, without repetition',
  '/\\p{RGI_Emoji}|[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Co}\\p{Default_Ignorable_Code_Point}]/gv': 'one character',
}

/** The problems of the project's patterns, one sentence each. */
export async function checkPatterns(): Promise<{ checked: number; problems: string[] }> {
  const files = globSync(['src/**/*.ts', 'web/src/**/*.{ts,tsx}'], { cwd: ROOT })
  const read = files.map(file => patternsIn(file, readFileSync(join(ROOT, file), 'utf8')))
  const problems = read.flatMap(({ refused }) => refused)
  const built = await builtAtTheTop(files.filter((_, i) => read[i]!.builds))
  const patterns = [...read.flatMap(({ found }) => found), ...built]
  const texts = new Map(patterns.map(pattern => [`/${pattern.source}/${pattern.flags}`, pattern]))
  const verdicts = readCache()
  const queue = [...texts].filter(([text]) => !verdicts.has(text) && !(text in JUDGED_BY_HAND))
  const worker = async () => {
    for (let next = queue.pop(); next; next = queue.pop()) verdicts.set(next[0], await verdictOn(next[1]))
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
  writeCache(verdicts)
  for (const [text, { where }] of texts) {
    const verdict = verdicts.get(text) ?? ''
    if (verdict !== '') problems.push(`${where} ${text} ${verdict}`)
  }
  return { checked: texts.size, problems }
}

/** The literals of a file, and the places where it builds a pattern inside a function. */
export function patternsIn(file: string, text: string): { found: Pattern[]; refused: string[]; builds: boolean } {
  const found: Pattern[] = []
  const refused: string[] = []
  let builds = false
  const whereIs = (start: number) => `${file}:${text.slice(0, start).split('\n').length}`
  const walk = (node: Node, isInside: boolean): void => {
    if (node.regex) found.push({ where: whereIs(node.start), source: node.regex.pattern, flags: node.regex.flags })
    const isBuilt = node.callee?.name === 'RegExp'
    builds ||= isBuilt && !isInside
    if (isBuilt && isInside && !(file in JUDGED_BY_HAND))
      refused.push(`${whereIs(node.start)} builds a pattern inside a function, where nobody can check it`)
    const inside = isInside || /Function|MethodDefinition/.test(node.type)
    const below: unknown[] = Object.values(node).flat()
    for (const child of below.filter(isNode)) walk(child, inside)
  }
  const { program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file} cannot be read: ${errors[0]!.message}`)
  walk(program as unknown as Node, false)
  return { found, refused, builds }
}

/** '' for a pattern that is linear. */
export async function verdictOn({ source, flags }: Pick<Pattern, 'source' | 'flags'>): Promise<string> {
  const result = await check(source, flags, SETTINGS)
  if (result.status === 'safe') return ''
  if (result.status === 'unknown') return `could not be judged: ${result.error.kind}. Write it more simply.`
  if (result.checker === 'fuzz' && !isSlow(new RegExp(source, flags), result.attack)) return ''
  return `is ${result.complexity.summary} for ${result.attack.pattern.slice(0, 200)}`
}

/**
 * The search sometimes mistakes a large constant for a power, so its attack is run. At this length, linear time is a
 * few milliseconds and quadratic time is seconds; the bound is far from both. Exponential patterns would not end, and
 * are stopped.
 */
function isSlow(pattern: RegExp, { pumps, suffix }: AttackPattern): boolean {
  const times = ATTACK_LENGTH / Math.max(1, pumps.map(({ pump }) => pump).join('').length)
  const text = pumps.map(({ prefix, pump }) => prefix + pump.repeat(times)).join('') + suffix
  const start = process.cpuUsage()
  try {
    runInNewContext("text.replace(pattern, '')", { text, pattern }, { timeout: ATTACK_MS })
  } catch {
    return true
  }
  return process.cpuUsage(start).user > 300_000
}

type Node = {
  type: string
  start: number
  regex?: { pattern: string; flags: string }
  callee?: { name?: string }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'
}

/** Loads the modules and records the arguments of `new RegExp`; the stack names the caller. */
async function builtAtTheTop(files: readonly string[]): Promise<Pattern[]> {
  const built: Pattern[] = []
  const Original = RegExp
  globalThis.RegExp = new Proxy(Original, {
    construct(target, args, newTarget) {
      const made = Reflect.construct(target, args, newTarget) as RegExp
      const where = /\/(src\/[\w/.-]+:\d+)/.exec(new Error().stack?.split('\n')[2] ?? '')?.[1]
      if (where) built.push({ where, source: made.source, flags: made.flags })
      return made
    },
  })
  try {
    for (const file of files) await import(pathToFileURL(join(ROOT, file)).href)
  } finally {
    globalThis.RegExp = Original
  }
  return built
}

function readCache(): Map<string, string> {
  try {
    const { settings, verdicts } = JSON.parse(readFileSync(CACHE, 'utf8'))
    return new Map(settings === cacheKey() ? verdicts : [])
  } catch {
    return new Map()
  }
}

function writeCache(verdicts: ReadonlyMap<string, string>): void {
  mkdirSync(dirname(CACHE), { recursive: true })
  writeFileSync(CACHE, JSON.stringify({ settings: cacheKey(), verdicts: [...verdicts] }))
}

function cacheKey(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules/recheck/package.json'), 'utf8'))
  return `${version} ${JSON.stringify(SETTINGS)}`
}

if (import.meta.main) {
  const { checked, problems } = await checkPatterns()
  for (const problem of problems) console.error(problem)
  console.log(`${checked} patterns, ${problems.length} problems`)
  process.exitCode = problems.length > 0 ? 1 : 0
}
