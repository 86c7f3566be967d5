/** The ledger when PostgreSQL is killed, or its connection breaks: nothing acknowledged is lost or doubled. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeEvent, GENESIS } from '../../../src/ledger/codec.ts'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { PostgresLedger } from '../../../src/ledger/postgres/ledger.ts'
import type { Event } from '../../../src/model/types.ts'
import { startStallingProxy } from '../../memory/stalling-proxy.ts'
import { noPostgres, startPostgres } from '../../postgres.ts'

const SESSIONS = 4
const WRITERS = 12
const EACH = 60
const KILLS = 3

const said = (text: string): Event => ({ type: 'entry', message: { role: 'user', parts: [{ type: 'text', text }] } })

describe('the ledger when PostgreSQL fails', { skip: noPostgres }, () => {
  test('a server that is killed repeatedly loses nothing acknowledged', async () => {
    const server = await startPostgres(undefined, { fsync: 'on' })
    const store = await PostgresLedger.open(server.url(), { timeoutMs: 60_000 })
    for (let i = 0; i < SESSIONS; i++) await store.open(`s${i}`, { at: 0, meta: '{}' })
    const acknowledged = new Map<string, { session: string; seq: number }>()
    const waiting: { count: number; go: () => void }[] = []
    const reached = (count: number) => new Promise<void>(go => waiting.push({ count, go }))
    const write = async (writer: number) => {
      const session = `s${writer % SESSIONS}`
      const ledger = new Ledger(store, session)
      for (let n = 0; n < EACH; n++) {
        const text = `${writer} says ${n}`
        for (let placed = await ledger.append([said(text)], n); ; placed = await ledger.append([said(text)], n)) {
          if (placed) acknowledged.set(text, { session, seq: placed[0]!.seq })
          if (placed) break
          await ledger.catchUp()
        }
        for (const { go } of waiting.filter(({ count }) => acknowledged.size >= count)) go()
      }
    }
    const kills = async () => {
      for (let i = 1; i <= KILLS; i++) {
        await reached((i * WRITERS * EACH) / (KILLS + 1))
        await server.end('SIGKILL')
        await server.run()
      }
    }
    await Promise.all([kills(), ...Array.from({ length: WRITERS }, (_, writer) => write(writer))])
    const found = new Map<string, { session: string; seq: number }>()
    let events = 0
    for (let i = 0; i < SESSIONS; i++) {
      for (const { seq, event } of await new Ledger(store, `s${i}`).verify()) {
        if (event.type === 'entry') found.set(JSON.stringify(event.message.parts), { session: `s${i}`, seq })
        events++
      }
    }
    assert.equal(events, WRITERS * EACH)
    const expected = [...acknowledged].map(
      ([text, place]) => [JSON.stringify([{ type: 'text', text }]), place] as const,
    )
    for (const [parts, place] of expected) assert.deepEqual(found.get(parts), place)
    assert.equal(found.size, WRITERS * EACH)
    await store.close()
  })

  test('an append with a lost answer is stored once, and one that did not arrive is sent again', async () => {
    const server = await startPostgres()
    const proxy = await startStallingProxy(Number(new URL(server.url()).port))
    const url = server.url().replace(/:\d+\//, `:${proxy.port}/`)
    const store = await PostgresLedger.open(url, { timeoutMs: 60_000 })
    await store.open('a', { at: 0, meta: '{}' })
    let prev = GENESIS
    for (const [seq, forward] of [true, false, true].entries()) {
      const row = encodeEvent(said(`xylophone ${seq}`), { prev, seq, at: seq })
      prev = row.hash
      const sprung = proxy.stallAt(`xylophone ${seq}`, { forward })
      const appended = store.append('a', [row])
      await sprung
      proxy.resume()
      assert.equal(await appended, true)
      assert.equal((await store.read('a')).length, seq + 1)
      assert.equal(await store.append('a', [row]), false)
    }
    await store.close()
    proxy.close()
  })
})
