/** The server on a real loopback port, and `palimpsest serve` and `token` as users run them. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { on, once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request as rawRequest } from 'node:http'
import { connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { type ServerOptions, serve } from '../../../src/doors/server/server.ts'
import { openServerStore } from '../../../src/doors/server/server-store.ts'
import { Memory } from '../../../src/memory/memory.ts'
import { SqliteMemory } from '../../../src/memory/sqlite.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { runCli } from '../../cli.ts'
import { CLI, spawnCli } from '../../e2e/run-cli.ts'
import { startWholeServer } from '../whole-server.ts'

const base = mkdtempSync(join(tmpdir(), 'palimpsest-server-'))
after(() => rmSync(base, { recursive: true, force: true }))

async function listening(home: string, options: Pick<ServerOptions, 'log' | 'mount'> = {}) {
  const pal = await openPalimpsest({ home })
  const memory = new Memory(new SqliteMemory(join(home, 'memory.sqlite')))
  const store = await openServerStore(home)
  return { ...(await serve({ pal, memory, store, port: 0, log: () => {}, ...options })), memory }
}

/** One request as bytes, because fetch cannot send it. */
function raw(port: number, lines: string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.end(`${lines.join('\r\n')}\r\n\r\n`)
  return text(socket)
}

describe('on a port', () => {
  test('a request is answered only for the names of loopback', async () => {
    const { url, port, close } = await listening(join(base, 'names'))
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
    assert.match(await raw(port, ['GET /healthz HTTP/1.1', 'Host: localhost:1', 'Connection: close']), /^HTTP\/1.1 200/)
    for (const host of ['evil.example', `evil.example:${port}`, '169.254.169.254', 'localhost, evil.example']) {
      const answer = await raw(port, ['GET /healthz HTTP/1.1', `Host: ${host}`, 'Connection: close'])
      assert.match(answer, /^HTTP\/1.1 40[03]/, host)
    }
    const absolute = ['GET http://evil.example/healthz HTTP/1.1', 'Host: localhost', 'Connection: close']
    assert.doesNotMatch(await raw(port, absolute), /^HTTP\/1.1 200/)
    await close()
  })

  test('answers that nobody reads are not all made', async () => {
    let made = 0
    const answer = () => new Response(`${made++} `.padEnd(8 * 1024 * 1024, 'x'))
    const mount = [{ prefix: '/large', roles: 'public', handle: answer }] as const
    const { port, url, close } = await listening(join(base, 'unread'), { mount })
    const socket = connect(port, '127.0.0.1').pause()
    const asked = ['GET /large HTTP/1.1', `Host: localhost:${port}`, '', ''].join('\r\n')
    socket.write(asked.repeat(9) + asked.replace('Host', 'Connection: close\r\nHost'))
    while (made === 0) await fetch(`${url}/healthz`)
    await fetch(`${url}/healthz`)
    assert.equal(made, 1)
    const answers = (await text(socket.resume())).match(/\d+ x/g)
    assert.deepEqual(answers, ['0 x', '1 x', '2 x', '3 x', '4 x', '5 x', '6 x', '7 x', '8 x', '9 x'])
    await close()
  })

  test('a client that goes away while it sends is not logged as a bug', async () => {
    const logged: string[] = []
    const { port, close } = await listening(join(base, 'broken-off'), { log: line => logged.push(line) })
    const head = ['POST /sessions HTTP/1.1', `Host: localhost:${port}`, 'Content-Type: application/json']
    await raw(port, [...head, 'Content-Length: 100', '', '{"id"'])
    await close()
    assert.deepEqual(logged, [])
  })

  test("the notice of waiting proposals below a proxy's answer links to the server's address", async t => {
    const it = await startWholeServer({ requireToken: false })
    const { pal, memory, store, mount } = it
    const { url, close } = await serve({ pal, memory, store, mount, port: 0, log: () => {} })
    t.after(async () => {
      await close()
      await it.close()
    })
    await memory.propose('owner', 'goals', { kind: 'new', body: 'Learn algebra', reasoning: 'asked', agentId: 'tutor' })
    const tools = [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } }]
    const body = JSON.stringify({ model: 'gpt-4.1', tools, messages: [{ role: 'user', content: 'go' }] })
    const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body })
    const [link] = /https?:[^\s"\\]+/.exec(await answer.text())!
    assert.ok(link.startsWith(`${url}/decide/`), link)
    assert.match(await (await fetch(link)).text(), /Learn algebra/)
  })

  test('a body larger than allowed is refused, declared or not', async () => {
    const { url, port, close } = await listening(join(base, 'bodies'))
    const headers = { 'content-type': 'application/json', 'content-length': String(1e9) }
    const declared = rawRequest({ port, host: '127.0.0.1', method: 'POST', path: '/sessions', headers })
    declared.on('error', () => {})
    declared.flushHeaders()
    const [answer] = await once(declared, 'response')
    assert.equal(answer.statusCode, 413)
    declared.destroy()
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
    await close()
  })

  test('closing waits for running requests, refuses new ones, and ends the streams', async () => {
    const { url, close, memory } = await listening(join(base, 'closing'))
    const events = await fetch(`${url}/events`)
    let release = () => {}
    const arrived = new Promise<void>(resolve => {
      const { set } = memory
      memory.set = async (...given) => {
        resolve()
        await new Promise<void>(go => (release = go))
        return set.apply(memory, given)
      }
    })
    const put = { method: 'PUT', body: '{"body":"kept"}', headers: { 'content-type': 'application/json' } }
    const running = fetch(`${url}/users/alice/blocks/late`, put)
    await arrived
    const closed = close()
    await assert.rejects(fetch(`${url}/healthz`, { headers: { connection: 'close' } }).then(ok => assert.ok(ok.ok)))
    release()
    assert.equal((await running).status, 200)
    await closed
    assert.match(await events.text(), /^event: open/)
    const reopened = new Memory(new SqliteMemory(join(base, 'closing', 'memory.sqlite')))
    assert.equal((await reopened.block('alice', 'late'))?.body, 'kept')
    await reopened.close()
  })

  test('idempotent answers and owners of sessions survive a restart', async () => {
    const home = join(base, 'kept')
    const first = await listening(home)
    const sent = {
      method: 'POST',
      body: '{"id":"s"}',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'k' },
    }
    const answer = await (await fetch(`${first.url}/sessions`, sent)).text()
    await first.close()
    const second = await listening(home)
    const again = await fetch(`${second.url}/sessions`, sent)
    assert.equal(await again.text(), answer)
    assert.equal(again.headers.get('idempotency-replayed'), 'true')
    await second.close()
  })
})

