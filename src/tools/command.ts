/**
 * run_command: one shell command with a time limit. Its whole process group ends with it, its output is bounded while
 * it runs, and secrets in the environment are left out. The ledger gets up to four million characters of the output,
 * the model its beginning and end.
 *
 * Boundary: this is no sandbox. A command can do what the user can, and a process that leaves the group (setsid)
 * continues.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { codeOf, openRoot, withFolder } from '../files/root.ts'
import type { Environment } from '../model/defaults.ts'
import { PalimpsestError } from '../model/errors.ts'
import { withCommas } from '../model/text.ts'
import { defineTool } from './tool.ts'

const DEFAULT_SECONDS = 120
const MAX_SECONDS = 3_600
/** Characters that the model is shown, and characters that are recorded. */
const SHOWN_CHARS = 20_000
const RECORDED_CHARS = 4_000_000
const GRACE_MS = 2_000
const DRAIN_MS = 500

export const runCommand = defineTool({
  name: 'run_command',
  description: [
    'Run a shell command (sh -c) in the working folder and get its output and exit code. It gets no input and must end',
    `by itself: after timeout_seconds (${DEFAULT_SECONDS} unless given) it and everything it started is ended, and`,
    'nothing keeps running in the background. You see the beginning and the end of long output. To read, change or search',
    'files use the file tools: they are safer and can be undone.',
  ].join(' '),
  input: z.object({
    command: z.string().min(1).describe('The command line.'),
    cwd: z.string().optional().describe('The folder to run it in, relative to the working folder.'),
    timeout_seconds: z.number().positive().max(MAX_SECONDS).optional().describe('The time limit.'),
  }),
  annotations: { destructive: true, openWorld: true },
  run: async ({ command, cwd = '.', timeout_seconds: seconds = DEFAULT_SECONDS }, context) => {
    if (command.includes('\0')) throw new PalimpsestError('INVALID_INPUT', 'command contains a NUL character.')
    const root = await openRoot(context.root)
    const env = { ...publicEnvironment(context.env ?? process.env, context.allowEnv), NO_COLOR: '1', TERM: 'dumb' }
    const result = await withFolder({ root, path: cwd }, folder =>
      execute(command, { cwd: folder.at('.'), env, seconds, ...(context.signal ? { signal: context.signal } : {}) }),
    )
    context.signal?.throwIfAborted()
    const { shown, recorded, ending, timedOut } = result
    const ended = (output: string) => [output.replace(/\n$/, ''), `[${ending}]`].filter(part => part !== '').join('\n')
    return {
      text: ended(shown),
      ...(recorded === shown ? {} : { whole: ended(recorded) }),
      ...(timedOut ? { isError: true } : {}),
    }
  },
})

/** The variables that do not look like secrets, by name or by value. */
export function publicEnvironment(env: Environment, allow: readonly string[] = []): Record<string, string> {
  const entries = Object.entries(env).flatMap(([name, value]): [string, string][] =>
    value !== undefined && (allow.includes(name) || !looksSecret(name, value)) ? [[name, value]] : [],
  )
  return Object.fromEntries(entries)
}

const SECRET_WORD =
  /^(?:(?:api|access|auth|private|secret)?(?:key|keys|token|tokens|secret|secrets)|passw(?:or)?ds?|passphrase|pass|pwd|pw|creds?|credentials?|auth|authorization|cookies?|jwt|pat|bearer|private|dsn|signing|session|sid)$/i
const SECRET_ENDING = /(?:key|token|secret|password|passwd|passphrase|credentials?)s?$/i
const NOT_SECRET = new Set([
  'PWD',
  'OLDPWD',
  'XDG_SESSION_ID',
  'XDG_SESSION_TYPE',
  'XDG_SESSION_CLASS',
  'DESKTOP_SESSION',
])
const SECRET_VALUE =
  /-----BEGIN [A-Z ]*PRIVATE KEY|:\/\/[^\s/:@]*:[^\s/@]+@|(?<![\w-])eyJ[\w-]+\.eyJ|\b(?:sk-[\w-]{16}|gh[pousr]_\w{20}|github_pat_|AKIA[A-Z0-9]{12}|xox[abprs]-|AIza[\w-]{30})/

