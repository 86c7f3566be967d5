/**
 * How calm the machine is: whether the host of a virtual one takes its processors away, second by second, as Linux
 * tells in /proc/stat. What is measured in a second of which others had a part says nothing about anybody. Where
 * there is no such file, every second is calm.
 */
import { readFileSync } from 'node:fs'

/** Of the time of all processors; a tick is a hundredth of a second of one. */
const CALM = 0.01
const SAMPLE_MS = 500

type Sample = { at: number; stolen: number; all: number }

export class Steal {
  readonly #samples: Sample[] = []
  readonly #timer: NodeJS.Timeout

  constructor() {
    this.#sample()
    this.#timer = setInterval(() => this.#sample(), SAMPLE_MS)
  }

  /** Whether nothing was taken away between two moments of performance.now(), or hardly anything. */
  wasCalm(from: number, to: number): boolean {
    const first = this.#samples.findLast(({ at }) => at <= from) ?? this.#samples[0]
    const last = this.#samples.find(({ at }) => at >= to) ?? this.#samples.at(-1)
    if (!first || !last || first === last) return true
    return last.stolen - first.stolen <= CALM * (last.all - first.all)
  }

  /** Milliseconds since a moment in which it was not so. */
  disturbedSince(moment: number): number {
    let total = 0
    for (const [i, { at }] of this.#samples.entries()) {
      const before = this.#samples[i - 1]
      if (before && before.at >= moment && !this.wasCalm(before.at, at)) total += at - before.at
    }
    return total
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#sample()
  }

  #sample(): void {
    const ticks = readTicks()
    if (ticks) this.#samples.push({ at: performance.now(), stolen: ticks[7] ?? 0, all: sum(ticks) })
  }
}

function readTicks(): number[] | undefined {
  try {
    const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
    // User, nice, system, idle, waiting, two of interrupts, stolen; guests are in the first two.
    return line.trim().split(/\s+/).slice(1, 9).map(Number)
  } catch {
    return undefined
  }
}

function sum(list: readonly number[]): number {
  return list.reduce((total, each) => total + each, 0)
}
