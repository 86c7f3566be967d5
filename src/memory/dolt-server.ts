/**
 * A local Dolt server for development and tests: started on a folder, waited for, watched, and stopped.
 *
 * A folder has one owner: a second one is refused with the address of the first. If an owner was killed, its lock
 * file and its server are recognised by the start time of the process, and cleared away. A server that dies is
 * restarted on the same port, until it dies too often.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createConnection } from 'mysql2/promise'
import { findProgram, freePort, isProgram } from '../files/programs.ts'
import { codeOf } from '../files/root.ts'
import type { Environment } from '../model/defaults.ts'
import { PalimpsestError } from '../model/errors.ts'

type DoltServerOptions = {
  /** Where the databases are. */
  folder: string
  /** A free one unless given. */
  port?: number
  /** The path of dolt; `findDolt` unless given. */
  binary?: string
  env?: Environment
}

/** The owner of a folder. `began` tells a process from a later one with the same process id. */
type Owner = { pid: number; began: string; server?: { pid: number; began: string }; port: number }

const READY_MS = 20_000
const STOP_MS = 10_000
/** After more deaths than this within a minute, it is not restarted. */
const DEATHS = 5

/** The dolt to use: PALIMPSEST_DOLT, the one that `npm run dolt:install` built, or the one on the PATH. */
export function findDolt(env: Environment = process.env): string | undefined {
  const cache = env['XDG_CACHE_HOME'] || join(env['HOME'] || homedir(), '.cache')
  const chosen = env['PALIMPSEST_DOLT'] || join(cache, 'palimpsest', 'dolt', 'dolt')
  if (isProgram(chosen)) return chosen
  return env['PALIMPSEST_DOLT'] ? undefined : findProgram('dolt', env)
}

export async function startDoltServer(options: DoltServerOptions): Promise<DoltServer> {
  const binary = options.binary ?? findDolt(options.env)
  if (!binary) {
    throw new PalimpsestError(
      'UNSUPPORTED',
      'dolt was not found. Install it (https://docs.dolthub.com/introduction/installation) or set PALIMPSEST_DOLT to its path.',
    )
  }
  const folder = resolve(options.folder)
  mkdirSync(join(folder, 'data'), { recursive: true, mode: 0o700 })
  await takeFolder(folder, options.port ?? 0)
  const port = options.port ?? (await freePort())
  const server = new DoltServer({ folder, port, binary })
  try {
    await server.start()
  } catch (error) {
    await server.stop()
    throw error
  }
  return server
}

export class DoltServer {
  readonly folder: string
  readonly port: number
  readonly log: string
  readonly #binary: string
  #child: ChildProcess | undefined
  #stopping = false
  #wasReady = false
  #deaths: number[] = []

