import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { createProxy } from '../../../src/doors/proxy/proxy.ts'
import { SqliteLedger } from '../../../src/ledger/sqlite.ts'
import { PalimpsestError } from '../../../src/model/errors.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { type Received, startUpstream, type Turn } from '../../upstream.ts'
import { builder, LOOPS } from './loops.ts'
import { setUp, startRefusing } from './setup.ts'

const TOO_LONG: Record<string, unknown> = {
  '/v1/messages': {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long: 212345 tokens > 200000 maximum' },
  },
  '/v1/chat/completions': {
    error: { message: "This model's maximum context length is 128000 tokens.", code: 'context_length_exceeded' },
  },
  '/v1/responses': {
    error: { message: 'Your input exceeds the context window of this model.', code: 'context_length_exceeded' },
  },
}

/** A provider with a window of so many bytes. */
function narrow(rounds: number, bytes: number, path: string) {
  const answers = builder(rounds)
  let answered = 0
  return (received: Received): Turn => {
    if (received.body.length > bytes) return { error: { status: 400, body: TOO_LONG[path] } }
    return answers(received, answered++)
  }
}

for (const { name, path, run } of LOOPS) {
  test(`${name} never gets an overflow error`, async () => {
    await using it = await setUp(narrow(20, 60_000, path))
    assert.match(await run(it.url), /all of it works/)
    const refused = it.upstream.requests.filter(({ body }) => body.length > 60_000).length
    assert.ok(refused > 0, 'the window was never full')
    assert.equal(it.upstream.requests.length, 21 + refused, 'each was sent again once')
    assert.deepEqual(it.faults, [])
  })
}

test('an overflow in the second event of a stream is handled in the same way', async () => {
  const { run } = LOOPS.find(({ path }) => path === '/v1/responses')!
  const error = { code: 'context_length_exceeded', message: 'too long' }
  const events = [
    { type: 'response.created', response: { status: 'in_progress' } },
    { type: 'response.failed', response: { status: 'failed', error } },
  ]
  await using provider = await startUpstream(builder(8))
  await using refusing = await startRefusing(provider.url, 60_000, events)
  await using it = await setUp([], { upstreams: { openai: `${refusing.url}/v1` } })
  assert.match(await run(it.url), /all of it works/)
  assert.ok(refusing.refused > 0)
})

test('other errors reach the client unchanged and are not retried', async () => {
  const body = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  await using it = await setUp([{ error: { status: 529, body } }, { text: 'hello' }])
  const ask = () => post(it.url, { model: 'claude', messages: [{ role: 'user', content: 'hi' }] })
  const first = await ask()
  assert.equal(first.status, 529)
  assert.deepEqual(await first.json(), body)
  assert.equal((await ask()).status, 200)
  assert.equal(it.upstream.requests[0]!.body, it.upstream.requests[1]!.body)
  await it.proxy.idle()
  assert.equal((await it.pal.sessions()).length, 1)
})

test('an interrupted stream that is requested again is one turn', async () => {
  await using it = await setUp([{ text: 'hello you', cutAfter: 2 }, { text: 'hello you' }])
  const request = { model: 'claude', stream: true, messages: [{ role: 'user', content: 'hi' }] }
  await assert.rejects((await post(it.url, request)).text())
  assert.match(await (await post(it.url, request)).text(), /message_stop/)
  await it.proxy.idle()
  const [only, ...more] = await it.pal.sessions()
  assert.deepEqual(more, [])
  assert.equal((await it.pal.session(only!.id)).fold.entries.length, 1)
})

test('message threads are refused, so that the SDK sends the whole history', async () => {
  const call: Turn = { calls: [{ name: 'read', input: { path: 'a' } }] }
  await using it = await setUp([call, call, { text: 'done' }])
  const client = new Anthropic({ baseURL: it.url, apiKey: 'x', maxRetries: 0 })
  const runner = client.beta.messages.toolRunner({
    model: 'claude-sonnet-5',
    max_tokens: 100,
    messages: [{ role: 'user', content: 'read' }],
    tools: [
      {
        name: 'read',
        description: 'reads',
        input_schema: { type: 'object' },
        run: () => 'text',
        parse: (x: unknown) => x,
      } as never,
    ],
  })
  const last = await runner
  assert.ok(JSON.stringify(last.content).includes('done'))
  assert.deepEqual(
    it.upstream.requests.map(({ json }) => json.messages.length),
    [1, 3, 5],
  )
  assert.ok(it.upstream.requests.every(({ json }) => json.thread === undefined))
})

