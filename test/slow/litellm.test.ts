/** LiteLLM's own guardrail with our server: its gateway sends us the conversation, and then sends our version on. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { findLiteLLM } from '../../scripts/optional-parts.ts'
import { serve } from '../../src/doors/server/server.ts'
import { openServerStore } from '../../src/doors/server/server-store.ts'
import { Memory } from '../../src/memory/memory.ts'
import { SqliteMemory } from '../../src/memory/sqlite.ts'
import { openPalimpsest } from '../../src/session/engine.ts'

const program = findLiteLLM()
const KEY = 'sk-0123456789abcdef0123456789abcdef'
const folder = mkdtempSync(join(tmpdir(), 'palimpsest-litellm-'))
const closing: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
after(async () => {
  for (const close of closing.reverse()) await close()
})

type Chat = { role: string; content: string | null; tool_call_id?: string; tool_calls?: unknown[] }

/** A provider that requests the first hash that it sees, and then answers with the text behind it. */
async function startProvider(): Promise<{ url: string; asked: Chat[][] }> {
  const asked: Chat[][] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { messages = [], model } = JSON.parse(text || '{}') as { messages?: Chat[]; model?: string }
    if (messages.length > 0) asked.push(messages)
    const hash = /hash=([0-9a-f]{24})/.exec(text)?.[1]
    const last = messages.at(-1)
    const isAnswered = last?.tool_call_id === 'retrieving'
    const call = { name: 'headroom_retrieve', arguments: JSON.stringify({ hash }) }
    const message =
      hash && !isAnswered
        ? { role: 'assistant', content: null, tool_calls: [{ id: 'retrieving', type: 'function', function: call }] }
        : { role: 'assistant', content: isAnswered ? last.content : 'nothing is missing' }
    const reason = 'tool_calls' in message ? 'tool_calls' : 'stop'
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    const choices = [{ index: 0, finish_reason: reason, message }]
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model, choices, usage }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(
    () => server.closeAllConnections(),
    () => server.close(),
  )
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked }
}

async function startPalimpsest() {
  const pal = await openPalimpsest({ home: ':memory:' })
  const store = await openServerStore(':memory:')
  const memory = new Memory(new SqliteMemory(':memory:'))
  const { token } = await store.createToken({ user: 'team', role: 'agent', name: 'litellm', at: 1 })
  const workspace = join(folder, 'workspace')
  const { url, close } = await serve({ pal, memory, store, workspace, port: 0, requireToken: true })
  closing.push(close)
  return { url, token, pal }
}

/** The configuration of docs/litellm.md, on our own addresses. */
async function startLiteLLM(provider: string, { url, token }: { url: string; token: string }): Promise<string> {
  const params = { model: 'openai/claude-sonnet-4-5', api_base: provider, api_key: 'none' }
  const guardrail = { guardrail: 'headroom', mode: 'pre_call', api_base: url, api_key: token, default_on: true }
  const config = {
    model_list: [{ model_name: 'claude-sonnet-4-5', litellm_params: params }],
    guardrails: [{ guardrail_name: 'palimpsest', litellm_params: guardrail }],
  }
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config))
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  const args = ['--config', join(folder, 'config.yaml'), '--host', '127.0.0.1', '--port', String(port)]
  const env = { ...process.env, LITELLM_MASTER_KEY: KEY, LITELLM_LOCAL_MODEL_COST_MAP: 'True' }
  const gateway = spawn(program!, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(gateway, 'exit')
  closing.push(
    () => ended,
    () => gateway.kill(),
  )
  let said = ''
  gateway.stdout.on('data', (chunk: Buffer) => (said += chunk))
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  gateway.stderr.on('data', (chunk: Buffer) => {
    said += chunk
    if (said.includes('Uvicorn running')) resolve()
  })
  await Promise.race([ready, ended.then(() => assert.fail(said))])
  return `http://127.0.0.1:${port}`
}

test('LiteLLM gets its conversations shortened by us, and the whole text back', {
  skip: !program && 'no LiteLLM (scripts/litellm.sh install)',
}, async () => {
  const provider = await startProvider()
  const palimpsest = await startPalimpsest()
  const gateway = await startLiteLLM(provider.url, palimpsest)
  const messages: Chat[] = [{ role: 'user', content: 'Look at the logs.' }]
  const texts: string[] = []
  let answered = ''
  while (!answered && texts.length < 30) {
    const n = texts.length + 1
    texts.push(Array.from({ length: 3000 }, (_, i) => `log ${n}, line ${i}: value ${(i * 7919 * n) % 1009}`).join('\n'))
    const call = { name: 'read', arguments: `{"path":"${n}.log"}` }
    messages.push({ role: 'assistant', content: null, tool_calls: [{ id: `c${n}`, type: 'function', function: call }] })
    messages.push({ role: 'tool', tool_call_id: `c${n}`, content: texts.at(-1)! })
    const response = await fetch(`${gateway}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ model: 'claude-sonnet-4-5', messages }),
    })
    const answer = (await response.json()) as { choices: [{ message: { content: string } }] }
    assert.equal(response.status, 200, JSON.stringify(answer))
    const { content } = answer.choices[0].message
    if (content !== 'nothing is missing') answered = content
  }
  assert.ok(texts.includes(answered), answered.slice(0, 200))
  const shortened = provider.asked.at(-2)!
  assert.deepEqual(
    shortened.map(({ role }) => role),
    messages.map(({ role }) => role),
  )
  assert.ok(JSON.stringify(shortened).length < JSON.stringify(messages).length * 0.9)
  const sessions = await palimpsest.pal.of('team').sessions()
  assert.equal(sessions.length, 1)
  assert.equal(sessions[0]!.about.client, 'gateway')
})
