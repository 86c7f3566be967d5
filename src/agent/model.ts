/**
 * The model that an agent asks: any OpenAI-compatible endpoint or Anthropic's, through the providers of the AI SDK.
 *
 * A model is opened from settings (provider, base URL, key, name). Its requests are guarded: a connection that sends
 * no bytes for too long is cut with an error that says so, and the caller may ask again. Keys go into request
 * headers and nowhere else.
 */

import type { LanguageModelV4 } from '@ai-sdk/provider'
import { trimEndOf } from '../model/text.ts'

export type Provider = 'anthropic' | 'openai-compatible'

export type AgentModel = {
  /** The provider's name of the model; its prices and its window are found by this name. */
  name: string
  provider: Provider
  /** The AI SDK model. Only its `doStream` is used. */
  language: LanguageModelV4
  temperature?: number
  maxOutputTokens?: number
}

export type ModelSettings = {
  provider: Provider
  name: string
  /** Includes `/v1`. The default is Anthropic's own; an OpenAI-compatible provider needs one. */
  baseUrl: string
  key?: string
  temperature?: number
  maxOutputTokens?: number
  headers?: Record<string, string>
  /** A connection that sends nothing for this long is closed. */
  stallMs?: number
}

const STALL_MS = 180_000
export const ANTHROPIC_URL = 'https://api.anthropic.com/v1'
export const OPENAI_URL = 'https://api.openai.com/v1'

export async function openModel(settings: ModelSettings): Promise<AgentModel> {
  const { provider, name, temperature, maxOutputTokens } = settings
  return {
    name,
    provider,
    language: await (provider === 'anthropic' ? openAnthropic(settings) : openCompatible(settings)),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  }
}

async function openAnthropic(settings: ModelSettings): Promise<LanguageModelV4> {
  // The package reads this variable when it is loaded, and fails if it is empty.
  if (process.env['ANTHROPIC_BASE_URL'] === '') delete process.env['ANTHROPIC_BASE_URL']
  const { createAnthropic } = await import('@ai-sdk/anthropic')
  return createAnthropic({ ...connection(settings), apiKey: settings.key ?? 'none' })(settings.name)
}

async function openCompatible(settings: ModelSettings): Promise<LanguageModelV4> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  const key = settings.key === undefined ? {} : { apiKey: settings.key }
  const options = { ...connection(settings), ...key, name: 'openai-compatible', includeUsage: true }
  return createOpenAICompatible(options)(settings.name)
}

function connection({ baseUrl, headers = {}, stallMs = STALL_MS }: ModelSettings) {
  return { baseURL: trimEndOf(baseUrl, '/'), headers, fetch: guardedFetch(stallMs) }
}

class StallError extends Error {
  constructor(ms: number) {
    super(`the model sent no data for ${ms / 1000} s`)
    this.name = 'StallError'
  }
}

/** A `fetch` that gives up if the first byte or the next one does not arrive in time. */
function guardedFetch(ms: number): typeof fetch {
  return async (input, init = {}) => {
    const stall = new AbortController()
    let timer = setTimeout(giveUp, ms)
    const touch = () => {
      clearTimeout(timer)
      timer = setTimeout(giveUp, ms)
    }
    const signal = init.signal ? AbortSignal.any([init.signal, stall.signal]) : stall.signal
    function giveUp(): void {
      stall.abort(new StallError(ms))
    }
    try {
      const response = await fetch(input, { ...init, signal })
      if (!response.body) {
        clearTimeout(timer)
        return response
      }
      touch()
      return new Response(
        watch(response.body, touch, () => clearTimeout(timer)),
        response,
      )
    } catch (error) {
      clearTimeout(timer)
      throw stall.signal.aborted ? stall.signal.reason : error
    }
  }
}

/** The same bytes; `touch` is called for each piece, `end` when the stream ends for any reason. */
function watch(body: ReadableStream<Uint8Array>, touch: () => void, end: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        touch()
        if (!done) return controller.enqueue(value)
        end()
        controller.close()
      } catch (error) {
        end()
        controller.error(error)
      }
    },
    async cancel(reason) {
      end()
      await reader.cancel(reason)
    },
  })
}
