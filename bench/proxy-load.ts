/**
 * Agents for the proxy benchmark, in a process of their own: conversations with large bodies that stream.
 *
 * Every turn of a conversation goes to the provider and to the contender, a moment apart and in random order, so that
 * any disturbance of the machine affects both alike. Each pair gives one difference. Pairs from moments in which the
 * host took processors away are left out (steal.ts). A conversation continues when both answers are complete. Bodies are
 * made before the clock starts. The agents share the machine with the proxies that they measure, so they do little.
 */
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { AT_ONCE } from './proxy-provider.ts'
import { Steal } from './steal.ts'

export type Load = {
  direct: string
  through: string
  conversations: number
  bytes: number
  seconds: number
  /** Conversations begin one after the other within this time, and nothing is counted before its end. */
  rampSeconds: number
}

/** Milliseconds to the first byte of the answer. */
export type Pair = { direct: number; through: number }
export type Latencies = {
  first: Pair[]
  later: Pair[]
  /** Pairs that are left out, because the host took processors away in that time. */
  disturbed: number
}

export async function measureLatency(load: Load): Promise<Latencies> {
  const agent = new Agent({ keepAlive: true })
  const started = performance.now()
  const counted = started + load.rampSeconds * 1000
  const steal = new Steal()
  // Disturbed pairs are repeated, within limits.
  const until = () => {
    const lost = Math.min(steal.disturbedSince(counted), MOST_MADE_UP * load.seconds * 1000)
    return counted + load.seconds * 1000 + lost
  }
  const later: { pair: Pair; from: number; to: number }[] = []
  const first: Pair[] = []
  await Promise.all(
    Array.from({ length: load.conversations }, async (_, i) => {
      await sleep((i / load.conversations) * load.rampSeconds * 1000)
      const own = new Conversation(i, load.bytes)
      const other = new Conversation(i, load.bytes)
      for (let turn = 0; performance.now() < until(); turn++) {
        const from = performance.now()
        const [direct, through] = await both(
          () => ask(load.direct, own, { agent }),
          () => ask(load.through, other, { agent }),
        )
        const pair = { direct: direct.firstByte, through: through.firstByte }
        if (turn === 0) first.push(pair)
        else if (from >= counted)
          later.push({ pair, from, to: from + MOST_APART_MS + Math.max(pair.direct, pair.through) })
        own.goOn(direct.id, turn)
        other.goOn(through.id, turn)
      }
    }),
  )
  agent.destroy()
  steal.stop()
  const calm = later.filter(({ from, to }) => steal.wasCalm(from, to))
  return { first, later: calm.map(({ pair }) => pair), disturbed: later.length - calm.length }
}

/** Requests per second when the provider answers at once and every conversation continues as soon as it can. */
export async function measureThroughput(url: string, { conversations, bytes, seconds }: Load): Promise<number> {
  const agent = new Agent({ keepAlive: true })
  const all = Array.from({ length: conversations }, (_, i) => new Conversation(i, bytes))
  for (const one of all) one.goOn((await ask(url, one, { agent, now: true })).id, 0)
  const from = performance.now()
  const until = from + seconds * 1000
  let answers = 0
  await Promise.all(
    all.map(async one => {
      for (let turn = 1; performance.now() < until; turn++) {
        one.goOn((await ask(url, one, { agent, now: true })).id, turn)
        answers++
      }
    }),
  )
  const rate = (answers / (performance.now() - from)) * 1000
  agent.destroy()
  return rate
}

/** Short conversations, each with two turns, all different. */
export async function sendMany(url: string, { from, requests }: { from: number; requests: number }): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  const atOnce = 10
  await Promise.all(
    Array.from({ length: atOnce }, async (_, lane) => {
      for (let i = lane; i < requests / 2; i += atOnce) {
        const one = new Conversation(from + i, 4096)
        one.goOn((await ask(url, one, { agent, now: true })).id, 0)
        await ask(url, one, { agent, now: true })
      }
    }),
  )
  agent.destroy()
}

