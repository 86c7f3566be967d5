/** Processes that are killed while they write, and processes that write at once: nothing acknowledged is lost. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { killRounds, labelOf, readBack, write } from './kill-rounds.ts'

/** More with FAULTS=all, as in CI, and any number with `npm run kill`. */
const ROUNDS = process.env['FAULTS'] === 'all' ? 25 : 10

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-kill-'))
after(() => rmSync(folder, { recursive: true, force: true }))

test(`a writer killed ${ROUNDS} times loses no acknowledged write`, async () => {
  assert.ok((await killRounds(join(folder, 'killed'), ROUNDS)) > 0)
})

test("two processes can write to one session at once, and each one's messages stay in order", async () => {
  const home = join(folder, 'both')
  const names = ['a', 'b']
  const count = 120
  const ended = await Promise.all(names.map(name => write([home, 's', name, String(count)])))
  for (const { code, errors } of ended) assert.deepEqual([code, errors], [0, ''])
  const { texts, edits } = await readBack(home)
  assert.equal(texts.length, names.length * count)
  for (const name of names) {
    const own = texts.map(labelOf).filter(label => label.startsWith(`${name} `))
    assert.deepEqual(
      own,
      Array.from({ length: count }, (_, n) => `${name} ${n}`),
    )
  }
  assert.equal(edits.size, names.length * Math.floor(count / 7))
})
