import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Chain, joinChain, lives, longLives } from '../../bench/chains.ts'
import { compareWithClient } from '../../bench/client-compactions.ts'
import type { Message } from '../../src/model/types.ts'

const PASSAGE = 'const retryPolicy = { attempts: 7, backoff: "exponential", ceiling: 90_000 }'
const FILE = Array.from({ length: 12 }, (_, i) => `export const setting${i} = loadSetting("name-${i}")`)
  .concat(PASSAGE)
  .join('\n')

test('a passage that the summary drops is lost by the client and kept by the planner', async () => {
  const across = await compareWithClient(chain('This goes on from before: a file was read.'))
  assert.equal(across.compactions, 1)
  assert.ok(across.reachBack.passages > 0)
  assert.equal(across.reachBack.client, 0)
  assert.equal(across.reachBack.thrifty, 1)
})

test('a passage in the summary is kept by the client', async () => {
  const across = await compareWithClient(chain(`This goes on from before. The file has:\n${PASSAGE}`))
  assert.equal(across.reachBack.client, 1)
})

test('a re-fetch after a compaction is counted, even if the planner still had the text in view', async () => {
  const { fetchedAgain } = await compareWithClient(chain('This goes on from before.'))
  assert.equal(fetchedAgain.results, 1)
  assert.equal(fetchedAgain.stillInThrifty, 1)
})

test('a life joins the sessions of a repository, without messages that the client carried over', () => {
  const joined = lives([chain('summary'), { ...chain('other summary'), name: 'second' }])
  const [life] = [...joined.values()]
  assert.equal(life!.stretches, 4)
  assert.equal(life!.messages.length, 2 * joinChain(chain('')).length)
  const ids = life!.messages.flatMap(({ parts }) => parts.flatMap(part => (part.type === 'tool-call' ? [part.id] : [])))
  assert.equal(new Set(ids).size, ids.length)
  const times = life!.messages.map(({ at }) => at!)
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  )
})

test('a long life joins the repositories of a client that has several', () => {
  const one = chain('summary')
  assert.equal(longLives([one]).size, 0)
  const [life] = [...longLives([one, { ...chain('other summary'), repo: 'elsewhere' }]).values()]
  assert.equal(life!.stretches, 4)
})

function chain(summary: string): Chain {
  const first = [
    said('Please look at the settings.', 1),
    call('r1', 'read_file', { path: 'src/settings.ts' }, 2),
    answer('r1', FILE, 3),
    call('b1', 'bash', { command: 'npm test' }, 4),
    answer('b1', 'all green', 5),
  ]
  const second = [
    call('r2', 'read_file', { path: 'src/settings.ts' }, 7),
    answer('r2', FILE, 8),
    call('e1', 'edit_file', { path: 'src/settings.ts', old_string: PASSAGE, new_string: 'const retryPolicy = {}' }, 9),
    answer('e1', 'done', 10),
    { role: 'assistant' as const, at: 11 * 1000, parts: [{ type: 'text' as const, text: 'Done.' }] },
  ]
  return {
    name: 'test',
    format: 'claude-code',
    repo: 'repo',
    stretches: [
      { head: [], messages: first },
      { head: [said(summary, 6)], messages: second },
    ],
  }
}

function said(text: string, at: number): Message {
  return { role: 'user', at: at * 1000, parts: [{ type: 'text', text }] }
}

function call(id: string, name: string, input: object, at: number): Message {
  return { role: 'assistant', at: at * 1000, parts: [{ type: 'tool-call', id, name, input }] }
}

function answer(id: string, output: string, at: number): Message {
  return { role: 'tool', at: at * 1000, parts: [{ type: 'tool-result', id, name: 'read_file', output }] }
}
