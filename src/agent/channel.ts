/** Passes the events of concurrent tasks to one reader, in the order in which they happen. */

export class Channel<T> {
  readonly #waiting: T[] = []
  #wake: () => void = () => {}
  #closed = false

  push(value: T): void {
    this.#waiting.push(value)
    this.#wake()
  }

  /** Nothing is added after this; the reader still gets the waiting events. */
  close(): void {
    this.#closed = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      while (this.#waiting.length > 0) yield this.#waiting.shift()!
      if (this.#closed) return
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
  }
}
