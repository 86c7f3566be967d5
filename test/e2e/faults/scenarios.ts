/**
 * Runs under the shim of fault.c. Each scenario is repeated with its first, second, third … write, sync, truncation,
 * rename or link failing, in three ways, until none is left to fail. After each run everything acknowledged is there,
 * the files are intact, and errors have our codes. Prints the number of faults for each scenario.
 */
import assert from 'node:assert/strict'
import { accessSync, copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { choosePersona, chosenPersona, createPersona, findPersona } from '../../../src/agent/personas.ts'
import { changeOwnFile } from '../../../src/files/atomic.ts'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { SqliteLedger } from '../../../src/ledger/sqlite.ts'
import type { LedgerStore } from '../../../src/ledger/store.ts'
import { ThreadedLedger } from '../../../src/ledger/threaded.ts'
import { Memory } from '../../../src/memory/memory.ts'
import { SqliteMemory } from '../../../src/memory/sqlite.ts'
import { saveFact } from '../../../src/memory/workspace.ts'
import { isPalimpsestError } from '../../../src/model/errors.ts'
import type { Event } from '../../../src/model/types.ts'
import { updateModels } from '../../../src/session/config.ts'

/** A folder in memory, because a test makes hundreds of syncs and none needs to reach a disk. */
const MEMORY = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
/** Which operations fail with ENOSPC or SHORT: all with FAULTS=all, as in CI; every third otherwise. */
const STRIDE = process.env['FAULTS'] === 'all' ? 1 : 3
const KINDS = ['EIO', 'ENOSPC', 'SHORT'] as const

type Scenario = { name: string; run(folder: string, arm: () => void): Promise<void> }

const off = () => accessSync('fault:off')

function hasFired(): boolean {
  try {
    accessSync('fault:fired')
    return true
  } catch {
    return false
  }
}

/** Tries something; a failure must be an error of ours, or the system's own error for the fault. */
async function attempt<T>(work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isPalimpsestError(error)) assert.match(error.code, /^STORE_(FULL|FAILED)$/)
    else assert.match(String(error), /EIO|ENOSPC/)
    return undefined
  }
}

const entry = (text: string): Event => ({ type: 'entry', message: { role: 'user', parts: [{ type: 'text', text }] } })
/** Long texts are stored as separate contents. */
const textOf = (n: number) => `message ${n} ${n % 4 === 3 ? 'x'.repeat(17_000) : ''}`

function assertIntact(path: string): void {
  const db = new DatabaseSync(path)
  assert.deepEqual(db.prepare('PRAGMA integrity_check').all().map(Object.values), [['ok']])
  db.close()
}

/** The ledger at a path is sound and has every acknowledged text once, in order. */
async function assertKept(path: string, acknowledged: readonly string[]): Promise<void> {
  assertIntact(path)
  const store = new SqliteLedger(path, { indexes: false })
  const ledger = new Ledger(store, 'a')
  const texts = (await ledger.verify()).map(({ event }) => JSON.stringify(event))
  const found = acknowledged.map(text => texts.findIndex(one => one.includes(JSON.stringify(text).slice(1, -1))))
  assert.deepEqual(
    found,
    found.toSorted((a, b) => a - b),
  )
  assert.ok(
    found.every(place => place >= 0),
    `${found} of ${acknowledged.length}`,
  )
  await store.close()
}

