/**
 * A server without a port, on stores in memory, with a token of every role. Every answer is compared with the
 * declaration of its route: a field that is missing, undeclared or of another type fails the test.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { allRoutes, createServer, type ServerOptions } from '../../../src/doors/server/server.ts'
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
    const json = isJson ? JSON.parse(text) : undefined
    if (isJson && response.ok) checkAnswer(method, path, json)
    return { status: response.status, headers: response.headers, text, json }
  }

  async function answered(status: number, ...asked: Parameters<typeof call>): Promise<Answer['json']> {
    const answer = await call(...asked)
    assert.equal(answer.status, status, answer.text)
    return answer.json
  }
  const get = (path: string) => answered(200, 'GET', path)
  const post = (path: string, body?: unknown, status = 200) => answered(status, 'POST', path, { body })

  return { server, pal, memory, store, workspace, logged, token, call, get, post }
}

/** Parsing removes undeclared fields. */
function checkAnswer(method: string, path: string, json: unknown): void {
  const steps = path.split('?')[0]!.split('/')
  const fits = (step: string, i: number) => step === steps[i] || step.startsWith('{')
  const found = allRoutes
    .filter(route => route.method === method.toLowerCase() && route.path.split('/').length === steps.length)
    .filter(route => route.path.split('/').every(fits))
    .sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0]
  if (found) assert.deepEqual(found.answer.parse(json), json, `the declared answer of ${method} ${found.path}`)
}

export const said = (text: string, role: 'user' | 'assistant' = 'user') => ({
  role,
  parts: [{ type: 'text' as const, text }],
})
