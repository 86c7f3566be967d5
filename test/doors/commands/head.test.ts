/** `head` and `verify --head`: each way to change a ledger so that its hashes fit, done to a real file. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { chainHash, GENESIS } from '../../../src/ledger/codec.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { runCli } from '../../cli.ts'
import { openSmall } from '../../small-session.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-head-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const HOME = join(folder, 'home')
const HEADS = join(folder, 'heads.json')
let homes = 0

before(async () => {
  await using pal = await openPalimpsest({ home: HOME })
  const small = await openSmall(pal)
  await small.fork(1, 'fork')
  await pal.session('empty')
  const head = await runCli(['head', '--home', HOME])
  assert.equal(head.code, 0, head.stderr)
  writeFileSync(HEADS, head.stdout)
})

/** A copy of the home with a changed file. */
function homeAfter(attack: (db: DatabaseSync) => void): string {
  const home = join(folder, `home-${homes++}`)
  mkdirSync(home)
  copyFileSync(join(HOME, 'ledger.sqlite'), join(home, 'ledger.sqlite'))
  const copy = new DatabaseSync(join(home, 'ledger.sqlite'))
  copy.exec('PRAGMA foreign_keys = OFF')
  attack(copy)
  copy.close()
  return home
}

async function verify(home: string, ...args: string[]) {
  const { code, stdout, stderr } = await runCli(['verify', ...args, '--home', home, '--json'])
  const { sessions } = stdout ? JSON.parse(stdout) : { sessions: [] }
  const found = sessions.filter((session: object) => 'error' in session)
  return { code, stderr, found: found.map((one: Found) => [one.session, one.error.code, one.error.message]) }
}
type Found = { session: string; error: { code: string; message: string } }

/** Verifying passes without a head; with the head, it names the session and the change. */
async function assertFoundByHead(home: string, session: string, message: RegExp): Promise<void> {
  assert.deepEqual(await verify(home), { code: 0, stderr: '', found: [] })
  const { code, found } = await verify(home, '--head', HEADS)
  assert.equal(code, 6)
  assert.equal(found.length, 1)
  assert.deepEqual(found[0].slice(0, 2), [session, 'LEDGER_CORRUPT'])
  assert.match(found[0][2], message)
}

const keyOf = (db: DatabaseSync, id: string) =>
  Number(db.prepare('SELECT key FROM sessions WHERE id = ?').get(id)!['key'])
const OWN = 'id >> 32 = ?'

describe('head', () => {
  test('prints the length, the last hash and the time of every session', () => {
    const { format, version, sessions } = JSON.parse(readFileSync(HEADS, 'utf8'))
    assert.deepEqual([format, version], ['palimpsest-heads', 1])
    const db = new DatabaseSync(join(HOME, 'ledger.sqlite'))
    const last = db.prepare(`SELECT hash, at FROM events WHERE ${OWN} ORDER BY id DESC`).get(keyOf(db, 'small'))!
    db.close()
    const byName = new Map(sessions.map((one: { session: string }) => [one.session, one]))
    assert.deepEqual([...byName.keys()].toSorted(), ['empty', 'fork', 'small'])
    assert.deepEqual(byName.get('small'), { session: 'small', events: 20, hash: last['hash'], at: last['at'] })
    assert.deepEqual(Object.entries(byName.get('empty')!).slice(1, 3), [
      ['events', 0],
      ['hash', GENESIS],
    ])
  })

  test('of one session is its line in the list of all', async () => {
    const { code, stdout } = await runCli(['head', 'small', '--home', HOME])
    const all = JSON.parse(readFileSync(HEADS, 'utf8'))
    const of = all.sessions.filter((one: { session: string }) => one.session === 'small')
    assert.deepEqual([code, JSON.parse(stdout)], [0, { ...all, sessions: of }])
    assert.equal((await runCli(['head', 'nobody', '--home', HOME])).code, 3)
  })

  test('is refused for a ledger that does not verify', async () => {
    const home = homeAfter(db => db.exec("UPDATE events SET body = body || ' ' WHERE type = 'edit'"))
    const { code, stdout, stderr } = await runCli(['head', '--home', home])
    assert.deepEqual([code, stdout], [6, ''])
    assert.match(stderr, /does not match its hash.*LEDGER_CORRUPT/)
  })
})

