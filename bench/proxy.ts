/**
 * What the proxy adds: time to the first byte with many streaming conversations at once, against the same provider
 * without it, in the same run; requests a second when nobody waits; and memory over many requests.
 *
 *     node bench/proxy.ts [--seconds 20] [--conversations 50] [--kb 200] [--requests 10000]
 *
 * Provider, proxy and clients are processes of their own. The provider answers as fast as a quick model: first byte
 * after 300 ms, the last after 1.5 s. The home is a folder on disk, with the ledger synced before every call.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const FIRST_BYTE_MS = 300
const LAST_BYTE_MS = 1500

/** Policies, and whether a commit waits for the disk. */
const CASES = [
  ['none', 'full'],
  ['thrifty', 'full'],
  ['thrifty', 'normal'],
] as const

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '20' },
    conversations: { type: 'string', default: '50' },
    kb: { type: 'string', default: '200' },
    requests: { type: 'string', default: '10000' },
  },
})

type Call = { firstByte: number; total: number }
type Calls = { first: Call[]; later: Call[] }
type Tool = { id: string; text: string }

const roles: Record<string, () => Promise<void>> = { upstream: serveUpstream, proxy: serveTheProxy }
await (roles[positionals[0] ?? ''] ?? measure)()

async function measure(): Promise<void> {
  const upstream = await start('upstream', [])
  const results: Record<string, unknown> = {
    machine: `${cpus().length} × ${cpus()[0]?.model}`,
    loadBefore: loadavg()[0],
    node: process.version,
    conversations: Number(values.conversations),
    kb: Number(values.kb),
  }
  for (const [policy, sync] of CASES) {
    const home = mkdtempSync(join(tmpdir(), 'palimpsest-bench-'))
    const proxy = await start('proxy', [upstream.url, policy, home, sync])
    const [direct, through] = await load([upstream.url, proxy.url])
    const [without, ours] = [spread(direct!), spread(through!)]
    const added = { p50: round(ours.p50 - without.p50), p99: round(ours.p99 - without.p99) }
    const memory = policy === 'thrifty' && sync === 'full' ? { memoryMb: await memoryOf(proxy) } : {}
    results[`${policy}, sync ${sync}`] = { added, direct: without, through: ours, ...memory }
    stop(proxy.child)
    rmSync(home, { recursive: true })
  }
  stop(upstream.child)
  console.log(JSON.stringify(results, null, 2))
  writeFileSync(new URL('results/proxy.json', import.meta.url), `${JSON.stringify(results, null, 2)}\n`)
}

/**
 * Conversations that go on for a while, each turn of them sent to every address, one after the other: what disturbs
 * the machine disturbs all alike. The first calls are told apart, because everything in them is new.
 */
async function load(urls: readonly string[]): Promise<Calls[]> {
  const until = performance.now() + Number(values.seconds) * 1000
  const calls: Calls[] = urls.map(() => ({ first: [], later: [] }))
  const agent = new Agent({ keepAlive: true })
  const many = Number(values.conversations)
  await Promise.all(
    Array.from({ length: many }, async (_, i) => {
      await sleep((i / many) * LAST_BYTE_MS)
      const conversations = urls.map(() => newConversation(i, Number(values.kb) * 1024))
      for (let turn = 0; performance.now() < until; turn++) {
        for (const [at, url] of urls.entries()) {
          const { call, tool } = await ask(url, conversations[at]!, agent)
          calls[at]![turn === 0 ? 'first' : 'later'].push(call)
          goOn(conversations[at]!, tool, turn)
        }
      }
    }),
  )
  agent.destroy()
  return calls
}

type Conversation = { headers: Record<string, string>; messages: object[] }

/** Code and logs of some length, other in every conversation. */
function newConversation(n: number, bytes: number): Conversation {
  const messages: object[] = [{ role: 'user', content: `Task ${n}: make it work.` }]
  for (let step = 0; JSON.stringify(messages).length < bytes; step++) {
    messages.push({
      role: 'assistant',
      content: [{ type: 'tool_use', id: `t${n}_${step}`, name: 'bash', input: { command: `npm test -- ${step}` } }],
    })
    const lines = Array.from(
      { length: 100 },
      (_, i) => `${n}.${step}.${i} ok: function call_${i * step}() returns ${i * 7}`,
    )
    messages.push({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `t${n}_${step}`, content: lines.join('\n') }],
    })
  }
  return { headers: { 'x-session-id': `bench-${process.pid}-${performance.now()}-${n}` }, messages }
}

