/** A database whose files are deleted or replaced under it: nothing is acknowledged that would be lost. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Ledger } from '../../src/ledger/ledger.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import { ThreadedLedger } from '../../src/ledger/threaded.ts'
import type { Event } from '../../src/model/types.ts'
import { openBelow } from '../files/open-below.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-opened-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const EVENT: Event = { type: 'entry', message: { role: 'user', parts: [{ type: 'text', text: 'hi' }] } }
const INIT = { at: 0, meta: '{}' }
const BY = { at: 0, by: 'alice' }

for (const Store of [SqliteLedger, ThreadedLedger]) {
  for (const change of ['deleted', 'replaced'] as const) {
    for (const suffix of ['', '-wal']) {
      test(`a file that is ${change} is noticed before a write is acknowledged: ${Store.name}, sqlite${suffix}`, async () => {
        const path = join(folder, `${change}${suffix}-${Store.name}.sqlite`)
        const store = new Store(path)
        const ledger = new Ledger(store, 'a')
        for (const id of ['a', 'b', 'c']) await store.open(id, INIT)
        assert.ok(await ledger.append([EVENT], 0))
        // The thread has opened the file, too: it would make a new log.
        await store.index('all')
        const file = path + suffix
        if (change === 'deleted') rmSync(file)
        else {
          copyFileSync(file, `${file}.copy`)
          renameSync(`${file}.copy`, file)
        }
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
  }
}
