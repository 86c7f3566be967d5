/**
 * Sends spans and metrics over OTLP/HTTP, configured by the standard environment variables of OpenTelemetry. The
 * format is protobuf, which is the standard's default and which every backend accepts, or JSON
 * (`OTEL_EXPORTER_OTLP_PROTOCOL=http/json`).
 *
 * Messages have the shape of OTLP's JSON. A table of field numbers translates them to protobuf, for the few messages
 * that we send. Nothing is sent unless an endpoint is set. The first failure is reported and later ones are counted:
 * telemetry never makes an operation fail.
 */

import { gzipSync } from 'node:zlib'
import type { Environment } from '../model/defaults.ts'
import { messageOf } from '../model/errors.ts'

export type Attributes = Record<string, string | number | boolean | undefined>
type Value = { stringValue: string } | { intValue: string } | { doubleValue: number } | { boolValue: boolean }
type KeyValue = { key: string; value: Value }

export type Span = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  /** 1 is internal, 3 is a call to another service. */
  kind: 1 | 3
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: KeyValue[]
}

type Point = { attributes: KeyValue[]; startTimeUnixNano: string; timeUnixNano: string }
export type NumberPoint = Point & { asDouble: number }
export type HistogramPoint = Point & { count: string; sum: number; bucketCounts: string[]; explicitBounds: number[] }
/** 2 is cumulative. */
export type Metric = { name: string; unit: string } & (
  | { sum: { dataPoints: NumberPoint[]; aggregationTemporality: 2; isMonotonic: boolean } }
  | { histogram: { dataPoints: HistogramPoint[]; aggregationTemporality: 2 } }
)

/** Where and how one signal is sent. */
type Target = { url: string; headers: Record<string, string>; json: boolean; gzip: boolean; timeoutMs: number }
type Signal = 'traces' | 'metrics'

export type OtlpSettings = Record<Signal, Target | undefined> & {
  delayMs: number
  resource: Attributes
}

const DELAY_MS = 5000
const TIMEOUT_MS = 10_000

