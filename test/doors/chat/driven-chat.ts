/**
 * `palimpsest chat` as a person or a script runs it, on pipes or on a pseudo-terminal. A test types, waits for words to
 * appear, and types again.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { watch } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough, type Readable, type Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { after } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { runCli } from '../../../src/doors/cli/main.ts'
import { CLI, ROOT } from '../../e2e/run-cli.ts'
import type { Upstream } from '../../upstream.ts'

/** Why tests on a pseudo-terminal are skipped; false if they run. */
export const NO_TERMINAL =
  spawnSync('python3', ['-c', 'import pty']).status === 0 ? false : 'there is no python3 with its pty module here'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-chat-'))
const started: ChildProcess[] = []
after(() => {
  for (const child of started) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})
let places = 0

export type Place = { home: string; root: string; env: Record<string, string> }

/** A home and a working folder for one chat, with the scripted provider as the model if one is given. */
export function freshPlace(upstream?: Upstream): Place {
  const base = join(folder, String(places++))
  const root = join(base, 'project')
  mkdirSync(root, { recursive: true })
  const model: Record<string, string> = upstream
    ? { OPENAI_BASE_URL: `${upstream.url}/v1`, OPENAI_API_KEY: 'none', PALIMPSEST_MODEL: 'gpt-4.1' }
    : {}
  return {
    home: join(base, 'home'),
    root,
    env: { ...model, PALIMPSEST_USER: 'ann', PALIMPSEST_WORKSPACE: join(base, 'workspace') },
  }
}

/** Variables that would change the look of the chat, its model, or a test runner inside it. */
const NOT_OURS = new Set(
  'NO_COLOR FORCE_COLOR ANTHROPIC_API_KEY ANTHROPIC_BASE_URL OPENAI_API_KEY OPENAI_BASE_URL PALIMPSEST_HOME NODE_TEST_CONTEXT'.split(
    ' ',
  ),
)

type Terminal = { columns?: number; rows?: number; term?: string }
type ChatOptions = { terminal?: Terminal; env?: Record<string, string>; isProcess?: boolean }

/** The chat on pipes is a command in this process, unless it is to be killed; on a terminal it is always a process. */
export function startChat(
  { home, root, env }: Place,
  args: readonly string[] = [],
  { terminal, env: more = {}, isProcess = terminal !== undefined }: ChatOptions = {},
): DrivenChat {
  const line = ['chat', '--home', home, '--root', root, ...args]
  const outer = Object.fromEntries(Object.entries(process.env).filter(([name]) => !NOT_OURS.has(name)))
  const cache = { NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compile') }
  const around = { ...outer, ...cache, TERM: terminal?.term ?? 'xterm-256color', ...env, ...more }
  if (!isProcess) return new DrivenChat(runHere(line, around))
  const { columns = 100, rows = 40 } = terminal ?? {}
  const pty = ['python3', join(import.meta.dirname, 'on-terminal.py'), String(columns), String(rows)]
  const [file = '', ...rest] = [...(terminal ? pty : []), process.execPath, CLI, ...line]
  const child = spawn(file, rest, { cwd: root, env: around })
  started.push(child)
  const ended = new Promise<number | string>(resolve => {
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  return new DrivenChat({ ...streamsOf(child), ended, kill: signal => child.kill(signal) })
}

type Running = {
  stdin: Writable
  stdout: Readable
  stderr: Readable
  /** Resolves with the exit code, or the name of the signal. */
  ended: Promise<number | string>
  kill(signal: NodeJS.Signals): void
}

function streamsOf({ stdin, stdout, stderr }: ChildProcess): Pick<Running, 'stdin' | 'stdout' | 'stderr'> {
  return { stdin: stdin!, stdout: stdout!, stderr: stderr! }
}

function runHere(line: readonly string[], env: NodeJS.ProcessEnv): Running {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const read = Promise.all([finished(stdout), finished(stderr)])
  const ended = runCli(line, { stdin, stdout, stderr, env }).then(async code => {
    stdout.end()
    stderr.end()
    await read
    return code
  })
  return { stdin, stdout, stderr, ended, kill: () => assert.fail('a chat in this process cannot be killed') }
}

/** A test that waits in vain reports the output. */
const PATIENCE = 300_000

export class DrivenChat {
  readonly #running: Running
  /** All output, byte for byte. */
  output = ''
  errors = ''
  readonly ended: Promise<number | string>
  #seen = 0
  #isOver = false
  #look = () => {}

  constructor(running: Running) {
    this.#running = running
    const { stdin, stdout, stderr, ended } = running
    stdout.setEncoding('utf8').on('data', text => {
      this.output += text
      this.#look()
    })
    stderr.setEncoding('utf8').on('data', text => {
      this.errors += text
    })
    stdin.on('error', () => undefined)
    this.ended = ended.finally(() => {
      this.#isOver = true
      this.#look()
    })
  }

  /** The output without escape sequences. */
  get text(): string {
    return stripVTControlCharacters(this.output).replaceAll('\r', '')
  }

  type(text: string): void {
    this.#running.stdin.write(text)
  }

  line(text: string): void {
    this.type(`${text}\n`)
  }

  end(): void {
    this.#running.stdin.end()
  }

  kill(signal: NodeJS.Signals): void {
    this.#running.kill(signal)
  }

  /** Resolves when these words appear after the words of earlier waits; rejects if the chat ends without them. */
  waitFor(words: string | RegExp): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = () =>
        reject(new Error(`${words} did not appear in:\n${this.text.slice(this.#seen)}\n${this.errors}`))
      const timer = setTimeout(fail, PATIENCE)
      this.#look = () => {
        const rest = this.text.slice(this.#seen)
        const found = typeof words === 'string' ? rest.indexOf(words) : rest.search(words)
        if (found >= 0) {
          this.#seen += found + (typeof words === 'string' ? words.length : (words.exec(rest)?.[0].length ?? 0))
          this.#look = () => {}
          clearTimeout(timer)
          resolve()
        } else if (this.#isOver) {
          clearTimeout(timer)
          fail()
        }
      }
      this.#look()
    })
  }
}

/** Resolves when a command of the agent has written its file: then it really runs. */
export async function untilThere(path: string): Promise<void> {
  const changes = watch(dirname(path))
  if (existsSync(path)) return
  for await (const _ of changes) if (existsSync(path)) return
}
