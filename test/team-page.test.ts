/** Runs docs/team.md, command by command, with the addresses and tokens of this run. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { runCli } from './cli.ts'
import { CLI, ROOT, saidUntil } from './e2e/run-cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-team-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const page = readFileSync(join(ROOT, 'docs/team.md'), 'utf8')
const blocks = [...page.matchAll(/```sh\n([\s\S]+?)```/g)].map(([, code]) => code!)
const [onServer = '', serving = '', later = ''] = [/palimpsest token/, /palimpsest serve/, /palimpsest backup/].map(
  wanted => blocks.find(block => wanted.test(block)),
)

const commandsIn = (block: string) =>
  block
    .trim()
    .split('\n')
    .map(line => line.replace(/\s+#.*$/, ''))

/** The arguments of a line that begins with our program; paths of the page are below this run's folder. */
function argsOf(line: string): string[] {
  const [program, ...args] = line.split(/\s+/)
  assert.equal(program, 'palimpsest', line)
  return args.map(word => word.replace(/^\/srv\//, `${folder}/`))
}

test('three users are created, and each sees what the page says', async () => {
  const env = { PALIMPSEST_HOME: join(folder, 'palimpsest') }
  const tokens = new Map<string, string>()
  for (const line of commandsIn(onServer)) {
    const { code, stdout, stderr } = await runCli(argsOf(line), { env })
    assert.equal(code, 0, `${line}: ${stderr}`)
    const [, user, role] = /--user (\w+) --role (\w+)/.exec(line) ?? []
    if (user) tokens.set(`${user} ${role}`, stdout.trim().split(/\s+/).at(-1)!)
  }
  assert.equal(tokens.size, 5)

  const args = [...argsOf(serving.trim()), '--port', '0']
  const server = spawn(process.execPath, [CLI, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(server, 'exit')
  try {
    const said = await saidUntil(server, /token /)
    const port = /:(\d+)\n/.exec(said)?.[1]
    const ask = async (who: string, path: string, body?: object, method = body ? 'POST' : 'GET') => {
      const headers = { authorization: `Bearer ${tokens.get(who)}`, 'content-type': 'application/json' }
      const init = { headers, method, ...(body ? { body: JSON.stringify(body) } : {}) }
      const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
      return { status: response.status, json: (await response.json()) as Record<string, unknown> }
    }
    const messages = [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }]
    assert.equal((await ask('dev1 agent', '/sessions', { id: 'plans', messages })).status, 201)
    const idsOf = async (who: string) => {
      const { sessions } = (await ask(who, '/sessions')).json as { sessions: { id: string }[] }
      return sessions.map(({ id }) => id)
    }
    assert.deepEqual(await idsOf('dev1 user'), ['plans'])
    assert.deepEqual(await idsOf('dev2 user'), [])
    assert.deepEqual(await idsOf('lead admin'), ['@dev1/plans'])
    await ask('dev1 user', '/users/dev1/blocks/likes', { body: 'coffee\n' }, 'PUT')
    const change = { append: 'likes tea', reasoning: 'said so' }
    const { json } = await ask('dev1 agent', '/users/dev1/blocks/likes/propose', change)
    const approve = `/users/dev1/proposals/${json['id']}/approve`
    assert.equal((await ask('dev1 agent', approve, {})).status, 403)
    assert.equal((await ask('dev2 user', approve, {})).status, 403)
    assert.equal((await ask('dev1 user', approve, {})).status, 200)
    assert.equal((await ask('dev1 user', '/tokens')).status, 403)
    assert.equal((await ask('lead admin', '/tokens')).status, 200)

    for (const line of commandsIn(later)) {
      const { code, stderr } = await runCli(argsOf(line), { env })
      assert.equal(code, 0, `${line}: ${stderr}`)
    }
  } finally {
    server.kill()
    await ended
  }
})
