/** Two writers of one session: the slower one reads again and retries, and reports an error if it never succeeds. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import type { NewRow } from '../../src/ledger/store.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { says, user } from '../policies/talk.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** A ledger into which another process writes just before each of our appends, as often as `rival` does. */
class Contended extends SqliteLedger {
  rival: (() => Promise<unknown>) | undefined
  attempts = 0

  override async append(id: string, rows: readonly NewRow[]): Promise<boolean> {
    this.attempts++
    await this.rival?.()
    return super.append(id, rows)
  }
}

let homes = 0
async function open() {
  const path = join(folder, `ledger-${homes++}.sqlite`)
  const store = new Contended(path)
  const pal = await openPalimpsest({ home: ':memory:', store, clock: () => 1000 })
  const session = await pal.session('s', { policy: 'none' })
  await session.append(user('a long question '.repeat(20)), says('an answer'), user('more'))
  const target = { type: 'part', entry: 0, part: 0 } as const
  const [edit] = await session.apply([{ target, replacement: 'short', why: 'test' }])
  const others = await openPalimpsest({ home: ':memory:', store: new SqliteLedger(path), clock: () => 1000 })
  const other = await others.session('s', { policy: 'none' })
  return { store, session, other, id: edit!.id, close: () => Promise.all([pal.close(), others.close()]) }
}

/** Lets the other writer write before the next `times` appends. */
function interfere(store: Contended, other: Session, times: number): void {
  let n = 0
  store.attempts = 0
  store.rival = async () => {
    if (n++ < times) await other.record({ type: 'decision', text: `another was faster, ${n}` })
  }
}

const texts = async (session: Session) =>
  (await session.view({ plan: false })).messages.map(({ parts }) => (parts[0]?.type === 'text' ? parts[0].text : ''))
const isActive = (session: Session, id: string) => session.edits().find(({ edit }) => edit.id === id)?.active

const DOINGS = {
  undo: (session: Session, id: string) => session.undo(id),
  redo: (session: Session, id: string) => session.redo(id),
  edit: (session: Session) =>
    session.apply([{ target: { type: 'part', entry: 1, part: 0 }, replacement: 'brief', why: 'test' }]),
  append: (session: Session) => session.append(user('even more')),
  pin: (session: Session) => session.pin(0),
}

for (const [name, act] of Object.entries(DOINGS)) {
  describe(`${name} while another writes`, () => {
    const begin = async () => {
      const all = await open()
      if (name === 'redo') await all.session.undo(all.id)
      return all
    }

    test('is tried again until it succeeds, and happens once', async () => {
      const { store, session, other, id, close } = await begin()
      const before = (await session.events()).length
      interfere(store, other, 3)
      await act(session, id)
      assert.equal(store.attempts, 4)
      store.rival = undefined
      assert.equal((await session.events()).length, before + 3 + 1, 'three events of the other, one of ours')
      assert.deepEqual(await texts(session), await texts(other))
      assert.deepEqual(session.edits(), other.edits())
      if (name === 'undo' || name === 'redo') assert.equal(isActive(session, id), name === 'redo')
      await close()
    })

    test('gives up if the other is always faster, and changes nothing', async () => {
      const { store, session, other, id, close } = await begin()
      const before = { texts: await texts(session), edits: session.edits() }
      interfere(store, other, Number.POSITIVE_INFINITY)
      await assert.rejects(act(session, id), { code: 'STORE_LOCKED', message: /Other writers keep changing/ })
      assert.ok(store.attempts > 3, `${store.attempts} attempts`)
      store.rival = undefined
      assert.deepEqual({ texts: await texts(session), edits: session.edits() }, before)
      await act(session, id)
      assert.deepEqual(await texts(session), await texts(other))
      await close()
    })
  })
}

test('an undo that another writer has made meanwhile is refused, and both views are the same', async () => {
  const { store, session, other, id, close } = await open()
  store.rival = async () => {
    store.rival = undefined
    await other.undo(id)
  }
  await assert.rejects(session.undo(id), { code: 'ALREADY' })
  assert.equal(isActive(session, id), false)
  assert.deepEqual(await texts(session), await texts(other))
  await close()
})

test('an undo with a failed write leaves the edit active', async () => {
  const { store, session, id, close } = await open()
  const shown = await texts(session)
  store.rival = () => Promise.reject(new Error('the disk is gone'))
  await assert.rejects(session.undo(id), /the disk is gone/)
  assert.equal(isActive(session, id), true)
  assert.deepEqual(await texts(session), shown)
  await assert.rejects(DOINGS.edit(session), /the disk is gone/)
  assert.equal(session.edits().length, 1)
  store.rival = undefined
  await session.undo(id)
  assert.equal(isActive(session, id), false)
  await close()
})

test('concurrent requests to one session run one after the other, in order', async () => {
  const { store, session, id, close } = await open()
  store.attempts = 0
  const target = { type: 'part', entry: 3, part: 0 } as const
  const [, , edits] = await Promise.all([
    session.undo(id),
    session.append(says('a long answer '.repeat(20))),
    session.apply([{ target, replacement: 'short', why: 'test' }]),
    session.redo(id),
    session.append(user('on')),
  ])
  assert.equal(store.attempts, 5, 'nothing was tried twice')
  assert.deepEqual(
    (await session.events()).slice(-5).map(({ event }) => event.type),
    ['revert', 'entry', 'edit', 'reapply', 'entry'],
  )
  assert.deepEqual(
    session.edits().map(({ edit, active }) => [edit.id, active]),
    [
      [id, true],
      [edits[0]!.id, true],
    ],
  )
  await close()
})

test("an error in a client's messages is passed on at once, without a retry", async () => {
  const { store, session, close } = await open()
  store.attempts = 0
  const sent = [user('a long question '.repeat(20)), says('an answer'), user('more'), user('half \ud800')]
  await assert.rejects(session.sync(sent), { code: 'INVALID_UNICODE' })
  assert.equal(store.attempts, 0)
  await close()
})
