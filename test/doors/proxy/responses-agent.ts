/** An agent on OpenAI's Responses API that keeps its own history, as Codex does: reasoning goes back encrypted. */
import assert from 'node:assert/strict'
import { output } from './anthropic-agent.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies as they go over the wire
type Json = any

export class ResponsesAgent {
  readonly url: string
  /** Newer models get their tools here. */
  readonly input: Json[] = [
    { type: 'additional_tools', role: 'developer', tools: [{ type: 'custom', name: 'bash' }] },
    { type: 'message', role: 'developer', content: `You build software. ${'Be careful. '.repeat(400)}` },
    { type: 'message', role: 'user', content: 'Build all parts, one after the other.' },
  ]
  readonly #model: string
  readonly #session: string
  rounds = 0
  last: Json

  constructor(url: string, { model = 'gpt-6.1-sol', session = 'one' }: { model?: string; session?: string } = {}) {
    this.url = url
    this.#model = model
    this.#session = session
  }

  async round(): Promise<void> {
    const compared = this.last ? { prompt_cache_options: { comparison_response_id: this.last.id } } : {}
    const answer = await fetch(`${this.url}/v1/responses`, {
      method: 'POST',
      headers: { 'x-palimpsest-session': this.#session },
      body: JSON.stringify({ model: this.#model, store: false, input: this.input, ...compared }),
    })
    this.last = await answer.json()
    assert.equal(answer.status, 200, JSON.stringify(this.last))
    this.input.push(...this.last.output)
    const calls = this.last.output.filter(({ type }: Json) => type === 'function_call')
    for (const { call_id } of calls) {
      this.input.push({ type: 'function_call_output', call_id, output: output(this.rounds) })
    }
    if (calls.length === 0) {
      this.input.push({ type: 'message', role: 'user', content: `Go on with part ${this.rounds}.` })
    }
    this.rounds++
  }
}
