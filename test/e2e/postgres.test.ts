/** The commands on a real PostgreSQL, and homes copied to it and back. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { PostgresServer } from '../../scripts/postgres.ts'
import { openServerStore } from '../../src/doors/server/server-store.ts'
import { openLedger } from '../../src/ledger/open.ts'
import { openMemory } from '../../src/memory/open.ts'
import { loadWorkspace, saveFact } from '../../src/memory/workspace.ts'
import { offload } from '../../src/policies/offload.ts'
import { everyTurn } from '../../src/policies/policy.ts'
import { type OpenOptions, openPalimpsest } from '../../src/session/engine.ts'
import { runCli } from '../cli.ts'
import { noPostgres, startPostgres } from '../postgres.ts'
import { openSmall } from '../small-session.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-postgres-cli-'))
after(() => rmSync(folder, { recursive: true, force: true }))

async function json(args: readonly string[], env: Record<string, string> = {}) {
  const ran = await runCli([...args, '--json'], { env: { HOME: folder, ...env } })
  assert.equal(ran.code, 0, ran.stderr)
  return JSON.parse(ran.stdout)
}

const bare = (heads: { sessions: { session: string }[] }) => ({
  ...heads,
  sessions: heads.sessions.toSorted((a, b) => (a.session < b.session ? -1 : 1)),
})

describe('commands on PostgreSQL', { skip: noPostgres }, () => {
  const home = join(folder, 'home')
  let server: PostgresServer
  let url: string
  let env: Record<string, string>
  let token: string

  before(async () => {
    server = await startPostgres()
    url = await server.create('palimpsest')
    env = { PALIMPSEST_DATABASE_URL: url, PALIMPSEST_HOME: join(folder, 'elsewhere'), HOME: folder }
    await using pal = await openPalimpsest({ home, databaseUrl: false })
    const small = await openSmall(pal)
    await small.fork(3, 'a-fork')
    await small.append({ role: 'user', parts: [{ type: 'text', text: `a long text ${'y'.repeat(20_000)}` }] })
    const alice = await pal.of('alice').session('hers')
    await alice.append({ role: 'user', parts: [{ type: 'text', text: 'a marzipan cake' }] })
    await alice.fork(0, 'hers-2')
    await pal.session('gone')
    await pal.remove(['gone'], { by: 'me' })
    await saveFact({ folder: pal.files.of('alice', 'workspace'), now: () => 0 }, 'The oven is small.')
    await pal.files.of(undefined).change('overflow/overflow_1_bash.txt', () => 'all of it')
    const memory = await openMemory({ home, env: {} })
    for (const body of ['I bake.', 'I bake cakes.']) await memory.set('alice', 'hobby', { body, by: 'user:alice' })
    await memory.set('bob', 'hobby', { body: 'I eat.', by: 'user:bob' })
    await memory.remove('bob', 'hobby', { by: 'user:bob' })
    await memory.forAgent('alice', 'tutor').propose('hobby', { body: 'I bake bread.', reasoning: 'said so' })
    await memory.close()
    const store = await openServerStore(home, {})
    token = (await store.createToken({ user: 'alice', role: 'user', at: 5 })).token
    await store.createToken({ user: 'bob', role: 'agent', at: 6 })
    await store.close()
  })

  test('a home can be copied to the database, a second copy adds nothing, and every command works there', async () => {
    const heads = await json(['head', '--home', home])
    const all = heads.sessions.length
    const { sessions, already, removed, to } = await json(['copy', home, url])
    assert.deepEqual({ sessions, already, removed }, { sessions: all, already: 0, removed: 1 })
    assert.equal(to, new URL(url).host + new URL(url).pathname)
    const again = await runCli(['copy', home, url])
    assert.match(again.stdout, new RegExp(`copied 0 sessions .*\\n${all} sessions already there\\nverified:`))
    assert.deepEqual(bare(await json(['head'], env)), bare(heads))
    assert.equal((await json(['verify'], env)).ok, true)
    assert.equal((await json(['sessions'], env)).sessions.length, all)
    assert.deepEqual(await json(['stats', 'small'], env), await json(['stats', 'small', '--home', home]))
    const { hits } = await json(['recall', 'marzipan'], env)
    assert.deepEqual([...new Set(hits.map((hit: { session: string }) => hit.session))].sort(), ['@alice/hers'])
    const [there, here] = await Promise.all([
      runCli(['export', 'small'], { env }),
      runCli(['export', 'small', '--home', home]),
    ])
    assert.equal(there.stdout, here.stdout)
    assert.ok(there.stdout.length > 20_000)
  })

  test('memory with its history, files and tokens are copied too, and differences are named and not changed', async () => {
    const { memory, files, server: tokens } = await json(['copy', home, url])
    assert.deepEqual([memory.added, files.added, tokens.added], [0, 0, 0])
    assert.ok(memory.already >= 5 && files.already >= 2 && tokens.already >= 2)
    const there = await openMemory({ home: folder, env })
    const history = (await there.history('alice', 'hobby')).map(({ content }) => content?.body)
    assert.deepEqual(history, ['I bake cakes.', 'I bake.'])
    assert.equal(await there.block('bob', 'hobby'), undefined)
    assert.equal((await there.proposals('alice', { state: 'open' })).length, 1)
    const store = await openServerStore(folder, env)
    assert.equal((await store.findToken(token, 10))?.user, 'alice')
    await store.close()
    await using pal = await openPalimpsest({ home: folder, databaseUrl: url })
    const alice = pal.files.of('alice', 'workspace')
    assert.match(await loadWorkspace({ folder: alice, now: () => 0 }), /The oven is small\./)
    assert.equal((await pal.files.of(undefined).read('overflow/overflow_1_bash.txt'))?.text, 'all of it')
    // Copied on and back: everything is the same, except for the changes made there.
    await there.set('alice', 'hobby', { body: 'I bake pies.', by: 'user:alice' })
    await there.close()
    await saveFact({ folder: alice, now: () => 0 }, 'The table is large.')
    const again = await runCli(['copy', home, url, '--json'], { env: { HOME: folder } })
    assert.equal(again.code, 1)
    const said = JSON.parse(again.stdout)
    assert.deepEqual(said.memory.differing, ['block hobby of alice'])
    assert.match(said.files.differing.join(), /^file MEMORY\.md of [^,]*$/)
    const plain = await runCli(['copy', home, url], { env: { HOME: folder } })
    assert.match(plain.stderr, /Different at .*, and left alone:\n {2}block hobby of alice\n/)
  })

  test('one user can be copied back into a new home, and continues there', async () => {
    const hers = join(folder, 'hers')
    const copied = await json(['copy', url, hers, '--user', 'alice'])
    assert.deepEqual([copied.memory.added, copied.server.added], [4, 1])
    const own = await openMemory({ home: hers, env: {} })
    assert.equal((await own.block('alice', 'hobby'))?.body, 'I bake pies.')
    assert.deepEqual(await own.store.users(), ['alice'])
    await own.close()
    assert.match(readFileSync(join(hers, 'users/alice/workspace/MEMORY.md'), 'utf8'), /The table is large\./)
    const heads = await json(['head', '--home', hers])
    assert.deepEqual(heads.sessions.map((head: { session: string }) => head.session).sort(), [
      '@alice/hers',
      '@alice/hers-2',
    ])
    assert.equal((await json(['verify', '--home', hers])).ok, true)
    await using pal = await openPalimpsest({ home: hers, databaseUrl: false })
    await (await pal.session('@alice/hers')).append({ role: 'user', parts: [{ type: 'text', text: 'more' }] })
    const back = await json(['copy', hers, url, '--user', 'alice'])
    assert.deepEqual([back.sessions, back.already], [1, 1])
  })

  test('a session that differs is refused and not changed, and an interrupted copy can be continued', async () => {
    const other = join(folder, 'other')
    await using pal = await openPalimpsest({ home: other, databaseUrl: false })
    await (await pal.session('small')).append({ role: 'user', parts: [{ type: 'text', text: 'another small' }] })
    const { code, stderr } = await runCli(['copy', other, url])
    assert.equal(code, 4)
    assert.match(stderr, /The target has a session small with other events.*\(CONFLICT\)/)
    assert.equal((await json(['verify', 'small'], env)).ok, true)
    const partly = await server.create('partly')
    const [source, target] = [await openLedger(home, false), await openLedger('', partly)]
    const { createdAt: at, meta } = (await source.find('small'))!
    await target.open('small', { at, meta })
    await target.append(
      'small',
      (await source.read('small', { to: 2 })).map(row => ({ ...row, body: row.body! })),
    )
    await Promise.all([source.close(), target.close()])
    await json(['copy', home, partly])
    assert.deepEqual(
      bare(await json(['head'], { ...env, PALIMPSEST_DATABASE_URL: partly })),
      bare(await json(['head', '--home', home])),
    )
  })

  test('backup names the program to use', async () => {
    const { code, stderr } = await runCli(['backup', join(folder, 'backup')], { env })
    assert.equal(code, 8)
    assert.match(stderr, /pg_dump/)
  })

  test('an unreachable database is an error that says what to check', async () => {
    const { code, stderr } = await runCli(['sessions'], {
      env: {
        ...env,
        PALIMPSEST_DATABASE_URL: url
          .replace('palimpsest@', 'palimpsest:hidden@')
          .replace(/\d+\/palimpsest/, '1/palimpsest?timeout=300'),
      },
    })
    assert.equal(code, 7)
    assert.match(
      stderr,
      /The database at 127\.0\.0\.1:1\/palimpsest does not answer\. Check that it is running.*\(STORE_UNAVAILABLE\)/,
    )
    assert.doesNotMatch(stderr, /hidden/)
  })

  test("the note on a moved result names recall, or the path if the agent's tools can read it", async () => {
    await using pal = await openPalimpsest({ home: folder, databaseUrl: url })
    const shown = async (id: string, options: OpenOptions = {}) => {
      const session = await pal.session(id, { planner: everyTurn('test', [offload()]), ...options })
      await session.append(
        { role: 'user', parts: [{ type: 'text', text: 'go' }] },
        { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'bash', input: { command: 'ls' } }] },
        { role: 'tool', parts: [{ type: 'tool-result', id: 'c', name: 'bash', output: 'r'.repeat(5000) }] },
      )
      return JSON.stringify((await session.view()).messages.at(-1))
    }
    assert.match(await shown('apart'), /\[5,000 chars in total, recall\(text=\\"\w+\\"\) gives them\]/)
    assert.match(await shown('neither', { recallWith: false }), /r{5000}/)
    const [, path] = /all of them in (\S+);/.exec(await shown('reading', { readsFiles: true }))!
    const kept = pal.filesOf('reading')
    assert.equal((await kept.read(relative(kept.folder, path!)))?.text, 'r'.repeat(5000))
  })
})
