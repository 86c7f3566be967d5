/**
 * The stores of the ledger side by side in one run, beside bare drivers: appends with 1, 8 and 64 writers and from four
 * processes, the first view after a restart, and recall. Every append is durable before it counts.
 *
 *   node bench/stores.ts [--seconds 3] [--entries 2000] [--postgres URL]
 *
 * Without --postgres a server is started with its own settings. The bar: at 64 writers the ledger on PostgreSQL does at
 * least 0.8 of what a bare loop of inserts does with `pg`. It is measured in turns, so that both have the same machine.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { findPostgres, PostgresServer } from '../scripts/postgres.ts'
import { encodeEvent, GENESIS } from '../src/ledger/codec.ts'
import { PostgresLedger } from '../src/ledger/postgres/ledger.ts'
import type { LedgerStore, NewRow } from '../src/ledger/store.ts'
import { ThreadedLedger } from '../src/ledger/threaded.ts'
import type { Event, Message } from '../src/model/types.ts'
import { openPalimpsest } from '../src/session/engine.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    entries: { type: 'string', default: '2000' },
    postgres: { type: 'string' },
    /** How to start a separate process: the store, its place, the writers. */
    child: { type: 'string' },
  },
})
const MS = Number(values.seconds) * 1000
const ENTRIES = Number(values.entries)
const WRITERS = [1, 8, 64]
const PROCESSES = 4
const QUERIES = 40
const BAR = 0.8
const BAR_ROUNDS = 3
/** About the size of a tool result. */
const TEXT =
  'The quick brown fox jumps over the lazy dog, and the test in src/report/last-day.ts fails again.\n'.repeat(10)

type Result = { count: number; latencies: number[]; ms: number }
/** Writes one event of a session, as its only writer. */
type Write = (session: number, row: NewRow) => Promise<void>
type Driver = { write: Write; close: () => Promise<void> }
type Opener = (place: string, writers: number) => Promise<Driver>

const DRIVERS: Record<string, Opener> = {
  'SQLite, the ledger': async (place, writers) => overStore(new ThreadedLedger(join(place, 'ledger.sqlite')), writers),
  'SQLite, bare': async place => bareSqlite(join(place, 'bare.sqlite')),
  'PostgreSQL, the ledger': async (place, writers) => overStore(await PostgresLedger.open(place), writers),
  'PostgreSQL, bare, 10 connections': place => barePostgres(place, 10),
  'PostgreSQL, bare, a connection a writer': (place, writers) => barePostgres(place, writers),
}

if (values.child) await runChild(values.child)
else await runAll()

