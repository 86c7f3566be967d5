/** The store of one user: a complete store that cannot reach other users' sessions. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { ledgerId, ownedBy, ownerIn, userFolder, userOfFolder } from '../../src/ledger/owners.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import { ThreadedLedger } from '../../src/ledger/threaded.ts'
import { search } from '../../src/recall/search.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { ledgerStoreContract } from '../contracts/ledger-store.ts'
import * as fc from '../property.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-owners-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const fileOf = (kind: string, name: string) => join(folder, `${kind}-${name.replace(/\W+/g, '-')}.sqlite`)

ledgerStoreContract('of one owner', async name => ownedBy('al/ice %', new SqliteLedger(fileOf('one', name))))
ledgerStoreContract('of one owner, threaded and early', async name => {
  const store = new ThreadedLedger(fileOf('early', name))
  return ownedBy('alice', store).early!().store
})

const word = fc.string({
  unit: fc.constantFrom('a', 'A', 'b', '/', '%', '@', '2', 'F', 'f', '5', ' ', 'é', 'É'),
  minLength: 1,
  maxLength: 8,
})

describe('ids', () => {
  test('an owner and a name are read back, and no two pairs share an id', () => {
    fc.assert(
      fc.property(word, word, word, word, (owner, name, other, another) => {
        const id = ledgerId(owner, name)
        assert.deepEqual(ownerIn(id), { owner, name })
        const isSame = owner === other && name === another
        assert.equal(ledgerId(other, another) === id, isSame)
        // Some file systems ignore case.
        const folders = [owner, other].map(user => userFolder('h', user).toLowerCase())
        assert.equal(folders[0] === folders[1], owner === other)
      }),
      { numRuns: 2000 },
    )
  })

  test('a name without an owner is its own id', () => {
    for (const name of ['plain', 'a/b c', '@', '@alice', '@/x', 'x@alice/y']) {
      assert.equal(ledgerId(undefined, name), name)
      assert.deepEqual(ownerIn(name), { owner: undefined, name })
    }
  })
})

test('the folder of a user has their name, or a hash if the name is too long', () => {
  assert.equal(userFolder('home', 'al.ice/x*'), join('home', 'users', 'al%2Eice%2Fx%2A'))
  assert.equal(userFolder('home', 'Zoé B'), join('home', 'users', '%5Ao%C3%A9%20%42'))
  assert.equal(userFolder('home', 'a'.repeat(200)), join('home', 'users', 'a'.repeat(200)))
  assert.match(userFolder('home', 'é'.repeat(90)), /users.[0-9a-f]{64}$/)
  assert.notEqual(userFolder('home', 'é'.repeat(90)), userFolder('home', 'é'.repeat(91)))
})

test("one user's requests neither find nor change another user's sessions", async () => {
  const said = (text: string) => ({ role: 'user' as const, parts: [{ type: 'text' as const, text }] })
  await fc.assert(
    fc.asyncProperty(word, word, word, async (victim, thief, name) => {
      fc.pre(victim !== thief)
      await using pal = await openPalimpsest({ home: ':memory:' })
      const theirs = await pal.of(victim).session(name)
      await theirs.append(said('canary of the victim'))
      const before = JSON.stringify([await pal.of(victim).sessions(), await theirs.events()])
      const own = pal.of(thief)
      for (const guess of new Set([name, ledgerId(victim, name), `../${name}`, `@${victim}/${name}`])) {
        assert.equal(await own.find(guess), undefined)
        await assert.rejects(own.session(guess, { mustExist: true }), { code: 'SESSION_NOT_FOUND' })
        const made = await own.session(guess)
        await made.append(said('by the thief'))
        assert.deepEqual(await made.recall('canary'), [])
        await made.fork()
      }
      assert.deepEqual((await own.recall('canary')).hits, [])
      assert.ok((await own.sessions()).every(({ owner }) => owner === thief))
      assert.equal(JSON.stringify([await pal.of(victim).sessions(), await theirs.events()]), before)
      assert.equal((await pal.of(victim).recall('canary')).hits.length, 1)
    }),
    { numRuns: 25 },
  )
})

test("another user's session needs its full id, and is never searched", async () => {
  const store = new SqliteLedger(':memory:')
  const said = (text: string) => ({ role: 'user' as const, parts: [{ type: 'text' as const, text }] })
  await using pal = await openPalimpsest({ home: ':memory:', store })
  for (const user of ['alice', 'bob']) await (await pal.of(user).session('x')).append(said('petrichor'))
  const everything = await ownedBy('alice', store).index({ among: () => true })
  assert.deepEqual(
    (await search(everything, 'petrichor', { limit: 5 })).map(({ session }) => session),
    ['x'],
  )
  const nothing = await ownedBy('alice', store).index({ among: () => false })
  assert.deepEqual(await search(nothing, 'petrichor', { limit: 5 }), [])
  await store.open('home', { at: 0, meta: '{}' })
  await store.open('fork', { at: 0, meta: '{}', parent: { id: 'home', seq: 0 } })
  store.rename('fork', ledgerId('alice', 'fork'))
  assert.deepEqual((await ownedBy('alice', store).find('fork'))?.parent, { id: 'home', seq: 0 })
})

test('a search in the store of one owner names sessions without the owner', async () => {
  const store = new SqliteLedger(':memory:')
  await using pal = await openPalimpsest({ home: ':memory:', store })
  await (await pal.of('alice').session('x')).append({ role: 'user', parts: [{ type: 'text', text: 'petrichor' }] })
  const found = await search(await ownedBy('alice', store).index('all'), 'petrichor', { limit: 5 })
  assert.deepEqual(
    found.map(({ session }) => session),
    ['x'],
  )
})

test('a user is found by the name of their folder, and other names are not mistaken for one', () => {
  const name = fc.string({
    unit: fc.constantFrom('a', 'Z', '%', '2', 'E', '9', '.', '*', '/', 'é', '-', ' '),
    minLength: 1,
    maxLength: 8,
  })
  fc.assert(
    fc.property(name, text => {
      assert.equal(userOfFolder(basename(userFolder('h', text))), text)
      const user = userOfFolder(text)
      if (user === undefined) return
      const now = basename(userFolder('h', user))
      // An earlier version did not encode capitals.
      const former = now.replace(/%(?:4[1-9A-F]|5[0-9A])/g, decodeURIComponent)
      assert.ok([now, former].includes(text), text)
    }),
    { numRuns: 1000, examples: [['E%2E']] },
  )
  for (const odd of ['%E9', '%', '%2e', '%5AZ', 'a.b', 'Z'.repeat(201), 'a'.repeat(201), '..'])
    assert.equal(userOfFolder(odd), undefined, odd)
})
