/**
 * The SQLite ledger for processes that serve many at once: whatever a write has to wait for, nobody waits with it.
 *
 * Most commits take less than a millisecond, and are made right here. When another process holds the database, or the
 * disk has just been slow, they go to a thread, which has the time. Either way a write resolves when it is on disk.
 * Reads use the connection of this thread, which sees everything that was committed. A database in memory cannot be
 * shared by two connections: use SqliteLedger for that.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type ErrorCode, isPalimpsestError, PalimpsestError } from '../errors.ts'
import { SqliteLedger, type SqliteOptions } from './sqlite.ts'
import type { Hit, LedgerStore, NewRow, ReadOptions, Row, SearchOptions, SessionRow } from './store.ts'

/** What the thread is asked for, and what it answers. */
export type Asked = { n: number; method: Write; args: unknown[] }
type Write = 'open' | 'setMeta' | 'append'
export type Answered = { n: number; result?: unknown; error?: ThreadError }
export type ThreadError = { message: string; code?: ErrorCode; data?: Record<string, unknown> }

/** How long a write may wait here for another process. */
const BRIEFLY_MS = 5
/** A commit that took longer sends so many of those behind it to the thread. */
const SLOW_MS = 5
const SLOW_FOR = 50

/** How often a search asks again, and after what time, when the index cannot be filled yet. */
const SEARCH_TRIES = 50
const SEARCH_WAIT_MS = 100

type Waiting = { resolve(result: never): void; reject(error: Error): void }

export class ThreadedLedger implements LedgerStore {
  readonly #here: SqliteLedger
  readonly #thread: Worker
  readonly #waiting = new Map<number, Waiting>()
  #asked = 0
  #slow = 0
  #closed = false

  /** Opens (or makes) the database at a path. */
  constructor(path: string, options: SqliteOptions = {}) {
    // Made with patience, so that two can open it at once; what is wrong with the file is thrown here.
    new SqliteLedger(path, options).close()
    this.#here = new SqliteLedger(path, { ...options, busyMs: BRIEFLY_MS })
    const file = import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js'
    this.#thread = new Worker(new URL(file, import.meta.url), { workerData: { path, options }, execArgv: [] })
    this.#thread.unref()
    this.#thread.on('message', (answer: Answered) => this.#settle(answer))
    this.#thread.on('error', error => this.#fail(error))
    this.#thread.on('exit', () => this.#fail(closed()))
  }

  open(id: string, init: { at: number; meta: string; parent?: { id: string; seq: number } }): Promise<SessionRow> {
    return this.#write(() => this.#here.open(id, init), 'open', id, init)
  }

  setMeta(id: string, meta: string): Promise<void> {
    return this.#write(() => this.#here.setMeta(id, meta), 'setMeta', id, meta)
  }

  append(id: string, rows: readonly NewRow[]): Promise<boolean> {
    return this.#write(() => this.#here.append(id, rows), 'append', id, rows)
  }

  find(id: string): Promise<SessionRow | undefined> {
    return this.#here.find(id)
  }

  list(options?: { limit?: number; after?: string; contains?: string }): Promise<SessionRow[]> {
    return this.#here.list(options)
  }

  read(id: string, options?: ReadOptions): Promise<Row[]> {
    return this.#here.read(id, options)
  }

  contents(hashes: readonly string[]): Promise<Map<string, string>> {
    return this.#here.contents(hashes)
  }

  /** Fills the index on this thread, because the texts come from the caller; waits where another process writes. */
  async search(query: string, options: SearchOptions): Promise<Hit[]> {
    for (let tries = 0; ; tries++) {
      try {
        return await this.#here.search(query, options)
      } catch (error) {
        if (!isPalimpsestError(error) || error.code !== 'STORE_LOCKED' || tries >= SEARCH_TRIES) throw error
        await sleep(SEARCH_WAIT_MS)
      }
    }
  }

  /** Resolves when everything that was asked for is written. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const ended = once(this.#thread, 'exit')
    this.#thread.ref()
    this.#thread.postMessage('close')
    await ended
    await this.#here.close()
  }

  async #write<T>(here: () => Promise<T>, method: Write, ...args: unknown[]): Promise<T> {
    if (this.#closed) throw closed()
    if (this.#slow > 0) {
      this.#slow--
      return this.#ask(method, ...args)
    }
    const from = performance.now()
    try {
      return await here()
    } catch (error) {
      if (!isPalimpsestError(error) || error.code !== 'STORE_LOCKED') throw error
      return this.#ask(method, ...args)
    } finally {
      if (performance.now() - from > SLOW_MS) this.#slow = SLOW_FOR
    }
  }

  #ask<T>(method: Write, ...args: unknown[]): Promise<T> {
    const n = this.#asked++
    // The process stays while something is being written, and no longer.
    this.#thread.ref()
    return new Promise((resolve, reject) => {
      this.#waiting.set(n, { resolve, reject })
      this.#thread.postMessage({ n, method, args } satisfies Asked)
    })
  }

  #settle({ n, result, error }: Answered): void {
    const waiting = this.#waiting.get(n)
    this.#waiting.delete(n)
    if (this.#waiting.size === 0) this.#thread.unref()
    if (error) waiting?.reject(toError(error))
    else waiting?.resolve(result as never)
  }

  #fail(error: Error): void {
    this.#closed = true
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

function closed(): PalimpsestError {
  return new PalimpsestError('STORE_FAILED', 'The ledger is closed.')
}

function toError({ message, code, data }: ThreadError): Error {
  return code ? new PalimpsestError(code, message, data) : new Error(message)
}
