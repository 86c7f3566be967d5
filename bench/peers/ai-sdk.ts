/** The AI SDK, from its own package: `pruneMessages` with the settings that its documentation shows. */
import { type ModelMessage, pruneMessages } from 'ai'
import { toAiSdk } from '../../src/formats/adapters/ai-sdk.ts'
import type { Message, Part } from '../../src/model/types.ts'
import type { Peer } from './peer.ts'

function pruning(setting: string, toolCalls: `before-last-${number}-messages`): Peer {
  return {
    name: 'ai-sdk pruneMessages',
    setting,
    source: 'ai 7.0, pruneMessages',
    runs: 'package',
    start() {
      const wire: ModelMessage[] = []
      const originals = new WeakMap<object, Message>()
      const parts = new WeakMap<object, Part>()
      const add = (message: Message) => {
        for (const made of toAiSdk<ModelMessage>([message])) {
          originals.set(made, message)
          if (typeof made.content !== 'string')
            for (const [i, block] of made.content.entries()) parts.set(block, message.parts[i]!)
          wire.push(made)
        }
      }
      const back = (made: ModelMessage): Message => {
        const known = originals.get(made)
        if (known) return known
        const kept = typeof made.content === 'string' ? [] : made.content.flatMap(block => parts.get(block) ?? [])
        const role = made.role
        return { role, parts: kept }
      }
      return {
        view({ messages, fresh }) {
          for (const message of messages.slice(fresh)) add(message)
          const pruned = pruneMessages({
            messages: wire,
            reasoning: 'before-last-message',
            toolCalls,
            emptyMessages: 'remove',
          })
          return pruned.map(back)
        },
      }
    },
  }
}

export const aiSdk: readonly Peer[] = [
  pruning('default: before-last-2-messages', 'before-last-2-messages'),
  pruning('best: before-last-20-messages', 'before-last-20-messages'),
]
