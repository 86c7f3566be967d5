/**
 * Real PostgreSQL servers for tests and benchmarks: finds the programs, makes a cluster in a temporary folder and runs
 * it on loopback. PostgreSQL refuses to run as root, so root runs it as another user.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, globSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'

export type PostgresPrograms = { version: string; folder: string }

/** All that are here, the one of the system first: PALIMPSEST_POSTGRES (a folder with `postgres` in it) alone if set. */
export function findPostgres(env: Record<string, string | undefined> = process.env): PostgresPrograms[] {
  const named = env['PALIMPSEST_POSTGRES']
  const onPath = (env['PATH'] ?? '').split(':').filter(folder => existsSync(join(folder, 'initdb')))
  const system = [...onPath, ...globSync('/usr/lib/postgresql/*/bin').sort().reverse()]
  const folders = named ? [named] : [...system, join(cachedPostgres(env), 'native', 'bin')]
  const real = folders.filter(isWhole).map(folder => dirname(realpathSync(join(folder, 'postgres'))))
  return [...new Set(real)]
    .map(folder => ({ folder, version: versionOf(folder) }))
    .filter(({ version }) => version !== '')
}

/** Where scripts/postgres.sh puts PostgreSQL 18. Another user must be able to run it where we are root. */
export function cachedPostgres(env: Record<string, string | undefined> = process.env): string {
  const cache = isRoot() ? '/var/cache' : env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return join(cache, 'palimpsest', 'postgres')
}

export class PostgresServer {
  readonly version: string
  readonly #programs: PostgresPrograms
  readonly #folder: string
  readonly #port: number
  readonly #settings: Record<string, string>
  #process: ChildProcess | undefined

  private constructor(
    programs: PostgresPrograms,
    { port, settings }: { port: number; settings: Record<string, string> },
  ) {
    this.version = programs.version
    this.#programs = programs
    this.#port = port
    this.#settings = settings
    this.#folder = mkdtempSync(join(tmpdir(), 'palimpsest-postgres-'))
  }

