/**
 * Peers with a public algorithm whose code cannot be called from here, implemented from their descriptions with the
 * defaults given there. Where a description leaves something open, the cheaper choice is taken.
 */
import { type Counter, messageTokens } from '../../src/model/tokens.ts'
import type { Message } from '../../src/model/types.ts'
import { Cleared, legalCut, outputOf, type Peer, type PeerCall, resultOf } from './peer.ts'

/**
 * Anthropic's clear_tool_uses_20250919: above the trigger, all results except the last `keep` are cleared. The server
 * keeps no state, so by default it clears on every request; `clear_at_least` makes it wait for a batch (here cleared
 * results stay cleared, which is its best case).
 */
function anthropic(name: string, setting: string, options: { trigger: number; keep: number; atLeast?: number }): Peer {
  const { trigger, keep, atLeast = 0 } = options
  return {
    name,
    setting,
    source: 'Anthropic, context editing documentation',
    runs: 'description',
    start(count) {
      const cleared = new Cleared()
      const sticky = atLeast > 0
      return {
        view({ messages, overhead }) {
          const shown = sticky ? cleared.show(messages) : messages
          if (tokensOf(shown, count) + overhead <= trigger) return shown
          const results = messages.filter(message => resultOf(message) && !(sticky && cleared.has(message)))
          const old = results.slice(0, Math.max(0, results.length - keep))
          if (old.reduce((sum, message) => sum + messageTokens(message, count), 0) < atLeast) return shown
          for (const message of old) if (!cleared.has(message)) cleared.clear(message, '[cleared to save context]')
          return cleared.show(messages)
        },
      }
    },
  }
}

/** opencode's prune: beyond the newest 40k tokens of tool output, if at least 20k can go; not in the last two turns. */
function opencode(name: string, setting: string, everyCall: boolean): Peer {
  return {
    name,
    setting,
    source: 'anomalyco/opencode, session compaction (prune)',
    runs: 'description',
    start(count) {
      const cleared = new Cleared()
      return {
        view({ messages, fresh }) {
          if (!everyCall && !messages.slice(fresh).some(({ role }) => role === 'user')) return cleared.show(messages)
          const old: Message[] = []
          let [turns, total, pruned] = [0, 0, 0]
          for (const message of messages.toReversed()) {
            if (message.role === 'user') turns++
            const part = resultOf(message)
            if (turns < 2 || !part || part.name === 'skill') continue
            if (cleared.has(message)) break
            const tokens = messageTokens(message, count)
            total += tokens
            if (total <= 40_000) continue
            pruned += tokens
            old.push(message)
          }
          if (pruned > 20_000) for (const message of old) cleared.clear(message, '[Old tool result content cleared]')
          return cleared.show(messages)
        },
      }
    },
  }
}

/** Gemini CLI's masking of tool output: the newest 50k tokens stay, and 30k must be there to be masked. */
function gemini(name: string, setting: string, { protect, batch }: { protect: number; batch: number }): Peer {
  return {
    name,
    setting,
    source: 'google-gemini/gemini-cli, tool output masking service',
    runs: 'description',
    start(count) {
      const cleared = new Cleared()
      return {
        view({ messages, fresh }) {
          const old: Message[] = []
          let [total, prunable] = [0, 0]
          for (const message of messages.slice(0, fresh).toReversed()) {
            if (!resultOf(message) || cleared.has(message)) continue
            const tokens = messageTokens(message, count)
            total += tokens
            if (total <= protect) continue
            prunable += tokens
            old.push(message)
          }
          if (prunable < batch) return cleared.show(messages)
          for (const message of old) {
            const part = resultOf(message)!
            const text = outputOf(part)
            const preview = /bash|shell|exec/i.test(part.name) ? tenLines(text) : twoEnds(text)
            const mask = `<tool_output_masked>\n${preview}\nFull output: tool-outputs/output.txt\n</tool_output_masked>`
            if (mask.length < text.length) cleared.clear(message, mask)
          }
          return cleared.show(messages)
        },
      }
    },
  }
}

function twoEnds(text: string): string {
  return text.length > 500 ? `${text.slice(0, 250)}\n…\n${text.slice(-250)}` : text
}

function tenLines(text: string): string {
  const lines = text.split('\n')
  return lines.length > 20 ? [...lines.slice(0, 10), '…', ...lines.slice(-10)].join('\n') : text
}

/** Claude Code's microcompaction: all but the five newest results, after a long pause or past a size. */
function microcompact(
  name: string,
  setting: string,
  due: (call: PeerCall, clearable: number) => boolean,
  keep = 5,
): Peer {
  return {
    name,
    setting,
    source: 'Claude Code, as its users describe it (anthropics/claude-code issues)',
    runs: 'description',
    start(count) {
      const cleared = new Cleared()
      return {
        view(call) {
          const results = call.messages.filter(message => resultOf(message) && !cleared.has(message))
          const old = results.slice(0, -keep)
          const clearable = old.reduce((sum, message) => sum + messageTokens(message, count), 0)
          if (due(call, clearable))
            for (const message of old) cleared.clear(message, '[Old tool result content cleared]')
          return cleared.show(call.messages)
        },
      }
    },
  }
}

