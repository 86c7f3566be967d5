/** A map that forgets the least recently used entry once it has more than `most`. */
export class Remembered<K, V> extends Map<K, V> {
  readonly #most: number

  constructor(most: number) {
    super()
    this.#most = most
  }

  override get(key: K): V | undefined {
    const value = super.get(key)
    if (value !== undefined) this.#touch(key, value)
    return value
  }

  override set(key: K, value: V): this {
    this.#touch(key, value)
    for (const oldest of this.keys()) {
      if (this.size > this.#most) this.delete(oldest)
      break
    }
    return this
  }

  #touch(key: K, value: V): void {
    this.delete(key)
    super.set(key, value)
  }
}
