/** Runs the CLI as a separate process, with a temporary home and without colours. */
import { type ChildProcess, execFile } from 'node:child_process'
import { join } from 'node:path'
import { plainEnvironment, type Ran } from '../cli.ts'

export const ROOT = join(import.meta.dirname, '../..')
export const CLI = join(ROOT, 'src/cli.ts')

const CACHE = join(ROOT, 'node_modules/.cache/compile')

export type SpawnOptions = { env?: Record<string, string>; input?: string; cwd?: string; node?: string[] }

export function spawnCli(
  args: readonly string[],
  { env = {}, input = '', cwd, node = [] }: SpawnOptions = {},
): Promise<Ran> {
  return new Promise(resolve => {
    // Node caches compiled code, so the many processes of a test start faster.
    const own = { ...plainEnvironment(), NODE_COMPILE_CACHE: CACHE, ...env }
    const options = { env: own, maxBuffer: 1e9, ...(cwd ? { cwd } : {}) }
    const child = execFile(process.execPath, [...node, CLI, ...args], options, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr })
    })
    child.stdin?.end(input)
  })
}

/** The output of a program until it has `wanted` in it, or all output if the program ends before. */
export async function saidUntil({ stdout }: ChildProcess, wanted: RegExp): Promise<string> {
  let said = ''
  for await (const chunk of stdout ?? []) {
    said += chunk
    if (wanted.test(said)) break
  }
  return said
}