/** Starts the command and waits for its address. */
async function started(args: string[], env: Record<string, string> = {}) {
  const own = { ...process.env, ...env }
  const child = spawn(process.execPath, [CLI, 'serve', ...args], { env: own, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', chunk => {
      out += chunk
      const found = /Palimpsest is at (\S+)\n/.exec(out)
      if (found) resolve(found[1]!)
    })
    child.once('exit', async () => reject(new Error(`ended early: ${out}${await text(child.stderr)}`)))
  })
  return {
    url,
    out: () => out,
    /** Waits for a line in its log. */
    async says(line: RegExp) {
      for await (const [chunk] of on(child.stderr, 'data')) {
        said += chunk
        if (line.test(said)) return
      }
    },
    async stop() {
      child.kill('SIGTERM')
      const [code] = await once(child, 'exit')
      return code as number
    },
  }
}

async function isDemo(url: string): Promise<boolean> {
  const { demo } = (await (await fetch(`${url}/agent/personas`)).json()) as { demo: boolean }
  return demo
}

describe('palimpsest serve', () => {
  test('--demo answers if no model is configured, and does nothing if one is', async () => {
    const keyless = { ANTHROPIC_API_KEY: '', ANTHROPIC_BASE_URL: '', OPENAI_API_KEY: '', OPENAI_BASE_URL: '' }
    const args = ['--demo', '--port', '0', '--home', join(base, 'demo')]
    const server = await started(args, keyless)
    assert.equal(await isDemo(server.url), true)
    const sent = { method: 'POST', body: '{"text":"Hello"}', headers: { 'content-type': 'application/json' } }
    const turn = await fetch(`${server.url}/agent/sessions/first/turns`, sent)
    const reader = turn.body!.pipeThrough(new TextDecoderStream()).getReader()
    let told = ''
    while (!told.includes('"type":"approval"')) told += (await reader.read()).value
    assert.match(told, /"model":"palimpsest-demo"/)
    assert.equal((await fetch(`${server.url}/agent/sessions/first/stop`, { ...sent, body: '{}' })).status, 200)
    await reader.cancel()
    assert.equal(await server.stop(), 0)
    const withKey = await started(args, { ...keyless, OPENAI_API_KEY: 'sk-none' })
    assert.equal(await isDemo(withKey.url), false)
    assert.equal(await withKey.stop(), 0)
  })

  test('serves the sample, refuses a used port, and ends cleanly when stopped', async () => {
    const home = join(base, 'cli')
    const server = await started(['--sample', '--port', '0', '--home', home])
    const { sessions } = (await (await fetch(`${server.url}/sessions`)).json()) as { sessions: { id: string }[] }
    assert.deepEqual(
      sessions.map(({ id }) => id),
      ['sample'],
    )
    const { own, users } = (await (await fetch(`${server.url}/users`)).json()) as {
      own: string
      users: { user: string; open: number }[]
    }
    assert.equal(users.find(({ user }) => user === own)?.open, 1, 'what its agent proposed waits')
    const taken = await spawnCli(['serve', '--port', new URL(server.url).port, '--home', home])
    assert.equal(taken.code, 4)
    assert.match(taken.stderr, /Another program uses port/)
    assert.equal(await server.stop(), 0)
  })

  test('follows config set without a restart, and keeps the settings if the file is broken', async () => {
    const home = join(base, 'followed', 'home')
    const server = await started(['--port', '0', '--home', home])
    const policyOf = async (id: string) => {
      const sent = { method: 'POST', body: JSON.stringify({ id }), headers: { 'content-type': 'application/json' } }
      return ((await (await fetch(`${server.url}/sessions`, sent)).json()) as { policy: string }).policy
    }
    assert.equal(await policyOf('first'), 'thrifty')
    assert.equal((await runCli(['config', 'set', 'policy', 'smart-history', '--home', home])).code, 0)
    await server.says(/palimpsest\.json has changed/)
    assert.equal(await policyOf('second'), 'smart-history')
    writeFileSync(join(base, 'followed', 'palimpsest.json'), '{ "policy": "nothing such" }')
    await server.says(/The previous settings stay in force/)
    assert.equal(await policyOf('third'), 'smart-history')
    assert.equal(await server.stop(), 0)
  })

  test('takes another port if the default is used and no port was requested', async t => {
    const blocker = createTcpServer()
    t.after(() => blocker.close())
    const blocked = await new Promise<boolean>(resolve => {
      blocker.once('error', () => resolve(true))
      blocker.listen(8787, '127.0.0.1', () => resolve(true))
    })
    assert.ok(blocked)
    const server = await started(['--home', join(base, 'port')])
    assert.notEqual(new URL(server.url).port, '8787')
    assert.match(server.out(), /8787 is taken/)
    assert.equal(await server.stop(), 0)
  })
})

