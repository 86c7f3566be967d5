/** Runs work with the same key one after the other; work with different keys does not wait. Pure. */
export class Queues {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Starts when all earlier work under this key has ended, even if it failed. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const next = before.then(work, work)
    const quiet = next.catch(() => undefined)
    this.#last.set(key, quiet)
    void quiet.then(() => {
      if (this.#last.get(key) === quiet) this.#last.delete(key)
    })
    return next
  }
}
