/** Names of forks: short even after many forks, and with a recorded parent. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clientKeyOf } from '../../src/doors/proxy/client.ts'
import type { Message } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'

const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
const assistant = (text: string): Message => ({ role: 'assistant', parts: [{ type: 'text', text }] })
const open = () => openPalimpsest({ home: ':memory:' })

describe('a client that rewrites its history with every request', () => {
  test('is recorded in a hundred forks, each with a short name and its parent', async () => {
    await using pal = await open()
    let session = await pal.session('aider', { policy: 'none' })
    const said: Message[] = [user('begin')]
    for (let turn = 0; turn < 100; turn++) {
      // The last request is stored in another form than it was sent, as aider does.
      said.push(assistant(`answer ${turn}`), user(`request ${turn}`))
      const before = session.id
      session = (await session.sync([...said.slice(0, -1), user(`request ${turn}, with a reminder`)])).session
      if (turn > 0) {
        assert.notEqual(session.id, before)
        assert.equal((await pal.find(session.id))?.parent?.id, before)
      }
    }
    assert.equal(session.id, 'aider-fork-99')
    assert.equal(session.fold.entries.length, said.length)
    for (const { id } of await pal.sessions({ limit: 200 })) {
      assert.deepEqual((await (await pal.session(id, { mustExist: true })).verify()).violations, [])
    }
  })

  test('gets a fork with a recorded parent even if nothing is shared', async () => {
    await using pal = await open()
    const first = await pal.session('main', { policy: 'none', about: { client: 'aider' } })
    await first.sync([user('one'), assistant('two'), user('three')])
    const { session } = await first.sync([user('something else')])
    assert.equal(session.id, 'main-fork-1')
    const info = await pal.find(session.id)
    assert.deepEqual(info?.about, { client: 'aider', parent: 'main' })
  })
})

test('a fork of a session with the longest possible name has a name, too', async () => {
  await using pal = await open()
  const name = `${'n'.repeat(179)}😀${'m'.repeat(19)}`
  const session = await pal.session(name)
  await session.append(user('hello'))
  const fork = await session.fork()
  assert.ok(fork.id.length <= 200 && fork.id.isWellFormed())
  assert.equal((await pal.find(fork.id))?.parent?.id, name)
  assert.equal((await (await fork.fork()).fork()).id, fork.id.replace('-fork-1', '-fork-3'))
})

test('used numbers are skipped', async () => {
  await using pal = await open()
  const session = await pal.session('s')
  await session.append(user('hello'))
  for (const n of [1, 2, 3, 5]) await pal.session(`s-fork-${n}`)
  const made = await session.fork()
  assert.equal(made.fold.entries.length, 1)
  assert.ok(!['s-fork-1', 's-fork-2', 's-fork-3', 's-fork-5'].includes(made.id))
})

test('a session with a very long name from an earlier version can still be opened', async () => {
  const { SqliteLedger } = await import('../../src/ledger/sqlite.ts')
  const store = new SqliteLedger(':memory:')
  const long = `s${'-fork-1'.repeat(40)}`
  await store.open(long, { at: 1, meta: '{}' })
  await using pal = await openPalimpsest({ home: ':memory:', store })
  const session = await pal.session(long, { mustExist: true })
  await session.append(user('hello'))
  assert.equal((await session.fork()).id, 's-fork-1')
  await assert.rejects(pal.session('x'.repeat(201)), { code: 'INVALID_INPUT' })
})

test('a subagent with long ids is recorded, and so are its forks and side requests', () => {
  const headers = (agent: string) =>
    new Headers({ 'x-claude-code-session-id': 's'.repeat(120), 'x-claude-code-agent-id': agent })
  const one = clientKeyOf(headers(`${'a'.repeat(119)}1`))!.key
  const other = clientKeyOf(headers(`${'a'.repeat(119)}2`))!.key
  assert.notEqual(one, other)
  assert.ok(one.length <= 150)
})
