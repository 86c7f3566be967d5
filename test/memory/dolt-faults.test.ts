/** Faults around a Dolt server: nothing acknowledged is lost, and nothing is partly done. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { DoltMemory } from '../../src/memory/dolt.ts'
import type { DoltServer } from '../../src/memory/dolt-server.ts'
import { Memory } from '../../src/memory/memory.ts'
import type { Actor } from '../../src/memory/store.ts'
import { isPalimpsestError } from '../../src/model/errors.ts'
import { noDolt, startDolt } from './dolt-fixture.ts'
import { type StallingProxy, startStallingProxy } from './stalling-proxy.ts'

const ANN: Actor = 'user:ann'
const agent = { agentId: 'ralph', reasoning: 'why not' }
const append = (line: string) => ({ ...agent, body: { type: 'append' as const, text: `${line}\n` } })

describe('faults of a Dolt server', { skip: noDolt }, () => {
  let server: DoltServer
  let stop = async () => {}
  before(async () => {
    ;({ server, stop } = await startDolt())
  })
  after(() => stop())

  const openMemory = (database: string, port = server.port, timeoutMs = 10_000) =>
    new Memory(new DoltMemory({ url: `mysql://root@127.0.0.1:${port}/${database}`, timeoutMs }))

  test('a server that is killed repeatedly loses nothing acknowledged', async () => {
    const memory = openMemory('killed')
    await memory.set('ann', 'student', { body: '', by: ANN })
    const proposed = new Map<string, string>()
    const approved = new Set<string>()
    let working = true
    const worker = async (name: string) => {
      for (let i = 0; working; i++) {
        const line = `${name}-${i}`
        const proposal = await unlessDown(() => memory.propose('ann', 'student', append(line)))
        if (!proposal) continue
        proposed.set(proposal.id, line)
        if (await unlessDown(() => memory.approve('ann', proposal.id, { by: ANN }))) approved.add(line)
      }
    }
    const work = Promise.all(['a', 'b', 'c'].map(worker))
    const untilMore = async () => {
      for (const goal = approved.size + 3; approved.size < goal; ) await wait(5)
    }
    for (let kills = 0; kills < 3; kills++) {
      await untilMore()
      process.kill(server.pid!, 'SIGKILL')
    }
    await untilMore()
    working = false
    await work
    await server.ready()
    await memory.close()
    await checkWhole({ database: 'killed', proposed, approved })
  })

  test('a stalled network gives an error in bounded time, and memory works again after it', () =>
    withProxy('stalled', async ({ memory, proxy }) => {
      proxy.stall()
      const calls = [
        memory.block('ann', 'student'),
        memory.proposals('ann'),
        memory.set('ann', 'student', { body: 'x', by: ANN }),
        memory.propose('ann', 'student', append('x')),
        memory.store.ping(),
      ]
      for (const outcome of await Promise.allSettled(calls)) {
        assert.equal(outcome.status, 'rejected')
        assert.equal(outcome.reason.code, 'STORE_UNAVAILABLE')
      }
      proxy.resume()
      assert.equal((await memory.block('ann', 'student'))?.body, 'one\n')
      await memory.set('ann', 'student', { body: 'two\n', by: ANN })
    }))

  for (const forward of [true, false]) {
    const when = forward ? 'after' : 'before'
    for (const step of ['DOLT_BRANCH', 'DOLT_COMMIT', 'INSERT IGNORE INTO open_proposals']) {
      test(`a proposal whose connection stalls ${when} ${step} is stored whole, or not at all`, () =>
        withProxy(`propose_${when}_${step.replace(/\W/g, '')}`, async ({ memory, proxy, database }) => {
          const sprung = proxy.stallAt(step, { forward })
          const [outcome] = await Promise.allSettled([memory.propose('ann', 'student', append('two')), sprung])
          assert.equal(outcome?.status === 'rejected' && outcome.reason.code, 'STORE_UNAVAILABLE')
          proxy.resume()
          await settle(database)
          const again = openMemory(database)
          const open = await again.proposals('ann', { state: 'open' })
          assert.ok(open.length <= 1)
          for (const { id } of open)
            assert.equal((await again.approve('ann', id, { by: ANN })).block.body, 'one\ntwo\n')
          await again.close()
        }))
    }
    for (const step of ['DOLT_MERGE', 'REPLACE INTO blocks', 'DOLT_COMMIT']) {
      test(`an approval whose connection stalls ${when} ${step} is merged whole, or not at all`, () =>
        withProxy(`approve_${when}_${step.replace(/\W/g, '')}`, async ({ memory, proxy, database }) => {
          const { id } = await memory.propose('ann', 'student', append('two'))
          const sprung = proxy.stallAt(step, { forward })
          const [outcome] = await Promise.allSettled([memory.approve('ann', id, { by: ANN }), sprung])
          assert.equal(outcome?.status === 'rejected' && outcome.reason.code, 'STORE_UNAVAILABLE')
          proxy.resume()
          await settle(database)
          await checkWhole({ database, proposed: new Map([[id, 'two']]), approved: new Set(), first: ['one'] })
        }))
    }
  }

  test('a missing server is an error that says how to start one', async () => {
    const memory = openMemory('nobody', 1)
    await assert.rejects(memory.blocks('ann'), { code: 'STORE_UNAVAILABLE', message: /palimpsest dolt start/ })
    await memory.close()
  })

  /** Waits until an unfinished statement has taken effect or never will. */
  async function settle(database: string): Promise<void> {
    const connection = await createConnection({ host: '127.0.0.1', port: server.port, user: 'root', database })
    const others = "SELECT id FROM information_schema.processlist WHERE command = 'Query' AND id <> CONNECTION_ID()"
    while ((await connection.query<RowDataPacket[]>(others))[0].length > 0) await wait(5)
    connection.destroy()
  }

  /** Every approval is in the block once and whole, without other lines, and no branch or change remains. */
  async function checkWhole(given: {
    database: string
    proposed: ReadonlyMap<string, string>
    approved: ReadonlySet<string>
    first?: string[]
  }): Promise<void> {
    // An hour later, so that a branch without a commit counts as abandoned.
    const clock = () => Date.now() + 3_600_000
    const memory = new Memory(new DoltMemory({ url: server.url(given.database), clock }))
    const block = await memory.block('ann', 'student')
    const lines = block!.body.split('\n').filter(line => line !== '')
    assert.equal(new Set(lines).size, lines.length, 'no line twice')
    for (const line of given.approved) assert.ok(lines.includes(line), `${line} was acknowledged`)
    const stated: string[] = [...(given.first ?? [])]
    const branches: string[] = []
    for (const [id, line] of given.proposed) {
      const { state, branch } = await memory.proposal('ann', id)
      if (state === 'approved') stated.push(line)
      if (branch) branches.push(branch)
    }
    for (const { body, branch, id } of await memory.proposals('ann', { state: 'open', limit: 1000 })) {
      assert.ok(body.endsWith('\n'))
      if (!given.proposed.has(id) && branch) branches.push(branch)
    }
    for (const line of stated) assert.ok(lines.includes(line), `${line} is approved`)
    assert.equal(
      (await memory.history('ann', 'student', { limit: 10_000 })).length - 1,
      lines.length - (given.first?.length ?? 0),
    )
    assert.deepEqual(await leftOver(given.database), { branches: branches.sort(), status: [] })
    await memory.close()
  }

  async function leftOver(database: string) {
    const connection = await createConnection({ host: '127.0.0.1', port: server.port, user: 'root', database })
    const [branches] = await connection.query<RowDataPacket[]>("SELECT name FROM dolt_branches WHERE name <> 'main'")
    const [status] = await connection.query<RowDataPacket[]>('SELECT * FROM dolt_status')
    connection.destroy()
    return { branches: branches.map(row => String(row['name'])).sort(), status }
  }

  async function withProxy(
    database: string,
    work: (given: { memory: Memory; proxy: StallingProxy; database: string }) => Promise<void>,
  ): Promise<void> {
    const proxy = await startStallingProxy(server.port)
    const memory = openMemory(database, proxy.port, 700)
    try {
      await openMemoryOnce(database)
      await memory.block('ann', 'student')
      await work({ memory, proxy, database })
    } finally {
      proxy.close()
      await memory.close()
    }
  }

  async function openMemoryOnce(database: string): Promise<void> {
    const memory = openMemory(database)
    await memory.set('ann', 'student', { body: 'one\n', by: ANN })
    await memory.close()
  }
})

/** The result, or undefined if the server was down; any other error is a defect. */
async function unlessDown<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!isPalimpsestError(error) || error.code !== 'STORE_UNAVAILABLE') throw error
    await wait(50)
    return undefined
  }
}
