/** The MCP door with the SDK's own client, over real pipes and over HTTP on a loopback port, and with the Inspector. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { createAdaptorServer } from '@hono/node-server'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type ClientCapabilities, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { createMcpHandler, type McpOptions } from '../../../src/doors/mcp/mcp.ts'
import { Memory } from '../../../src/memory/memory.ts'
import { SqliteMemory } from '../../../src/memory/sqlite.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'

const CLI = join(import.meta.dirname, '../../../src/cli.ts')
const INSPECTOR = join(
  import.meta.dirname,
  '../../../node_modules/.cache/mcp-inspector/node_modules/.bin/mcp-inspector',
)
const base = mkdtempSync(join(tmpdir(), 'palimpsest-mcp-'))
process.env['PALIMPSEST_LOCKS'] = join(base, 'locks')
after(() => rmSync(base, { recursive: true, force: true }))

let made = 0

/** A folder to work in, a home with one session in it, and the arguments that lead there. */
async function place() {
  const folder = join(base, String(++made))
  const [root, home, workspace] = ['root', 'home', 'workspace'].map(name => join(folder, name)) as [
    string,
    string,
    string,
  ]
  await mkdir(root, { recursive: true })
  await writeFile(join(root, 'a.txt'), 'one\r\ntwo\r\n')
  await using pal = await openPalimpsest({ home })
  const session = await pal.session('fix login')
  const log = `the pool opened a connection, as it does each time\n`.repeat(50)
  await session.append(
    { role: 'user', parts: [{ type: 'text', text: 'Why does the login fail?' }] },
    { role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'bash', input: { command: 'npm test' } }] },
    {
      role: 'tool',
      parts: [{ type: 'tool-result', id: 'c1', name: 'bash', output: `BEGIN OF LOG\n${log}END OF LOG` }],
    },
  )
  const args = ['mcp', '--root', root, '--home', home, '--workspace', workspace, '--session', 'fix login']
  return { root, home, workspace, args }
}

async function connect(args: string[], capabilities: ClientCapabilities = {}): Promise<Client & AsyncDisposable> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities })
  const env = { ...process.env, PALIMPSEST_LOCKS: join(base, 'locks') } as Record<string, string>
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [CLI, ...args], env, stderr: 'inherit' }),
  )
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
}