test('a thread that continues is refused as unknown', async () => {
  await using it = await setUp([])
  const thread = { type: 'continue', previous_message_id: 'msg_1' }
  const response = await post(it.url, { model: 'claude', thread, messages: [] })
  assert.equal(response.status, 404)
  assert.match(await response.text(), /thread_not_found/)
})

test('a request with previous_response_id is forwarded unchanged and not recorded', async () => {
  await using it = await setUp([{ text: 'yes' }])
  const body = '{"model":"gpt-5", "previous_response_id":"resp_1","input":"and?"}'
  const response = await fetch(`${it.url}/v1/responses`, { method: 'POST', body })
  assert.equal(response.status, 200)
  assert.equal(it.upstream.requests[0]!.body, body)
  assert.deepEqual(await it.pal.sessions(), [])
})

test('a request with functions (the old form of tools) is forwarded unchanged and not recorded', async () => {
  const call = '{"role":"assistant","content":null,"function_call":{"name":"f", "arguments":"{}"}}'
  const bodies = [
    '{"model":"gpt-4o","functions":[ {"name":"f"} ],"messages":[{"role":"user","content":"go"}]}',
    `{"model":"gpt-4o","messages":[{"role":"user","content":"go"}, ${call}]}`,
    '{"model":"gpt-4o","messages":[{"role":"user","content":"go"}, {"role":"function","name":"f","content":"x"}]}',
  ]
  await using it = await setUp(bodies.map(() => ({ text: 'yes' })))
  for (const body of bodies) await fetch(`${it.url}/v1/chat/completions`, { method: 'POST', body })
  assert.deepEqual(
    it.upstream.requests.map(request => request.body),
    bodies,
  )
  assert.deepEqual(await it.pal.sessions(), [])
})

test('a request with a checksum of its body is forwarded unchanged and not recorded', async () => {
  await using it = await setUp([{ text: 'yes' }])
  const system = [{ type: 'text', text: 'x-anthropic-billing-header: cc_version=2; cch=d132d; cc_prompt_index=0;' }]
  assert.equal(
    (await post(it.url, { model: 'claude', system, messages: [{ role: 'user', content: 'hi' }] })).status,
    200,
  )
  assert.deepEqual(await it.pal.sessions(), [])
})

test("when the ledger fails, the client's own bytes are sent and the error is logged", async () => {
  class Full extends SqliteLedger {
    override append(): Promise<boolean> {
      throw new PalimpsestError('STORE_FULL', 'The disk is full.')
    }
  }
  const pal = await openPalimpsest({ store: new Full(':memory:'), home: ':memory:' })
  await using it = await setUp(builder(3), { pal })
  const { run } = LOOPS[0]!
  assert.match(await run(it.url), /all of it works/)
  assert.equal(it.upstream.requests.length, 4)
  assert.ok(it.faults.length >= 4 && it.faults.every(line => line.includes('STORE_FULL')))
  assert.ok(!it.faults.join().includes('sk-secret'))
  const counted = [...(await it.proxy.metrics()).matchAll(/^palimpsest_faults_total\{kind="\w+"\} (\d+)$/gm)]
  const sum = counted.reduce((all, [, n]) => all + Number(n), 0)
  assert.equal(sum, it.faults.length, 'as many are counted as are logged')
})

/** A ledger on a disk that takes its time, and says when. */
class SlowDisk extends SqliteLedger {
  disk: PromiseWithResolvers<void> = Promise.withResolvers()

  early() {
    return { store: this, synced: () => this.disk.promise }
  }
}

