/**
 * Runs a command of the CLI in this process, with its own stdin, stdout and stderr, and an environment without settings
 * of Palimpsest. Tests of the process itself (its signals, working folder or home folder) start one with
 * e2e/run-cli.ts.
 */
import { Readable } from 'node:stream'
import { runCli as runLine } from '../src/doors/cli/main.ts'

export type Ran = { code: number; stdout: string; stderr: string }
export type RunOptions = { env?: Record<string, string>; input?: string; isTTY?: boolean }

export async function runCli(
  args: readonly string[],
  { env = {}, input = '', isTTY = false }: RunOptions = {},
): Promise<Ran> {
  const written = { stdout: '', stderr: '' }
  const into = (name: 'stdout' | 'stderr') => ({ isTTY, write: (text: string) => (written[name] += text) })
  const io = { stdin: Readable.from([input]), stdout: into('stdout'), stderr: into('stderr') }
  const code = await runLine(args, { ...io, env: { ...plainEnvironment(), ...env } })
  return { code, ...written }
}

/** The environment of the tests, without colours and outside settings; the folder of locks stays. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const isOurs = (name: string) => /^(PALIMPSEST_(?!LOCKS$).*|NO_COLOR|FORCE_COLOR)$/.test(name)
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOurs(name)))
}
