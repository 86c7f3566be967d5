/** A ledger from the time when targets had no `type`: untyped-targets.json has its rows, byte for byte. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPalimpsest } from '../../src/index.ts'
import { contentHash } from '../../src/ledger/codec.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import type { NewRow } from '../../src/ledger/store.ts'
import { parseJson } from '../../src/model/json.ts'
import { textOf } from '../../src/model/leaves.ts'

test('a ledger with targets without types verifies, shows the same and can continue', async t => {
  const home = await mkdtemp(join(tmpdir(), 'palimpsest-untyped-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  const text = await readFile(join(import.meta.dirname, 'untyped-targets.json'), 'utf8')
  const rows: NewRow[] = parseJson(text)
  const large = 'x'.repeat(20_000)
  const store = new SqliteLedger(join(home, 'ledger.sqlite'))
  await store.open('old', { at: 1000, meta: '{}' })
  const contents = new Map([[contentHash(large), large]])
  assert.ok(await store.append('old', [{ ...rows[0]!, contents }, ...rows.slice(1)]))
  await store.close()

  const pal = await openPalimpsest({ home })
  const session = await pal.session('old')
  await session.verify()
  const { messages } = await session.view({ plan: false })
  assert.deepEqual(
    messages.map(message => message.parts.map(textOf).join()),
    ['one 2 three', large, 'seven and eight', '9', 'ten'],
  )
  assert.deepEqual(
    session.edits().map(({ edit }) => edit.target),
    [
      { type: 'part', entry: 0, part: 0, leaf: 0, span: [4, 7] },
      { type: 'part', entry: 1, part: 0 },
      { type: 'range', from: 2, to: 3 },
      { type: 'entry', entry: 4 },
      { type: 'after', entry: 4 },
    ],
  )
  await session.undo(session.edits().map(({ edit }) => edit.id))
  await session.apply([{ target: { type: 'part', entry: 1, part: 0 }, replacement: 'short', why: 'new' }])
  await session.verify()
  await pal.close()

  const after = new SqliteLedger(join(home, 'ledger.sqlite'), { readOnly: true })
  assert.deepEqual(
    (await after.read('old', { to: rows.length - 1 })).map(({ body, hash }) => [body, hash]),
    rows.map(({ body, hash }) => [body, hash]),
  )
  await after.close()
})