async function call(
  client: Client,
  name: string,
  args: Record<string, unknown>,
): Promise<{ text: string; isError: boolean }> {
  const result = await client.callTool({ name, arguments: args })
  const [first] = result.content as { type: string; text: string }[]
  return { text: first?.text ?? '', isError: result.isError === true }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Tests for every transport. */
async function exercise(client: Client, { root }: { root: string }): Promise<void> {
  const { tools } = await client.listTools()
  const names = tools.map(({ name }) => name)
  for (const name of ['edit_file', 'run_command', 'context', 'recall', 'workspace_save_fact'])
    assert.ok(names.includes(name), name)
  const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]))
  assert.deepEqual(hints['read_file'], { readOnlyHint: true, destructiveHint: false, openWorldHint: false })
  assert.deepEqual(hints['edit_file'], { readOnlyHint: false, destructiveHint: false, openWorldHint: false })
  assert.deepEqual(hints['run_command'], { readOnlyHint: false, destructiveHint: true, openWorldHint: true })

  const edited = await call(client, 'edit_file', { path: 'a.txt', old_string: 'two', new_string: '$& two' })
  assert.deepEqual(edited, { text: 'Edited a.txt: replaced 3 chars with 6 chars', isError: false })
  assert.equal(await readFile(join(root, 'a.txt'), 'utf8'), 'one\r\n$& two\r\n')
  const missed = await call(client, 'edit_file', { path: 'a.txt', old_string: 'three', new_string: '' })
  assert.equal(missed.isError, true)
  assert.match(missed.text, /^old_string not found in a\.txt/)
  assert.match((await call(client, 'edit_file', { path: 'a.txt' })).text, /^Invalid arguments for edit_file/)
  assert.match((await call(client, 'read_file', { path: '../home/ledger.sqlite' })).text, /^Path refused/)
  await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), /There is no tool no_such_tool/)

  const operation = { start: 'BEGIN OF LOG', end: 'END OF LOG', replacement: '[the pool works]' }
  assert.match((await call(client, 'context', { action: 'replace', targets: [operation] })).text, /tokens saved/)
  assert.match((await call(client, 'recall', { query: 'pool connection' })).text, /1 of them not in view/)
  assert.match((await call(client, 'workspace_save_fact', { fact: 'The pool works.' })).text, /^Saved in MEMORY\.md/)
  assert.deepEqual((await call(client, 'undo_edit', { path: 'a.txt' })).isError, false)

  const { resources } = await client.listResources()
  assert.deepEqual(
    resources.map(({ uri }) => uri),
    ['palimpsest://workspace/MEMORY.md', 'palimpsest://sessions/fix%20login'],
  )
  const [memory, session] = await Promise.all(resources.map(({ uri }) => client.readResource({ uri })))
  assert.match(JSON.stringify(memory), /The pool works/)
  const shown = JSON.parse((session!.contents[0] as { text: string }).text)
  assert.equal(shown.messages[2].parts[0].output, '[the pool works]')
  await assert.rejects(client.readResource({ uri: 'palimpsest://workspace/..%2F..%2Fetc/passwd' }), /Path refused/)
  await assert.rejects(client.readResource({ uri: 'palimpsest://sessions/none' }), /There is no session none/)
  await assert.rejects(client.readResource({ uri: 'file:///etc/passwd' }), /There is no resource/)
  assert.equal((await client.listResourceTemplates()).resourceTemplates.length >= 2, true)

  assert.deepEqual(
    (await client.listPrompts()).prompts.map(({ name }) => name),
    ['agent-instructions'],
  )
  const { messages } = await client.getPrompt({ name: 'agent-instructions' })
  assert.match(JSON.stringify(messages), /═══ WORKSPACE KNOWLEDGE ═══.*The pool works.*edit_file.*recall/)
  assert.match(client.getInstructions() ?? '', /edit_file/)
}