function looksSecret(name: string, value: string): boolean {
  if (NOT_SECRET.has(name)) return false
  const words = name.replace(/([a-z])([A-Z])/g, '$1_$2').split(/[^A-Za-z0-9]+/)
  return words.some(word => SECRET_WORD.test(word)) || SECRET_ENDING.test(name) || SECRET_VALUE.test(value)
}

type Execution = { cwd: string; env: Record<string, string>; seconds: number; signal?: AbortSignal }

async function execute(command: string, { cwd, env, seconds, signal }: Execution) {
  // An already aborted signal fires no event.
  signal?.throwIfAborted()
  const kept = { shown: new BoundedText(SHOWN_CHARS), recorded: new BoundedText(RECORDED_CHARS) }
  const child = spawn('/bin/sh', ['-c', command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const exit = ended(child)
  const closed = Promise.all([collect(child.stdout, kept), collect(child.stderr, kept)])
  let timedOut = false
  const stop = () => void endGroup(child, exit)
  const timer = setTimeout(() => {
    timedOut = true
    stop()
  }, seconds * 1_000)
  signal?.addEventListener('abort', stop)
  try {
    const { code, killedBy } = await exit
    // End the processes that the shell left in its group, because they could keep the output open.
    signalGroup(child, 'SIGKILL')
    await Promise.race([closed, delay(DRAIN_MS)])
    const ending = killedBy ? `ended by ${killedBy}` : `exit code ${code}`
    const output = { shown: kept.shown.toString(), recorded: kept.recorded.toString() }
    return { ...output, timedOut, ending: timedOut ? `timed out after ${seconds} s; ended` : ending }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
    child.stdout?.destroy()
    child.stderr?.destroy()
  }
}

function ended(child: ChildProcess): Promise<{ code: number | null; killedBy: string | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', cause => {
      reject(new PalimpsestError('UNSUPPORTED', `The command could not be started: ${cause.message}`, {}, cause))
    })
    child.once('exit', (code, killedBy) => resolve({ code, killedBy }))
  })
}

async function endGroup(child: ChildProcess, exit: Promise<unknown>): Promise<void> {
  signalGroup(child, 'SIGTERM')
  await Promise.race([exit, delay(GRACE_MS, undefined, { ref: false })]).catch(() => undefined)
  signalGroup(child, 'SIGKILL')
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH' && codeOf(error) !== 'EPERM') throw error
  }
}

async function collect(
  stream: NodeJS.ReadableStream | null,
  { shown, recorded }: { shown: BoundedText; recorded: BoundedText },
): Promise<void> {
  if (!stream) return
  const decoder = new StringDecoder('utf8')
  const add = (text: string) => {
    shown.add(text)
    recorded.add(text)
  }
  await new Promise<void>(resolve => {
    stream.on('data', (bytes: Buffer) => add(decoder.write(bytes)))
    stream.on('close', () => resolve())
    stream.on('error', () => resolve())
  })
  add(decoder.end())
}

/** The beginning and the end of a text of any length, in bounded memory. */
export class BoundedText {
  readonly #half: number
  #head = ''
  #tail = ''
  #total = 0

  constructor(max: number) {
    this.#half = Math.floor(max / 2)
  }

  add(text: string): void {
    this.#total += text.length
    const room = this.#half - this.#head.length
    this.#head += text.slice(0, room)
    this.#tail += text.slice(Math.max(0, room))
    if (this.#tail.length > 4 * this.#half) this.#tail = this.#tail.slice(-this.#half)
  }

  toString(): string {
    if (this.#total <= 2 * this.#half) return this.#head + this.#tail
    const left = this.#total - 2 * this.#half
    const note = `\n... [${withCommas(left)} of ${withCommas(this.#total)} chars left out] ...\n`
    return (this.#head + note + this.#tail.slice(-this.#half)).toWellFormed()
  }
}
