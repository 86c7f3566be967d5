/**
 * An agent on Anthropic's API that keeps its own history, as Claude Code does: thinking goes back as it came, the
 * system prompt and the last block carry cache marks, and every few calls the user says something new.
 */
import assert from 'node:assert/strict'
import type { Received, Turn } from '../../upstream.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies as they go over the wire
type Json = any

export type AgentOptions = {
  model?: string
  /** The lifetime that its cache marks ask for. */
  ttl?: '1h'
  headers?: Record<string, string>
  /** The name of its conversation. */
  session?: string
  /** More fields of each request. */
  more?: Json
}

export class AnthropicAgent {
  readonly url: string
  readonly messages: Json[] = [{ role: 'user', content: 'Build all parts, one after the other.' }]
  readonly #options: AgentOptions
  rounds = 0
  /** The last answer's fields, and its headers. */
  last: Json
  answered: Headers | undefined

  constructor(url: string, options: AgentOptions = {}) {
    this.url = url
    this.#options = options
  }

  /** One request, and what the agent does with the answer. */
  async round(): Promise<void> {
    const { status, json } = await this.post('/v1/messages')
    assert.equal(status, 200, JSON.stringify(json))
    this.last = json
    this.messages.push({ role: 'assistant', content: json.content })
    const calls = json.content.filter(({ type }: Json) => type === 'tool_use')
    const results = calls.map(({ id }: Json) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: output(this.rounds),
    }))
    this.messages.push({ role: 'user', content: calls.length > 0 ? results : `Go on with part ${this.rounds}.` })
    this.rounds++
  }

  async post(path: string, messages = this.messages): Promise<{ status: number; json: Json }> {
    const answer = await fetch(this.url + path, {
      method: 'POST',
      headers: { 'x-palimpsest-session': this.#options.session ?? 'one', ...this.#options.headers },
      body: JSON.stringify(this.body(messages)),
    })
    this.answered = answer.headers
    return { status: answer.status, json: await answer.json() }
  }

  body(messages = this.messages): Json {
    const { model = 'claude-opus-5-5', ttl, more = {} } = this.#options
    const mark = { type: 'ephemeral', ...(ttl ? { ttl } : {}) }
    const last = messages.at(-1)
    const content = typeof last.content === 'string' ? [{ type: 'text', text: last.content }] : last.content
    const marked = [...content.slice(0, -1), { ...content.at(-1), cache_control: mark }]
    return {
      model,
      max_tokens: 1000,
      tools: [{ name: 'bash', description: 'Runs a command.', input_schema: { type: 'object' } }],
      system: [{ type: 'text', text: SYSTEM, cache_control: mark }],
      messages: [...messages.slice(0, -1), { ...last, content: marked }],
      ...more,
    }
  }
}

const SYSTEM = `You build software. ${'Be careful, and say what you do. '.repeat(200)}`

/** Long enough to be worth shortening, each of its own. */
export function output(round: number): string {
  return Array.from(
    { length: 120 },
    (_, i) => `part ${round} step ${i}: compiled without a warning in ${round % 17} ms`,
  ).join('\n')
}

/** A model that thinks, runs a command, and after so many calls is done until the user speaks. */
export function thinkingModel(callsPerTurn = 6): (received: Received, index: number) => Turn {
  let made = 0
  return () => {
    made++
    const thinking = [
      {
        text: `Part ${made} is next, because the one before it was built. ${'So I go on. '.repeat(12)}`,
        signature: '',
      },
      ...(made % 3 === 0 ? [{ text: 'And quietly so.', signature: '', redacted: true }] : []),
    ]
    if (made % callsPerTurn === 0) return { thinking, text: `Part ${made} is built, what shall I do next?` }
    return { thinking, calls: [{ id: `call_${made}`, name: 'bash', input: { command: `sh build.sh ${made}` } }] }
  }
}