  constructor(given: { folder: string; port: number; binary: string }) {
    this.folder = given.folder
    this.port = given.port
    this.log = join(given.folder, 'dolt.log')
    this.#binary = given.binary
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  /** The address of a database on this server. */
  url(database = 'palimpsest'): string {
    return `mysql://root@127.0.0.1:${this.port}/${database}`
  }

  /** Starts the program and waits until it answers. */
  async start(): Promise<void> {
    const config = join(this.folder, 'config.yaml')
    writeFileSync(config, configOf(this.folder, this.port), { mode: 0o600 })
    const out = openSync(this.log, 'a', 0o600)
    const child = spawn(this.#binary, ['sql-server', '--config', config], {
      cwd: this.folder,
      stdio: ['ignore', out, out],
      env: { PATH: process.env['PATH'], HOME: this.folder, DOLT_ROOT_PATH: this.folder, DOLT_DISABLE_EVENT_FLUSH: '1' },
    })
    closeSync(out)
    this.#child = child
    child.on('exit', () => this.#died(child))
    child.on('error', () => {})
    this.#mark()
    await this.ready()
    this.#wasReady = true
  }

  /** Waits until the server answers a query. */
  async ready(): Promise<void> {
    const until = Date.now() + READY_MS
    while (Date.now() < until) {
      if (await answers(this.port)) return
      if (!this.#wasReady && this.#child?.exitCode !== null) break
      await wait(50)
    }
    throw new PalimpsestError('STORE_UNAVAILABLE', `The Dolt server did not start. ${lastLines(this.log)}`, {
      log: this.log,
    })
  }

  async stop(): Promise<void> {
    this.#stopping = true
    const child = this.#child
    if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      const gone = new Promise(done => child.once('exit', done))
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      await gone
      clearTimeout(timer)
    }
    rmSync(markOf(this.folder), { force: true })
  }

  #died(child: ChildProcess): void {
    if (this.#stopping || !this.#wasReady || child !== this.#child) return
    const now = Date.now()
    this.#deaths = [...this.#deaths.filter(at => now - at < 60_000), now]
    if (this.#deaths.length > DEATHS) return
    this.start().catch(() => {})
  }

  #mark(): void {
    const pid = this.#child?.pid
    const server = pid === undefined ? {} : { server: { pid, began: beganAt(pid) } }
    const owner: Owner = { pid: process.pid, began: beganAt(process.pid), ...server, port: this.port }
    writeFileSync(markOf(this.folder), JSON.stringify(owner), { mode: 0o600 })
  }
}

/** Makes this process the owner of the folder, or throws with the present owner. */
async function takeFolder(folder: string, port: number): Promise<void> {
  const mark = markOf(folder)
  const mine: Owner = { pid: process.pid, began: beganAt(process.pid), port }
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      writeFileSync(mark, JSON.stringify(mine), { flag: 'wx', mode: 0o600 })
      return
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    const owner = readOwner(mark)
    if (owner && lives(owner)) {
      throw new PalimpsestError(
        'STORE_LOCKED',
        `A Dolt server on ${folder} is already running (port ${owner.port}, process ${owner.pid}). Use it, or stop it first.`,
        { folder, port: owner.port, pid: owner.pid },
      )
    }
    if (owner?.server && lives(owner.server)) await end(owner.server)
    rmSync(mark, { force: true })
  }
  throw new PalimpsestError('STORE_LOCKED', `Another process is starting a server on ${folder}. Try again.`, { folder })
}

function readOwner(path: string): Owner | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return typeof value === 'object' && value !== null && 'pid' in value && 'began' in value
      ? (value as Owner)
      : undefined
  } catch {
    return undefined
  }
}

async function end(server: { pid: number; began: string }): Promise<void> {
  process.kill(server.pid, 'SIGTERM')
  const until = Date.now() + STOP_MS
  while (lives(server)) {
    if (Date.now() > until) process.kill(server.pid, 'SIGKILL')
    await wait(50)
  }
}

function lives({ pid, began }: { pid: number; began: string }): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
  return began === '' || beganAt(pid) === began
}

/** The start time of a process, in the system's own count; empty if it is unknown, or the process is a zombie. */
function beganAt(pid: number): string {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields[0] === 'Z' ? 'gone' : (fields[19] ?? '')
  } catch {
    return ''
  }
}

function markOf(folder: string): string {
  return join(folder, 'owner.json')
}

function configOf(folder: string, port: number): string {
  return [
    'log_level: warning',
    'listener:',
    '  host: 127.0.0.1',
    `  port: ${port}`,
    '  max_connections: 200',
    `data_dir: ${JSON.stringify(join(folder, 'data'))}`,
    `cfg_dir: ${JSON.stringify(join(folder, 'config'))}`,
    '',
  ].join('\n')
}

async function answers(port: number): Promise<boolean> {
  try {
    const connection = await createConnection({ host: '127.0.0.1', port, user: 'root', connectTimeout: 2000 })
    await connection.query('SELECT 1')
    connection.destroy()
    return true
  } catch {
    return false
  }
}

function lastLines(path: string): string {
  try {
    return `Its log (${path}) ends with: ${readFileSync(path, 'utf8').trimEnd().split('\n').slice(-3).join(' / ')}`
  } catch {
    return `Its log is ${path}.`
  }
}
