/** Live events: sent at once, only to permitted listeners, and without a gap after an interruption. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { said, startServer } from './harness.ts'

type Event = { event: string; id: string; data: ReturnType<typeof JSON.parse> }
type Served = Awaited<ReturnType<typeof startServer>>

/** Listens; `next` gives the next event. */
async function listen({ server }: Served, headers: Record<string, string> = {}) {
  const abort = new AbortController()
  const request = new Request('http://localhost/events', { headers, signal: abort.signal })
  const response = await server.fetch(request)
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  return {
    async next(): Promise<Event | undefined> {
      while (!rest.includes('\n\n')) {
        const { done, value } = await reader.read()
        if (done) return undefined
        rest += value
      }
      const end = rest.indexOf('\n\n')
      const fields = Object.fromEntries(
        rest
          .slice(0, end)
          .split('\n')
          .map(line => line.split(/: (.*)/s).slice(0, 2)),
      )
      rest = rest.slice(end + 2)
      return { event: fields.event, id: fields.id, data: JSON.parse(fields.data) }
    },
    stop: () => reader.cancel(),
  }
}

const put = ({ call }: Served, user: string, label: string, token?: string) =>
  call('PUT', `/users/${user}/blocks/${label}`, { body: { body: label }, ...(token ? { token } : {}) })

test('a listener gets events of changed blocks, proposals and sessions', async () => {
  const served = await startServer()
  const stream = await listen(served)
  assert.equal((await stream.next())?.event, 'open')
  await put(served, 'alice', 'goals')
  assert.deepEqual((await stream.next())?.data.label, 'goals')
  const made = await served.call('POST', '/users/alice/blocks/goals/propose', { body: { append: 'x', reasoning: 'r' } })
  assert.deepEqual((await stream.next())?.data.id, made.json.id)
  await served.call('POST', `/users/alice/proposals/${made.json.id}/approve`)
  assert.equal((await stream.next())?.data.state, 'approved')
  assert.equal((await stream.next())?.event, 'block.changed')
  await stream.stop()
  await served.server.close()
})

test('every append in this process is an event at once', async () => {
  const served = await startServer()
  const own = await served.pal.of('alice').session('mine')
  const stream = await listen(served)
  await stream.next()
  await served.memory.propose('alice', 'goals', { kind: 'new', body: 'Ship it.', agentId: 'agent', reasoning: 'r' })
  assert.equal((await stream.next())?.event, 'proposal.opened')
  // Two appends at once: reading the list once a second would report only the last one.
  await own.append(said('one'))
  await own.append(said('two'))
  const heard = [await stream.next(), await stream.next()].map(event => event?.data.length)
  assert.deepEqual(heard, [1, 2])
  await stream.stop()
  await served.server.close()
})

test('a session that another process writes to gives an event', async () => {
  const served = await startServer()
  const session = await served.pal.session('watched')
  const stream = await listen(served)
  await stream.next()
  await session.append(said('from another door'))
  const heard = await stream.next()
  assert.equal(heard?.event, 'session.changed')
  assert.deepEqual([heard?.data.session, heard?.data.length], ['watched', 1])
  await stream.stop()
  await served.server.close()
})

test('a listener continues where its connection was cut', async () => {
  const served = await startServer()
  const stream = await listen(served)
  await stream.next()
  await put(served, 'alice', 'one')
  const first = await stream.next()
  await stream.stop()
  await put(served, 'alice', 'two')
  await put(served, 'alice', 'three')
  const again = await listen(served, { 'last-event-id': first!.id })
  assert.equal((await again.next())?.data.label, 'two')
  assert.equal((await again.next())?.data.label, 'three')
  await again.stop()
  const lost = await listen(served, { 'last-event-id': 'another-42' })
  assert.equal((await lost.next())?.event, 'reset')
  await lost.stop()
  await served.server.close()
})

test('a listener gets no events of other users, and none after its token is revoked', async () => {
  const served = await startServer({ requireToken: true })
  const [alice, bob] = [await served.token('alice', 'user'), await served.token('bob', 'user')]
  const stream = await listen(served, { authorization: `Bearer ${bob.token}` })
  await stream.next()
  await put(served, 'alice', 'private', alice.token)
  await put(served, 'bob', 'own', bob.token)
  assert.equal((await stream.next())?.data.label, 'own')
  await await served.store.revokeToken(bob.id, 3)
  const admin = await served.token('root', 'admin')
  await put(served, 'bob', 'later', admin.token)
  assert.equal(await stream.next(), undefined)
  await served.server.close()
})

test('one user cannot take the places of all listeners', async () => {
  const served = await startServer({ requireToken: true })
  const [alice, bob] = [await served.token('alice', 'user'), await served.token('bob', 'agent')]
  const open = (token: string) =>
    served.server.fetch(new Request('http://localhost/events', { headers: { authorization: `Bearer ${token}` } }))
  const statuses: number[] = []
  for (let i = 0; i < 101; i++) statuses.push((await open(alice.token)).status)
  assert.deepEqual(statuses, [...Array(100).fill(200), 429])
  assert.equal((await open((await served.token('alice', 'agent')).token)).status, 429)
  assert.equal((await open(bob.token)).status, 200)
  await served.server.close()
})

test('closing the server ends the streams', async () => {
  const served = await startServer()
  const stream = await listen(served)
  await stream.next()
  await served.server.close()
  assert.equal(await stream.next(), undefined)
})
