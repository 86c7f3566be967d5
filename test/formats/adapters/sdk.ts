/**
 * Shared code of the tests with real SDKs: a tool loop with a scripted provider, and a comparison of the requests that
 * reach the provider without us, through us, and through us with the first result cleared.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SyncSession } from '../../../src/doors/library/followed-session.ts'
import type { Message, Usage } from '../../../src/model/types.ts'
import { type Received, startUpstream, type Turn } from '../../upstream.ts'

/** Two files at once, then one, then an answer; arguments in a model's own spelling. */
export const SCRIPT: Turn[] = [
  {
    thinking: { text: 'Both files are needed.', signature: 'c2lnbmF0dXJlIDE=' },
    text: 'I read both.',
    calls: [
      { name: 'read_file', input: { path: 'a.txt' }, arguments: '{ "path": "a.txt" }' },
      { name: 'read_file', input: { path: 'ä"b".txt' } },
    ],
    usage: { input: 100, cacheRead: 40, output: 20 },
  },
  { calls: [{ name: 'read_file', input: { path: 'c.txt' } }], usage: { input: 50, cacheRead: 140, output: 10 } },
  { text: 'Done: a, b and c.', usage: { input: 30, cacheRead: 190, output: 5 } },
]

export const CLEARED = '[cleared]'
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
export const SYSTEM = 'You read files.'
export const QUESTION = 'What is in the files, and in the picture?'
export const SCHEMA = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } as const

export function readFile({ path }: { path: string }): string {
  return `content of ${path}, which is long`
}

export function clearFirstResult(messages: readonly Message[]): Message[] {
  let done = false
  return messages.map(message => ({
    ...message,
    parts: message.parts.map(part => {
      if (part.type !== 'tool-result' || done) return part
      done = true
      return { ...part, output: CLEARED, edit: 'e1' }
    }),
  }))
}

/** A session in memory; its view is the edited conversation, stored and read again. */
export function memorySession(edit: (messages: Message[]) => Message[]): SyncSession & { usages: Usage[] } {
  const usages: Usage[] = []
  return {
    usages,
    sync: async messages => ({ messages: edit(JSON.parse(JSON.stringify(messages))) }),
    reportUsage: async usage => void usages.push(usage),
  }
}

/** Runs a loop with the script and gives the requests. */
export async function requestsOf(loop: (url: string) => Promise<void>): Promise<Received[]> {
  await using upstream = await startUpstream(SCRIPT)
  await loop(upstream.url)
  assert.equal(upstream.requests.length, SCRIPT.length)
  return upstream.requests
}

type Edit = (messages: Message[]) => Message[]

/** `loop` plays the whole script; with an edit its messages go through us. */
export function sdkTests(name: string, loop: (url: string, edit?: Edit) => Promise<void>): void {
  test(`${name} sends the same bytes with and without us`, async () => {
    const without = await requestsOf(url => loop(url))
    const through = await requestsOf(url => loop(url, messages => messages))
    assert.deepEqual(bodies(through), bodies(without))
  })

  test(`${name} sends the same bytes, except for a cleared result`, async () => {
    const without = await requestsOf(url => loop(url))
    const through = await requestsOf(url => loop(url, clearFirstResult))
    const first = JSON.stringify(readFile({ path: 'a.txt' })).slice(1, -1)
    assert.deepEqual(
      bodies(through),
      bodies(without).map(body => body.replace(first, CLEARED)),
    )
    assert.ok(!bodies(through).join().includes(first))
    assert.ok(bodies(without).join().includes(first))
  })
}

function bodies(requests: readonly Received[]): string[] {
  return requests.map(({ body }) => body)
}
