/** When entries reach the disk, and the state after a proxy was killed. */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { type Script, startUpstream } from '../../upstream.ts'
import { entriesOf, largeOutput } from './setup.ts'

type Running = { url: string; child: ChildProcess }

async function startProxy(t: TestContext, home: string, upstream: string, policy: string): Promise<Running> {
  const child = fork(join(import.meta.dirname, 'proxy-process.ts'), [home, upstream, policy])
  t.after(() => child.kill('SIGKILL'))
  const [url] = await once(child, 'message')
  return { url, child }
}

/** Resolves when everything that was answered is recorded. */
async function idle({ child }: Running): Promise<void> {
  const said = once(child, 'message')
  child.send('idle')
  await said
}

async function worldFor(t: TestContext, script: Script) {
  const home = await mkdtemp(join(tmpdir(), 'palimpsest-kill-'))
  t.after(() => rm(home, { recursive: true }))
  const arrivals: (() => void)[] = []
  const upstream = await startUpstream((request, index) => {
    for (const arrived of arrivals.splice(0)) arrived()
    return typeof script === 'function' ? script(request, index) : script[index]!
  })
  t.after(() => upstream.close())
  const arrival = () => new Promise<void>(resolve => arrivals.push(resolve))
  return { home, upstream, arrival }
}

const HEADERS = { 'x-palimpsest-session': 'one' }
const user = (content: unknown) => ({ role: 'user', content })

async function ask(url: string, messages: readonly object[], signal?: AbortSignal): Promise<object> {
  const body = JSON.stringify({ model: 'claude-sonnet-4-5', messages })
  const answer = await fetch(`${url}/v1/messages`, { method: 'POST', body, headers: HEADERS, signal: signal ?? null })
  const { content } = (await answer.json()) as { content: unknown }
  return { role: 'assistant', content }
}

/** Locks the ledger: nobody else can write until it is released. */
function lock(home: string): () => void {
  const db = new DatabaseSync(join(home, 'ledger.sqlite'))
  db.exec('BEGIN IMMEDIATE')
  return () => {
    db.exec('ROLLBACK')
    db.close()
  }
}

async function kept(home: string): Promise<number> {
  const pal = await openPalimpsest({ home })
  const { length } = await entriesOf(pal, 'one')
  const { violations } = await (await pal.session('one')).verify()
  assert.deepEqual(violations, [])
  await pal.close()
  return length
}

/** A proxy in the middle of a conversation, with a ledger that is locked. */
async function lockedProxy(t: TestContext, policy: string) {
  const { home, upstream, arrival } = await worldFor(t, () => ({ text: 'yes' }))
  const proxy = await startProxy(t, home, upstream.url, policy)
  const talk: object[] = [user('one')]
  talk.push(await ask(proxy.url, talk), user('two'))
  await idle(proxy)
  return { home, upstream, arrival, proxy, url: proxy.url, talk, unlock: lock(home) }
}

test('a request that is only recorded is sent before it is on disk, but answered only after', async t => {
  const { home, arrival, url, talk, unlock } = await lockedProxy(t, 'none')
  const arrived = arrival()
  let answered = false
  const answer = ask(url, talk).finally(() => {
    answered = true
  })
  await arrived
  assert.equal(answered, false)
  assert.equal(await kept(home), 1)
  unlock()
  await answer
  assert.equal(await kept(home), 3)
})

test('a proxy killed between sending and writing loses nothing, because the client sends everything again', async t => {
  const { home, upstream, arrival, proxy: first, talk, unlock } = await lockedProxy(t, 'none')
  const arrived = arrival()
  const answer = ask(first.url, talk)
  await arrived
  const ended = once(first.child, 'exit')
  first.child.kill('SIGKILL')
  await assert.rejects(answer)
  await ended
  unlock()
  assert.equal(await kept(home), 1)
  const second = await startProxy(t, home, upstream.url, 'none')
  talk.push(await ask(second.url, talk), user('three'))
  await ask(second.url, talk)
  assert.equal(await kept(home), 5)
})

test('a request that may be edited is on disk before it is sent', async t => {
  const { home, arrival, url, talk, unlock } = await lockedProxy(t, 'thrifty')
  let asked = false
  const arrived = arrival().then(() => {
    asked = true
  })
  const answer = ask(url, talk)
  // Meanwhile three other requests are answered, so the first had enough time.
  for (let i = 0; i < 3; i++) await (await fetch(`${url}/v1/models`)).text()
  assert.equal(asked, false)
  unlock()
  await Promise.all([answer, arrived])
  assert.equal(await kept(home), 3)
})

test('a proxy that is killed repeatedly sends the same requests as one that keeps running', {
  timeout: 600_000,
}, async t => {
  const rounds = 12
  const call = (index: number) => ({
    calls: [{ id: `c${index}`, name: 'bash', input: { command: `npm test ${index}` } }],
  })
  const run = async (kills: boolean): Promise<string[]> => {
    const { home, upstream } = await worldFor(t, (_, index) => call(index))
    let proxy = await startProxy(t, home, upstream.url, 'thrifty')
    const talk: object[] = [user('Build it.')]
    for (let round = 0; round < rounds; round++) {
      const answer = await ask(proxy.url, talk)
      const result = { type: 'tool_result', tool_use_id: `c${round}`, content: largeOutput(round) }
      talk.push(answer, user([result]))
      if (!kills || round % 3 !== 2) continue
      const ended = once(proxy.child, 'exit')
      proxy.child.kill('SIGKILL')
      await ended
      proxy = await startProxy(t, home, upstream.url, 'thrifty')
    }
    return upstream.requests.map(({ body }) => body)
  }
  const [killed, alive] = [await run(true), await run(false)]
  assert.deepEqual(killed, alive)
  assert.ok(alive.at(-1)!.length < rounds * 12_000, 'nothing was edited')
})