describe('verify --head', () => {
  test('accepts an unchanged ledger, and one with more events', async () => {
    const home = homeAfter(() => {})
    assert.deepEqual(await verify(home, '--head', HEADS), { code: 0, stderr: '', found: [] })
    {
      await using pal = await openPalimpsest({ home })
      const small = await pal.session('small')
      await small.append({ role: 'user', parts: [{ type: 'text', text: 'And now?' }] })
      await pal.session('later')
    }
    assert.deepEqual(await verify(home, '--head', HEADS), { code: 0, stderr: '', found: [] })
    assert.deepEqual(await verify(home, 'small', '--head', HEADS), { code: 0, stderr: '', found: [] })
  })

  test('detects a removed last event', async () => {
    const home = homeAfter(db => {
      const key = keyOf(db, 'small')
      db.prepare(`DELETE FROM events WHERE id = (SELECT max(id) FROM events WHERE ${OWN})`).run(key)
    })
    await assertFoundByHead(home, 'small', /has 19 events, but the kept head has 20/)
  })

  test('detects a session without its events', async () => {
    const home = homeAfter(db => {
      db.exec("DELETE FROM sessions WHERE id = 'fork'")
      db.prepare(`DELETE FROM events WHERE ${OWN}`).run(keyOf(db, 'small'))
    })
    assert.deepEqual(await verify(home, 'small'), { code: 0, stderr: '', found: [] })
    const { code, found } = await verify(home, 'small', '--head', HEADS)
    assert.equal(code, 6)
    assert.match(found[0][2], /has 0 events/)
  })

  test('detects a removed session, even an empty one, and a removed home', async () => {
    const without = (name: string) => homeAfter(db => db.prepare('DELETE FROM sessions WHERE id = ?').run(name))
    await assertFoundByHead(without('fork'), 'fork', /was removed/)
    await assertFoundByHead(without('empty'), 'empty', /was removed/)
    const { code, found } = await verify(join(folder, 'none'), '--head', HEADS)
    assert.equal(code, 6)
    assert.deepEqual(found.map(([session]: string[]) => session).toSorted(), ['empty', 'fork', 'small'])
  })

  test('detects a changed event, even with all hashes computed again', async () => {
    const home = homeAfter(db => {
      db.exec("DELETE FROM sessions WHERE id = 'fork'")
      db.exec("UPDATE events SET body = replace(body, 'Now the tests', 'Now no tests')")
      let prev = GENESIS
      const rows = db.prepare(`SELECT * FROM events WHERE ${OWN} ORDER BY id`).all(keyOf(db, 'small'))
      assert.equal(rows.length, 20)
      for (const [seq, { id, at, type, light, body }] of rows.entries()) {
        const row = { seq, at: Number(at), type: String(type), light: String(light), body: String(body) }
        prev = chainHash(prev, row)
        db.prepare('UPDATE events SET hash = ? WHERE id = ?').run(prev, id!)
      }
    })
    assert.deepEqual(await verify(home, 'small'), { code: 0, stderr: '', found: [] })
    const { code, found } = await verify(home, 'small', '--head', HEADS)
    assert.equal(code, 6)
    assert.match(found[0][2], /was rewritten/)
  })

  test('refuses a file that is not a head, and a session that is not in it', async () => {
    const broken = join(folder, 'broken.json')
    for (const text of ['{}', '{"format":"palimpsest-heads","version":1,"sessions":[{"session":"small"}]}', '[]']) {
      writeFileSync(broken, text)
      const { code, stderr } = await runCli(['verify', '--head', broken, '--home', HOME])
      assert.equal(code, 5, text)
      assert.match(stderr, /not a file of heads.*palimpsest head/)
    }
    assert.equal((await runCli(['verify', '--head', join(folder, 'nothing'), '--home', HOME])).code, 3)
    const { code, stderr } = await runCli(['verify', 'other', '--head', HEADS, '--home', HOME])
    assert.equal(code, 2)
    assert.match(stderr, /no head for the session other/)
  })
})

test('exports, heads and JSON errors escape characters that reverse or hide text in a terminal', async () => {
  const home = join(folder, 'strange')
  const name = 'a\u202eb\u009bc\u007f'
  {
    await using pal = await openPalimpsest({ home })
    const session = await pal.session(name)
    await session.append({ role: 'user', parts: [{ type: 'text', text: name }] })
  }
  for (const args of [['export', '--all'], ['export', '--all', '--json'], ['head'], ['verify', '--json']]) {
    const { code, stdout } = await runCli([...args, '--home', home])
    assert.equal(code, 0, args.join(' '))
    assert.doesNotMatch(stdout, /[\u007f-\u009f\u202e]/)
    assert.ok(JSON.stringify(JSON.parse(stdout)).includes(JSON.stringify(name)), args.join(' '))
  }
  const { stderr } = await runCli(['show', `x${name}`, '--json', '--home', home])
  assert.doesNotMatch(stderr, /[\u007f-\u009f\u202e]/)
  assert.equal(JSON.parse(stderr).error.data.session, `x${name}`)
})
