/**
 * The adapter for the AI SDK: a `LanguageModelMiddleware`.
 *
 *     const model = wrapLanguageModel({ model: anthropic('claude-sonnet-4-5'), middleware: palimpsest(session) })
 *
 * Every call of the wrapped model sends the view of the session instead of the whole conversation, and reports its
 * usage. One wrapped model is one conversation: wrap once per session. An answer is recorded with the next call, which
 * contains it.
 */
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { LanguageModelMiddleware } from 'ai'
import { fromAiSdk, toAiSdk } from '../../formats/adapters/ai-sdk.ts'
import { FollowedSession, type SyncSession } from './followed-session.ts'

export { fromAiSdk, toAiSdk } from '../../formats/adapters/ai-sdk.ts'
export type { SyncSession } from './followed-session.ts'

export type AiSdkOptions = {
  /** False for calls that are not part of the conversation (a title, a check): they are sent unchanged. */
  applies?: (params: LanguageModelV4CallOptions) => boolean
}

export function palimpsest(session: SyncSession, { applies = () => true }: AiSdkOptions = {}): LanguageModelMiddleware {
  const followed = new FollowedSession(session)
  const ours = new WeakSet<LanguageModelV4CallOptions>()
  return {
    specificationVersion: 'v4',

    transformParams: async ({ params }) => {
      if (!applies(params)) return params
      const prompt = toAiSdk<(typeof params.prompt)[number]>(await followed.view(fromAiSdk(params.prompt)))
      const sent = { ...params, prompt }
      ours.add(sent)
      return sent
    },

    wrapGenerate: async ({ doGenerate, params, model }) => {
      const result = await doGenerate()
      if (ours.has(params)) await report(result.usage, model.modelId)
      return result
    },

    wrapStream: async ({ doStream, params, model }) => {
      const result = await doStream()
      if (!ours.has(params)) return result
      const watch = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
        transform: async (part, controller) => {
          if (part.type === 'finish') await report(part.usage, model.modelId)
          controller.enqueue(part)
        },
      })
      return { ...result, stream: result.stream.pipeThrough(watch) }
    },
  }

  /** If a provider does not report the usage of a call, nothing is recorded. */
  async function report({ inputTokens, outputTokens }: LanguageModelV4Usage, model: string): Promise<void> {
    const input = inputTokens.noCache ?? inputTokens.total
    const { cacheRead, cacheWrite } = inputTokens
    if (input !== undefined) await followed.report({ input, cacheRead, cacheWrite, output: outputTokens.total, model })
  }
}
