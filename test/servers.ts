/** Several real servers on one PostgreSQL database, and clients that go to any of them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CLI } from './e2e/run-cli.ts'

export type Reply = { status: number; text: string; json: ReturnType<typeof JSON.parse> }

export class Servers {
  readonly #folder = mkdtempSync(join(tmpdir(), 'palimpsest-servers-'))
  readonly #env: Record<string, string>
  readonly #args: readonly string[]
  readonly running: Server[] = []
  #next = 0
  #started = 0

  /** `env` is the environment of all servers, including the database. */
  constructor(env: Record<string, string>, args: readonly string[] = []) {
    this.#env = env
    this.#args = args
  }

  /** Each has its own home: no files are shared. */
  async start(): Promise<Server> {
    const home = join(this.#folder, `server-${this.#started++}`)
    const args = ['serve', '--home', home, '--port', '0', '--rate', '0', ...this.#args]
    const { PALIMPSEST_HOME: _, ...rest } = process.env
    const child = spawn(process.execPath, [CLI, ...args], {
      env: { ...rest, HOME: home, ...this.#env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const server = new Server(child, await addressOf(child))
    this.running.push(server)
    return server
  }

  /** The next server in turn. */
  any(): Server {
    return this.running[this.#next++ % this.running.length]!
  }

  /** Kills one server. */
  async kill(server: Server): Promise<void> {
    this.running.splice(this.running.indexOf(server), 1)
    await server.end('SIGKILL')
  }

  async stop(): Promise<void> {
    await Promise.all(this.running.map(server => server.end('SIGTERM')))
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

export class Server {
  readonly url: string
  readonly #child: ChildProcess

  constructor(child: ChildProcess, url: string) {
    this.#child = child
    this.url = url
  }

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    const response = await fetch(this.url + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, text, json: isJson ? JSON.parse(text) : undefined }
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = new Promise(resolve => this.#child.once('exit', resolve))
    this.#child.kill(signal)
    await ended
  }
}

function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    const hear = (data: Buffer) => {
      said += data
      const url = /Palimpsest is at (\S+)/.exec(said)?.[1]
      if (url) resolve(url)
    }
    child.stdout!.on('data', hear)
    child.stderr!.on('data', hear)
    child.once('exit', code => reject(new Error(`The server ended with ${code}: ${said}`)))
  })
}

/** One append as its client saw it. `entry` is its place; undefined if the answer never came. */
export type Append = { session: string; text: string; asked: number; answered: number; entry: number | undefined }

/**
 * Appends through any server until one answers. A request without an answer is sent again with its key, so that it is
 * done once, or reported as unknown.
 */
export async function append(servers: Servers, session: string, text: string): Promise<Append> {
  const asked = performance.now()
  const key = { 'idempotency-key': createHash('sha256').update(`${session} ${text}`).digest('hex') }
  const body = { messages: [{ role: 'user', parts: [{ type: 'text', text }] }] }
  for (let tries = 0; tries < 100; tries++) {
    const reply = await servers
      .any()
      .call('POST', `/sessions/${session}/messages`, body, key)
      .catch(() => undefined)
    if (reply?.status === 201) {
      return { session, text, asked, answered: performance.now(), entry: Number(reply.json.entries[0]) }
    }
    const code: unknown = reply?.json?.error?.code
    if (reply && ![409, 429, 500, 503].includes(reply.status)) throw new Error(`${reply.status} ${reply.text}`)
    // A killed server lost the answer: a later read must show whether the append was done.
    if (code === 'KEY_PENDING' && tries > 20) break
    await sleep(50 + 50 * Math.random())
  }
  return { session, text, asked, answered: performance.now(), entry: undefined }
}

/**
 * The errors in the history of one session; none if it is linearizable. Appends are the only operations and each has
 * its place, so only the order of places must be tested: an append that was answered before another was sent must have
 * the lower place, and the session must have exactly these entries.
 */
export function problemsOf(history: readonly Append[], entries: readonly string[]): string[] {
  const problems: string[] = []
  const counts = new Map<string, number>()
  for (const text of entries) counts.set(text, (counts.get(text) ?? 0) + 1)
  for (const [text, count] of counts) {
    if (count > 1) problems.push(`${text} is there ${count} times`)
    if (!history.some(one => one.text === text)) problems.push(`${text} was never sent`)
  }
  const answered = history.filter(({ entry }) => entry !== undefined)
  for (const { text, entry } of answered) {
    if (entries[entry!] !== text) problems.push(`${text} was acknowledged at ${entry}, where ${entries[entry!]} is`)
  }
  const inOrder = answered.toSorted((a, b) => a.entry! - b.entry!)
  let latestAsked = Number.NEGATIVE_INFINITY
  for (const { text, asked, answered: at } of inOrder) {
    if (at < latestAsked) problems.push(`${text} stands behind one that was asked after it was answered`)
    latestAsked = Math.max(latestAsked, asked)
  }
  return problems
}
