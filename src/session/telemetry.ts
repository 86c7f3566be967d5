/**
 * Spans and metrics of the sessions of this process, after OpenTelemetry's conventions for generative AI: a span for
 * each model call, with its conversation, usage and cache reads; one for each batch of edits; one for each change of
 * the memory.
 *
 * Everything comes from the ledger: a change to a session is noted, and some seconds later the account of its new
 * calls is read (timelines.ts). So no request waits for telemetry, and every door gives the same numbers. No content
 * is sent unless `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for it.
 */

import { createHash, randomBytes } from 'node:crypto'
import { requestIn } from '../calls/requests.ts'
import type { Memory, MemoryChange } from '../memory/memory.ts'
import type { Environment } from '../model/defaults.ts'
import { Remembered } from '../model/remembered.ts'
import type { Message, Part } from '../model/types.ts'
import type { Model } from '../providers/models.ts'
import { wholeUsage } from '../providers/pricing.ts'
import { promptTokens } from '../providers/token-fit.ts'
import type { Timeline, TimelineCall } from '../view/timeline.ts'
import type { Palimpsest } from './engine.ts'
import {
  type Attributes,
  attributesOf,
  nanos,
  OtlpExporter,
  type OtlpSettings,
  otlpSettings,
  type Span,
} from './otlp.ts'
import type { Session } from './session.ts'
import { TelemetryMetrics } from './telemetry-metrics.ts'
import { Timelines } from './timelines.ts'

export type TelemetryOptions = {
  /** The source: sessions, memory, or both. */
  pal?: Palimpsest
  memory?: Memory
  env: Environment
  log?: (line: string) => void
  clock?: () => number
}

/** Sessions that are kept open so that only new events are read. */
const MOST_OPEN = 32
const MOST_SPANS = 2000

/** Starts telemetry if the standard variables name an endpoint; otherwise gives `undefined`. */
export function startTelemetry(options: TelemetryOptions): Telemetry | undefined {
  const settings = otlpSettings(options.env)
  return settings && new Telemetry(settings, options)
}

export class Telemetry {
  readonly #pal: Palimpsest | undefined
  readonly #clock: () => number
  readonly #exporter: OtlpExporter
  readonly #metrics: TelemetryMetrics
  readonly #timelines: Timelines
  readonly #showsContent: boolean
  readonly #delayMs: number
  readonly #startedAt: number
  readonly #stops: (() => void)[]
  /** Sessions that have grown since the last sending, and how many calls of each were already sent. */
  readonly #changed = new Set<string>()
  readonly #told = new Map<string, number>()
  readonly #open = new Remembered<string, Session>(MOST_OPEN)
  #spans: Span[] = []
  #timer: NodeJS.Timeout | undefined
  #isClosing = false
  #sending: Promise<void> = Promise.resolve()

