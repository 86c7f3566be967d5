/** Those who want to hear of something, told in the order in which they came. */
export class Listeners<Event> {
  readonly #all = new Set<(event: Event) => void>()

  /** The answer stops listening. */
  listen(listener: (event: Event) => void): () => void {
    this.#all.add(listener)
    return () => void this.#all.delete(listener)
  }

  tell(event: Event): void {
    for (const listener of this.#all) listener(event)
  }
}
