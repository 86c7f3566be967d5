/**
 * One request to the model: sends the view, gives text and reasoning as events, and returns the whole answer as a
 * neutral message. Nothing is run or recorded here.
 *
 * If a provider is busy, fails, stalls or hangs up midway, it is asked again with growing pauses (or the pause that
 * it names); the partial answer is dropped. An error that a retry cannot fix fails at once, with advice.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import { fromAiSdk, toAiSdk } from '../formats/adapters/ai-sdk.ts'
import { PalimpsestError } from '../model/errors.ts'
import { isRecord, tryJson } from '../model/json.ts'
import type { Message, Usage } from '../model/types.ts'
import type { AgentEvent } from './events.ts'
import type { AgentModel } from './model.ts'
import { pauseBefore, type RetryOptions, troubleOf } from './trouble.ts'

export type Question = {
  messages: readonly Message[]
  tools: LanguageModelV4FunctionTool[]
  retry: RetryOptions
  signal?: AbortSignal | undefined
  /** Receives the text so far, so that a stopped answer is not lost. */
  progress?: { text: string }
}

export type Answer = { message: Message; usage: Usage | undefined; finish: string }

export async function* ask(model: AgentModel, question: Question): AsyncGenerator<AgentEvent, Answer> {
  const { retry, signal, progress = { text: '' } } = question
  for (let attempt = 1; ; attempt++) {
    progress.text = ''
    try {
      return yield* askOnce(model, question, progress)
    } catch (error) {
      signal?.throwIfAborted()
      const trouble = troubleOf(error)
      if (trouble.kind === 'temperature' && model.temperature !== undefined) {
        delete model.temperature
        continue
      }
      const wait = pauseBefore(attempt, trouble, retry)
      if (wait === undefined) throw failed(model, trouble.reason, attempt, error)
      yield { type: 'retry', attempt, wait, reason: trouble.reason }
      await delay(wait, undefined, signal ? { signal } : {})
    }
  }
}

/** The same without events, for side questions. */
export async function askQuietly(model: AgentModel, question: Question): Promise<Answer> {
  const events = ask(model, question)
  for (;;) {
    const { done, value } = await events.next()
    if (done) return value
  }
}

async function* askOnce(
  model: AgentModel,
  { messages, tools, signal }: Question,
  progress: { text: string },
): AsyncGenerator<AgentEvent, Answer> {
  const options: LanguageModelV4CallOptions = {
    prompt: toPrompt(messages, model),
    ...(tools.length > 0 ? { tools } : {}),
    ...(model.temperature === undefined ? {} : { temperature: model.temperature }),
    ...(model.maxOutputTokens === undefined ? {} : { maxOutputTokens: model.maxOutputTokens }),
    ...(signal ? { abortSignal: signal } : {}),
  }
  const { stream } = await model.language.doStream(options)
  const heard = new Heard()
  for await (const part of stream) {
    heard.take(part)
    if (part.type === 'text-delta' && part.delta !== '') {
      progress.text += part.delta
      yield { type: 'text', text: part.delta }
    }
    if (part.type === 'reasoning-delta' && part.delta !== '') yield { type: 'reasoning', text: part.delta }
  }
  return heard.answer(model.name)
}

type Block = Record<string, unknown> & { type: string }

/** Assembles the blocks of a stream, in the order in which they began. */
class Heard {
  readonly #blocks: Block[] = []
  readonly #open = new Map<string, Block & { text: string }>()
  #usage: LanguageModelV4Usage | undefined
  #finish: string | undefined

  take(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        return this.#begin(part.type === 'text-start' ? 'text' : 'reasoning', part)
      case 'text-delta':
      case 'reasoning-delta':
        return this.#continue(part)
      case 'text-end':
      case 'reasoning-end':
        return this.#note(this.#open.get(part.id), part.providerMetadata)
      case 'tool-call':
        return this.#call(part)
      case 'finish':
        this.#usage = part.usage
        // A stream that ends without a finish reason was cut off.
        this.#finish = part.finishReason.raw === undefined ? undefined : part.finishReason.unified
        return
      case 'error':
        throw part.error
    }
  }

  answer(model: string): Answer {
    if (this.#finish === undefined) throw new Error('the answer ended before it was complete')
    const content = this.#blocks.filter(block => block.type !== 'text' || block['text'] !== '')
    const [message] = fromAiSdk([{ role: 'assistant', content }])
    return { message: message!, usage: this.#usage && toUsage(this.#usage, model), finish: this.#finish }
  }

  #begin(type: string, { id, providerMetadata }: { id: string; providerMetadata?: object }): void {
    const block = { type, text: '' }
    this.#open.set(id, block)
    this.#blocks.push(block)
    this.#note(block, providerMetadata)
  }

  #continue({ id, delta, providerMetadata }: { id: string; delta: string; providerMetadata?: object }): void {
    const block = this.#open.get(id)
    if (block) block.text += delta
    this.#note(block, providerMetadata)
  }

  /** Metadata that the provider wants back with the block: a signature, an encrypted text. */
  #note(block: Block | undefined, providerMetadata: object | undefined): void {
    if (block && providerMetadata)
      block['providerOptions'] = { ...(block['providerOptions'] ?? {}), ...providerMetadata }
  }

  #call({ toolCallId, toolName, input, providerMetadata }: LanguageModelV4StreamPart & { type: 'tool-call' }): void {
    this.#blocks.push({
      type: 'tool-call',
      toolCallId,
      toolName,
      input: parseInput(input),
      ...(providerMetadata ? { providerOptions: providerMetadata } : {}),
    })
  }
}

/** The key for arguments that are not a JSON object, because providers accept only objects. */
export const MALFORMED = 'malformed_arguments'

function parseInput(text: string): Record<string, unknown> {
  if (text.trim() === '') return {}
  const value = tryJson(text)
  return isRecord(value) ? value : { [MALFORMED]: text }
}

/**
 * Cache marks for Anthropic: after the system prompt, at the end, and at the end of the previous call, which is
 * cached.
 */
function toPrompt(messages: readonly Message[], { provider }: AgentModel): LanguageModelV4Message[] {
  const prompt = toAiSdk<LanguageModelV4Message>(messages)
  if (provider !== 'anthropic') return prompt
  const last = prompt.length - 1
  const before = prompt.findLastIndex(({ role }) => role === 'assistant') - 1
  const marked = new Set([prompt[0]?.role === 'system' ? 0 : last, before, last])
  return prompt.map((message, index) => (marked.has(index) ? { ...message, providerOptions: CACHED } : message))
}

const CACHED = { anthropic: { cacheControl: { type: 'ephemeral' } } }

function toUsage({ inputTokens, outputTokens }: LanguageModelV4Usage, model: string): Usage | undefined {
  const input = inputTokens.noCache ?? inputTokens.total
  if (input === undefined) return undefined
  const { cacheRead, cacheWrite } = inputTokens
  return {
    input,
    model,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(outputTokens.total === undefined ? {} : { output: outputTokens.total }),
  }
}

function failed({ name }: AgentModel, reason: string, attempts: number, cause: unknown): PalimpsestError {
  const times = attempts > 1 ? ` after ${attempts} attempts` : ''
  return new PalimpsestError(
    'MODEL_FAILED',
    `${name} gave no answer${times}: ${reason}`,
    { model: name, attempts },
    cause,
  )
}
