/**
 * Sums over a growing list of numbers that change in place (a Fenwick tree). Adding, changing and summing a range take
 * logarithmic time. Exact for whole numbers.
 */
export class Sums {
  /** At i (from 1): the sum of the last `i & -i` numbers up to i. */
  readonly #tree: number[] = [0]

  push(value: number): void {
    const at = this.#tree.length
    let sum = value
    for (let i = at - 1; i > at - (at & -at); i -= i & -i) sum += this.#tree[i]!
    this.#tree.push(sum)
  }

  add(index: number, change: number): void {
    for (let i = index + 1; i < this.#tree.length; i += i & -i) this.#tree[i]! += change
  }

  /** The sum of the numbers before an index. */
  before(index: number): number {
    let sum = 0
    for (let i = index; i > 0; i -= i & -i) sum += this.#tree[i]!
    return sum
  }
}
