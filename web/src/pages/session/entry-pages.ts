/**
 * The entries of a session in pages, read when they come into view and dropped when there are too many.
 *
 * A store for React. After `refresh` the old pages stay on the screen until they are needed again and have been read.
 */
import { Remembered } from '../../../../src/model/remembered.ts'
import { getJson } from '../../api.ts'
import type { Entry } from '../../api-types.ts'

export const PAGE = 30
const KEPT = 60
const AT_ONCE = 4

type Page = { round: number; entries: readonly Entry[] }

export class EntryPages {
  readonly #session: string
  readonly #pages = new Remembered<number, Page>(KEPT)
  readonly #loading = new Set<number>()
  readonly #listeners = new Set<() => void>()
  #stop = new AbortController()
  #round = 0
  #version = 0
  #needed = { from: 0, to: 0 }
  #error: unknown
  #total: number | undefined

  constructor(session: string) {
    this.#session = session
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** A number that changes whenever something changed. */
  readonly version = (): number => this.#version

  get error(): unknown {
    return this.#error
  }

  /** The number of entries, as of the last page that was read. */
  get total(): number | undefined {
    return this.#total
  }

  get(entry: number): Entry | undefined {
    return this.#pages.get(Math.floor(entry / PAGE))?.entries[entry % PAGE]
  }

  /** Reports which entries are on the screen; missing or outdated pages are read. */
  need(from: number, to: number): void {
    this.#needed = { from, to }
    this.#next()
  }

  /** Marks all pages as outdated. */
  refresh(): void {
    this.#round++
    this.#error = undefined
    this.#next()
  }

  close(): void {
    this.#stop.abort()
    this.#stop = new AbortController()
    this.#loading.clear()
  }

  #next(): void {
    const { from, to } = this.#needed
    for (let page = Math.floor(from / PAGE); page <= Math.floor(to / PAGE); page++) {
      if (this.#loading.size >= AT_ONCE) return
      if (this.#pages.get(page)?.round !== this.#round && !this.#loading.has(page)) void this.#read(page)
    }
  }

  async #read(page: number): Promise<void> {
    const round = this.#round
    const { signal } = this.#stop
    this.#loading.add(page)
    try {
      const query = { cursor: page * PAGE, limit: PAGE }
      const { entries, total } = await getJson('/sessions/{session}/entries', {
        params: { session: this.#session },
        query,
        signal,
      })
      this.#pages.set(page, { round, entries })
      this.#total = Math.max(total, this.#total ?? 0)
      this.#error = undefined
    } catch (error) {
      if (signal.aborted) return
      // The page shows the error; reading continues when an entry is needed again.
      this.#error = error
    } finally {
      if (!signal.aborted) this.#loading.delete(page)
    }
    this.#changed()
    if (this.#error === undefined) this.#next()
  }

  #changed(): void {
    this.#version++
    for (const listener of this.#listeners) listener()
  }
}
