import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startUpstream } from './upstream.ts'

const ask = (url: string, body: object) => fetch(`${url}/v1/messages`, { method: 'POST', body: JSON.stringify(body) })

test('the scripted provider keeps requests byte for byte and can fail', async () => {
  await using upstream = await startUpstream([{ error: { status: 529, body: { type: 'error' } } }])
  const response = await ask(upstream.url, { model: 'ä', n: 1.5 })
  assert.equal(response.status, 529)
  assert.equal(upstream.requests[0]?.body, '{"model":"ä","n":1.5}')
  assert.equal((await ask(upstream.url, {})).status, 500)
})

test('the scripted provider can break off a stream', async () => {
  await using upstream = await startUpstream(() => ({ text: 'hello', cutAfter: 2 }))
  const response = await ask(upstream.url, { stream: true })
  await assert.rejects(response.text())
})