async function runAll(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-bench-'))
  const [programs] = findPostgres()
  const server = values.postgres || !programs ? undefined : await PostgresServer.start(programs)
  const url = values.postgres ?? (await server?.create('bench'))
  if (!url) console.log('Without PostgreSQL: none is here; get it with: npm run postgres:install')
  try {
    const places = (name: string) => (name.startsWith('PostgreSQL') ? url : folder)
    const names = Object.keys(DRIVERS).filter(name => places(name) !== undefined)
    console.log('| appends a second | writers | rate | median ms | p99 ms |\n|---|---|---|---|---|')
    for (const name of names) {
      for (const writers of WRITERS) {
        const driver = await DRIVERS[name]!(places(name)!, writers)
        show(name, String(writers), await load(driver.write, writers))
        await driver.close()
      }
      const result = await inProcesses(name, places(name)!)
      show(name, `${PROCESSES} processes × ${64 / PROCESSES}`, result)
    }
    function show(name: string, writers: string, { count, latencies, ms }: Result): void {
      const rate = Math.round((count * 1000) / ms)
      console.log(`| ${name} | ${writers} | ${rate} | ${share(latencies, 0.5)} | ${share(latencies, 0.99)} |`)
    }
    // In a separate database, as SQLite has a separate file.
    await viewsAndRecall(folder, (await server?.create('recall')) ?? url)
    if (url) await sayBar(url)
  } finally {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The better of the two bare loops counts, by the median of the rounds. */
async function sayBar(url: string): Promise<void> {
  const names = Object.keys(DRIVERS).filter(name => name.startsWith('PostgreSQL'))
  const rates = new Map(names.map(name => [name, [] as number[]]))
  for (let round = 0; round < BAR_ROUNDS; round++) {
    for (const name of names) {
      const driver = await DRIVERS[name]!(url, 64)
      const { count, ms } = await load(driver.write, 64)
      rates.get(name)!.push((count * 1000) / ms)
      await driver.close()
    }
  }
  const [ledger, ...bare] = names.map(name => Number(share(rates.get(name)!, 0.5)))
  const ratio = ledger! / Math.max(...bare)
  console.log(`\nPostgreSQL at 64 writers: ${ratio.toFixed(2)} of a bare loop of inserts (bar ${BAR})`)
  if (ratio < BAR) process.exitCode = 1
}

/** All writers at once, each on its own session, until the time is over. */
async function load(write: Write, writers: number, first = 0): Promise<Result> {
  const latencies: number[] = []
  const start = performance.now()
  await Promise.all(
    Array.from({ length: writers }, async (_, i) => {
      let prev = GENESIS
      for (let seq = 0; performance.now() - start < MS; seq++) {
        const row = encodeEvent(said(`${first + i}.${seq} ${TEXT}`), { prev, seq, at: seq })
        prev = row.hash
        const began = performance.now()
        await write(first + i, row)
        latencies.push(performance.now() - began)
      }
    }),
  )
  return { count: latencies.length, latencies, ms: performance.now() - start }
}

async function inProcesses(name: string, place: string): Promise<Result> {
  const children: ChildProcess[] = []
  const results = Array.from({ length: PROCESSES }, (_, i) => {
    const what = JSON.stringify({ name, place, writers: 64 / PROCESSES, first: 1000 * (i + 1) })
    const child = fork(import.meta.filename, ['--child', what, '--seconds', values.seconds])
    children.push(child)
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    child.on('message', message => (message === 'ready' ? undefined : resolve(message as Result)))
    child.once('exit', code => reject(new Error(`a writer ended with ${code}`)))
    return promise
  })
  await Promise.all(children.map(child => new Promise(ready => child.once('message', ready))))
  for (const child of children) child.send('go')
  const all = await Promise.all(results)
  return {
    count: all.reduce((sum, { count }) => sum + count, 0),
    latencies: all.flatMap(({ latencies }) => latencies),
    ms: Math.max(...all.map(({ ms }) => ms)),
  }
}

async function runChild(what: string): Promise<void> {
  const { name, place, writers, first } = JSON.parse(what)
  const driver = await DRIVERS[name]!(place, writers)
  process.send!('ready')
  await new Promise(go => process.once('message', go))
  const result = await load(driver.write, writers, first)
  await driver.close()
  process.send!(result, () => process.disconnect())
}

/** Sessions get a new name in each run, so that every run begins at their first event. */
async function overStore(store: LedgerStore, writers: number): Promise<Driver> {
  const run = `${process.pid}-${Math.random().toString(36).slice(2)}`
  const opened = new Map<number, Promise<unknown>>()
  const write: Write = async (session, row) => {
    const id = `${run}-${session}`
    if (!opened.has(session)) opened.set(session, store.open(id, { at: 0, meta: '{}' }))
    await opened.get(session)
    if (!(await store.append(id, [row]))) throw new Error(`beaten, with one writer a session of ${writers}`)
  }
  return { write, close: () => store.close() }
}

function bareSqlite(path: string): Driver {
  const db = new DatabaseSync(path)
  db.exec('PRAGMA busy_timeout = 60000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  db.exec('CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, hash TEXT, light TEXT, body TEXT) STRICT')
  const insert = db.prepare('INSERT INTO bare (hash, light, body) VALUES (?, ?, ?)')
  const write: Write = async (_, { hash, light, body }) => void insert.run(hash, light, body)
  return { write, close: async () => db.close() }
}

async function barePostgres(url: string, connections: number): Promise<Driver> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString: url, max: connections })
  // A connection that was ended may still hear that the server stops.
  pool.on('error', () => {})
  const table =
    'CREATE TABLE IF NOT EXISTS bare (session text, seq integer, at bigint, hash text, light text, body text, PRIMARY KEY (session, seq))'
  await pool.query(table).catch(() => pool.query(table))
  const run = `${process.pid}-${Math.random().toString(36).slice(2)}`
  const text = 'INSERT INTO bare (session, seq, at, hash, light, body) VALUES ($1, $2, $3, $4, $5, $6)'
  const write: Write = async (session, { seq, at, hash, light, body }) => {
    await pool.query({ name: 'bare', text, values: [`${run}-${session}`, seq, at, hash, light, body] })
  }
  return { write, close: () => pool.end() }
}

async function viewsAndRecall(folder: string, url: string | undefined): Promise<void> {
  console.log('\n| | first view after a restart, ms | recall, median ms | p99 ms |\n|---|---|---|---|')
  for (const [name, databaseUrl] of [['SQLite', false] as const, ...(url ? [['PostgreSQL', url] as const] : [])]) {
    const home = join(folder, name)
    const open = () => openPalimpsest({ home, databaseUrl, clock: () => 0 })
    {
      await using pal = await open()
      const session = await pal.session('long', { planner: 'none' })
      for (let i = 0; i < ENTRIES; i += 100)
        await session.append(
          ...Array.from({ length: Math.min(100, ENTRIES - i) }, (_, n) => messageOf(`${i + n} ${TEXT}`)),
        )
    }
    await using pal = await open()
    const began = performance.now()
    await (await pal.session('long')).view()
    const view = performance.now() - began
    await pal.recall('fox', { limit: 1 })
    const latencies: number[] = []
    for (let i = 0; i < QUERIES; i++) {
      const start = performance.now()
      await pal.recall(`which test of report number ${(i * 37) % ENTRIES} fails`, { limit: 10 })
      latencies.push(performance.now() - start)
    }
    console.log(`| ${name} | ${view.toFixed(0)} | ${share(latencies, 0.5)} | ${share(latencies, 0.99)} |`)
  }
}

function messageOf(text: string): Message {
  return { role: 'user', parts: [{ type: 'text', text }] }
}

function said(text: string): Event {
  return { type: 'entry', message: messageOf(text) }
}

function share(numbers: readonly number[], part: number): string {
  const sorted = numbers.toSorted((a, b) => a - b)
  return (sorted[Math.floor(part * (sorted.length - 1))] ?? 0).toFixed(2)
}
