/** An agent on Gemini's API that keeps its own history, signatures included. */
import assert from 'node:assert/strict'
import { output } from './anthropic-agent.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies as they go over the wire
type Json = any

export class GeminiAgent {
  readonly url: string
  readonly contents: Json[] = [{ role: 'user', parts: [{ text: 'Build all parts, one after the other.' }] }]
  readonly #model: string
  readonly #session: string
  rounds = 0

  constructor(url: string, { model = 'gemini-4-argon', session = 'one' }: { model?: string; session?: string } = {}) {
    this.url = url
    this.#model = model
    this.#session = session
  }

  async round(): Promise<void> {
    const tools = [{ functionDeclarations: [{ name: 'bash', parameters: { type: 'object' } }] }]
    const systemInstruction = { parts: [{ text: `You build software. ${'Be careful. '.repeat(400)}` }] }
    const answer = await fetch(`${this.url}/v1beta/models/${this.#model}:generateContent`, {
      method: 'POST',
      headers: { 'x-palimpsest-session': this.#session },
      body: JSON.stringify({ contents: this.contents, systemInstruction, tools }),
    })
    const json: Json = await answer.json()
    assert.equal(answer.status, 200, JSON.stringify(json))
    const { content } = json.candidates[0]
    this.contents.push(content)
    const calls = content.parts.filter((part: Json) => part.functionCall)
    const responses = calls.map(({ functionCall: { name, id } }: Json) => ({
      functionResponse: { ...(id ? { id } : {}), name, response: { output: output(this.rounds) } },
    }))
    const parts = calls.length > 0 ? responses : [{ text: `Go on with part ${this.rounds}.` }]
    this.contents.push({ role: 'user', parts })
    this.rounds++
  }
}