test('a request does not wait for the disk, but its answer does', async () => {
  const store = new SlowDisk(':memory:')
  const pal = await openPalimpsest({ store, home: ':memory:' })
  const asked = Promise.withResolvers<void>()
  await using it = await setUp(
    () => {
      asked.resolve()
      return { text: 'yes' }
    },
    { pal },
  )
  let isAnswered = false
  const answer = post(it.url, { model: 'claude', messages: [{ role: 'user', content: 'hi' }] }).finally(() => {
    isAnswered = true
  })
  await asked.promise
  // Time enough for an answer that would not wait: another request is answered in the meantime.
  await (await fetch(`${it.url}/v1/models`)).text()
  assert.equal(isAnswered, false)
  store.disk.resolve()
  assert.equal((await answer).status, 200)
})

test('when the disk fails, the answer still arrives, without the promise that it is stored', async () => {
  const store = new SlowDisk(':memory:')
  const pal = await openPalimpsest({ store, home: ':memory:' })
  store.disk.promise.catch(() => {})
  store.disk.reject(new PalimpsestError('STORE_FAILED', 'The disk is gone.'))
  await using it = await setUp(() => ({ text: 'yes' }), { pal })
  const answer = await post(it.url, { model: 'claude', messages: [{ role: 'user', content: 'hi' }] })
  assert.equal(answer.status, 200)
  await it.proxy.idle()
  assert.ok(it.faults.length > 0 && it.faults.every(line => line.includes('STORE_FAILED')))
})

test('while another process locks the ledger, requests are answered, and are recorded later', async t => {
  const home = await mkdtemp(join(tmpdir(), 'palimpsest-'))
  t.after(() => rm(home, { recursive: true }))
  const path = join(home, 'ledger.sqlite')
  const pal = await openPalimpsest({ home, store: new SqliteLedger(path, { busyMs: 20 }) })
  t.after(() => pal.close())
  await using it = await setUp(() => ({ text: 'yes' }), { pal })
  const messages: object[] = [{ role: 'user', content: 'hi' }]
  const ask = async () => assert.equal((await post(it.url, { model: 'claude', messages })).status, 200)
  await ask()
  await it.proxy.idle()
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  messages.push({ role: 'assistant', content: 'yes' }, { role: 'user', content: 'more' })
  await ask()
  other.exec('ROLLBACK')
  other.close()
  await ask()
  assert.match(it.faults.join(), /STORE_LOCKED/)
  assert.deepEqual(it.upstream.requests.at(-1)!.json.messages, messages)
  const later = createProxy({ pal, upstreams: { anthropic: it.upstream.url } })
  const body = JSON.stringify({ model: 'claude', messages })
  await (await later(new Request('http://x/v1/messages', { method: 'POST', body }))).text()
  await later.idle()
  const [only, ...more] = await pal.sessions()
  assert.deepEqual(more, [])
  assert.equal((await pal.session(only!.id)).fold.entries.length, 3)
})

test('the key of the provider is nowhere in the home', async t => {
  const home = await mkdtemp(join(tmpdir(), 'palimpsest-'))
  t.after(() => rm(home, { recursive: true }))
  const pal = await openPalimpsest({ home })
  {
    await using it = await setUp(builder(3), { pal, inject: { tools: true, system: async () => 'Hm.' } })
    for (const { run } of LOOPS) await run(it.url)
    assert.ok(it.upstream.requests.some(({ headers }) => JSON.stringify(headers).includes('sk-secret')))
  }
  await pal.close()
  const files = await readdir(home, { recursive: true, withFileTypes: true })
  assert.ok(files.some(file => file.name === 'ledger.sqlite'))
  for (const file of files.filter(one => one.isFile())) {
    assert.ok(!(await readFile(join(file.parentPath, file.name))).includes('sk-secret'), file.name)
  }
})

test('ids that a client uses twice cause no error for the client', async () => {
  await using it = await setUp(() => ({ calls: [{ id: 'call_0', name: 'bash', input: {} }], text: 'x' }))
  const messages: unknown[] = [{ role: 'user', content: 'go' }]
  for (let i = 0; i < 3; i++) {
    const { content } = (await (await post(it.url, { model: 'claude', messages })).json()) as { content: unknown[] }
    messages.push({ role: 'assistant', content })
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'ok' }] })
  }
  assert.equal(it.upstream.requests.length, 3)
  assert.deepEqual(it.upstream.requests[2]!.json.messages, messages.slice(0, 5))
})

function post(url: string, body: object): Promise<Response> {
  return fetch(`${url}/v1/messages`, { method: 'POST', body: JSON.stringify(body) })
}
