/**
 * LangChain, from its own packages: `ClearToolUsesEdit` as its middleware applies it (in place on the agent's state, so
 * cleared results stay cleared), and `trimMessages`.
 */
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage, trimMessages } from '@langchain/core/messages'
import { ClearToolUsesEdit, countTokensApproximately } from 'langchain'
import type { Message, ToolCallPart } from '../../src/model/types.ts'
import { legalCut, outputOf, type Peer, resultOf } from './peer.ts'

type Config = ConstructorParameters<typeof ClearToolUsesEdit>[0]

function clearing(setting: string, config: Config): Peer {
  return {
    name: 'langchain ClearToolUsesEdit',
    setting,
    source: 'langchain 1.5, contextEditingMiddleware',
    runs: 'package',
    start() {
      const edit = new ClearToolUsesEdit(config)
      const book = new Book()
      const state: BaseMessage[] = []
      return {
        async view({ messages, fresh }) {
          for (const message of messages.slice(fresh)) state.push(book.toLangChain(message))
          await edit.apply({ messages: state, countTokens: countTokensApproximately } as Parameters<
            typeof edit.apply
          >[0])
          return state.map(message => book.fromLangChain(message))
        },
      }
    },
  }
}

/** `trimMessages` moves the first message that is kept; a trimmed result without its call is left out with it. */
function trimming(setting: string, maxTokens: number): Peer {
  return {
    name: 'langchain trimMessages',
    setting,
    source: '@langchain/core 1.2, trimMessages',
    runs: 'package',
    start() {
      const book = new Book()
      const state: BaseMessage[] = []
      const sizes = new WeakMap<BaseMessage, number>()
      const sizeOf = (message: BaseMessage) => {
        const size = sizes.get(message) ?? countTokensApproximately([message])
        sizes.set(message, size)
        return size
      }
      const tokenCounter = (list: BaseMessage[]) => list.reduce((sum, message) => sum + sizeOf(message), 0)
      return {
        async view({ messages, fresh }) {
          for (const message of messages.slice(fresh)) state.push(book.toLangChain(message))
          if (tokenCounter(state) <= maxTokens) return messages
          const kept = await trimMessages([...state], {
            maxTokens,
            tokenCounter,
            strategy: 'last',
            allowPartial: false,
          })
          const from = legalCut(messages, messages.length - kept.length)
          return from < messages.length ? messages.slice(from) : messages.slice(-1)
        },
      }
    },
  }
}

/** Messages in both forms, each made once. */
class Book {
  readonly #originals = new WeakMap<BaseMessage, Message>()

  toLangChain(message: Message): BaseMessage {
    const made = make(message)
    this.#originals.set(made, message)
    return made
  }

  fromLangChain(message: BaseMessage): Message {
    const known = this.#originals.get(message)
    if (known) return known
    if (!ToolMessage.isInstance(message)) throw new Error(`a ${message.type} message of unknown origin`)
    const made: Message = {
      role: 'tool',
      parts: [
        { type: 'tool-result', id: message.tool_call_id, name: message.name ?? '', output: String(message.content) },
      ],
    }
    this.#originals.set(message, made)
    return made
  }
}

function make(message: Message): BaseMessage {
  const result = resultOf(message)
  if (result) return new ToolMessage({ tool_call_id: result.id, name: result.name, content: outputOf(result) })
  const content = message.parts.flatMap(part => ('text' in part ? [part.text] : [])).join('\n')
  if (message.role !== 'assistant') return new HumanMessage(content)
  const calls = message.parts.filter((part): part is ToolCallPart => part.type === 'tool-call')
  const tool_calls = calls.map(({ id, name, input }) => ({ id, name, args: toArgs(input), type: 'tool_call' as const }))
  return new AIMessage({ content, tool_calls })
}

function toArgs(input: unknown): Record<string, unknown> {
  return input !== null && typeof input === 'object' && !Array.isArray(input) ? { ...input } : { input }
}

export const langchain: readonly Peer[] = [
  clearing('default: 100k, keep 3', {}),
  clearing('best: 100k, keep 10 000 tokens', { keep: { tokens: 10_000 } }),
  trimming('default: last 100k tokens', 100_000),
  trimming('best: last 160k tokens', 160_000),
  clearing('knob: 50k, keep 3', { trigger: { tokens: 50_000 } }),
  clearing('knob: 150k, keep 3', { trigger: { tokens: 150_000 } }),
  clearing('knob: 100k, keep 10', { keep: { messages: 10 } }),
]
