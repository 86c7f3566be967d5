/** A server with every door that `palimpsest serve` has, on a home on disk, with a provider behind it; no port. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AgentDesk } from '../../src/agent/desk.ts'
import { openHome } from '../../src/agent/open.ts'
import { doorsOf } from '../../src/doors/commands/serve-doors.ts'
import { createServer } from '../../src/doors/server/server.ts'
import { openServerStore, type Role } from '../../src/doors/server/server-store.ts'
import { openMemory } from '../../src/memory/open.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { modelEnv, type Script, startUpstream } from '../upstream.ts'

export type Answer = { status: number; headers: Headers; json: ReturnType<typeof JSON.parse>; text: string }
export type Sent = { body?: unknown; token?: string | undefined; headers?: Record<string, string> }

export async function startWholeServer({ requireToken = true, script = (() => ({ text: 'fine' })) as Script } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-whole-'))
  const home = join(folder, '.agent')
  const upstream = await startUpstream(script)
  const env = modelEnv(upstream, folder)
  const workspace = env.PALIMPSEST_WORKSPACE
  const pal = await openPalimpsest({ home, config: false })
  const store = await openServerStore(home)
  const memory = await openMemory({ home, env })
  const agent = new AgentDesk(() => openHome({ home, env, root: folder }))
  const logged: string[] = []
  const log = (line: string) => void logged.push(line)
  const values = {
    'anthropic-upstream': upstream.url,
    'openai-upstream': upstream.url,
    'gemini-upstream': upstream.url,
  }
  const mount = await doorsOf({
    pal,
    memory,
    agent,
    values,
    env,
    log,
    linkKey: await store.secret('links'),
    told: store,
  })
  const server = createServer({ pal, memory, store, agent, workspace, requireToken, mount, rate: false, log })

  const token = (user: string, role: Role, name = role === 'agent' ? 'tutor' : '') =>
    store.createToken({ user, role, name, at: 1 })

  /** The token is sent as ours, so that it is also one where `Authorization` is the provider's. */
  async function call(method: string, path: string, { body, token: secret, headers = {} }: Sent = {}): Promise<Answer> {
    const response = await server.fetch(
      new Request(`http://localhost${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(secret === undefined ? {} : { 'x-palimpsest-token': secret }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
  }

  /** One request of the Model Context Protocol. */
  const mcp = (secret: string | undefined, method: string, params: object = {}) =>
    call('POST', '/mcp', {
      token: secret,
      headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
      body: { jsonrpc: '2.0', id: 1, method, params },
    })

  async function close() {
    await server.close()
    await upstream.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { server, mount, pal, store, memory, home, workspace, upstream, logged, token, call, mcp, close }
}
