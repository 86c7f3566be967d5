/**
 * The SQLite ledger for processes that serve many requests at once: a write that waits does not make others wait.
 *
 * A commit is made on the main thread, which takes a tenth of a millisecond, and leaves the log unsynced. Then the
 * system's own threads sync the log, once for all waiting commits, and only after that the write resolves. So it
 * keeps the promise of every store, and the main thread never waits for the disk. Operations that would wait go to a
 * thread of our own: a write while another process holds the database, and checkpoints of the log.
 * A database in memory cannot be shared by two connections: use SqliteLedger for that.
 */

import { closeSync, fdatasync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import { type ErrorCode, isPalimpsestError, PalimpsestError } from '../model/errors.ts'
import { type RecallIndex, type Scope, sessionIn } from '../recall/index.ts'
import { Indexer, LATER_MS } from './indexer.ts'
import type { Redacted, ToRedact } from './redaction.ts'
import { SqliteLedger, type SqliteOptions } from './sqlite.ts'
import type { EarlyStore, LedgerStore, ListOptions, NewRow, ReadOptions, Row, SessionRow } from './store.ts'
import type { Removal, Tombstone } from './tombstones.ts'

/** The requests to the thread, and its answers. */
export type Asked = {
  n: number
  method: Write | 'remove' | 'redact' | 'scrub' | 'checkpoint' | 'advanceIndex'
  args: unknown[]
}
type Write = 'open' | 'setMeta' | 'append'
export type Answered = { n: number; result?: unknown; error?: ThreadError }
export type ThreadError = { message: string; code?: ErrorCode; data?: Record<string, unknown> }

/** How long a write may wait on the main thread for another process. */
const BRIEFLY_MS = 5
/** How long the thread waits: another process may rewrite the file after a deletion, some six seconds for a gigabyte. */
const PATIENTLY_MS = 60_000
/** The log is checkpointed after this many writes. */
const CHECKPOINT_AFTER = 300

type Waiting = { resolve(result: never): void; reject(error: Error): void }

export class ThreadedLedger implements LedgerStore {
  readonly #here: SqliteLedger
  readonly #log: SyncedFile
  readonly #thread: Worker
  readonly #waiting = new Map<number, Waiting>()
  readonly #writing = new Set<Promise<unknown>>()
  readonly #indexer: Indexer
  /** Resolves when the thread has ended, for any reason. */
  readonly #ended: Promise<unknown>
  /** Why the thread takes no more requests. */
  #failure: Error | undefined
  #asked = 0
  #written = 0
  #closed = false

  /** Opens or creates the database at a path. */
  constructor(path: string, options: SqliteOptions = {}) {
    // Opened first with the full timeout, so that two processes can open it at once. Throws if the file is damaged.
    void new SqliteLedger(path, { ...options, indexes: false }).close()
    const here = { sync: 'normal', checkpoints: false, indexes: false, busyMs: BRIEFLY_MS } as const
    this.#here = new SqliteLedger(path, { ...options, ...here })
    this.#log = new SyncedFile(`${path}-wal`)
    const file = import.meta.url.endsWith('.ts') ? './thread.ts' : './thread.js'
    this.#thread = new Worker(new URL(file, import.meta.url), {
      workerData: { path, options: { busyMs: PATIENTLY_MS, ...options, indexes: false } },
      // Without it, Node 22 warns in every thread that node:sqlite is experimental.
      execArgv: ['--disable-warning=ExperimentalWarning'],
    })
    this.#thread.unref()
    this.#thread.on('message', (answer: Answered) => this.#settle(answer))
    this.#thread.on('error', ({ message }) => this.#fail(new PalimpsestError('STORE_FAILED', message)))
    this.#ended = new Promise(resolve => this.#thread.once('exit', resolve)).then(() => this.#fail(closed()))
    this.#indexer = new Indexer((...args) => this.#ask('advanceIndex', ...args), { soonMs: LATER_MS })
    this.#indexer.begin()
  }

  open(id: string, init: { at: number; meta: string; parent?: { id: string; seq: number } }): Promise<SessionRow> {
    return this.#write({ waits: true }, 'open', id, init)
  }

  setMeta(id: string, meta: string): Promise<void> {
    return this.#write({ waits: true }, 'setMeta', id, meta)
  }

  append(id: string, rows: readonly NewRow[]): Promise<boolean> {
    return this.#write({ waits: true }, 'append', id, rows)
  }

  find(id: string): Promise<SessionRow | undefined> {
    return this.#here.find(id)
  }

  list(options?: ListOptions): Promise<SessionRow[]> {
    return this.#here.list(options)
  }

  read(id: string, options?: ReadOptions): Promise<Row[]> {
    return this.#here.read(id, options)
  }

  contents(hashes: readonly string[]): Promise<Map<string, string>> {
    return this.#here.contents(hashes)
  }

  /** Runs in the thread: it takes long, and only the caller waits for it. */
  async remove(ids: readonly string[], removal: Removal): Promise<Tombstone[]> {
    if (this.#closed) throw closed()
    const removed = await this.#tracked(this.#ask<Tombstone[]>('remove', ids, removal))
    this.#indexer.begin()
    return removed
  }

  async redact(ids: readonly string[], what: ToRedact, removal: Removal): Promise<Redacted[]> {
    if (this.#closed) throw closed()
    const redacted = await this.#tracked(this.#ask<Redacted[]>('redact', ids, what, removal))
    this.#indexer.begin()
    return redacted
  }

  async scrub(): Promise<void> {
    if (this.#closed) throw closed()
    await this.#tracked(this.#ask('scrub'))
  }

  tombstones(from?: number): Promise<Tombstone[]> {
    return this.#here.tombstones(from)
  }

  /** The thread fills the index; it is read here. */
  async index(scope: Scope): Promise<RecallIndex> {
    return this.#here.readIndex(scope, { behind: await this.#indexer.catchUp(sessionIn(scope)) })
  }

  /** Resolves when all requested writes are done. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await Promise.allSettled(this.#writing)
    await this.#indexer.close()
    this.#thread.ref()
    this.#thread.postMessage('close')
    await this.#ended
    this.#log.close()
    await this.#here.close()
  }

  /** This ledger, with writes that resolve at their commit. */
  early(): EarlyStore {
    const store: LedgerStore = {
      open: (id, init) => this.#write({ waits: false }, 'open', id, init),
      setMeta: (id, meta) => this.#write({ waits: false }, 'setMeta', id, meta),
      append: (id, rows) => this.#write({ waits: false }, 'append', id, rows),
      find: id => this.find(id),
      list: options => this.list(options),
      read: (id, options) => this.read(id, options),
      contents: hashes => this.contents(hashes),
      remove: (ids, removal) => this.remove(ids, removal),
      redact: (ids, what, removal) => this.redact(ids, what, removal),
      scrub: () => this.scrub(),
      tombstones: from => this.tombstones(from),
      index: scope => this.index(scope),
      close: () => this.close(),
    }
    return { store, synced: () => this.#tracked(this.#log.sync()) }
  }

  /** `waits`: whether the write also waits for the disk. A write by the thread is on disk when the thread answers. */
  #write<T>({ waits }: { waits: boolean }, method: Write, ...args: unknown[]): Promise<T> {
    if (this.#closed || this.#failure) return Promise.reject(this.#failure ?? closed())
    return this.#tracked(
      this.#writeHere<T>(waits, method, args).catch(error => {
        if (!isLocked(error)) throw error
        return this.#ask<T>(method, ...args)
      }),
    ).then(result => {
      if (method === 'append') this.#indexer.appended(String(args[0]))
      return result
    })
  }

  async #writeHere<T>(waits: boolean, method: Write, args: unknown[]): Promise<T> {
    this.#log.check()
    const write = this.#here[method] as (...args: unknown[]) => Promise<T>
    const result = await write.apply(this.#here, args)
    if (waits) await this.#log.sync()
    if (++this.#written % CHECKPOINT_AFTER === 0 && !this.#closed) this.#ask('checkpoint').catch(() => {})
    return result
  }

  /** Registers a write, so that `close` waits for it. */
  #tracked<T>(writing: Promise<T>): Promise<T> {
    this.#writing.add(writing)
    const done = () => this.#writing.delete(writing)
    writing.then(done, done)
    return writing
  }

  #ask<T>(method: Asked['method'], ...args: unknown[]): Promise<T> {
    if (this.#failure) return Promise.reject(this.#failure)
    const n = this.#asked++
    // Keeps the process alive while a write is in progress, and no longer.
    this.#thread.ref()
    return new Promise((resolve, reject) => {
      this.#waiting.set(n, { resolve, reject })
      this.#thread.postMessage({ n, method, args } satisfies Asked)
    })
  }

  #settle({ n, result, error }: Answered): void {
    const waiting = this.#waiting.get(n)
    this.#waiting.delete(n)
    if (this.#waiting.size === 0 && !this.#closed) this.#thread.unref()
    if (error) waiting?.reject(toError(error))
    else waiting?.resolve(result as never)
  }

  /** The thread has ended: waiting requests fail, and so does every later write. */
  #fail(error: Error): void {
    this.#failure ??= error
    for (const { reject } of this.#waiting.values()) reject(this.#failure)
    this.#waiting.clear()
  }
}

