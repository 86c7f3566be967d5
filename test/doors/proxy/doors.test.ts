/** The proxy as users start it: `palimpsest serve` and `palimpsest run`, as processes, with a provider behind them. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { runCli } from '../../cli.ts'
import { CLI, saidUntil, spawnCli } from '../../e2e/run-cli.ts'

const base = mkdtempSync(join(tmpdir(), 'palimpsest-doors-'))
after(() => rmSync(base, { recursive: true, force: true }))

/** A provider that repeats the request to it, and streams if that was requested. */
async function startProvider(answerTo = (url: string): object => ({ asked: url, content: [] })) {
  const seen: { url: string; body: string; headers: Record<string, unknown> }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    seen.push({ url: request.url ?? '', body, headers: request.headers })
    if (!/stream/.test(body + request.url)) return response.end(JSON.stringify(answerTo(request.url ?? '')))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"n": 1}\n\n')
    response.end('data: {"n": 2}\n\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.close()
    server.closeAllConnections()
  }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, seen, [Symbol.asyncDispose]: close }
}

/** Runs `palimpsest serve` until the test ends. */
async function startServe(name: string, upstream: string, args: string[] = []) {
  const home = join(base, name)
  const upstreams = ['anthropic', 'openai', 'gemini'].flatMap(of => [`--${of}-upstream`, upstream])
  const child = spawn(process.execPath, [CLI, 'serve', '--port', '0', '--home', home, ...upstreams, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const said = await saidUntil(child, /token /)
  const port = /^Palimpsest is at http:\/\/\S+:(\d+)$/m.exec(said)![1]
  const stop = async () => {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
  }
  return { url: `http://127.0.0.1:${port}`, home, [Symbol.asyncDispose]: stop }
}

const ASKED: [path: string, upstream: string, body: string][] = [
  [
    '/v1/messages?beta=true',
    '/v1/messages?beta=true',
    '{"model":"claude", "messages":[{"role":"user","content":"a"}]}',
  ],
  ['/anthropic/v1/messages', '/v1/messages', '{"model":"claude", "messages":[{"role":"user","content":"b"}]}'],
  ['/anthropic/v1/messages/count_tokens', '/v1/messages/count_tokens', '{"model":"claude" ,"messages":[]}'],
  [
    '/openai/v1/chat/completions',
    '/v1/chat/completions',
    '{"model":"gpt-4.1","messages":[{"role":"user","content":"c"}]}',
  ],
  ['/v1/responses', '/v1/responses', '{"model":"gpt-5", "input":"d", "stream":true}'],
  [
    '/gemini/v1beta/models/gemini-2.5-pro:generateContent?key=k',
    '/v1beta/models/gemini-2.5-pro:generateContent?key=k',
    '{ "contents":[{"role":"user","parts":[{"text":"e"}]}]}',
  ],
  [
    '/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
    '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
    '{ "contents":[{"role":"user","parts":[{"text":"f"}]}]}',
  ],
]

describe('palimpsest serve', () => {
  test('every mount forwards requests unchanged, and /metrics starts at zero', async () => {
    await using provider = await startProvider()
    await using server = await startServe('mounts', provider.url)
    const before = await (await fetch(`${server.url}/metrics`)).text()
    const metrics = before.split('\n').filter(line => line !== '' && !line.startsWith('#'))
    assert.ok(metrics.length >= 11)
    for (const line of metrics) assert.match(line, /^palimpsest_\w+_total 0$/)
    for (const [path, upstream, body] of ASKED) {
      const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-secret' }
      const response = await fetch(server.url + path, { method: 'POST', body, headers })
      const answer = await response.text()
      assert.equal(response.status, 200, answer)
      if (/stream/.test(path + body)) assert.equal(answer, 'data: {"n": 1}\n\ndata: {"n": 2}\n\n')
      else assert.equal(answer, JSON.stringify({ asked: upstream, content: [] }))
      assert.equal(provider.seen.at(-1)!.url, upstream)
      assert.equal(provider.seen.at(-1)!.body, body)
      assert.equal(provider.seen.at(-1)!.headers['authorization'], 'Bearer sk-secret')
    }
    await (await fetch(`${server.url}/v1/models`)).text()
    assert.equal(provider.seen.at(-1)!.url, '/v1/models')
    const counted = await (await fetch(`${server.url}/metrics`)).text()
    assert.match(counted, /^palimpsest_requests_total\{dialect="anthropic",status="200"\} 2$/m)
    assert.match(counted, /^palimpsest_requests_total\{dialect="openai-responses",status="200"\} 1$/m)
    assert.match(counted, /^palimpsest_faults_total 0$/m)
    const { sessions } = (await (await fetch(`${server.url}/sessions`)).json()) as { sessions: unknown[] }
    assert.equal(sessions.length, 6)
  })

  test("with a required token, agents send it beside the provider's key", async () => {
    await using provider = await startProvider()
    // Beyond loopback it cannot be switched off.
    await using server = await startServe('beyond', provider.url, ['--host', '0.0.0.0'])
    const [, , body] = ASKED[0]!
    const ask = (headers: Record<string, string>) =>
      fetch(`${server.url}/v1/messages`, { method: 'POST', body, headers: { ...headers, 'x-api-key': 'sk-secret' } })
    assert.equal((await ask({})).status, 401)
    assert.equal((await ask({ authorization: 'Bearer pal_wrong' })).status, 401)
    assert.equal((await fetch(`${server.url}/metrics`)).status, 401)
    assert.equal(provider.seen.length, 0)
    const made = await runCli([
      'token',
      'create',
      '--user',
      'ada',
      '--role',
      'agent',
      '--name',
      'x',
      '--home',
      server.home,
    ])
    const token = made.stdout.trim().split(/\s+/).at(-1)!
    assert.equal((await ask({ 'x-palimpsest-token': token })).status, 200)
    const { headers } = provider.seen[0]!
    assert.equal(headers['x-api-key'], 'sk-secret')
    assert.ok(!JSON.stringify(headers).includes(token), 'our token went to the provider')
  })
})

/** A program of that name that makes one request, and prints its base URLs and arguments. */
function fakeAgent(folder: string, name: string, ask: string): void {
  const script = `#!${process.execPath}
const given = Object.fromEntries(Object.entries(process.env).filter(([key]) => /BASE/.test(key)))
const { url, body } = (${ask})(process.env)
fetch(url, { method: 'POST', body: JSON.stringify(body) }).then(async response => {
  await response.text()
  console.log(JSON.stringify({ given, args: process.argv.slice(2), status: response.status }))
  process.exit(3)
})`
  writeFileSync(join(folder, name), script, { mode: 0o755 })
}

const CHAT = "{ model: 'gpt-4.1', messages: [{ role: 'user', content: 'hi' }] }"
const CONTENTS = "{ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }"
const AGENTS: [name: string, ask: string, variables: string[], upstream: string][] = [
  [
    'gemini',
    `env => ({ url: env.GOOGLE_GEMINI_BASE_URL + '/v1beta/models/m:generateContent', body: ${CONTENTS} })`,
    ['GOOGLE_GEMINI_BASE_URL'],
    '/v1beta/models/m:generateContent',
  ],
  [
    'aider',
    `env => ({ url: env.OPENAI_API_BASE + '/chat/completions', body: ${CHAT} })`,
    ['ANTHROPIC_API_BASE', 'OPENAI_API_BASE'],
    '/v1/chat/completions',
  ],
  [
    'qwen',
    `env => ({ url: env.OPENAI_BASE_URL + '/chat/completions', body: ${CHAT} })`,
    ['OPENAI_BASE_URL'],
    '/v1/chat/completions',
  ],
]

const answerOf = (url: string) =>
  url.includes('generateContent')
    ? {
        candidates: [{ content: { role: 'model', parts: [{ text: 'hello' }] } }],
        usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 1 },
      }
    : {
        choices: [{ message: { role: 'assistant', content: 'hello' } }],
        usage: { prompt_tokens: 9, completion_tokens: 1 },
      }

describe('palimpsest run', () => {
  for (const [name, ask, variables, upstream] of AGENTS) {
    test(`${name} gets the address of the proxy, and nothing else changes`, async () => {
      await using provider = await startProvider(answerOf)
      const folder = mkdtempSync(join(base, 'bin-'))
      fakeAgent(folder, name, ask)
      const upstreams = ['anthropic', 'openai', 'gemini'].flatMap(of => [`--${of}-upstream`, provider.url])
      const home = join(base, `run-${name}`)
      const env = { PATH: [folder, dirname(process.execPath), process.env['PATH']].join(delimiter) }
      const ran = await spawnCli(['run', '--home', home, ...upstreams, '--', name, '--flag', 'x'], { env })
      assert.equal(ran.code, 3, ran.stderr)
      const { given, args, status } = JSON.parse(ran.stdout)
      assert.deepEqual(Object.keys(given).sort(), variables)
      for (const url of Object.values(given))
        assert.match(String(url), /^http:\/\/127\.0\.0\.1:\d+\/(openai|anthropic|gemini)/)
      assert.deepEqual(args, ['--flag', 'x'])
      assert.equal(status, 200)
      assert.deepEqual(
        provider.seen.map(({ url }) => url),
        [upstream],
      )
      assert.match(ran.stderr, /palimpsest: 1 call, 0 edits/)
    })
  }
})
