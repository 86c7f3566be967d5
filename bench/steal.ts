/**
 * How undisturbed the machine is: whether the host of a virtual machine takes its processors away, second by second,
 * from /proc/stat on Linux. Measurements from disturbed seconds are not used. Without that file, every second counts as
 * undisturbed.
 */
import { readFileSync } from 'node:fs'

/** Of the time of all processors; a tick is a hundredth of a second of one. */
const CALM = 0.01
const SAMPLE_MS = 500

/** Ticks since the machine began; milliseconds since the first sample that were not calm. */
type Sample = { at: number; stolen: number; all: number; disturbed: number }

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
    return !first || !last || first === last || isCalm(first, last)
  }

  /** Milliseconds since a moment in which it was not so. */
  disturbedSince(moment: number): number {
    const first = this.#samples.find(({ at }) => at >= moment)
    return first ? this.#samples.at(-1)!.disturbed - first.disturbed : 0
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#sample()
  }

  #sample(): void {
    const ticks = readTicks()
    if (!ticks) return
    const now: Sample = { at: performance.now(), stolen: ticks[7] ?? 0, all: sum(ticks), disturbed: 0 }
    const before = this.#samples.at(-1)
    if (before) now.disturbed = before.disturbed + (isCalm(before, now) ? 0 : now.at - before.at)
    this.#samples.push(now)
  }
}

function isCalm(from: Sample, to: Sample): boolean {
  return to.stolen - from.stolen <= CALM * (to.all - from.all)
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