describe('palimpsest mcp on stdin and stdout', () => {
  test('serves tools, resources and prompts to a client', async () => {
    const where = await place()
    await using client = await connect(where.args)
    await exercise(client, where)
  })

  test('remembers reads and replaced texts across a restart', async () => {
    const where = await place()
    {
      await using client = await connect(where.args)
      await call(client, 'read_file', { path: 'a.txt' })
    }
    {
      await using client = await connect(where.args)
      assert.equal(
        (await call(client, 'write_file', { path: 'a.txt', content: 'new\r\n' })).text,
        'Written: a.txt (5 bytes)',
      )
    }
    await using client = await connect(where.args)
    await call(client, 'undo_edit', { path: 'a.txt' })
    assert.equal(await readFile(join(where.root, 'a.txt'), 'utf8'), 'one\r\ntwo\r\n')
  })

  test('offers only the requested tools, and lists the known ones', async () => {
    const { args } = await place()
    await using client = await connect([...args, '--tools', 'context,workspace'])
    const names = (await client.listTools()).tools.map(({ name }) => name)
    assert.ok(names.includes('context') && names.includes('workspace_daily_log') && !names.includes('edit_file'))
    await assert.rejects(promisify(execFile)(process.execPath, [CLI, ...args, '--tools', 'files,magic']), {
      code: 2,
      stderr: /--tools takes these groups, separated by commas: files, context, workspace, memory, editor, notes/,
    })
  })

  test("reads a user's memory blocks and proposes changes, which only the user can approve", async () => {
    const { args, home } = await place()
    const memory = new Memory(new SqliteMemory(join(home, 'memory.sqlite')))
    await memory.set('ada', 'goals', { body: 'Learn to sail.', by: 'user:ada' })
    await using client = await connect([...args, '--tools', 'memory', '--user', 'ada', '--agent', 'helper'])
    const names = (await client.listTools()).tools.map(({ name }) => name)
    assert.ok(names.includes('propose_memory_edit') && !names.some(name => /approve|reject/.test(name)))
    const [block] = (await client.listResources()).resources.filter(({ uri }) => uri.startsWith('palimpsest://memory/'))
    assert.match(JSON.stringify(await client.readResource({ uri: block!.uri })), /Learn to sail/)
    assert.match(
      JSON.stringify(await client.getPrompt({ name: 'agent-instructions' })),
      /Learn to sail.*read_memory_block/,
    )
    const edit = { block_label: 'goals', old_string: 'sail', new_string: 'fly', reasoning: 'She said so.' }
    assert.equal((await call(client, 'propose_memory_edit', edit)).isError, false)
    assert.equal((await memory.block('ada', 'goals'))?.body, 'Learn to sail.')
    const [proposal] = await memory.store.proposals('ada')
    assert.deepEqual([proposal?.agentId, proposal?.body], ['helper', 'Learn to fly.'])
    await memory.close()
  })

  test('an identity file changes by proposal, even with file tools that reach it', async () => {
    const { args, home, workspace } = await place()
    await mkdir(workspace)
    await writeFile(join(workspace, 'SOUL.md'), 'Be brief.\n')
    await using client = await connect([...args, '--root', workspace, '--tools', 'files,memory', '--user', 'ada'])
    const edit = { path: 'SOUL.md', old_string: 'brief', new_string: 'verbose', intent: 'She likes to read' }
    const { content } = await client.callTool({ name: 'edit_file', arguments: edit })
    const [said, line] = content as { text: string }[]
    assert.match(said!.text, /^Nothing is changed yet: .*'workspace:SOUL\.md'.*Reasoning provided: She likes to read$/)
    assert.match(line!.text, /^For the user: 1 change to memory waits/)
    assert.equal(await readFile(join(workspace, 'SOUL.md'), 'utf8'), 'Be brief.\n')
    const append = { block_label: 'workspace:SOUL.md', text: 'Be kind.', reasoning: 'She said so.' }
    assert.equal((await call(client, 'propose_memory_append', append)).isError, false)
    const memory = new Memory(new SqliteMemory(join(home, 'memory.sqlite')), { workspaceOf: () => workspace })
    for (const { id } of await memory.proposals('ada')) await memory.approve('ada', id, { by: 'user:ada' })
    assert.equal(await readFile(join(workspace, 'SOUL.md'), 'utf8'), 'Be verbose.\nBe kind.')
    await memory.close()
  })

  test('notifies the user of waiting proposals, and asks through clients that support it', async () => {
    const { args, home } = await place()
    const memory = new Memory(new SqliteMemory(join(home, 'memory.sqlite')))
    await memory.set('ada', 'goals', { body: 'Learn to sail.', by: 'user:ada' })
    const edit = { block_label: 'goals', old_string: 'sail', new_string: 'fly', reasoning: 'She said so.' }
    const flags = [...args, '--tools', 'memory', '--user', 'ada']
    for (const [decision, state, body] of [
      ['later', 'open', 'Learn to sail.'],
      ['reject', 'rejected', 'Learn to sail.'],
      ['approve', 'approved', 'Learn to fly.'],
    ] as const) {
      await using client = await connect(flags, { elicitation: {} })
      const asked = Promise.withResolvers<string>()
      client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
        asked.resolve(params.message)
        return { action: 'accept', content: { decision } }
      })
      const { content } = await client.callTool({ name: 'propose_memory_edit', arguments: edit })
      const [, line] = content as { text: string; annotations?: object }[]
      assert.match(
        line!.text,
        /^For the user: \d changes? to memory waits? for your decision: palimpsest memory proposals$/,
      )
      assert.deepEqual(line!.annotations, { audience: ['user'] })
      assert.match(await asked.promise, /mcp proposes to change your memory block 'goals': She said so\.[\s\S]*\{\+fly/)
      const newest = async () => (await memory.proposals('ada', { limit: 1 }))[0]?.state
      // The user decides while other calls are answered.
      for (let calls = 0; calls < 500 && (await newest()) !== state; calls++) await client.listTools()
      assert.equal(await newest(), state)
      assert.equal((await memory.block('ada', 'goals'))?.body, body)
    }
    await memory.close()
  })

  test("the whole of a command's long output can be read, with file tools alone and after a restart", async () => {
    const { args, home } = await place()
    const command = 'seq -f "line %g of the build" 1 20000; exit 3'
    const note = /\n\[exit code 3\]\n\[All of it: recall\(text="(\w+)", session="(.+)"\)\]$/
    const ran = await (async () => {
      await using client = await connect([...args, '--tools', 'files'])
      return call(client, 'run_command', { command })
    })()
    assert.match(ran.text, /chars left out/)
    const [, id, session] = note.exec(ran.text)!
    assert.match(session!, /^fix login-outputs-\d{4}-\d\d-\d\d$/)
    await using client = await connect([...args, '--tools', 'files'])
    let whole = ''
    for (let from: number | undefined = 0; from !== undefined; ) {
      const { text } = await call(client, 'recall', { text: id, session, from })
      const [, shown = '', next] = /^\[\w+, entry 1\]\n(.*?)(?:\n\[[\d,]+ characters more: .*from=(\d+)\)\])?$/s.exec(
        text,
      )!
      whole += shown
      from = next === undefined ? undefined : Number(next)
    }
    const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i + 1} of the build`)
    assert.equal(whole, [...lines, '[exit code 3]'].join('\n'))
    assert.equal((await call(client, 'recall', { text: id, session: `${session}-no` })).isError, true)
    // The client's own session follows the client's messages, and there are none.
    await using pal = await openPalimpsest({ home })
    assert.equal((await pal.session('fix login')).fold.entries.length, 3)
    const hits = await pal.recall('line 10000 of the build')
    assert.deepEqual(hits.hits[0]?.session, session)
    assert.deepEqual((await (await pal.session(session!)).view()).report, [])
  })

  test('a cancelled command ends, and the next call is served', async () => {
    const { args, root } = await place()
    await using client = await connect(args)
    const stop = new AbortController()
    const command = 'echo $$ > p; mv p shell; sleep 60'
    const running = client.callTool({ name: 'run_command', arguments: { command } }, undefined, { signal: stop.signal })
    while (!existsSync(join(root, 'shell'))) await new Promise(resolve => setTimeout(resolve, 20))
    stop.abort()
    await assert.rejects(running)
    const shell = (await readFile(join(root, 'shell'), 'utf8')).trim()
    const waiting = `while kill -0 ${shell} 2> /dev/null; do sleep 0.02; done; echo gone`
    assert.match((await call(client, 'run_command', { command: waiting })).text, /^gone/)
  })

  test('a server that receives SIGTERM ends the running command', async () => {
    const { args, root } = await place()
    await using client = await connect(args)
    const command = 'echo $$ > shell; sleep 60; touch finished'
    const running = client.callTool({ name: 'run_command', arguments: { command } })
    while (!existsSync(join(root, 'shell')) || (await readFile(join(root, 'shell'), 'utf8')) === '')
      await new Promise(resolve => setTimeout(resolve, 20))
    const shell = Number(await readFile(join(root, 'shell'), 'utf8'))
    const server = (client.transport as StdioClientTransport).pid
    process.kill(server!, 'SIGTERM')
    await assert.rejects(running)
    while (isAlive(server!) || isAlive(shell)) await new Promise(resolve => setTimeout(resolve, 20))
  })

  test('stdout has only protocol messages, and calls that run when stdin ends are answered', async () => {
    const { args } = await place()
    const child = spawn(process.execPath, [CLI, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
    const said = text(child.stdout)
    const request = (id: number, method: string, params: object) =>
      `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`
    const info = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    child.stdin.write(request(1, 'initialize', info))
    child.stdin.write('this is not JSON\n')
    child.stdin.end(request(2, 'tools/call', { name: 'run_command', arguments: { command: 'sleep 0.3; echo done' } }))
    const [code] = await once(child, 'close')
    assert.equal(code, 0)
    const lines = (await said)
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    assert.deepEqual(
      lines.map(({ id, jsonrpc }) => [id, jsonrpc]),
      [
        [1, '2.0'],
        [2, '2.0'],
      ],
    )
    assert.match(lines[1].result.content[0].text, /^done/)
  })

  test('the MCP Inspector lists and calls the tools', {
    skip: !existsSync(INSPECTOR) && 'no MCP Inspector; get it with: npm run get:inspector',
  }, async () => {
    const { args } = await place()
    const inspect = async (...options: string[]) => {
      const { stdout } = await promisify(execFile)(process.execPath, [
        INSPECTOR,
        '--cli',
        process.execPath,
        CLI,
        ...args,
        ...options,
      ])
      return JSON.parse(stdout)
    }
    const { tools } = await inspect('--method', 'tools/list')
    assert.ok(tools.some(({ name }: { name: string }) => name === 'edit_file'))
    const called = await inspect(
      '--method',
      'tools/call',
      '--tool-name',
      'edit_file',
      '--tool-arg',
      'path=a.txt',
      'old_string=one',
      'new_string=ONE',
    )
    assert.deepEqual(called.content, [{ type: 'text', text: 'Edited a.txt: replaced 3 chars with 3 chars' }])
    const { resources } = await inspect('--method', 'resources/list')
    assert.equal(resources.at(-1).uri, 'palimpsest://sessions/fix%20login')
    assert.equal((await inspect('--method', 'prompts/list')).prompts.length, 1)
  })
})

describe('/mcp over HTTP', () => {
  async function serve(options: Partial<McpOptions> = {}) {
    const where = await place()
    const pal = await openPalimpsest({ home: where.home })
    const { root, workspace } = where
    const handler = createMcpHandler({ pal, root, workspace, session: 'fix login', ...options })
    const server = createAdaptorServer({ fetch: handler })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
    const close = async () => {
      await new Promise<unknown>(resolve => server.close(resolve))
      await pal.close()
    }
    return { ...where, url, [Symbol.asyncDispose]: close }
  }

  async function connectTo(url: URL): Promise<Client & AsyncDisposable> {
    const client = new Client({ name: 'test', version: '1' })
    // The SDK's types do not expect exactOptionalPropertyTypes.
    await client.connect(new StreamableHTTPClientTransport(url) as Parameters<Client['connect']>[0])
    return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() })
  }

  test('serves tools, resources and prompts to a client', async () => {
    await using where = await serve()
    await using client = await connectTo(where.url)
    await exercise(client, where)
  })

  test('several clients edit one file at once, and no edit is lost', async () => {
    await using where = await serve()
    await using a = await connectTo(where.url)
    await using b = await connectTo(where.url)
    const append = (client: Client, name: string) =>
      Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          call(client, 'append_to_file', { path: 'log.txt', content: `${name}${i}\n` }),
        ),
      )
    await Promise.all([append(a, 'a'), append(b, 'b')])
    const lines = (await readFile(join(where.root, 'log.txt'), 'utf8')).trimEnd().split('\n').sort()
    assert.deepEqual(
      lines,
      ['a', 'b'].flatMap(name => Array.from({ length: 10 }, (_, i) => `${name}${i}`)),
    )
  })

  test('refuses other origins, other methods and invalid requests', async () => {
    await using where = await serve()
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
    const post = (extra: RequestInit & { headers?: Record<string, string> }) =>
      fetch(where.url, { method: 'POST', body, ...extra, headers: { ...headers, ...extra.headers } })
    assert.equal((await post({ headers: { origin: 'https://evil.example' } })).status, 403)
    assert.equal((await post({ headers: { origin: 'null' } })).status, 403)
    assert.equal((await post({ headers: { origin: where.url.origin } })).status, 200)
    assert.equal((await post({ body: '{' })).status, 400)
    assert.equal((await post({ headers: { accept: 'text/html' } })).status, 406)
    const get = await fetch(where.url, { headers: { accept: 'text/event-stream' } })
    assert.deepEqual([get.status, get.headers.get('allow')], [405, 'POST'])
  })
})
