/**
 * Counts for Prometheus since the proxy started. Requests, edits and faults are known only to the proxy and counted as
 * they happen; tokens, misses and cost come from the statistics of the sessions (statistics.ts).
 */

import type { Statistics } from '../../view/statistics.ts'

/** Counted as they happen. */
export type Counts = {
  /** Requests that passed unrecorded: lists of models, token counts, dialects that we do not speak. */
  passed: number
  edits: number
  faults: number
}

type Labels = Record<string, string>

export class Meter {
  readonly #counts = new Map<string, Map<string, number>>()
  readonly totals: Counts = { passed: 0, edits: 0, faults: 0 }

  add(metric: Metric, labels: Labels = {}, amount = 1): void {
    const byLabels = this.#counts.get(metric) ?? new Map<string, number>()
    let key = ''
    for (const name in labels) key += `${key === '' ? '' : ','}${name}="${plain(labels[name]!)}"`
    byLabels.set(key, (byLabels.get(key) ?? 0) + amount)
    this.#counts.set(metric, byLabels)
  }

  fault(kind: string): void {
    this.totals.faults++
    this.add('palimpsest_faults_total', { kind })
  }

  edits(authors: readonly string[]): void {
    for (const by of authors) {
      if (by === 'engine') continue
      this.totals.edits++
      this.add('palimpsest_edits_total', { by })
    }
  }

  /** Writes Prometheus' text format. */
  text(account: ReadonlyMap<string, Statistics>): string {
    const lines: string[] = []
    const counted = accountMeter(account)
    for (const [metric, about] of Object.entries(METRICS)) {
      // A counter starts at zero, so that Prometheus can see its first increase.
      const counts = this.#counts.get(metric) ?? counted.#counts.get(metric) ?? new Map([['', 0]])
      lines.push(`# HELP ${metric} ${about}`, `# TYPE ${metric} counter`)
      for (const [labels, value] of counts) lines.push(`${metric}${labels ? `{${labels}}` : ''} ${value}`)
    }
    return `${lines.join('\n')}\n`
  }
}

function accountMeter(account: ReadonlyMap<string, Statistics>): Meter {
  const meter = new Meter()
  for (const [model, sums] of account) {
    meter.add('palimpsest_calls_total', { model }, sums.calls)
    meter.add('palimpsest_tokens_in_total', { model }, sums.tokensIn)
    meter.add('palimpsest_tokens_sent_total', { model }, sums.tokensSent)
    meter.add('palimpsest_cost_dollars_total', { model }, sums.cost)
    meter.add('palimpsest_saved_dollars_total', { model }, sums.saved + sums.rewritten)
    meter.add('palimpsest_rewritten_dollars_total', { model }, sums.rewritten)
    for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite'] as const)
      meter.add('palimpsest_reported_tokens_total', { model, kind }, sums[kind])
    for (const [cause, times] of Object.entries(sums.busts))
      if (times > 0) meter.add('palimpsest_busts_total', { cause }, times)
  }
  return meter
}

/** A value that needs no escapes. */
function plain(value: string): string {
  return value.replace(/[\\"\n]/g, '_')
}

const METRICS = {
  palimpsest_requests_total: 'Requests by dialect and status.',
  palimpsest_calls_total: 'Calls of a model.',
  palimpsest_tokens_in_total: 'Tokens of messages received from clients.',
  palimpsest_tokens_sent_total: 'Tokens of messages sent to providers.',
  palimpsest_reported_tokens_total: 'Tokens as providers reported them.',
  palimpsest_edits_total: 'Edits made, by author.',
  palimpsest_busts_total: 'Calls for which a cached prefix was lost, by cause.',
  palimpsest_cost_dollars_total:
    'Cost of calls at table prices: as reported by providers, or estimated if they did not report.',
  palimpsest_saved_dollars_total: 'Savings by edits, in the calls that they made cheaper.',
  palimpsest_rewritten_dollars_total:
    'Cost of edits, in the calls that they made more expensive by writing the cache again.',
  palimpsest_overflows_total: 'Requests that were too long for the provider, by outcome.',
  palimpsest_reasoning_refused_total: 'Requests whose reasoning the provider refused, by outcome.',
  palimpsest_faults_total: 'Internal errors; the request was passed on unedited.',
} as const

export type Metric = keyof typeof METRICS