function goOn({ messages }: Conversation, { id, text }: Tool, turn: number): void {
  messages.push({
    role: 'assistant',
    content: [
      { type: 'text', text },
      { type: 'tool_use', id, name: 'bash', input: { command: `npm test -- again ${turn}` } },
    ],
  })
  const lines = Array.from({ length: 40 }, (_, i) => `${turn}.${i} ok: another line of output, number ${i * turn}`)
  messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: lines.join('\n') }] })
}

async function ask(
  url: string,
  { headers, messages }: Conversation,
  agent: Agent,
  wait = true,
): Promise<{ call: Call; tool: Tool }> {
  const tools = [{ name: 'bash', input_schema: { type: 'object' } }]
  const body = JSON.stringify({ model: 'claude-sonnet-4-5', stream: true, max_tokens: 1000, tools, messages })
  const started = performance.now()
  const call = request(`${url}/v1/messages`, {
    method: 'POST',
    agent,
    headers: {
      ...headers,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(wait ? {} : { 'x-bench-now': '1' }),
    },
  })
  call.end(body)
  const [response] = await once(call, 'response')
  let firstByte = 0
  let text = ''
  for await (const chunk of response) {
    firstByte ||= performance.now() - started
    text += chunk
  }
  const id = /"id":"(toolu_[^"]+)"/.exec(text)?.[1] ?? 'none'
  return { call: { firstByte, total: performance.now() - started }, tool: { id, text: 'Again.' } }
}

/** Memory after every tenth of many short requests, all conversations different. */
async function memoryOf({ url, child }: Started): Promise<number[]> {
  const agent = new Agent({ keepAlive: true })
  const all = Number(values.requests)
  const sizes: number[] = []
  for (let tenth = 0; tenth < 10; tenth++) {
    for (let i = 0; i < all / 10; i += 10) {
      const some = Array.from({ length: 10 }, (_, k) => newConversation(tenth * all + i + k, 4096))
      await Promise.all(some.map(conversation => ask(url, conversation, agent, false)))
    }
    child.send('memory')
    const [size] = await once(child, 'message')
    sizes.push(Math.round(size / 2 ** 20))
  }
  agent.destroy()
  return sizes
}

function spread({ first, later }: Calls) {
  const at = (calls: Call[], share: number) => {
    const sorted = calls.map(({ firstByte }) => firstByte).sort((a, b) => a - b)
    return round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
  }
  return { calls: later.length, p50: at(later, 0.5), p99: at(later, 0.99), firstCallP50: at(first, 0.5) }
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100
}

type Started = { url: string; child: ChildProcess }

async function start(role: string, args: string[]): Promise<Started> {
  const child = fork(new URL(import.meta.url).pathname, [role, ...args], { execArgv: ['--expose-gc'] })
  const [url] = await once(child, 'message')
  return { url, child }
}

function stop(child: ChildProcess): void {
  child.kill('SIGTERM')
}

async function serveUpstream(): Promise<void> {
  let calls = 0
  const server = createServer(async (incoming, response) => {
    for await (const _ of incoming);
    const wait = incoming.headers['x-bench-now'] === undefined
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const id = `toolu_${calls++}`
    const events = [
      { type: 'message_start', message: { model: 'claude-sonnet-4-5', usage: { input_tokens: 10 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id, name: 'bash', input: {} } },
      ...Array.from({ length: 40 }, () => ({
        type: 'content_block_delta',
        delta: { partial_json: '"a piece of it"' },
      })),
      { type: 'message_delta', usage: { output_tokens: 50 } },
      { type: 'message_stop' },
    ]
    if (wait) await sleep(FIRST_BYTE_MS)
    for (const event of events) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      if (wait) await sleep((LAST_BYTE_MS - FIRST_BYTE_MS) / events.length)
    }
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

async function serveTheProxy(): Promise<void> {
  const [, upstream = '', policy = '', home = '', sync] = positionals
  const { openPalimpsest } = await import('../src/engine.ts')
  const { createProxy } = await import('../src/proxy/proxy.ts')
  const { serveProxy } = await import('../src/proxy/front.ts')
  const { SqliteLedger } = await import('../src/ledger/sqlite.ts')
  const store = new SqliteLedger(join(home, 'ledger.sqlite'), { sync: sync === 'normal' ? 'normal' : 'full' })
  const pal = await openPalimpsest({ home, store })
  const log = (line: string) => console.error(line)
  const front = await serveProxy(createProxy({ pal, policy, log, upstreams: { anthropic: upstream } }))
  process.on('message', () => {
    globalThis.gc?.()
    process.send?.(process.memoryUsage().rss)
  })
  process.send?.(front.url)
}
