/**
 * Compares the expected cache reads with the reported ones, and gives each cache miss a cause.
 *
 * After a call the provider has cached the tokens that it read and wrote. The next call is expected to read them again,
 * except those after a change. If it reads far fewer, that is a miss: the lifetime was over, the model changed, we
 * edited, the client changed something, the server edited by itself, or the provider had another reason. A cause that
 * the provider reports takes precedence.
 */
import { sameJson } from '../../formats/adapters/original.ts'
import type { CacheMiss, Usage } from '../../model/types.ts'
import { thousands } from '../../planner/planner.ts'
import { cachedBy, lostTokens } from '../../providers/cache.ts'
import type { Model } from '../../providers/models.ts'
import type { Answer } from './dialect.ts'

export type Watched = {
  at: number
  model: string
  /** System prompt, tools and the other settings around the messages. */
  frame: readonly unknown[]
  /** Whether our edits changed messages that had been sent before. */
  edited: boolean
  clientChanged: boolean
}

type Call = Watched & { usage: Usage; cached: number }

export class CacheWatch {
  #last: Call | undefined

  /** Processes an answered call. Returns how the cache differed from the expectation. */
  note(sent: Watched, answer: Answer, model: Model): Outcome {
    const { usage } = answer
    const last = this.#last
    const read = usage.cacheRead ?? 0
    this.#last = { ...sent, usage, cached: cachedBy(usage, model) }
    if (!last) return {}
    const gap = sent.at - last.at
    const lost = lostTokens(last.usage, usage, model)
    if (lost === 0) {
      const keptLonger = gap > model.ttl && read > 0 && last.cached >= model.minimum
      return keptLonger
        ? { ttl: gap, sentence: `${belief(last, model)}, which is over; ${thousands(read)} were read from it` }
        : {}
    }
    const cause = causeOf({ sent, last, answer, gap, ttl: model.ttl })
    const miss = { cause, tokens: lost }
    if (cause !== 'provider') return { miss }
    return {
      miss,
      sentence: `${belief(last, model)}; ${thousands(read)} were read from it, for a reason that only the provider knows`,
    }
  }
}

export type Outcome = {
  miss?: CacheMiss
  /** The provider kept a prefix for this many milliseconds, longer than expected. */
  ttl?: number
  /** The expected and the reported reads, if they differ. */
  sentence?: string
}

function belief({ cached }: Call, { ttl }: Model): string {
  return `Expected ${thousands(cached)} tokens in the cache for ${Math.round(ttl / 60_000)} minutes`
}

type Given = { sent: Watched; last: Call; answer: Answer; gap: number; ttl: number }

function causeOf({ sent, last, answer, gap, ttl }: Given): CacheMiss['cause'] {
  const { diagnosis, serverEdits } = answer
  if (diagnosis?.includes('model')) return 'model'
  if (diagnosis !== undefined && /system|tools|key|format|effort|verbosity|tier/.test(diagnosis)) return 'client'
  if (sent.model !== last.model) return 'model'
  if (gap > ttl) return 'pause'
  if (serverEdits.length > 0 || diagnosis === 'context_compacted') return 'server'
  if (sent.edited) return 'edit'
  if (sent.clientChanged || !sameJson(sent.frame, last.frame)) return 'client'
  return diagnosis === 'messages_changed' || diagnosis === 'input_changed' ? 'client' : 'provider'
}
