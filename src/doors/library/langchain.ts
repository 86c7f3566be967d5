/**
 * The adapter for LangChain: a middleware for `createAgent`.
 *
 *     const agent = createAgent({ model, tools, middleware: [palimpsest(session)] })
 *
 * Every call of the model gets the view of the session instead of the whole state; the state itself keeps everything.
 * One agent with this middleware is one conversation. An answer is recorded with the next call.
 */
import type { AIMessage, BaseMessage, SystemMessage } from '@langchain/core/messages'
import { type AgentMiddleware, createMiddleware } from 'langchain'
import { fromLangChain, toLangChain } from '../../formats/adapters/langchain.ts'
import type { Usage } from '../../model/types.ts'
import { FollowedSession, type SyncSession } from './followed-session.ts'

export { fromLangChain, toLangChain } from '../../formats/adapters/langchain.ts'
export type { SyncSession } from './followed-session.ts'

export function palimpsest(session: SyncSession): AgentMiddleware {
  const followed = new FollowedSession(session)
  return createMiddleware({
    name: 'Palimpsest',
    wrapModelCall: async (request, handler) => {
      const { systemMessage, messages } = request
      const apart = systemMessage.text !== ''
      const shown = toLangChain(await followed.view(fromLangChain(apart ? [systemMessage, ...messages] : messages)))
      const answer = await handler({ ...request, ...(apart ? split(shown, systemMessage) : { messages: shown }) })
      const usage = usageOf(answer)
      if (usage) await followed.report(usage)
      return answer
    },
  })
}

/** LangChain has a separate system prompt, and expects the same object back if it has not changed. */
function split(
  shown: BaseMessage[],
  before: SystemMessage,
): { messages: BaseMessage[]; systemMessage?: SystemMessage } {
  const [first, ...rest] = shown
  if (!first || !isSystem(first)) return { messages: shown }
  return JSON.stringify(first) === JSON.stringify(before)
    ? { messages: rest }
    : { messages: rest, systemMessage: first }
}

function isSystem(message: BaseMessage): message is SystemMessage {
  return message.type === 'system'
}

function usageOf({ usage_metadata: used, response_metadata: metadata }: AIMessage): Usage | undefined {
  if (!used) return undefined
  const { cache_read: cacheRead, cache_creation: cacheWrite } = used.input_token_details ?? {}
  return {
    input: used.input_tokens - (cacheRead ?? 0) - (cacheWrite ?? 0),
    cacheRead,
    cacheWrite,
    output: used.output_tokens,
    ...(typeof metadata.model_name === 'string' && { model: metadata.model_name }),
  }
}
