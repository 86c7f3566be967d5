/** Homes of earlier versions, with owners in server.sqlite and one set of names for all users. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { adoptOwners } from '../../../src/doors/server/adopt-owners.ts'
import { openServerStore } from '../../../src/doors/server/server-store.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'

const home = mkdtempSync(join(tmpdir(), 'palimpsest-adopt-'))
after(() => rmSync(home, { recursive: true, force: true }))
const said = (text: string) => ({ role: 'user' as const, parts: [{ type: 'text' as const, text }] })

/** Writes owners as the earlier version did. */
async function makeFormerHome(owners: Record<string, string>) {
  const pal = await openPalimpsest({ home, config: false })
  for (const session of [...Object.keys(owners), 'nobodys']) {
    if (!session.endsWith('-fork-1') && !(await pal.find(session)))
      await (await pal.session(session)).append(said(`in ${session}`))
  }
  const parent = await pal.session('plans', { mustExist: true })
  if (!(await pal.find('plans-fork-1'))) await parent.fork(0)
  await pal.close()
  const store = await openServerStore(home)
  const db = new DatabaseSync(join(home, 'server.sqlite'))
  for (const [session, user] of Object.entries(owners)) {
    db.prepare('INSERT INTO owners (session, user) VALUES (?, ?)').run(session, user)
  }
  db.close()
  return store
}

test('users find their sessions under the known names, and not those of others', async () => {
  const store = await makeFormerHome({ plans: 'alice', 'plans-fork-1': 'alice', 'of/bob': 'bob', roots: 'root' })
  await store.createToken({ user: 'root', role: 'admin', at: 1 })
  await store.createToken({ user: 'bob', role: 'user', at: 1 })
  await adoptOwners(home, store)
  await adoptOwners(home, store)
  assert.deepEqual(await store.formerOwners(), [])
  const pal = await openPalimpsest({ home, config: false })
  const names = async (of: { sessions(): Promise<{ id: string }[]> }) =>
    (await of.sessions()).map(({ id }) => id).sort()
  assert.deepEqual(await names(pal), ['@alice/plans', '@alice/plans-fork-1', '@bob/of/bob', 'nobodys', 'roots'])
  const alice = pal.of('alice')
  assert.deepEqual(await names(alice), ['plans', 'plans-fork-1'])
  assert.equal((await alice.find('plans-fork-1'))?.parent?.id, 'plans')
  const fork = await alice.session('plans-fork-1', { mustExist: true })
  assert.deepEqual((await fork.verify()).violations, [])
  assert.match(JSON.stringify((await fork.view({ plan: false })).messages), /in plans/)
  await fork.append(said('and on'))
  assert.equal(await pal.of('bob').find('plans'), undefined)
  await pal.close()
  store.close()
})

test('a session gets a number if its user has used the name since', async () => {
  const store = await makeFormerHome({ plans: 'alice' })
  await adoptOwners(home, store)
  const pal = await openPalimpsest({ home, config: false })
  assert.ok(await pal.of('alice').find('plans-2'))
  await pal.close()
  store.close()
})
