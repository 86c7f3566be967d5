/**
 * What passed through a proxy since it started, in numbers: for the line at the end of `palimpsest run`, and for
 * Prometheus. What the provider's own caching saves is never counted as ours: a token that we did not send is worth
 * what it would have cost from the cache, and what our edits made the provider write again is taken off.
 */

import type { Usage } from '../../model/types.ts'
import { modelInfo } from '../../providers/models.ts'
import { dollarsOf } from '../../providers/pricing.ts'

export type Totals = {
  calls: number
  /** Requests that went by unrecorded: lists of models, token counts, dialects that we do not speak. */
  passed: number
  /** Tokens of messages that clients sent, and that we sent on. */
  tokensIn: number
  tokensSent: number
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  /** Dollars for what the provider reported. */
  cost: number
  /** Dollars that our edits saved, and that they cost in cache that was written again. */
  saved: number
  rewritten: number
  edits: number
  faults: number
}

type Labels = Record<string, string>

export type Counted = { usage: Usage; tokensSent: number; tokensSaved: number; model: string; rewritten: number }

export class Meter {
  readonly #counts = new Map<string, Map<string, number>>()
  readonly totals: Totals = {
    calls: 0,
    passed: 0,
    tokensIn: 0,
    tokensSent: 0,
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    cost: 0,
    saved: 0,
    rewritten: 0,
    edits: 0,
    faults: 0,
  }

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

  call({ usage, tokensSent, tokensSaved, model, rewritten }: Counted): void {
    const known = modelInfo(model)
    const { input, read, write } = known
    const price = input / 1e6
    const cost = dollarsOf(usage, known)
    const saved = tokensSaved * price * read
    const lost = rewritten * price * (write - read)
    const { totals } = this
    totals.calls++
    totals.tokensIn += tokensSent + tokensSaved
    totals.tokensSent += tokensSent
    totals.cost += cost
    totals.saved += saved
    totals.rewritten += lost
    this.add('palimpsest_tokens_in_total', { model }, tokensSent + tokensSaved)
    this.add('palimpsest_tokens_sent_total', { model }, tokensSent)
    this.add('palimpsest_cost_dollars_total', { model }, cost)
    this.add('palimpsest_saved_dollars_total', { model }, saved)
    this.add('palimpsest_rewritten_dollars_total', { model }, lost)
    for (const kind of ['input', 'output', 'cacheRead', 'cacheWrite'] as const) {
      totals[kind] += usage[kind] ?? 0
      this.add('palimpsest_reported_tokens_total', { model, kind }, usage[kind] ?? 0)
    }
  }

  /** Prometheus' text format. */
  text(): string {
    const lines: string[] = []
    for (const [metric, about] of Object.entries(METRICS)) {
      // A counter that is there from the start is one whose first step can be seen.
      const counts = this.#counts.get(metric) ?? new Map([['', 0]])
      lines.push(`# HELP ${metric} ${about}`, `# TYPE ${metric} counter`)
      for (const [labels, value] of counts) lines.push(`${metric}${labels ? `{${labels}}` : ''} ${value}`)
    }
    return `${lines.join('\n')}\n`
  }
}

/** A value that needs no escapes. */
function plain(value: string): string {
  return value.replace(/[\\"\n]/g, '_')
}

const METRICS = {
  palimpsest_requests_total: 'Requests by dialect and status.',
  palimpsest_tokens_in_total: 'Tokens of messages that clients sent.',
  palimpsest_tokens_sent_total: 'Tokens of messages that were sent on.',
  palimpsest_reported_tokens_total: 'Tokens as providers reported them.',
  palimpsest_edits_total: 'Edits made, by author.',
  palimpsest_busts_total: 'Calls for which a cached prefix was lost, by cause.',
  palimpsest_cost_dollars_total: 'Cost of what providers reported, by the price table.',
  palimpsest_saved_dollars_total: 'What tokens that were not sent would have cost from the cache.',
  palimpsest_rewritten_dollars_total: 'What edits cost in cache that had to be written again.',
  palimpsest_overflows_total: 'Requests that were too long for the provider, by what became of them.',
  palimpsest_reasoning_refused_total: 'Requests whose reasoning the provider refused, by what became of them.',
  palimpsest_faults_total: 'Faults of our own; the request went on without us.',
} as const

export type Metric = keyof typeof METRICS
