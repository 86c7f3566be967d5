/** Spans and metrics over OTLP: what a receiver gets for calls, edits and memory, and that it gets nothing else. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { openMemory } from '../../src/memory/open.ts'
import type { Message, Usage } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { otlpSettings } from '../../src/session/otlp.ts'
import type { Session } from '../../src/session/session.ts'
import { startTelemetry } from '../../src/session/telemetry.ts'
import { Timelines } from '../../src/session/timelines.ts'
import { addStatistics, statisticsOf } from '../../src/view/statistics.ts'

const SECRET = 'what was said'
const text = (role: Message['role'], words: string): Message => ({ role, parts: [{ type: 'text', text: words }] })

async function startReceiver(status = 200) {
  const got: { path: string; type: string; headers: NodeJS.Dict<string | string[]>; body: Buffer }[] = []
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    got.push({ path: request.url ?? '', type: request.headers['content-type'] ?? '', headers: request.headers, body })
    response.writeHead(status).end('{}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, got, [Symbol.asyncDispose]: async () => void server.close() }
}

/** Two calls of one turn with an edit between them, the second from another model. */
async function work(env: Record<string, string>, log: string[] = []) {
  let now = 1_760_000_000_000
  const clock = () => now
  const pal = await openPalimpsest({ home: ':memory:', clock })
  const memory = await openMemory({ home: ':memory:', env: {}, clock })
  const telemetry = startTelemetry({ pal, memory, env, clock, log: line => log.push(line) })
  const session = await pal.session('s', { model: 'claude-sonnet-4-5', policy: 'none' })
  await session.append(text('user', `${SECRET} `.repeat(400)))
  now += 2000
  await session.append(text('assistant', 'one'))
  await session.reportUsage({ input: 5, cacheRead: 100, cacheWrite: 900, output: 7, model: 'claude-sonnet-4-5' })
  await session.apply([{ target: { type: 'part', entry: 0, part: 0 }, replacement: 'short', why: 'test' }])
  await session.append(text('tool', 'more'))
  now += 3000
  await session.append(text('assistant', 'two'))
  await session.reportUsage({ input: 3, cacheRead: 0, cacheWrite: 40, output: 9, model: 'claude-haiku-4-5' })
  await memory.set('ann', 'notes', { body: SECRET, by: 'user:ann' })
  await telemetry?.close()
  await memory.close()
  await pal.close()
  return telemetry
}

type Attribute = { key: string; value: Record<string, unknown> }
const plain = (attributes: Attribute[]) => {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
}

test('a call is a span with its conversation, usage, cost and the cause of a cache miss, and an edit is its child', async () => {
  await using receiver = await startReceiver()
  await work({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Basic%20abc,x-scope=1',
    OTEL_SERVICE_NAME: 'my-agents',
  })
  const traces = receiver.got.find(({ path }) => path === '/v1/traces')!
  assert.deepEqual([traces.headers['authorization'], traces.headers['x-scope']], ['Basic abc', '1'])
  const { resource, scopeSpans } = JSON.parse(String(traces.body)).resourceSpans[0]
  assert.equal(plain(resource.attributes)['service.name'], 'my-agents')
  const spans = scopeSpans[0].spans
  const [remembered, first, second, edit] = spans
  const said = plain(first.attributes)
  assert.equal(first.name, 'chat claude-sonnet-4-5')
  assert.equal(said['gen_ai.conversation.id'], 's')
  assert.equal(said['gen_ai.usage.input_tokens'], '1005', 'cached tokens are input tokens')
  assert.equal(said['gen_ai.usage.cache_read.input_tokens'], '100')
  assert.equal(said['gen_ai.usage.cache_write.input_tokens'], '900')
  assert.equal(said['gen_ai.usage.output_tokens'], '7')
  assert.ok(Math.abs(Number(said['palimpsest.cost.usd']) - (5 * 3 + 100 * 0.3 + 900 * 3.75 + 7 * 15) / 1e6) < 1e-12)
  assert.equal(said['gen_ai.conversation.compacted'], undefined)
  assert.equal(BigInt(first.endTimeUnixNano) - BigInt(first.startTimeUnixNano), 2_000_000_000n)
  assert.equal(plain(second.attributes)['gen_ai.conversation.compacted'], true)
  assert.equal(second.traceId, first.traceId, 'one turn is one trace')
  assert.deepEqual([edit.name, edit.parentSpanId], ['compact', second.spanId])
  assert.equal(remembered.name, 'upsert_memory')
  for (const { body } of receiver.got) assert.ok(!body.includes(SECRET), 'nothing of what was said')
  const metrics = JSON.parse(String(receiver.got.find(({ path }) => path === '/v1/metrics')!.body))
  const names = metrics.resourceMetrics[0].scopeMetrics[0].metrics.map(({ name }: { name: string }) => name)
  assert.deepEqual(names.slice(0, 3), [
    'gen_ai.client.token.usage',
    'gen_ai.client.operation.duration',
    'palimpsest.cost',
  ])
})

