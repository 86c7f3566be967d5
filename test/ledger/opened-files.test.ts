/** Database files that are deleted or replaced while open: nothing is acknowledged that would be lost. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, mock, test } from 'node:test'
import { openServerStore } from '../../src/doors/server/server-store.ts'
import { Ledger } from '../../src/ledger/ledger.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import { ThreadedLedger } from '../../src/ledger/threaded.ts'
import { openMemory } from '../../src/memory/open.ts'
import type { Event } from '../../src/model/types.ts'
import { openBelow } from '../files/open-below.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-opened-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const EVENT: Event = { type: 'entry', message: { role: 'user', parts: [{ type: 'text', text: 'hi' }] } }
const INIT = { at: 0, meta: '{}' }
const BY = { at: 0, by: 'alice' }
const CHANGES = {
  deleted: (file: string) => rmSync(file),
  replaced: (file: string) => {
    copyFileSync(file, `${file}.copy`)
    renameSync(`${file}.copy`, file)
  },
}

for (const change of ['deleted', 'replaced'] as const) {
  for (const suffix of ['', '-wal', '-shm']) {
    for (const Store of [SqliteLedger, ThreadedLedger]) {
      test(`a ${change} file is detected before a write is acknowledged: ${Store.name}, sqlite${suffix}`, async () => {
        const path = join(folder, `${change}${suffix}-${Store.name}.sqlite`)
        const store = new Store(path)
        const ledger = new Ledger(store, 'a')
        for (const id of ['a', 'b', 'c']) await store.open(id, INIT)
        assert.ok(await ledger.append([EVENT], 0))
        // The thread has opened the file, too: it would create a new log.
        await store.index('all')
        CHANGES[change](path + suffix)
        const noticed = { code: 'STORE_FAILED', message: new RegExp(`sqlite${suffix} was ${change}`) }
        await assert.rejects(ledger.append([EVENT], 0), noticed)
        await assert.rejects(store.setMeta('a', '{}'), noticed)
        await assert.rejects(store.open('d', INIT), noticed)
        if (Store === SqliteLedger) {
          await assert.rejects(store.redact(['a'], { text: 'hi' }, BY), noticed)
          await assert.rejects(store.remove(['b'], BY), noticed)
        }
        await store.close()
        assert.deepEqual(openBelow(folder), [], 'and nothing is left open')
      })
    }

    test(`memory and the token store detect it too: sqlite${suffix} is ${change}`, async () => {
      const home = mkdtempSync(join(folder, 'home-'))
      const noticed = { code: 'STORE_FAILED', message: new RegExp(`sqlite${suffix} was ${change}`) }
      const memory = await openMemory({ home, env: {} })
      await memory.set('alice', 'notes', { body: 'one', by: 'user:alice' })
      const tokens = await openServerStore(home, {})
      const { id } = await tokens.createToken({ user: 'alice', role: 'user', at: 0 })
      for (const name of ['memory', 'server']) CHANGES[change](join(home, `${name}.sqlite${suffix}`))
      await assert.rejects(memory.set('alice', 'notes', { body: 'two', by: 'user:alice' }), noticed)
      await assert.rejects(tokens.revokeToken(id, 0), noticed)
      await assert.rejects(tokens.forgetSessions(['a']), noticed)
      await memory.close()
      await tokens.close()
      assert.deepEqual(openBelow(folder), [], 'and nothing is left open')
    })
  }
}

test('it is detected in a folder that had not changed for a long time', async () => {
  for (const suffix of ['', '-wal', '-shm']) {
    const quiet = mkdtempSync(join(folder, 'quiet-'))
    const store = new SqliteLedger(join(quiet, 'ledger.sqlite'))
    const ledger = new Ledger(store, 'a')
    await store.open('a', INIT)
    mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 })
    assert.ok(await ledger.append([EVENT], 0))
    assert.ok(await ledger.append([EVENT], 0))
    mock.timers.reset()
    // The clock that dates files ticks every few milliseconds: what comes now has a later date.
    const clock = join(folder, 'clock')
    do writeFileSync(clock, '')
    while (statSync(clock).ctimeMs <= statSync(quiet).ctimeMs)
    rmSync(join(quiet, `ledger.sqlite${suffix}`))
    await assert.rejects(ledger.append([EVENT], 0), { code: 'STORE_FAILED' })
    await store.close()
  }
})
