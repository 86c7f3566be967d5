/** Files of heads from outside: the output of `headsFile` is read back, anything else is refused with a reason. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { headsFile, parseHeads } from '../../src/ledger/head.ts'

const HASH = 'ab'.repeat(32)
const HEAD = { session: 'a', events: 3, hash: HASH, at: 1 }
const FILE = headsFile([HEAD], { sessions: 2, hash: HASH })

test('a printed file is read back', () => {
  assert.deepEqual(parseHeads(FILE, 'f'), { sessions: [HEAD], removed: { sessions: 2, hash: HASH } })
  const { removed: _, ...old } = FILE
  assert.deepEqual(parseHeads(old, 'f').removed, { sessions: 0, hash: '' }, 'a file from before there were tombstones')
})

test('any other text is refused', () => {
  const wrong: unknown[] = [
    null,
    [],
    'heads',
    { ...FILE, format: 'other' },
    { ...FILE, version: 2 },
    { ...FILE, sessions: undefined },
    { ...FILE, sessions: { 0: HEAD } },
    { ...FILE, sessions: [HEAD, 7] },
    { ...FILE, sessions: [HEAD, null] },
    { ...FILE, sessions: [{ ...HEAD, session: 7 }] },
    { ...FILE, sessions: [{ ...HEAD, events: 1.5 }] },
    { ...FILE, sessions: [{ ...HEAD, hash: `${HASH}0` }] },
    { ...FILE, sessions: [{ ...HEAD, hash: HASH.slice(1) }] },
    { ...FILE, removed: 3 },
    { ...FILE, removed: { sessions: '2', hash: HASH } },
    { ...FILE, removed: { sessions: 2 } },
  ]
  for (const value of wrong) {
    assert.throws(() => parseHeads(value, 'kept.json'), { code: 'FORMAT_UNKNOWN', data: { path: 'kept.json' } })
  }
})