/** The settings from the standard variables; `undefined` if they name no endpoint or turn telemetry off. */
export function otlpSettings(env: Environment): OtlpSettings | undefined {
  const read = (name: string) => (env[name] === '' ? undefined : env[name])
  if (read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined
  const [traces, metrics] = [targetOf('traces', read), targetOf('metrics', read)]
  if (traces === undefined && metrics === undefined) return undefined
  return {
    traces,
    metrics,
    delayMs: Number(read('OTEL_BSP_SCHEDULE_DELAY')) || DELAY_MS,
    resource: {
      ...pairsOf(read('OTEL_RESOURCE_ATTRIBUTES')),
      'service.name':
        read('OTEL_SERVICE_NAME') ?? pairsOf(read('OTEL_RESOURCE_ATTRIBUTES'))['service.name'] ?? 'palimpsest',
    },
  }
}

/** The variable of a signal overrides the one for both. */
function targetOf(signal: Signal, read: (name: string) => string | undefined): Target | undefined {
  const own = (name: string) => read(`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_${name}`)
  const either = (name: string) => own(name) ?? read(`OTEL_EXPORTER_OTLP_${name}`)
  const base = read('OTEL_EXPORTER_OTLP_ENDPOINT')
  const shared = base === undefined ? undefined : `${base.endsWith('/') ? base : `${base}/`}v1/${signal}`
  const url = own('ENDPOINT') ?? shared
  if (url === undefined || read(`OTEL_${signal.toUpperCase()}_EXPORTER`) === 'none') return undefined
  return {
    url,
    headers: pairsOf(either('HEADERS')),
    json: either('PROTOCOL') === 'http/json',
    gzip: either('COMPRESSION') === 'gzip',
    timeoutMs: Number(either('TIMEOUT')) || TIMEOUT_MS,
  }
}

/** `a=1,b=two%20words`, as the standard writes lists. */
function pairsOf(list = ''): Record<string, string> {
  const pairs: Record<string, string> = {}
  for (const pair of list.split(',')) {
    const at = pair.indexOf('=')
    if (at > 0) pairs[pair.slice(0, at).trim()] = decoded(pair.slice(at + 1).trim())
  }
  return pairs
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function attributesOf(attributes: Attributes): KeyValue[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined
      ? []
      : [{ key, value: key.endsWith('.usd') ? { doubleValue: Number(value) } : anyValue(value) }],
  )
}

function anyValue(value: string | number | boolean): Value {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

/** Milliseconds as OTLP's nanoseconds. */
export function nanos(ms: number): string {
  return `${BigInt(Math.round(ms)) * 1_000_000n}`
}

const SCOPE = { name: 'palimpsest' }

export class OtlpExporter {
  readonly #settings: OtlpSettings
  readonly #log: (line: string) => void
  #failed = false

  constructor(settings: OtlpSettings, log: (line: string) => void = () => undefined) {
    this.#settings = settings
    this.#log = log
  }

  async spans(spans: readonly Span[]): Promise<void> {
    const { traces, resource } = this.#settings
    if (traces === undefined || spans.length === 0) return
    const resourceSpans = [{ resource: { attributes: attributesOf(resource) }, scopeSpans: [{ scope: SCOPE, spans }] }]
    await this.#send(traces, { resourceSpans })
  }

  async metrics(metrics: readonly Metric[]): Promise<void> {
    const { metrics: target, resource } = this.#settings
    if (target === undefined || metrics.length === 0) return
    const resourceMetrics = [
      { resource: { attributes: attributesOf(resource) }, scopeMetrics: [{ scope: SCOPE, metrics }] },
    ]
    await this.#send(target, { resourceMetrics })
  }

  async #send({ url, json, gzip, headers, timeoutMs }: Target, request: Json): Promise<void> {
    const plain = json ? Buffer.from(JSON.stringify(request)) : encode(request, REQUEST)
    const body = gzip ? gzipSync(plain) : plain
    const own = {
      'content-type': json ? 'application/json' : 'application/x-protobuf',
      ...(gzip ? { 'content-encoding': 'gzip' } : {}),
    }
    try {
      const signal = AbortSignal.timeout(timeoutMs)
      const answer = await fetch(url, { method: 'POST', headers: { ...headers, ...own }, body, signal })
      await answer.arrayBuffer()
      if (!answer.ok) this.#fail(`${new URL(url).host} answers ${answer.status}`)
    } catch (error) {
      this.#fail(messageOf(error))
    }
  }

  /** Reports only the first failure: an unavailable collector would fill the log. */
  #fail(reason: string): void {
    if (!this.#failed) this.#log(`telemetry: cannot send (${reason}); this is reported only once`)
    this.#failed = true
  }
}

type Json = { [key: string]: unknown }
/** The fields of a message by their JSON names: the field number, and how the value is encoded. */
type Fields = {
  readonly [name: string]: readonly [number, 'text' | 'hex' | 'int' | 'fixed' | 'double' | 'bool' | Fields]
}

const ANY: Fields = {
  stringValue: [1, 'text'],
  boolValue: [2, 'bool'],
  intValue: [3, 'int'],
  doubleValue: [4, 'double'],
}
const KEY_VALUE: Fields = { key: [1, 'text'], value: [2, ANY] }
const RESOURCE: Fields = { attributes: [1, KEY_VALUE] }
const SCOPE_FIELDS: Fields = { name: [1, 'text'] }
const SPAN: Fields = {
  traceId: [1, 'hex'],
  spanId: [2, 'hex'],
  parentSpanId: [4, 'hex'],
  name: [5, 'text'],
  kind: [6, 'int'],
  startTimeUnixNano: [7, 'fixed'],
  endTimeUnixNano: [8, 'fixed'],
  attributes: [9, KEY_VALUE],
}
const POINT: Fields = {
  startTimeUnixNano: [2, 'fixed'],
  timeUnixNano: [3, 'fixed'],
  asDouble: [4, 'double'],
  attributes: [7, KEY_VALUE],
}
const HISTOGRAM_POINT: Fields = {
  startTimeUnixNano: [2, 'fixed'],
  timeUnixNano: [3, 'fixed'],
  count: [4, 'fixed'],
  sum: [5, 'double'],
  bucketCounts: [6, 'fixed'],
  explicitBounds: [7, 'double'],
  attributes: [9, KEY_VALUE],
}
const METRIC: Fields = {
  name: [1, 'text'],
  unit: [3, 'text'],
  sum: [7, { dataPoints: [1, POINT], aggregationTemporality: [2, 'int'], isMonotonic: [3, 'bool'] }],
  histogram: [9, { dataPoints: [1, HISTOGRAM_POINT], aggregationTemporality: [2, 'int'] }],
}
/** Both kinds of request use field 1; a message contains only one of them. */
const REQUEST: Fields = {
  resourceSpans: [1, { resource: [1, RESOURCE], scopeSpans: [2, { scope: [1, SCOPE_FIELDS], spans: [2, SPAN] }] }],
  resourceMetrics: [
    1,
    { resource: [1, RESOURCE], scopeMetrics: [2, { scope: [1, SCOPE_FIELDS], metrics: [2, METRIC] }] },
  ],
}

/** Encodes a message as protobuf; lists of numbers are packed. */
function encode(message: Json, fields: Fields): Buffer<ArrayBuffer> {
  const pieces: Uint8Array[] = []
  for (const [name, [number, kind]] of Object.entries(fields)) {
    const given = message[name]
    if (given === undefined) continue
    if (Array.isArray(given) && (kind === 'fixed' || kind === 'double')) {
      const packed = Buffer.concat(given.map(value => eightBytes(kind, value)))
      pieces.push(varint(BigInt(number * 8 + 2)), varint(BigInt(packed.length)), packed)
      continue
    }
    for (const value of Array.isArray(given) ? given : [given]) pieces.push(...encodeField(number, kind, value))
  }
  return Buffer.concat(pieces)
}

function encodeField(number: number, kind: Fields[string][1], value: unknown): Uint8Array[] {
  const tag = (wire: number) => varint(BigInt(number * 8 + wire))
  if (typeof kind === 'object' || kind === 'text' || kind === 'hex') {
    const bytes =
      typeof kind === 'object'
        ? encode(value as Json, kind)
        : Buffer.from(String(value), kind === 'hex' ? 'hex' : 'utf8')
    return [tag(2), varint(BigInt(bytes.length)), bytes]
  }
  if (kind === 'int' || kind === 'bool') return [tag(0), varint(BigInt.asUintN(64, BigInt(value as string | boolean)))]
  return [tag(1), eightBytes(kind, value)]
}

function eightBytes(kind: 'fixed' | 'double', value: unknown): Buffer {
  const eight = Buffer.alloc(8)
  if (kind === 'double') eight.writeDoubleLE(Number(value))
  else eight.writeBigUInt64LE(BigInt(value as string))
  return eight
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  return Uint8Array.from([...bytes, Number(rest)])
}
