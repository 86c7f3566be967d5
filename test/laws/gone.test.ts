/**
 * Deleted or redacted text is in no file of the home, neither in the pages of its databases nor in their logs.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openServerStore } from '../../src/doors/server/server-store.ts'
import { ThreadedLedger } from '../../src/ledger/threaded.ts'
import { openMemory } from '../../src/memory/open.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import * as fc from '../property.ts'

const SESSIONS = 8

/** Texts of several sessions in turn, so that pages of the database are split and segments of the index merged. */
const said = fc.array(fc.record({ session: fc.nat(SESSIONS - 1), words: fc.integer({ min: 1, max: 400 }) }), {
  minLength: 60,
  maxLength: 120,
})

test('words of a deleted session and redacted text are in no file of the home', async () => {
  await fc.assert(
    fc.asyncProperty(said, async texts => {
      await inHome(async home => {
        const pal = await openPalimpsest({ home, store: new ThreadedLedger(join(home, 'ledger.sqlite')) })
        for (const [n, { session, words }] of texts.entries()) {
          const text = `${markOf(session)} n${n} ${`${markOf(session)}x${n} `.repeat(words)}`
          await (await pal.session(`s${session}`)).append({ role: 'user', parts: [{ type: 'text', text }] })
          if (n % 10 === 0) await pal.recall('anything')
        }
        assert.ok(filesWith(home, markOf(texts[0]!.session)).length > 0)
        const [first, second] = [0, 1].map(i => texts[i]!.session)
        await pal.remove([`s${first}`], { by: 'admin:test' })
        assert.deepEqual(filesWith(home, markOf(first!)), [])
        if (second !== first) await pal.redact([`s${second}`], { text: markOf(second!) }, { by: 'admin:test' })
        assert.deepEqual(filesWith(home, markOf(second!)), [])
        await pal.close()
      })
    }),
    { numRuns: 3 },
  )
})

test('memory and the tables of the server hold no byte of a deleted user', async () => {
  await inHome(async home => {
    const [memory, store] = [await openMemory({ home }), await openServerStore(home)]
    for (let n = 0; n < 40; n++) {
      for (const user of ['alice', 'bob']) {
        const body = `${user}secret ${n} `.repeat(n * 5 + 1)
        await memory.set(user, `block${n % 7}`, { body, by: `user:${user}` })
        await store.createToken({ user, role: 'user', name: `${user}secret${n}`, at: n })
      }
    }
    const { id } = await store.createToken({ user: 'alice', role: 'agent', at: 1 })
    await store.takeKey(id, 'k', { hash: 'h', at: 1 })
    await store.settleKey(id, 'k', { status: 200, type: 'text/plain', body: 'quuxanswer' })
    assert.ok(filesWith(home, 'quuxanswer').length > 0)
    await store.forgetSessions(['@alice/plan'])
    assert.deepEqual(filesWith(home, 'quuxanswer'), [])
    await memory.forget('alice', { by: 'admin:test' })
    await store.forgetUser('alice')
    assert.deepEqual(filesWith(home, 'alicesecret'), [])
    assert.ok(filesWith(home, 'bobsecret').length > 1)
    await memory.close()
    await store.close()
  })
})

/** A word that recall indexes as one term. */
function markOf(session: number): string {
  return `quux${'abcdefgh'[session]}zzy`
}

function filesWith(home: string, word: string): string[] {
  const files = readdirSync(home, { recursive: true, withFileTypes: true }).filter(file => file.isFile())
  const paths = files.map(({ parentPath, name }) => join(parentPath, name))
  return paths.filter(path => readFileSync(path, 'latin1').toLowerCase().includes(word))
}

async function inHome(work: (home: string) => Promise<void>): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'palimpsest-gone-'))
  try {
    await work(home)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
