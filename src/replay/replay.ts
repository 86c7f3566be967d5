/**
 * Replays a recorded conversation through the real engine in memory, to find what a policy would have sent.
 *
 * Before each assistant message the engine is asked for its view, at the time of the call. Nothing is sent, no model is
 * called and no file is written. A conversation that breaks the rules of tool calls is healed first; the number of
 * assistant messages stays the same.
 */

import { heal } from '../formats/doctor.ts'
import { SqliteLedger } from '../ledger/sqlite.ts'
import { DEFAULT_MODEL, DEFAULT_PLANNER, MEMORY } from '../model/defaults.ts'
import type { Message } from '../model/types.ts'
import type { PlannerFactory, Policy } from '../policies/policy.ts'
import { type ModelTable, TYPICAL_OVERHEAD } from '../providers/models.ts'
import { openPalimpsest } from '../session/engine.ts'
import type { View } from '../session/session-view.ts'

export type ReplayOptions = {
  /** A preset by name, or a custom planner or policy. */
  policy?: string | PlannerFactory | Policy
  model?: string
  /** The cache lifetime that requests ask for (`5m`, `1h`): transcripts rarely say. */
  cacheTtl?: string
  models?: ModelTable
  /** Tokens of the system prompt and tools, which transcripts do not contain. */
  overhead?: number
}

export type ReplayStep = Pick<View, 'messages' | 'tokens' | 'decision' | 'report'> & {
  /** The call, counted from 0, and when it was made. */
  turn: number
  at: number
  /** Edits made for this call. */
  edits: View['edits']
}

export async function* replay(messages: Iterable<Message>, options: ReplayOptions = {}): AsyncGenerator<ReplayStep> {
  const { messages: healed } = heal([...messages])
  let now = healed.find(message => message.at)?.at ?? 0
  const pal = await openPalimpsest({
    home: MEMORY,
    // A replay searches nothing, and the index of recall would be half of its time.
    store: new SqliteLedger(MEMORY, { indexes: false }),
    clock: () => now,
    keepFile: async () => undefined,
    ...(options.models ? { models: options.models } : {}),
  })
  const session = await pal.session('replay', {
    planner: options.policy ?? DEFAULT_PLANNER,
    model: options.model ?? DEFAULT_MODEL,
    overhead: options.overhead ?? TYPICAL_OVERHEAD,
    ...(options.cacheTtl === undefined ? {} : { cacheTtl: options.cacheTtl }),
  })
  let turn = 0
  let made = 0
  for (const message of healed) {
    if (message.role === 'assistant') {
      const { messages: sent, tokens, decision, report } = await session.view({ now })
      const edits = session
        .edits()
        .slice(made)
        .map(record => record.edit)
      made += edits.length
      yield { turn: turn++, at: now, messages: sent, tokens, edits, report, ...(decision ? { decision } : {}) }
    }
    now = message.at || now
    await session.append({ ...message, at: now })
  }
  await pal.close()
}
