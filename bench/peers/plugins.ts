/**
 * Plugins that run inside another agent and do not export their parts: the strategies of opencode-dcp and the
 * eviction of deepagents, written from their descriptions.
 */
import type { Message, ToolCallPart } from '../../src/types.ts'
import { Cleared, outputOf, type Peer, resultOf } from './peer.ts'

const PROTECTED = new Set('task skill todowrite todoread compress batch plan_enter plan_exit'.split(' '))
const REMOVED = '[Output removed to save context - information superseded or no longer needed]'
const PURGE_AFTER = 4

/** Of calls with the same tool and arguments only the last keeps its result; inputs of failed calls go after 4 turns. */
const dcp: Peer = {
  name: 'opencode-dcp strategies',
  setting: 'deduplication and purge-errors on every call',
  source: '@tarquinen/opencode-dcp 3.1, README and configuration',
  runs: 'description',
  start() {
    const cleared = new Cleared()
    const last = new Map<string, Message>()
    const calls = new Map<string, { key: string; message: Message }>()
    const failed: { id: string; message: Message; turn: number }[] = []
    let turn = 0
    const take = (message: Message) => {
      if (message.role === 'assistant') turn++
      for (const part of message.parts) {
        if (part.type === 'tool-call') calls.set(part.id, { key: keyOf(part), message })
      }
      const result = resultOf(message)
      const call = result && calls.get(result.id)
      if (!result || !call || PROTECTED.has(result.name.toLowerCase())) return
      const before = last.get(call.key)
      if (before) cleared.clear(before, REMOVED)
      last.set(call.key, message)
      if (result.isError) failed.push({ id: result.id, message: call.message, turn })
    }
    return {
      view({ messages, fresh }) {
        for (const message of messages.slice(fresh)) take(message)
        while (failed[0] && turn - failed[0].turn >= PURGE_AFTER) {
          const { id, message } = failed.shift()!
          cleared.replace(message, withoutInput(cleared.show([message])[0]!, id))
        }
        return cleared.show(messages)
      },
    }
  },
}

function keyOf({ name, input }: ToolCallPart): string {
  const sorted = input !== null && typeof input === 'object' ? Object.entries(input).sort() : input
  return `${name} ${JSON.stringify(sorted)}`
}

function withoutInput(message: Message, id: string): Message {
  const purge = (input: unknown): unknown =>
    input !== null && typeof input === 'object'
      ? Object.fromEntries(
          Object.entries(input).map(([key, value]) => [
            key,
            typeof value === 'string' ? '[input removed due to failed tool call]' : value,
          ]),
        )
      : input
  const parts = message.parts.map(part =>
    part.type === 'tool-call' && part.id === id ? { ...part, input: purge(part.input) } : part,
  )
  return { ...message, parts }
}

const EVICT = 80_000
const EXCLUDED = /^(ls|glob|grep|read(_file)?|edit(_file)?|write(_file)?)$/i

/** A new result over 20,000 tokens (80,000 characters) goes to a file; its first and last lines stay. */
const deepagents: Peer = {
  name: 'deepagents eviction',
  setting: 'default: over 20k tokens',
  source: 'langchain-ai/deepagentsjs, filesystem middleware',
  runs: 'description',
  start() {
    const cleared = new Cleared()
    return {
      view({ messages, fresh }) {
        for (const message of messages.slice(fresh)) {
          const result = resultOf(message)
          if (!result || EXCLUDED.test(result.name) || outputOf(result).length <= EVICT) continue
          const lines = outputOf(result).split('\n')
          const sample = [...lines.slice(0, 5), '…', ...lines.slice(-5)].map(line => line.slice(0, 1000)).join('\n')
          cleared.clear(message, `Tool result too large, saved at /large_tool_results/${result.id}\n${sample}`)
        }
        return cleared.show(messages)
      },
    }
  },
}

export const pluginPeers: readonly Peer[] = [dcp, deepagents]
