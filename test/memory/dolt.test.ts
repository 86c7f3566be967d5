import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { createConnection } from 'mysql2/promise'
import { DoltMemory } from '../../src/memory/dolt.ts'
import { type DoltServer, findDolt } from '../../src/memory/dolt-server.ts'
import { Memory } from '../../src/memory/memory.ts'
import { memoryStoreContract } from '../contracts/memory-store.ts'
import { noDolt, startDolt } from './dolt-fixture.ts'

const agent = { agentId: 'ralph', reasoning: 'She said:\n\nI love it', confidence: 'high' } as const

describe('on a real dolt sql-server', { skip: noDolt }, () => {
  let server: DoltServer
  let stop = async () => {}
  before(async () => {
    ;({ server, stop } = await startDolt())
  })
  after(() => stop())

  memoryStoreContract('dolt', async name => new DoltMemory({ url: server.url(name.replace(/\W/g, '_')) }))

  async function withMemory(name: string, work: (memory: Memory, sql: Sql) => Promise<void>): Promise<void> {
    const memory = new Memory(new DoltMemory({ url: server.url(name) }))
    await memory.set('ann', 'student', { body: 'likes math\n', by: 'user:ann' })
    const connection = await createConnection({ host: '127.0.0.1', port: server.port, user: 'root', database: name })
    try {
      await work(memory, async (text, values = []) => {
        const [rows] = await connection.query(text, values)
        return Array.isArray(rows) ? rows.map(row => ({ ...row })) : []
      })
    } finally {
      connection.destroy()
      await memory.close()
    }
  }

  test('a proposal is a branch with one commit by the agent, with its reasoning and confidence', () =>
    withMemory('branches', async (memory, sql) => {
      const { id, branch } = await memory.propose('ann', 'student', { ...agent, body: 'loves math\n' })
      assert.equal(branch, `agent/ann/student/${id}`)
      const [row] = await sql('SELECT * FROM dolt_branches WHERE name = ?', [branch])
      assert.equal(row?.['latest_committer'], 'ralph')
      assert.match(String(row?.['latest_commit_message']), /She said:\n\nI love it\n\n.*Confidence: high/s)
      const log = await sql(`SELECT * FROM dolt_log('main..${branch}')`)
      assert.equal(log.length, 1)
      assert.deepEqual(await sql(`SELECT body FROM blocks AS OF '${branch}'`), [{ body: 'loves math\n' }])
    }))

  test('approving merges and deletes the branch, rejecting deletes it, and both are recorded on main', () =>
    withMemory('decisions', async (memory, sql) => {
      const first = await memory.propose('ann', 'student', { ...agent, body: 'loves math\n' })
      const second = await memory.propose('ann', 'student', { ...agent, body: 'hates math\n' })
      await memory.approve('ann', first.id, { by: 'user:ann' })
      await memory.reject('ann', second.id, { by: 'user:ann' })
      assert.deepEqual(await sql('SELECT name FROM dolt_branches'), [{ name: 'main' }])
      const log = await sql("SELECT committer, message, parents FROM dolt_log('main', '--parents')")
      assert.deepEqual(
        log.slice(0, 3).map(row => [row['committer'], String(row['message']).split('\n')[0]]),
        [
          ['ann', 'Reject a proposal'],
          ['ann', 'Approve student'],
          ['ralph', 'Propose edit of student'],
        ],
      )
      assert.equal(String(log[1]?.['parents']).split(', ').length, 2)
      assert.deepEqual(await sql('SELECT state FROM proposals ORDER BY id'), [
        { state: 'approved' },
        { state: 'rejected' },
      ])
      assert.deepEqual(await sql('SELECT * FROM dolt_status'), [])
    }))

  test('plain dolt shows the branches, the log and the difference', () =>
    withMemory('plain', async memory => {
      const { branch } = await memory.propose('ann', 'student', { ...agent, body: 'loves math\n' })
      const dolt = (...args: string[]) =>
        execFileSync(
          findDolt()!,
          [
            '--host',
            '127.0.0.1',
            '--port',
            String(server.port),
            '--user',
            'root',
            '--password',
            '',
            '--no-tls',
            '--use-db',
            'plain',
            ...args,
          ],
          {
            encoding: 'utf8',
            env: { ...process.env, DOLT_ROOT_PATH: server.folder, DOLT_DISABLE_EVENT_FLUSH: '1', PAGER: 'cat' },
          },
        )
      assert.match(dolt('branch'), new RegExp(branch!))
      assert.match(dolt('log', branch!), /Author: ralph[\s\S]*Confidence: high/)
      assert.match(dolt('diff', 'main', branch!, 'blocks'), /likes math[\s\S]*loves math/)
    }))

  test('a branch merged or deleted with plain dolt is an approval or a rejection', () =>
    withMemory('outside', async (memory, sql) => {
      const merged = await memory.propose('ann', 'student', { ...agent, body: 'loves math\n' })
      const deleted = await memory.propose('ann', 'student', { ...agent, body: 'hates math\n' })
      await sql("CALL DOLT_MERGE('--no-ff', '-m', 'yes', ?)", [merged.branch!])
      await sql("CALL DOLT_BRANCH('-D', ?)", [deleted.branch!])
      const again = new Memory(new DoltMemory({ url: server.url('outside') }))
      assert.equal((await again.proposal('ann', merged.id)).state, 'approved')
      assert.equal((await again.proposal('ann', deleted.id)).state, 'rejected')
      assert.equal((await again.block('ann', 'student'))?.body, 'loves math\n')
      assert.deepEqual(await again.proposals('ann', { state: 'open' }), [])
      assert.equal((await again.revert('ann', merged.id, { by: 'user:ann' })).block?.body, 'likes math\n')
      await again.close()
    }))

  test('a proposal that was decided with plain dolt meanwhile cannot be decided again', () =>
    withMemory('meanwhile', async (memory, sql) => {
      const merged = await memory.propose('ann', 'student', { ...agent, body: 'loves math\n' })
      const deleted = await memory.propose('ann', 'student', { ...agent, body: 'hates math\n' })
      await sql("CALL DOLT_MERGE('--no-ff', '-m', 'yes', ?)", [merged.branch!])
      await sql("CALL DOLT_BRANCH('-D', ?)", [deleted.branch!])
      await assert.rejects(memory.approve('ann', merged.id, { by: 'user:ann' }), { code: 'PROPOSAL_NOT_OPEN' })
      await assert.rejects(memory.approve('ann', deleted.id, { by: 'user:ann' }), { code: 'PROPOSAL_NOT_OPEN' })
      assert.equal((await memory.block('ann', 'student'))?.body, 'loves math\n')
    }))

  test('commits with plain SQL are in the history, and a proposal is merged with them', () =>
    withMemory('byhand', async (memory, sql) => {
      const { id } = await memory.propose('ann', 'student', { ...agent, body: 'likes math\nand chess\n' })
      await sql("UPDATE blocks SET body = 'hobbies:\nlikes math\n'")
      await sql("CALL DOLT_COMMIT('-a', '-m', 'by hand', '--author', 'Bob <bob@example.org>')")
      const [latest, ...rest] = await memory.history('ann', 'student')
      assert.deepEqual(
        [latest?.by, latest?.why, latest?.content?.body],
        ['admin:Bob', 'by hand', 'hobbies:\nlikes math\n'],
      )
      assert.equal(rest.length, 1)
      const { block } = await memory.approve('ann', id, { by: 'user:ann' })
      assert.equal(block.body, 'hobbies:\nlikes math\nand chess\n')
    }))

  test('the index of open proposals is rebuilt from the branches', () =>
    withMemory('rebuild', async (memory, sql) => {
      const made = await memory.propose('ann', 'student', { ...agent, body: 'loves math\n' })
      await sql('DELETE FROM open_proposals')
      await sql("CALL DOLT_BRANCH('agent/ann/student/00000000aabandoned', 'main')")
      const again = new Memory(new DoltMemory({ url: server.url('rebuild') }))
      assert.deepEqual(await again.proposals('ann', { state: 'open' }), [made])
      assert.equal((await sql("SELECT name FROM dolt_branches WHERE name LIKE '%abandoned'")).length, 0)
      await again.close()
    }))

  test('several processes can open an empty database at once', async () => {
    const memories = Array.from({ length: 4 }, () => new Memory(new DoltMemory({ url: server.url('together') })))
    await Promise.all(memories.map((memory, i) => memory.set(`u${i}`, 'x', { body: 'y', by: `user:u${i}` })))
    assert.deepEqual(await memories[0]!.store.users(), ['u0', 'u1', 'u2', 'u3'])
    await Promise.all(memories.map(memory => memory.close()))
  })
})

type Sql = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>