/** The fields of a message in protobuf: number, wire type, and the bytes of fields with a length. */
function* fieldsOf(bytes: Buffer): Generator<{ field: number; wire: number; bytes: Buffer }> {
  let at = 0
  const varint = () => {
    let [value, shift] = [0n, 0n]
    for (;;) {
      const byte = bytes[at++]!
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return Number(value)
      shift += 7n
    }
  }
  while (at < bytes.length) {
    const tag = varint()
    const [field, wire] = [tag >> 3, tag & 7]
    if (wire === 0) varint()
    const length = wire === 2 ? varint() : wire === 1 ? 8 : 0
    assert.ok([0, 1, 2].includes(wire) && at + length <= bytes.length)
    yield { field, wire, bytes: bytes.subarray(at, at + length) }
    at += length
  }
}

test('the same is sent as protobuf, with the field numbers of the standard', async () => {
  await using receiver = await startReceiver()
  await work({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
  const inside = (bytes: Buffer, ...path: number[]): Buffer[] => {
    const [first, ...rest] = path
    const found = [...fieldsOf(bytes)].filter(({ field }) => field === first).map(one => one.bytes)
    return rest.length === 0 ? found : found.flatMap(one => inside(one, ...rest))
  }
  const [traces, metrics] = ['/v1/traces', '/v1/metrics'].map(path => receiver.got.find(one => one.path === path)!.body)
  // resource_spans, scope_spans, spans; of a span: trace_id 1, span_id 2, name 5, attributes 9 with key 1.
  const spans = inside(traces!, 1, 2, 2)
  assert.equal(spans.length, 4)
  assert.deepEqual(String(inside(spans[1]!, 5)[0]), 'chat claude-sonnet-4-5')
  assert.deepEqual([inside(spans[1]!, 1)[0]!.length, inside(spans[1]!, 2)[0]!.length], [16, 8])
  assert.ok(inside(spans[1]!, 9, 1).map(String).includes('gen_ai.usage.cache_read.input_tokens'))
  // resource_metrics, scope_metrics, metrics; of a histogram (9) data_points 1 with bucket_counts 6, explicit_bounds 7.
  const [usage] = inside(metrics!, 1, 2, 2)
  assert.equal(String(inside(usage!, 1)[0]), 'gen_ai.client.token.usage')
  assert.equal(inside(usage!, 9, 1, 6)[0]!.length, 15 * 8)
  assert.equal(inside(usage!, 9, 1, 7)[0]!.readDoubleLE(8), 4)
})

test('each signal can have its own variables, and requests can be compressed', async () => {
  await using receiver = await startReceiver()
  await work({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-scope=both',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'x-scope=traces',
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'gzip',
  })
  const [traces, metrics] = ['/v1/traces', '/v1/metrics'].map(path => receiver.got.find(one => one.path === path)!)
  assert.deepEqual([traces!.headers['x-scope'], metrics!.headers['x-scope']], ['traces', 'both'])
  assert.deepEqual([traces!.type, metrics!.type], ['application/json', 'application/x-protobuf'])
  assert.deepEqual([traces!.headers['content-encoding'], metrics!.headers['content-encoding']], ['gzip', undefined])
  assert.ok(JSON.parse(gunzipSync(traces!.body).toString()).resourceSpans)
})

test('a last call without a report is sent at the end, with an estimate', async () => {
  await using receiver = await startReceiver()
  const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }
  const pal = await openPalimpsest({ home: ':memory:' })
  const telemetry = startTelemetry({ pal, env })!
  const session = await pal.session('s', { model: 'claude-sonnet-4-5', policy: 'none' })
  await session.append(text('user', 'hello'))
  await session.append(text('assistant', 'hi'))
  await telemetry.flush()
  assert.equal(receiver.got.length, 0, 'its usage may still come')
  await telemetry.close()
  const [{ spans }] = JSON.parse(receiver.got[0]!.body.toString()).resourceSpans[0].scopeSpans
  assert.equal(spans.length, 1)
  const attributes = plain(spans[0].attributes)
  assert.equal(attributes['palimpsest.cost.estimated'], true)
  assert.ok(Number(attributes['palimpsest.cost.usd']) > 0)
  await pal.close()
})

test('the sums of the metrics are those of the account', async () => {
  await using receiver = await startReceiver()
  const env = { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }
  const pal = await openPalimpsest({ home: ':memory:' })
  const telemetry = startTelemetry({ pal, env })!
  const session = await pal.session('s', { model: 'claude-sonnet-4-5', policy: 'none' })
  const call = async (in_: Session, usage?: Usage) => {
    await in_.append(text('user', 'hello '.repeat(500)))
    await in_.append(text('assistant', 'hi'))
    if (usage) await in_.record({ type: 'usage', usage })
    await telemetry.flush()
  }
  const model = 'claude-sonnet-4-5'
  await call(session, { input: 9, cacheWrite: 5000, cacheWriteLong: 5000, output: 70, searches: 2, model })
  await call(session, {
    input: 3,
    cacheRead: 5000,
    output: 5,
    model,
    beside: [{ input: 900, output: 80, model: 'claude-opus-5' }],
  })
  await call(session, { output: 50, model })
  await call(session, { by: 'client' })
  const fork = await session.fork()
  await call(fork, { input: 4000, output: 1, model: 'claude-haiku-4-5' })
  await call(session)
  await telemetry.close()
  const timelines = new Timelines()
  const own = [session, fork].map(async one => statisticsOf(await timelines.of(one, (await pal.find(one.id))!)))
  const all = (await Promise.all(own)).reduce(addStatistics)
  const [{ metrics }] = JSON.parse(String(receiver.got.at(-1)!.body)).resourceMetrics[0].scopeMetrics
  type Point = { attributes: Attribute[]; asDouble?: number; sum?: number }
  const sum = (name: string, type?: string): number => {
    const metric = metrics.find((each: { name: string }) => each.name === name)
    const points: Point[] = (metric.sum ?? metric.histogram).dataPoints
    const wanted = points.filter(({ attributes }) => !type || plain(attributes)['gen_ai.token.type'] === type)
    return wanted.reduce((total, { asDouble, sum: tokens }) => total + (asDouble ?? tokens ?? 0), 0)
  }
  assert.equal(all.calls, 5)
  assert.equal(sum('palimpsest.cost').toFixed(9), all.cost.toFixed(9))
  assert.equal(sum('gen_ai.client.token.usage', 'input'), all.input + all.cacheRead + all.cacheWrite)
  await pal.close()
})

test('content is sent if the standard variable is set', async () => {
  await using receiver = await startReceiver()
  await work({
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/own`,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
  })
  assert.deepEqual(
    receiver.got.map(({ path }) => path),
    ['/own'],
  )
  assert.ok(receiver.got[0]!.body.includes(SECRET))
})

test('nothing is sent without an endpoint or when disabled, and a refusing receiver is logged once', async () => {
  assert.equal(otlpSettings({}), undefined)
  assert.equal(otlpSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x', OTEL_SDK_DISABLED: 'true' }), undefined)
  assert.equal(await work({}), undefined)
  await using receiver = await startReceiver(503)
  const log: string[] = []
  await work({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }, log)
  assert.equal(log.length, 1)
  assert.match(log[0]!, /answers 503/)
  assert.equal(receiver.got[0]!.type, 'application/x-protobuf')
})