const MOST_APART_MS = 100
/** Times the planned length. */
const MOST_MADE_UP = 2

async function both<T>(one: () => Promise<T>, other: () => Promise<T>): Promise<[T, T]> {
  const apart = Math.random() * MOST_APART_MS
  if (Math.random() < 0.5) return Promise.all([one(), sleep(apart).then(other)])
  return Promise.all([sleep(apart).then(one), other()])
}

/** Code and logs of some length, other in every conversation; kept as the text that goes out. */
class Conversation {
  readonly headers: Record<string, string>
  #messages = ''

  constructor(n: number, bytes: number) {
    this.headers = { 'x-session-id': `bench-${process.pid}-${performance.now()}-${n}` }
    this.#add({ role: 'user', content: `Task ${n}: make it work.` })
    for (let step = 0; this.#messages.length < bytes; step++) {
      const lines = Array.from(
        { length: 100 },
        (_, i) => `${n}.${step}.${i} ok: function call_${i * step}() returns ${i * 7}`,
      )
      this.#step(`t${n}_${step}`, `npm test -- ${step}`, lines)
    }
  }

  goOn(id: string, turn: number): void {
    const lines = Array.from({ length: 40 }, (_, i) => `${turn}.${i} ok: another line of output, number ${i * turn}`)
    this.#step(id, `npm test -- again ${turn}`, lines)
  }

  body(atOnce: boolean): Buffer {
    return Buffer.from(`{"max_tokens":${atOnce ? AT_ONCE : 1000},${REST}[${this.#messages}]}`)
  }

  #step(id: string, command: string, lines: readonly string[]): void {
    this.#add({ role: 'assistant', content: [{ type: 'tool_use', id, name: 'bash', input: { command } }] })
    this.#add({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: lines.join('\n') }] })
  }

  #add(message: object): void {
    this.#messages += `${this.#messages === '' ? '' : ','}${JSON.stringify(message)}`
  }
}

const TOOL = {
  name: 'bash',
  description: 'Runs a command.',
  input_schema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
}
const REST = `"model":"claude-sonnet-4-5","stream":true,"tools":${JSON.stringify([TOOL])},"messages":`

type Asked = { firstByte: number; id: string }

function ask(
  url: string,
  conversation: Conversation,
  { agent, now = false }: { agent: Agent; now?: boolean },
): Promise<Asked> {
  const body = conversation.body(now)
  const headers = {
    ...conversation.headers,
    'content-type': 'application/json',
    'content-length': body.length,
    'anthropic-version': '2023-06-01',
    'x-api-key': 'sk-bench',
  }
  const started = performance.now()
  return new Promise((resolve, reject) => {
    const call = request(`${url}/v1/messages`, { method: 'POST', agent, headers }, response => {
      let firstByte = 0
      const chunks: Buffer[] = []
      response.on('data', chunk => {
        firstByte ||= performance.now() - started
        chunks.push(chunk)
      })
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const id = /"id": ?"(toolu_[^"]+)"/.exec(text)?.[1]
        if (response.statusCode === 200 && id) resolve({ firstByte, id })
        else reject(new Error(`${url} answered ${response.statusCode}: ${text.slice(0, 300)}`))
      })
      response.on('error', reject)
    })
    call.on('error', reject)
    call.end(body)
  })
}

type Order =
  | { kind: 'latency'; load: Load }
  | { kind: 'throughput'; load: Load; url: string }
  | { kind: 'many'; url: string; from: number; requests: number }

async function obey(order: Order): Promise<unknown> {
  if (order.kind === 'latency') return measureLatency(order.load)
  if (order.kind === 'throughput') return measureThroughput(order.url, order.load)
  return sendMany(order.url, order)
}

/** As a process: takes jobs one after the other, and sends back the measurements. */
if (import.meta.main) {
  process.on('disconnect', () => process.exit(0))
  process.on('message', (order: Order) => {
    obey(order).then(
      measured => process.send?.({ measured }),
      error => process.send?.({ error: String(error) }),
    )
  })
  process.send?.('ready')
}
