/** What servers share through a database: live events, and turns of the agent. On a real PostgreSQL server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { PostgresServer } from '../../../scripts/postgres.ts'
import { RunningTurn } from '../../../src/agent/desk.ts'
import type { AgentEvent } from '../../../src/agent/events.ts'
import { RemoteTurn, shareTurn } from '../../../src/agent/remote-turn.ts'
import { TurnBoard } from '../../../src/agent/turn-board.ts'
import { EventHub, KEPT_EVENTS, type Placed } from '../../../src/doors/server/event-hub.ts'
import type { LiveEvent } from '../../../src/doors/server/live-event.ts'
import { Outbox } from '../../../src/doors/server/outbox.ts'
import { Postgres } from '../../../src/ledger/postgres/database.ts'
import { noPostgres, startPostgres } from '../../postgres.ts'

const changed = (label: string): LiveEvent => ({ type: 'block.changed', user: 'ada', label, at: 1 })
const grew = (length: number): LiveEvent => ({ type: 'session.changed', session: '@ada/plan', length, at: 1 })
const labelOf = ({ event }: Placed) => ('label' in event ? event.label : String(event.length))

describe('servers on one database', { skip: noPostgres }, () => {
  let server: PostgresServer
  let databases = 0
  before(async () => {
    server = await startPostgres()
  })
  const database = () => server.create(`shared-${databases++}`)

  /** A hub as in a server, and the events that its listener got. */
  async function hubOn(url: string) {
    const hub = new EventHub({ outbox: await Outbox.open(url, { kept: KEPT_EVENTS }) })
    const heard: Placed[] = []
    await hub.refresh()
    hub.listen({ take: placed => heard.push(placed), end: () => {}, of: 'alice' })
    return { hub, heard }
  }

  describe('live events', () => {
    test('have one order and the same numbers at every server, and none is lost', async () => {
      const url = await database()
      const hubs = await Promise.all([1, 2, 3].map(() => hubOn(url)))
      for (let i = 0; i < 60; i++) hubs[i % 3]!.hub.publish(changed(`b${i}`))
      while (hubs.some(({ heard }) => heard.length < 60)) await Promise.all(hubs.map(({ hub }) => hub.refresh()))
      const [first, ...others] = hubs.map(({ heard }) => heard)
      for (const other of others) assert.deepEqual(other, first)
      assert.equal(new Set(first!.map(({ id }) => id)).size, 60)
      assert.deepEqual(first!.map(labelOf).sort(), Array.from({ length: 60 }, (_, i) => `b${i}`).sort())
      for (const { hub } of hubs) await hub.close()
    })

    test('of a session that grows fast include the last one', async () => {
      const url = await database()
      const [here, there] = [await hubOn(url), await hubOn(url)]
      for (let length = 1; length <= 100; length++) here.hub.publish(grew(length))
      while (there.heard.at(-1) === undefined || labelOf(there.heard.at(-1)!) !== '100') await there.hub.refresh()
      assert.ok(there.heard.length < 100, `${there.heard.length} events`)
      await here.hub.close()
      await there.hub.close()
    })

    test('continue at another server after a connection was cut', async () => {
      const url = await database()
      const here = await hubOn(url)
      for (const label of ['one', 'two', 'three']) here.hub.publish(changed(label))
      while (here.heard.length < 3) await here.hub.refresh()
      const last = here.heard[0]!.id
      await here.hub.close()
      const there = await hubOn(url)
      assert.deepEqual(there.hub.since(last)?.map(labelOf), ['two', 'three'])
      assert.equal(there.hub.since('00000000-1'), undefined)
      await there.hub.close()
    })

    test('are read again after an absence longer than they are kept', async () => {
      const url = await database()
      const outbox = await Outbox.open(url, { kept: 3 })
      await outbox.add([changed('one')])
      const { start } = await outbox.last()
      for (const label of ['two', 'three', 'four', 'five']) await outbox.add([changed(label)])
      const { hub } = await hubOn(url)
      assert.equal(hub.since(`${start}-1`), undefined)
      assert.deepEqual(hub.since(`${start}-3`)?.map(labelOf), ['four', 'five'])
      await hub.close()
      await outbox.close()
    })
  })

  describe('a turn of the agent', () => {
    /** A turn that asks for approval, and reports the answer. */
    function asking(): RunningTurn {
      return new RunningTurn('plan', async function* (turn, signal): AsyncGenerator<AgentEvent> {
        yield { type: 'approval', id: 'c1', name: 'shell', question: 'Run it?' }
        const yes = await new Promise<boolean>(resolve => {
          turn.waiting.set('c1', {
            question: 'Run it?',
            answer: said => {
              turn.waiting.delete('c1')
              resolve(said)
            },
          })
        })
        yield { type: 'approved', id: 'c1', yes }
        const reason = signal.aborted ? 'aborted' : 'answered'
        yield { type: 'done', reason, message: '', steps: 1, cost: 0 }
      })
    }

    test('runs at one server, and its session is locked for others until it ends', async () => {
      const url = await database()
      const [here, there] = [await TurnBoard.open(url), await TurnBoard.open(url)]
      const turn = await here.take('@ada/plan')
      assert.ok(turn)
      assert.equal(await there.take('@ada/plan'), undefined)
      assert.equal(await there.running('@ada/plan'), turn)
      assert.ok(await there.take('@ada/other'))
      await here.release(turn)
      assert.equal(await there.running('@ada/plan'), undefined)
      const next = await there.take('@ada/plan')
      assert.ok(next)
      assert.equal(await here.renew(turn), false, 'what was lost cannot be renewed')
      assert.equal(await there.renew(next), true)
      await here.close()
      await there.close()
    })

    test('starts at only one of many servers that try at once', async () => {
      const url = await database()
      const boards = await Promise.all([1, 2, 3].map(() => TurnBoard.open(url)))
      const taken = await Promise.all(Array.from({ length: 12 }, (_, i) => boards[i % 3]!.take('one')))
      assert.equal(taken.filter(turn => turn !== undefined).length, 1)
      for (const board of boards) await board.close()
    })

    test('can be followed, approved and stopped from another server', async () => {
      const url = await database()
      const [here, there] = [await TurnBoard.open(url), await TurnBoard.open(url)]
      const id = (await here.take('plan'))!
      const shared = shareTurn(here, id, asking())
      const remote = new RemoteTurn(there, (await there.running('plan'))!)
      const heard: AgentEvent[] = []
      for await (const event of remote.events()) {
        heard.push(event)
        if (event.type !== 'approval') continue
        await assert.rejects(remote.answer('c2', true), { code: 'NOT_FOUND' })
        await remote.answer('c1', true)
      }
      await shared
      assert.deepEqual(
        heard.map(event => (event.type === 'approved' ? event : event.type)),
        ['approval', { type: 'approved', id: 'c1', yes: true }, 'done'],
      )
      assert.equal(await there.running('plan'), undefined)

      const second = (await here.take('plan'))!
      const turn = asking()
      const sharing = shareTurn(here, second, turn)
      await new RemoteTurn(there, second).stop()
      await sharing
      assert.deepEqual(turn.eventsFrom(1)[0], { type: 'approved', id: 'c1', yes: false })
      await here.close()
      await there.close()
    })

    test('in a removed session leaves nothing', async () => {
      const board = await TurnBoard.open(await database())
      const [gone, other] = [(await board.take('gone'))!, (await board.take('other'))!]
      for (const turn of [gone, other]) await board.add(turn, 0, [{ type: 'text', text: 'a secret' }])
      await board.forget(['gone', 'never'])
      assert.deepEqual(await board.events(gone, 0), [])
      assert.equal(await board.running('gone'), undefined)
      assert.equal((await board.events(other, 0)).length, 1)
      await board.close()
    })

    test('of a dead server ends for its followers, and its session is free', async () => {
      const url = await database()
      const board = await TurnBoard.open(url)
      const dead = (await board.take('plan'))!
      await board.add(dead, 0, [{ type: 'text', text: 'I beg' }])
      // As if the lease had not been renewed for so long.
      const postgres = await Postgres.open(url)
      await postgres.write('UPDATE turns SET held_until = held_until - 20000')
      const heard: AgentEvent[] = []
      for await (const event of new RemoteTurn(board, dead).events()) heard.push(event)
      assert.deepEqual(
        heard.map(event => (event.type === 'done' ? event.reason : event.type)),
        ['text', 'failed'],
      )
      await assert.rejects(new RemoteTurn(board, dead).answer('c1', true), { code: 'NOT_FOUND' })
      assert.ok(await board.take('plan'))
      await postgres.close()
      await board.close()
    })
  })
})