/** The state after a crash now: the file and its log, without the shared memory of the processes. */
async function assertKeptIfKilled(path: string, acknowledged: readonly string[]): Promise<void> {
  const folder = mkdtempSync(join(MEMORY, 'palimpsest-killed-'))
  const copy = join(folder, 'ledger.sqlite')
  copyFileSync(path, copy)
  if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`)
  await assertKept(copy, acknowledged)
  rmSync(folder, { recursive: true, force: true })
}

async function appendSome(ledger: Ledger, [from, to]: [number, number], acknowledged: string[]): Promise<void> {
  for (let n = from; n < to; n++) {
    const text = textOf(n)
    if (await attempt(() => ledger.append([entry(text)], n))) acknowledged.push(text)
    else await ledger.catchUp()
  }
}

/** With `goesOn`, the same handle accepts appends again when the disk works again. */
function ledgerScenario(name: string, open: (path: string) => LedgerStore, goesOn: boolean): Scenario {
  return {
    name,
    async run(folder, arm) {
      const path = join(folder, 'ledger.sqlite')
      const store = open(path)
      await store.open('a', { at: 0, meta: '{}' })
      const ledger = new Ledger(store, 'a')
      const acknowledged: string[] = []
      await appendSome(ledger, [0, 2], acknowledged)
      arm()
      await appendSome(ledger, [2, 5], acknowledged)
      await attempt(() => store.setMeta('a', '{"title":"b"}'))
      if (store instanceof SqliteLedger) await attempt(() => store.checkpoint())
      await appendSome(ledger, [5, 7], acknowledged)
      await attempt(() => store.open('b', { at: 0, meta: '{}' }))
      const before = acknowledged.length
      if (goesOn) {
        off()
        await appendSome(ledger, [7, 8], acknowledged)
        assert.equal(acknowledged.length, before + 1)
      }
      await assertKeptIfKilled(path, acknowledged)
      await store.close()
      off()
      await assertKept(path, acknowledged)
    },
  }
}

const SCENARIOS: readonly Scenario[] = [
  ledgerScenario('ledger', path => new SqliteLedger(path, { indexes: false }), true),
  ledgerScenario('threaded ledger', path => new ThreadedLedger(path), false),
  {
    name: 'making a ledger',
    async run(folder, arm) {
      const path = join(folder, 'ledger.sqlite')
      arm()
      const store = await attempt(() => new SqliteLedger(path, { indexes: false }))
      const row = await attempt(() => store?.open('a', { at: 0, meta: '{}' }))
      off()
      await store?.close()
      const again = new SqliteLedger(path)
      if (row) assert.equal((await again.find('a'))?.id, 'a')
      await again.open('b', { at: 0, meta: '{}' })
      await again.close()
      assertIntact(path)
    },
  },
  {
    name: 'memory',
    async run(folder, arm) {
      const path = join(folder, 'memory.sqlite')
      let store = new SqliteMemory(path)
      let memory = new Memory(store)
      await memory.set('ann', 'about', { body: 'old', by: 'user:ann' })
      const ask = (body: string) => memory.propose('ann', 'about', { body, agentId: 'x', reasoning: 'said so' })
      arm()
      const proposed = await attempt(() => ask('new'))
      const approved = proposed && (await attempt(() => memory.approve('ann', proposed.id, { by: 'user:ann' })))
      const other = await attempt(() => memory.set('ann', 'other', { body: 'other', by: 'user:ann' }))
      off()
      await store.close()
      assertIntact(path)
      store = new SqliteMemory(path)
      memory = new Memory(store)
      const body = (await memory.block('ann', 'about'))?.body
      if (approved) assert.equal(body, 'new')
      else assert.ok(body === 'old' || body === 'new')
      const state = proposed && (await store.proposal('ann', proposed.id))?.state
      if (proposed) assert.equal(state, body === 'new' ? 'approved' : 'open')
      if (other) assert.equal((await memory.block('ann', 'other'))?.body, 'other')
      await store.close()
    },
  },
  {
    name: 'atomic writer',
    async run(folder, arm) {
      const path = join(folder, 'file.txt')
      const fresh = join(folder, 'fresh.txt')
      const [old, next] = ['old\n'.repeat(5000), 'new\n'.repeat(6000)]
      await changeOwnFile(path, {}, () => old)
      arm()
      const changed = await attempt(() => changeOwnFile(path, {}, () => next))
      const made = await attempt(() => changeOwnFile(fresh, { isPrivate: true }, () => next))
      off()
      const now = readFileSync(path, 'utf8')
      assert.ok(now === next || (now === old && !changed))
      if (made || existsSync(fresh)) assert.equal(readFileSync(fresh, 'utf8'), next)
      assert.deepEqual(
        readdirSync(folder).filter(name => name.endsWith('.tmp')),
        [],
      )
    },
  },
  {
    name: 'workspace',
    async run(folder, arm) {
      const workspace = { folder: join(folder, 'workspace'), now: () => 0 }
      await saveFact(workspace, 'Ann likes tea.')
      arm()
      const saved = await attempt(() => saveFact(workspace, 'Bob likes coffee.'))
      off()
      const text = readFileSync(join(workspace.folder, 'MEMORY.md'), 'utf8')
      assert.match(text, /Ann likes tea/)
      if (saved) assert.match(text, /Bob likes coffee/)
    },
  },
  {
    name: 'configuration and personas',
    async run(folder, arm) {
      const config = join(folder, 'palimpsest.json')
      const row = { input: 1, output: 2, window: 1000, source: 'test', asOf: '2026-01-01' }
      await updateModels(config, { old: row } as never)
      await choosePersona(folder, 'default')
      arm()
      const updated = await attempt(() => updateModels(config, { next: row } as never))
      const made = await attempt(() => createPersona(folder, { ...PERSONA, name: 'mine' }))
      const chosen = made && (await attempt(() => choosePersona(folder, 'mine')))
      off()
      const { models } = JSON.parse(readFileSync(config, 'utf8'))
      assert.ok('old' in models)
      if (updated) assert.ok('next' in models)
      if (made || existsSync(join(folder, 'personas/mine.json')))
        assert.equal((await findPersona(folder, 'mine')).name, 'mine')
      assert.ok((await chosenPersona(folder)) === 'mine' || !chosen)
    },
  },
]

const { source: _, path: __, ...PERSONA } = await findPersona(tmpdir(), 'default')

const met: Record<string, number> = {}
for (const { name, run } of SCENARIOS) {
  for (const kind of KINDS) {
    for (let n = 1; ; n += kind === 'EIO' ? 1 : STRIDE) {
      const folder = mkdtempSync(join(MEMORY, 'palimpsest-fault-'))
      let armed = false
      const arm = () => {
        accessSync(`fault:arm:${kind}:${n}:${folder}`)
        armed = true
      }
      try {
        await run(folder, arm)
      } catch (error) {
        off()
        throw new Error(`${name}: ${kind} at operation ${n}`, { cause: error })
      }
      assert.ok(armed)
      rmSync(folder, { recursive: true, force: true })
      if (!hasFired()) break
      met[`${name}, ${kind}`] = n
    }
  }
}
console.log(JSON.stringify(met))
