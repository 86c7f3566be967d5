/** A server without a port, on stores in memory, with a token of every kind. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type ServerOptions } from '../../../src/doors/server/server.ts'
import { openServerStore, type Role } from '../../../src/doors/server/server-store.ts'
import { Memory } from '../../../src/memory/memory.ts'
import { SqliteMemory } from '../../../src/memory/sqlite.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'

export type Answer = { status: number; headers: Headers; json: ReturnType<typeof JSON.parse>; text: string }
export type Sent = { body?: unknown; token?: string; headers?: Record<string, string>; key?: string }

export async function startServer(options: Partial<ServerOptions> = {}) {
  const pal = await openPalimpsest({ home: ':memory:' })
  const memory = new Memory(new SqliteMemory(':memory:'))
  const store = await openServerStore(':memory:')
  const logged: string[] = []
  const workspace = mkdtempSync(join(tmpdir(), 'palimpsest-server-'))
  const log = (line: string) => void logged.push(line)
  const server = createServer({ pal, memory, store, workspace, rate: false, log, ...options })
  const close = server.close
  server.close = () => close().finally(() => rmSync(workspace, { recursive: true, force: true }))

  const token = (user: string, role: Role, name = role === 'agent' ? 'tutor' : '') =>
    store.createToken({ user, role, name, at: 1 })

  async function call(method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const { body, token: secret, headers = {}, key } = sent
    const response = await server.fetch(
      new Request(`http://localhost${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
          ...(key === undefined ? {} : { 'idempotency-key': key }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    )
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
  }

  return { server, pal, memory, store, workspace, logged, token, call }
}

export const said = (text: string, role: 'user' | 'assistant' = 'user') => ({
  role,
  parts: [{ type: 'text' as const, text }],
})
