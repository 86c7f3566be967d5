/** Spans and metrics as the OpenTelemetry collector reads them, in both forms. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../scripts/free-port.ts'
import { findCollector } from '../../scripts/optional-parts.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { startTelemetry } from '../../src/session/telemetry.ts'

const collector = findCollector()
const skip = collector === undefined ? 'no OpenTelemetry collector: npm run otelcol:install' : false

async function startCollector() {
  const port = await freePort()
  const config = join(await mkdtemp(join(tmpdir(), 'palimpsest-otel-')), 'config.yaml')
  const pipeline = '{ receivers: [otlp], exporters: [debug] }'
  await writeFile(
    config,
    [
      `receivers: { otlp: { protocols: { http: { endpoint: "127.0.0.1:${port}" } } } }`,
      'exporters: { debug: { verbosity: detailed } }',
      `service: { telemetry: { metrics: { level: none } }, pipelines: { traces: ${pipeline}, metrics: ${pipeline} } }`,
    ].join('\n'),
  )
  const child = spawn(collector!, ['--config', `file:${config}`])
  let said = ''
  const waiting: (() => void)[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
      for (const look of waiting) look()
    })
  /** Resolves when the collector has printed all of these. */
  const until = (...lines: string[]) =>
    new Promise<void>((resolve, reject) => {
      const look = () => lines.every(line => said.includes(line)) && resolve()
      waiting.push(look)
      child.on('exit', () => reject(new Error(`The collector ended: ${said.slice(0, 500)}`)))
      look()
    })
  await until('Everything is ready')
  return { url: `http://127.0.0.1:${port}`, until, [Symbol.asyncDispose]: async () => void child.kill() }
}

for (const protocol of ['http/protobuf', 'http/json']) {
  test(`a collector reads calls, edits and metrics over ${protocol}`, { skip }, async () => {
    await using receiver = await startCollector()
    const log: string[] = []
    const pal = await openPalimpsest({ home: ':memory:' })
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_PROTOCOL: protocol }
    const telemetry = startTelemetry({ pal, env, log: line => log.push(line) })!
    const session = await pal.session('s', { model: 'claude-sonnet-4-5', policy: 'none' })
    const say = (role: 'user' | 'assistant', text: string) => session.append({ role, parts: [{ type: 'text', text }] })
    await say('user', 'hello '.repeat(300))
    await say('assistant', 'one')
    await session.reportUsage({ input: 5, cacheRead: 100, cacheWrite: 900, output: 7 })
    await session.apply([{ target: { type: 'part', entry: 0, part: 0 }, replacement: 'x', why: 'test' }])
    await say('user', 'and?')
    await say('assistant', 'two')
    await session.reportUsage({ input: 3, cacheRead: 0, cacheWrite: 40, output: 9 })
    await telemetry.close()
    await pal.close()
    assert.deepEqual(log, [])
    await receiver.until(
      'Name           : chat claude-sonnet-4-5',
      'gen_ai.conversation.id: Str(s)',
      'gen_ai.usage.input_tokens: Int(1005)',
      'gen_ai.usage.cache_read.input_tokens: Int(100)',
      'gen_ai.conversation.compacted: Bool(true)',
      'Name           : compact',
      'Name: gen_ai.client.token.usage',
      'Sum: 1048.000000',
      'Name: palimpsest.cost',
    )
  })
}