  /** A new cluster; `settings` are those of postgresql.conf. */
  static async start(programs: PostgresPrograms, settings: Record<string, string> = {}): Promise<PostgresServer> {
    const server = new PostgresServer(programs, { port: await freePort(), settings })
    const user = asUser()
    if (user) chownSync(server.#folder, user.uid, user.gid)
    const how = ['--no-sync', '-A', 'trust', '-U', 'palimpsest', '-E', 'UTF8', '--locale=C', '-D', server.#data]
    execFileSync(join(programs.folder, 'initdb'), how, { ...user, stdio: 'pipe', cwd: server.#folder })
    await server.run()
    return server
  }

  get #data(): string {
    return join(this.#folder, 'data')
  }

  /** The address of a database of that name. */
  url(database = 'postgres'): string {
    return `postgres://palimpsest@127.0.0.1:${this.#port}/${database}`
  }

  /** Makes an empty database; gives its address. */
  async create(database: string): Promise<string> {
    const { default: pg } = await import('pg')
    const client = new pg.Client(this.url())
    await client.connect()
    await client.query(`CREATE DATABASE "${database}"`)
    await client.end()
    return this.url(database)
  }

  /** Starts it, or starts it again, and waits until it answers. */
  async run(): Promise<void> {
    const options = { port: this.#port, listen_addresses: '127.0.0.1', unix_socket_directories: '', ...this.#settings }
    const args = Object.entries(options).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const child = spawn(join(this.#programs.folder, 'postgres'), ['-D', this.#data, ...args], {
      ...{ ...asUser(), cwd: this.#folder, stdio: ['ignore', 'ignore', 'pipe'] },
    })
    let said = ''
    child.stderr!.on('data', (data: Buffer) => {
      said = (said + data).slice(-4000)
    })
    this.#process = child
    await answering(this.url(), () => child.exitCode !== null).catch(error => {
      throw new Error(`PostgreSQL did not start: ${said}`, { cause: error })
    })
  }

  /** Stops the server: fast shutdown by `SIGINT`, without cleanup by `SIGKILL`. */
  async end(signal: 'SIGINT' | 'SIGKILL' = 'SIGINT'): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise(resolve => child.once('exit', resolve))
    // The processes of its connections end when they find the first one gone; only those that we know are killed here.
    const children = signal === 'SIGKILL' ? childrenOf(child.pid!) : []
    child.kill(signal)
    for (const pid of children) kill(pid, signal)
    await ended
  }

  /** Pauses all its processes, or lets them continue. */
  pause(isPaused: boolean): void {
    const pid = this.#process!.pid!
    for (const one of [pid, ...childrenOf(pid)]) kill(one, isPaused ? 'SIGSTOP' : 'SIGCONT')
  }

  /** Ends it and removes its folder. */
  async stop(): Promise<void> {
    await this.end()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/**
 * pgbouncer in transaction mode in front of a server, if it is installed: each transaction may get another connection.
 */
export class Pooler {
  readonly #folder = mkdtempSync(join(tmpdir(), 'palimpsest-pgbouncer-'))
  readonly #process: ChildProcess
  readonly #port: number

  private constructor(server: string, port: number) {
    this.#port = port
    const { hostname, port: behind } = new URL(server)
    const config = join(this.#folder, 'pgbouncer.ini')
    const settings = { listen_addr: '127.0.0.1', listen_port: port, unix_socket_dir: '', auth_type: 'any' }
    const pool = { pool_mode: 'transaction', default_pool_size: 2, max_client_conn: 200 }
    const lines = Object.entries({ ...settings, ...pool }).map(([name, value]) => `${name} = ${value}`)
    const databases = `* = host=${hostname} port=${behind} user=palimpsest`
    writeFileSync(config, `[databases]\n${databases}\n[pgbouncer]\n${lines.join('\n')}\n`, { mode: 0o644 })
    const user = asUser()
    if (user) chownSync(this.#folder, user.uid, user.gid)
    this.#process = spawn(findPooler()!, [config], { ...user, cwd: this.#folder, stdio: 'ignore' })
  }

  static async start(server: string): Promise<Pooler> {
    const pooler = new Pooler(server, await freePort())
    await answering(pooler.url(new URL(server)), () => pooler.#process.exitCode !== null)
    return pooler
  }

  /** The address of a database of the server by way of the pooler. */
  url(server: URL): string {
    return `postgres://palimpsest@127.0.0.1:${this.#port}${server.pathname}`
  }

  async stop(): Promise<void> {
    const ended = new Promise(resolve => this.#process.once('exit', resolve))
    if (this.#process.exitCode === null && this.#process.kill('SIGINT')) await ended
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

export function findPooler(): string | undefined {
  return ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'].find(path => existsSync(path))
}

/** Waits until a database answers. */
async function answering(url: string, hasEnded: () => boolean): Promise<void> {
  const { default: pg } = await import('pg')
  for (;;) {
    if (hasEnded()) throw new Error('it ended at once')
    const client = new pg.Client(url)
    client.on('error', () => {})
    const isThere = await client.connect().then(
      () => true,
      () => false,
    )
    await client.end().catch(() => {})
    if (isThere) return
    await sleep(50)
  }
}

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
  return stdout.split('\n').map(Number).filter(Boolean)
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended meanwhile.
  }
}

function isWhole(folder: string): boolean {
  return ['postgres', 'initdb'].every(name => existsSync(join(folder, name)))
}

function versionOf(folder: string): string {
  const { stdout } = spawnSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' })
  return /\d+(?:\.\d+)?/.exec(stdout ?? '')?.[0] ?? ''
}

function isRoot(): boolean {
  return process.getuid?.() === 0
}

/** The user that runs the server: ours, or `postgres` or `nobody` if we are root. */
function asUser(): { uid: number; gid: number; env: NodeJS.ProcessEnv } | undefined {
  if (!isRoot()) return undefined
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map(which => Number(spawnSync('id', [which, name], { encoding: 'utf8' }).stdout))
    if (uid && gid) return { uid, gid, env: { PATH: process.env['PATH'], HOME: '/', LC_ALL: 'C' } }
  }
  throw new Error(`PostgreSQL cannot run as ${userInfo().username}, and there is no user nobody.`)
}
