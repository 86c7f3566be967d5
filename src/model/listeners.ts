/** Listeners for events, called in the order in which they were added. */
export class Listeners<Event> {
  readonly #all = new Set<(event: Event) => void>()

  /** Returns a function that stops listening. */
  listen(listener: (event: Event) => void): () => void {
    this.#all.add(listener)
    return () => void this.#all.delete(listener)
  }

  tell(event: Event): void {
    for (const listener of this.#all) listener(event)
  }
}