  constructor(settings: OtlpSettings, { pal, memory, env, log, clock = Date.now }: TelemetryOptions) {
    this.#pal = pal
    this.#clock = clock
    this.#startedAt = clock()
    this.#delayMs = settings.delayMs
    this.#exporter = new OtlpExporter(settings, log)
    this.#metrics = new TelemetryMetrics(clock)
    this.#timelines = new Timelines(pal, { most: MOST_OPEN })
    this.#showsContent = /^(?:true|span_only|span_and_event)$/i.test(
      env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'] ?? '',
    )
    this.#stops = [
      ...(pal ? [pal.onChange(({ session, what }) => what === 'grown' && this.#note(session))] : []),
      ...(memory ? [memory.onChange(change => this.#memory(change))] : []),
    ]
  }

  /** Sends everything that is waiting. */
  flush(): Promise<void> {
    this.#sending = this.#sending.then(() => this.#send()).catch(() => undefined)
    return this.#sending
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    clearTimeout(this.#timer)
    this.#isClosing = true
    for (const session of this.#told.keys()) this.#changed.add(session)
    await this.flush()
  }

  #note(session: string): void {
    this.#changed.add(session)
    this.#schedule()
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.flush()
    }, this.#delayMs).unref()
  }

  async #send(): Promise<void> {
    const changed = [...this.#changed]
    this.#changed.clear()
    // A session that cannot be read (because it was just removed) is left out; the others are sent.
    if (this.#pal) for (const session of changed) await this.#read(this.#pal, session).catch(() => undefined)
    const spans = this.#spans
    this.#spans = []
    await this.#exporter.spans(spans)
    await this.#exporter.metrics(this.#metrics.all())
  }

  async #read(pal: Palimpsest, id: string): Promise<void> {
    const info = await pal.find(id)
    if (!info) return
    const session = this.#open.get(id) ?? (await pal.session(id, { mustExist: true, asGuest: true }))
    this.#open.set(id, session)
    const timeline = await this.#timelines.of(session, info)
    const { calls } = timeline
    const last = calls.at(-1)
    // The usage of the last call may still arrive, unless this is the end.
    const settled = last && !last.reported && !this.#isClosing ? calls.length - 1 : calls.length
    for (let i = this.#told.get(id) ?? 0; i < settled; i++) {
      const call = calls[i]!
      if (!call.inherited && call.answeredAt >= this.#startedAt) this.#call(id, timeline, i)
    }
    this.#told.set(id, settled)
  }

  #call(session: string, timeline: Timeline, place: number): void {
    const call = timeline.calls[place]!
    const reported = wholeUsage(call.reported ?? {})
    const { cacheRead, cacheWrite, output, reasoning } = reported
    const all = promptTokens(reported)
    const model = timeline.modelOf(call)
    const common = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': providerOf(model, call.model),
      'gen_ai.request.model': call.model,
    }
    const firstEdited = timeline.calls.findIndex(({ edits }) => edits.ours)
    const isCompacted = firstEdited >= 0 && firstEdited <= place
    const trace = traceOf(session, timeline, call)
    const span = this.#span(trace, `chat ${call.model}`, 3, call, {
      ...common,
      'gen_ai.response.model': call.model,
      'gen_ai.conversation.id': session,
      ...(isCompacted ? { 'gen_ai.conversation.compacted': true } : {}),
      'gen_ai.usage.input_tokens': all > 0 ? all : Math.round(call.sent.tokens * timeline.scale),
      'gen_ai.usage.output_tokens': output,
      'gen_ai.usage.cache_read.input_tokens': cacheRead,
      // The conventions have renamed this attribute; backends know one name or the other.
      'gen_ai.usage.cache_write.input_tokens': cacheWrite,
      'gen_ai.usage.cache_creation.input_tokens': cacheWrite,
      'gen_ai.usage.reasoning.output_tokens': reasoning,
      'palimpsest.cost.usd': call.paid.dollars,
      'palimpsest.cost.estimated': call.paid.estimated,
      'palimpsest.saved.usd': call.raw.cost - call.sent.cost,
      'palimpsest.cache.miss.cause': call.missed?.cause,
      'palimpsest.cache.miss.tokens': call.missed && Math.round(call.missed.tokens),
      ...(this.#showsContent ? contentOf(timeline, place) : {}),
    })
    if (call.edits.ids.length > 0) {
      this.#span(
        trace,
        'compact',
        1,
        { at: call.at, answeredAt: call.at },
        {
          'gen_ai.operation.name': 'compact',
          'gen_ai.conversation.id': session,
          'palimpsest.edits': call.edits.ids.length,
          'palimpsest.tokens.saved': call.edits.saved,
        },
        span,
      )
    }
    this.#metrics.call(common, call, { input: all, output: output ?? 0 })
  }

  /** A change to a block, or a proposal for one. The store knows the user of the block. */
  #memory(change: MemoryChange): void {
    const operation = change.type === 'block.changed' ? 'upsert_memory' : 'create_memory'
    if (change.type === 'proposal.decided') return
    this.#span(
      randomBytes(16).toString('hex'),
      operation,
      1,
      { at: change.at, answeredAt: change.at },
      {
        'gen_ai.operation.name': operation,
        'gen_ai.memory.store.id': change.user,
        'gen_ai.memory.record.id': change.type === 'block.changed' ? change.label : change.id,
      },
    )
    this.#schedule()
  }

  #span(
    traceId: string,
    name: string,
    kind: Span['kind'],
    { at, answeredAt }: Pick<TimelineCall, 'at' | 'answeredAt'>,
    attributes: Attributes,
    parent?: string,
  ): string {
    const spanId = randomBytes(8).toString('hex')
    if (this.#spans.length < MOST_SPANS)
      this.#spans.push({
        traceId,
        spanId,
        ...(parent === undefined ? {} : { parentSpanId: parent }),
        name,
        kind,
        startTimeUnixNano: nanos(at || this.#clock()),
        endTimeUnixNano: nanos(answeredAt || this.#clock()),
        attributes: attributesOf(attributes),
      })
    return spanId
  }
}

/** The calls of one turn, which follow the same user request, form one trace. */
function traceOf(session: string, { fold }: Timeline, { entry }: TimelineCall): string {
  let request = entry - 1
  while (request > 0 && requestIn(fold.entries[request]?.message) === undefined) request--
  return createHash('sha256').update(`${session}\n${request}`).digest('hex').slice(0, 32)
}

const PROVIDERS: Partial<Record<Model['dialect'], string>> = {
  anthropic: 'anthropic',
  gemini: 'gcp.gemini',
  'openai-responses': 'openai',
}

function providerOf({ dialect }: Model, name: string): string {
  return PROVIDERS[dialect] ?? (/^deepseek/.test(name) ? 'deepseek' : 'openai')
}

/** The new messages of the request and the answer, in the conventions' message format. */
function contentOf({ fold, calls }: Timeline, place: number): Attributes {
  const call = calls[place]!
  const before = calls[place - 1]
  const from = before === undefined ? 0 : before.entry + 1
  const said = fold.entries.slice(from, call.entry).flatMap(({ message }) => message ?? [])
  const answer = call.unanswered ? undefined : fold.entries[call.entry]?.message
  return {
    'gen_ai.input.messages': JSON.stringify(said.map(toConvention)),
    ...(answer ? { 'gen_ai.output.messages': JSON.stringify([toConvention(answer)]) } : {}),
  }
}

function toConvention({ role, parts }: Message): { role: string; parts: unknown[] } {
  return { role, parts: parts.map(toConventionPart) }
}

function toConventionPart(part: Part): unknown {
  switch (part.type) {
    case 'text':
      return { type: 'text', content: part.text }
    case 'reasoning':
      return { type: 'reasoning', content: part.text }
    case 'tool-call':
      return { type: 'tool_call', id: part.id, name: part.name, arguments: part.input }
    case 'tool-result':
      return { type: 'tool_call_response', id: part.id, response: part.output }
    default:
      return { type: part.type }
  }
}