/** Observation masking: all but the last n observations become a line; `polling` moves the border in steps. */
function observations(name: string, setting: string, { keep, polling }: { keep: number; polling: number }): Peer {
  return {
    name,
    setting,
    source: 'arXiv 2508.21433 (The Complexity Trap); SWE-agent, last_n_observations',
    runs: 'description',
    start() {
      const cleared = new Cleared()
      return {
        view({ messages }) {
          const results = messages.filter(message => resultOf(message))
          const border = Math.max(0, Math.floor(results.length / polling) * polling - keep)
          for (const message of results.slice(0, border)) {
            if (cleared.has(message)) continue
            const lines = outputOf(resultOf(message)!).split('\n').length
            cleared.clear(message, `Previous ${lines} lines omitted for brevity.`)
          }
          return cleared.show(messages)
        },
      }
    },
  }
}

/** OpenHands' condensers that need no model. */
function openhandsMasking(name: string, setting: string, window: number): Peer {
  return {
    name,
    setting,
    source: 'All-Hands-AI/OpenHands, observation masking condenser',
    runs: 'description',
    start() {
      const cleared = new Cleared()
      return {
        view({ messages }) {
          for (const message of messages.slice(0, Math.max(0, messages.length - window))) {
            if (resultOf(message) && !cleared.has(message)) cleared.clear(message, '<MASKED>')
          }
          return cleared.show(messages)
        },
      }
    },
  }
}

/** `words`: not as shipped, but comparable with planners that keep all words of users. */
function openhandsForgetting(
  name: string,
  setting: string,
  { most, first, words = false }: { most: number; first: number; words?: boolean },
): Peer {
  return {
    name,
    setting,
    source: 'All-Hands-AI/OpenHands, amortized forgetting condenser',
    runs: 'description',
    start() {
      let from = first
      return {
        view({ messages }) {
          if (first + messages.length - from > most) {
            from = legalCut(messages, messages.length - (Math.floor(most / 2) - first))
          }
          const said = words ? messages.slice(first, from).filter(({ role }) => role === 'user') : []
          return [...messages.slice(0, first), ...said, ...messages.slice(from)]
        },
      }
    },
  }
}

function tokensOf(messages: readonly Message[], count: Counter): number {
  return messages.reduce((sum, message) => sum + messageTokens(message, count), 0)
}

const MINUTE = 60_000

export const described: readonly Peer[] = [
  anthropic('anthropic clear_tool_uses', 'default: 100k, keep 3, every request', { trigger: 100_000, keep: 3 }),
  anthropic('anthropic clear_tool_uses', 'best: 100k, keep 3, clear_at_least 20k', {
    trigger: 100_000,
    keep: 3,
    atLeast: 20_000,
  }),
  opencode('opencode prune', 'default: at user turns', false),
  opencode('opencode prune', 'best: every call', true),
  gemini('gemini-cli masking', 'default: protect 50k, batch 30k', { protect: 50_000, batch: 30_000 }),
  gemini('gemini-cli masking', 'best: protect 20k, batch 30k', { protect: 20_000, batch: 30_000 }),
  microcompact(
    'claude-code microcompact',
    'default: after 90 minutes, keep 5',
    ({ at, before }) => at - before > 90 * MINUTE,
  ),
  microcompact('claude-code microcompact', 'best: by size, keep 5, at least 20k', bySize(20_000)),
  observations('observation masking', 'default: last 10', { keep: 10, polling: 1 }),
  observations('observation masking', 'best: last 10, polling 10', { keep: 10, polling: 10 }),
  openhandsMasking('openhands masking', 'default: window of 100 events', 100),
  openhandsMasking('openhands masking', 'best: window of 40 events', 40),
  openhandsForgetting('openhands forgetting', 'default: 100 events, keep first 1', { most: 100, first: 1 }),
  openhandsForgetting('openhands forgetting', 'best: 240 events, keep first 2', { most: 240, first: 2 }),
]

/** Other settings of those that come nearest, so that they have a curve too; the first word says so. */
export const describedKnobs: readonly Peer[] = [
  ...[50_000, 150_000].map(trigger =>
    anthropic('anthropic clear_tool_uses', `knob: ${trigger / 1000}k, keep 3, clear_at_least 20k`, {
      trigger,
      keep: 3,
      atLeast: 20_000,
    }),
  ),
  ...[10, 30].map(keep =>
    anthropic('anthropic clear_tool_uses', `knob: 100k, keep ${keep}, clear_at_least 20k`, {
      trigger: 100_000,
      keep,
      atLeast: 20_000,
    }),
  ),
  gemini('gemini-cli masking', 'knob: protect 10k, batch 15k', { protect: 10_000, batch: 15_000 }),
  ...[10, 20, 40].map(keep =>
    microcompact('claude-code microcompact', `knob: by size, keep ${keep}, at least 20k`, bySize(20_000), keep),
  ),
  microcompact('claude-code microcompact', 'knob: by size, keep 5, at least 40k', bySize(40_000)),
  ...[5, 20, 40].map(keep =>
    observations('observation masking', `knob: last ${keep}, polling 10`, { keep, polling: 10 }),
  ),
  observations('observation masking', 'knob: last 20, polling 40', { keep: 20, polling: 40 }),
  ...[60, 160, 400].map(most =>
    openhandsForgetting('openhands forgetting', `knob: ${most} events, keep first 2`, { most, first: 2 }),
  ),
  ...[60, 100, 160, 240].map(most =>
    openhandsForgetting("openhands forgetting with all users' words", `knob: ${most} events, keep first 2`, {
      most,
      first: 2,
      words: true,
    }),
  ),
]

function bySize(least: number): (call: PeerCall, clearable: number) => boolean {
  return (_, clearable) => clearable >= least
}
