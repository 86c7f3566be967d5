/** The metrics of calls: the two histograms of the GenAI conventions, and the calls' cost, savings and cache misses. */

import type { TimelineCall } from '../view/timeline.ts'
import { type Attributes, attributesOf, type HistogramPoint, type Metric, type NumberPoint, nanos } from './otlp.ts'

/** The bucket bounds that the conventions prescribe. */
const TOKEN_BOUNDS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]
const SECOND_BOUNDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]

type Histogram = { attributes: Attributes; count: number; sum: number; buckets: number[] }
type Counter = { attributes: Attributes; value: number }

export class TelemetryMetrics {
  readonly #clock: () => number
  readonly #startedAt: number
  readonly #tokens = new Map<string, Histogram>()
  readonly #seconds = new Map<string, Histogram>()
  readonly #cost = new Map<string, Counter>()
  readonly #saved = new Map<string, Counter>()
  readonly #misses = new Map<string, Counter>()

  constructor(clock: () => number) {
    this.#clock = clock
    this.#startedAt = clock()
  }

  call(common: Attributes, call: TimelineCall, { input, output }: { input: number; output: number }): void {
    if (!call.paid.estimated) {
      record(this.#tokens, { ...common, 'gen_ai.token.type': 'input' }, input, TOKEN_BOUNDS)
      record(this.#tokens, { ...common, 'gen_ai.token.type': 'output' }, output, TOKEN_BOUNDS)
    }
    record(this.#seconds, common, (call.answeredAt - call.at) / 1000, SECOND_BOUNDS)
    add(this.#cost, common, call.paid.dollars)
    add(this.#saved, common, call.raw.cost - call.sent.cost)
    if (call.missed) add(this.#misses, { ...common, 'palimpsest.cache.miss.cause': call.missed.cause }, 1)
  }

  all(): Metric[] {
    const metrics: (Metric | undefined)[] = [
      this.#histogram('gen_ai.client.token.usage', '{token}', this.#tokens, TOKEN_BOUNDS),
      this.#histogram('gen_ai.client.operation.duration', 's', this.#seconds, SECOND_BOUNDS),
      this.#sum('palimpsest.cost', 'USD', this.#cost, true),
      // Not monotonic: edits may cost more than they save for a while.
      this.#sum('palimpsest.saved', 'USD', this.#saved, false),
      this.#sum('palimpsest.cache.misses', '{call}', this.#misses, true),
    ]
    return metrics.filter(metric => metric !== undefined)
  }

  #histogram(name: string, unit: string, found: Map<string, Histogram>, explicitBounds: number[]): Metric | undefined {
    if (found.size === 0) return undefined
    const dataPoints = [...found.values()].map(
      ({ attributes, count, sum, buckets }): HistogramPoint => ({
        ...this.#point(attributes),
        count: String(count),
        sum,
        bucketCounts: buckets.map(String),
        explicitBounds,
      }),
    )
    return { name, unit, histogram: { dataPoints, aggregationTemporality: 2 } }
  }

  #sum(name: string, unit: string, found: Map<string, Counter>, isMonotonic: boolean): Metric | undefined {
    if (found.size === 0) return undefined
    const dataPoints = [...found.values()].map(({ attributes, value }): NumberPoint => {
      return { ...this.#point(attributes), asDouble: value }
    })
    return { name, unit, sum: { dataPoints, aggregationTemporality: 2, isMonotonic } }
  }

  #point(attributes: Attributes) {
    const times = { startTimeUnixNano: nanos(this.#startedAt), timeUnixNano: nanos(this.#clock()) }
    return { attributes: attributesOf(attributes), ...times }
  }
}

function record(found: Map<string, Histogram>, attributes: Attributes, value: number, bounds: readonly number[]): void {
  const key = JSON.stringify(attributes)
  const histogram = found.get(key) ?? { attributes, count: 0, sum: 0, buckets: Array(bounds.length + 1).fill(0) }
  const over = bounds.findIndex(bound => value <= bound)
  histogram.buckets[over < 0 ? bounds.length : over]++
  histogram.count++
  histogram.sum += value
  found.set(key, histogram)
}

function add(found: Map<string, Counter>, attributes: Attributes, value: number): void {
  const key = JSON.stringify(attributes)
  const counter = found.get(key) ?? { attributes, value: 0 }
  counter.value += value
  found.set(key, counter)
}
