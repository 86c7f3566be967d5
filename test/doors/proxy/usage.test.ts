import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Usage } from '../../../src/model/types.ts'
import { setUp } from './setup.ts'

const USED = { input: 10, cacheRead: 1000, cacheWrite: 70, cacheWriteLong: 50, output: 30, reasoning: 20 }

const REQUESTS = [
  { path: '/v1/messages', body: { messages: [{ role: 'user', content: 'hi' }] } },
  {
    path: '/v1/chat/completions',
    body: { messages: [{ role: 'user', content: 'hi' }], stream_options: { include_usage: true } },
  },
  { path: '/v1/responses', body: { input: [{ role: 'user', content: 'hi' }] } },
]

for (const { path, body } of REQUESTS) {
  for (const stream of [false, true]) {
    test(`${path} ${stream ? 'streamed' : 'whole'}: the ledger has the whole usage of a call`, async () => {
      await using it = await setUp(() => ({ text: 'yes', usage: USED }))
      const asked = JSON.stringify({ model: 'one', stream, ...body })
      const answer = await fetch(it.url + path, {
        method: 'POST',
        body: asked,
        headers: { 'x-palimpsest-session': 'one' },
      })
      await answer.text()
      await it.proxy.idle()
      const events = await (await it.pal.session('one')).events()
      const found = events.flatMap(({ event }): Usage[] => (event.type === 'usage' ? [event.usage] : []))
      assert.deepEqual(found, [{ ...USED, model: 'one' }])
    })
  }
}

test('a streamed answer without usage is counted at once as an estimate, and only once', async () => {
  await using it = await setUp([{ text: 'The first answer, in a few words.' }, { text: 'And another one.' }])
  const messages = [{ role: 'user', content: 'Hello there, what is new?' }]
  const ask = async () => {
    const body = JSON.stringify({ model: 'gpt-4.1', stream: true, messages })
    const headers = { 'x-palimpsest-session': 'one' }
    await (await fetch(`${it.url}/v1/chat/completions`, { method: 'POST', body, headers })).text()
    await it.proxy.idle()
    const { calls, cost } = await it.proxy.totals()
    return { calls, isPaid: cost > 0 }
  }
  assert.deepEqual(await ask(), { calls: 1, isPaid: true })
  messages.push(
    { role: 'assistant', content: 'The first answer, in a few words.' },
    { role: 'user', content: 'Go on.' },
  )
  assert.deepEqual(await ask(), { calls: 2, isPaid: true })
})

test('a report of zeros, as of a gateway that does not count, is an estimate and no cache miss', async () => {
  const zeros = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
  const text = 'The first answer.'
  await using it = await setUp([
    { text, usage: { cacheWrite: 30_000 } },
    { text: 'And another one.', usage: zeros },
  ])
  const messages = [{ role: 'user', content: 'Hello there, what is new?' }]
  const ask = async () => {
    const body = JSON.stringify({ model: 'claude-opus-5', messages })
    const headers = { 'x-palimpsest-session': 'one' }
    await (await fetch(`${it.url}/v1/messages`, { method: 'POST', body, headers })).text()
    await it.proxy.idle()
    return it.proxy.totals()
  }
  const first = await ask()
  messages.push({ role: 'assistant', content: text }, { role: 'user', content: 'Go on.' })
  const second = await ask()
  assert.ok(second.calls === 2 && second.cost > first.cost + 0.01, `${first.cost} and ${second.cost}`)
  assert.equal(second.busts.provider, 0)
})

test('output before a stream broke off is counted, even if the provider reported only the beginning', async () => {
  const text = 'lorem ipsum dolor sit amet '.repeat(200)
  await using it = await setUp([{ text, usage: USED, cutAfter: 4 }])
  const body = JSON.stringify({ model: 'claude-opus-5', stream: true, messages: [{ role: 'user', content: 'hi' }] })
  const headers = { 'x-palimpsest-session': 'one' }
  const answer = await fetch(`${it.url}/v1/messages`, { method: 'POST', body, headers })
  await answer.text().catch(() => undefined)
  await it.proxy.idle()
  const events = await (await it.pal.session('one')).events()
  const [usage] = events.flatMap(({ event }): Usage[] => (event.type === 'usage' ? [event.usage] : []))
  assert.ok(usage!.output! > 500, `${usage!.output}`)
  assert.equal(usage!.cacheRead, 1000)
})
