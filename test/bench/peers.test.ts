import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import type { Peer } from '../../bench/peers/peer.ts'
import { loadPeers } from '../../bench/peers/peers.ts'
import { loadCounter } from '../../src/model/tokens.ts'
import type { Message } from '../../src/model/types.ts'

const here = existsSync(new URL('../../bench/node_modules/deepagents', import.meta.url))
const skip = here ? false : 'the peers are not installed: npm run bench:install'
const lines: string[] = []
const peers = await loadPeers(line => lines.push(line))
const count = await loadCounter()

test('a peer with a missing package is named with the install command', () => {
  for (const line of lines) assert.match(line, /^skipped: .*npm run bench:install$/)
  assert.equal(lines.length === 0, here)
})

test('settings of a peer have distinct names, and every peer has a default', () => {
  const names = peers.map(({ name, setting }) => `${name}, ${setting}`)
  assert.equal(new Set(names).size, names.length)
  for (const name of new Set(peers.map(peer => peer.name))) {
    // Our variation of a peer ("… with …") is compared beside the peer itself, which has the default.
    const original = name.replace(/ with .*/, '')
    assert.ok(
      peers.some(peer => peer.name === original && peer.setting.startsWith('default')),
      name,
    )
  }
})

test('a session far below all limits is sent unchanged, except by peers without limits', async () => {
  for (const peer of peers.filter(({ name }) => !name.startsWith('ai-sdk'))) {
    const messages = [said('Hello'), call('1', { path: 'a.ts' }), answer('1', 'short')]
    const shown = await views(peer, messages)
    assert.deepEqual(shown.at(-1), messages, `${peer.name}, ${peer.setting}`)
  }
})

test('opencode-dcp keeps the last of two equal calls and purges the input of a failed one', { skip }, async () => {
  const [peer] = peers.filter(({ name, setting }) => name.startsWith('opencode-dcp') && setting.startsWith('other'))
  const failed = { ...call('3', { path: 'missing.ts', query: 'a long query that failed' }) }
  const messages = [
    said('Hello'),
    call('1', { path: 'a.ts' }),
    answer('1', 'the first copy'),
    call('2', { path: 'a.ts' }),
    answer('2', 'the second copy'),
    failed,
    answer('3', 'no such file', true),
    ...[4, 5, 6, 7, 8].flatMap(n => [call(`${n}`, { path: `b${n}.ts` }), answer(`${n}`, `file ${n}`)]),
  ]
  const last = (await views(peer!, messages)).at(-1)!
  assert.match(outputs(last)[0]!, /^\[Output removed/)
  assert.equal(outputs(last)[1], 'the second copy')
  assert.doesNotMatch(JSON.stringify(last), /a long query that failed/)
  assert.match(JSON.stringify(failed), /a long query that failed/, 'the recorded session is not changed')
})

test('deepagents replaces a large result by its first lines', { skip }, async () => {
  const [peer] = peers.filter(({ name, setting }) => name.startsWith('deepagents') && setting.startsWith('default'))
  const large = Array.from({ length: 9000 }, (_, i) => `line ${i} of the output`).join('\n')
  const [shown] = (await views(peer!, [said('Hello'), call('1', { command: 'x' }, 'bash'), answer('1', large)])).slice(
    -1,
  )
  const [output] = outputs(shown!)
  assert.ok(output!.length < 5000)
  assert.match(output!, /line 0 of the output/)
  assert.match(output!, /large_tool_results/)
})

/** The messages that a peer sends before each assistant message, and once more at the end. */
async function views(peer: Peer, messages: readonly Message[]): Promise<(readonly Message[])[]> {
  const run = peer.start(count)
  const found: (readonly Message[])[] = []
  let fresh = 0
  const ends = [...messages.flatMap(({ role }, i) => (role === 'assistant' ? [i] : [])), messages.length]
  for (const end of ends) {
    found.push(await run.view({ messages: messages.slice(0, end), fresh, at: end, before: fresh, overhead: 0 }))
    fresh = end
  }
  return found
}

function outputs(messages: readonly Message[]): string[] {
  return messages.flatMap(({ parts }) =>
    parts.flatMap(part => (part.type === 'tool-result' && typeof part.output === 'string' ? [part.output] : [])),
  )
}

function said(text: string): Message {
  return { role: 'user', at: 1, parts: [{ type: 'text', text }] }
}

function call(id: string, input: object, name = 'search'): Message {
  return { role: 'assistant', at: 1, parts: [{ type: 'tool-call', id, name, input }] }
}

function answer(id: string, output: string, isError = false): Message {
  const part = { type: 'tool-result' as const, id, name: 'search', output }
  return { role: 'tool', at: 1, parts: [isError ? { ...part, isError } : part] }
}