/**
 * A file that is synced to disk by the system's threads; calls during a sync share the next one. After a failure it
 * stays failed: the system forgets the data that it could not write, and a later success would not cover it.
 */
class SyncedFile {
  readonly #file: number
  #running: Promise<void> | undefined
  #next: Promise<void> | undefined
  #failure: PalimpsestError | undefined

  constructor(path: string) {
    this.#file = openSync(path, 'r+')
    const folder = openSync(dirname(path), 'r')
    // Sync the folder too, so that the file itself is found after a crash.
    fsyncSync(folder)
    closeSync(folder)
  }

  /** Throws when an earlier sync has failed. */
  check(): void {
    if (this.#failure) throw this.#failure
  }

  /** Resolves when everything that was written before the call is on disk. */
  sync(): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure)
    if (!this.#running) {
      this.#running = toDisk(this.#file)
        .catch(cause => {
          throw (this.#failure = unsynced(cause))
        })
        .finally(() => {
          this.#running = undefined
        })
      return this.#running
    }
    // The running sync may have begun before the last write.
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = undefined
        return this.sync()
      })
    return this.#next
  }

  close(): void {
    closeSync(this.#file)
  }
}

const toDisk = promisify(fdatasync)

function isLocked(error: unknown): boolean {
  return isPalimpsestError(error) && error.code === 'STORE_LOCKED'
}

function unsynced(cause: Error): PalimpsestError {
  const message = 'The ledger could not be written to disk. Check the disk, and restart Palimpsest.'
  return new PalimpsestError('STORE_FAILED', `${message} Nothing more is written until then.`, {}, cause)
}

function closed(): PalimpsestError {
  return new PalimpsestError('STORE_FAILED', 'The ledger is closed.')
}

function toError({ message, code, data }: ThreadError): Error {
  return code ? new PalimpsestError(code, message, data) : new Error(message)
}