test('palimpsest token creates tokens that the server accepts, keeps only hashes, and revokes them', async () => {
  const home = join(base, 'tokens')
  const made = await runCli([
    'token',
    'create',
    '--user',
    'alice',
    '--role',
    'agent',
    '--name',
    'tutor',
    '--home',
    home,
  ])
  assert.equal(made.code, 0, made.stderr)
  const secret = made.stdout.trim().split(/\s+/).at(-1)!
  assert.match(secret, /^pal_[\w-]{43}$/)
  for (const file of ['server.sqlite', 'server.sqlite-wal']) {
    const path = join(home, file)
    const bytes = statSync(path, { throwIfNoEntry: false }) ? readFileSync(path, 'latin1') : ''
    assert.ok(!bytes.includes(secret.slice(4)))
  }
  assert.equal(statSync(join(home, 'server.sqlite')).mode & 0o077, 0)
  const server = await started(['--require-token', '--port', '0', '--home', home])
  const me = () => fetch(`${server.url}/me`, { headers: { authorization: `Bearer ${secret}` } })
  assert.deepEqual(((await (await me()).json()) as { role: string }).role, 'agent')
  assert.equal((await fetch(`${server.url}/me`)).status, 401)
  const listed = await runCli(['token', 'list', '--json', '--home', home])
  const [info] = JSON.parse(listed.stdout).tokens
  assert.deepEqual([info.user, info.role, info.name], ['alice', 'agent', 'tutor'])
  assert.equal((await runCli(['token', 'revoke', info.id, '--home', home])).code, 0)
  assert.equal((await me()).status, 401)
  assert.equal(await server.stop(), 0)
  assert.equal((await runCli(['token', 'revoke', 't_0000000000000000', '--home', home])).code, 3)
  for (const args of [
    ['create', '--user', 'a'],
    ['create', '--role', 'user'],
    ['create', '--user', 'a', '--role', 'boss'],
    ['nonsense'],
  ]) {
    assert.equal((await runCli(['token', ...args, '--home', home])).code, 2, args.join(' '))
  }
})
