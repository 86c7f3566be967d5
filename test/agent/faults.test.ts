/** A provider that is busy, overloaded, stalls, hangs up or refuses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pauseBefore, RETRY, troubleOf } from '../../src/agent/trouble.ts'
import type { Turn } from '../upstream.ts'
import { all, doneOf, only, openGround, stoppedAt } from './harness.ts'

const error = (status: number, message: string, headers?: Record<string, string>): Turn => ({
  error: { status, body: { type: 'error', error: { type: 'x', message } }, ...(headers ? { headers } : {}) },
})

for (const provider of ['openai-compatible', 'anthropic'] as const) {
  const faults: [string, Turn, RegExp][] = [
    ['429', error(429, 'slow down'), /429/],
    ['529', error(529, 'Overloaded'), /529/],
    ['503', error(503, 'try later'), /503/],
    ['a stream that is cut', { text: 'half of the answer', cutAfter: 3 }, /./],
    ['a stream that stalls', { text: 'half of the answer', stallAfter: 3 }, /sent no data for 0\.5 s/],
    ['an answer that never begins', { text: 'nothing', stallAfter: 0 }, /sent no data for 0\.5 s/],
  ]
  for (const [name, fault, reason] of faults) {
    test(`after ${name}, the model is asked again (${provider})`, async () => {
      const script = (_: unknown, index: number) => (index === 0 ? fault : { text: 'the whole answer' })
      await using ground = await openGround(script, { provider, stallMs: 500 })
      const events = await all(ground.agent.run('go'))
      assert.equal(doneOf(events).message, 'the whole answer')
      assert.equal(doneOf(events).steps, 1)
      const [retry] = only(events, 'retry')
      assert.equal(retry?.attempt, 1)
      assert.match(retry!.reason, reason)
      const { entries } = ground.agent.session.fold
      assert.deepEqual(
        entries.map(({ role }) => role),
        ['system', 'user', 'assistant'],
      )
      assert.equal(ground.upstream.requests[0]!.body, ground.upstream.requests[1]!.body)
    })
  }

  test(`after too many failures the turn ends, and the session is kept (${provider})`, async () => {
    await using ground = await openGround(
      (_, index) => (index < 3 ? error(529, 'Overloaded') : { text: 'back again' }),
      { provider, retry: { base: 1, attempts: 3 } },
    )
    const failed = doneOf(await all(ground.agent.run('go')))
    assert.equal(failed.reason, 'failed')
    assert.match(failed.message, /gave no answer after 3 attempts: 529/)
    assert.equal(doneOf(await all(ground.agent.resume())).message, 'back again')
    assert.equal(ground.agent.session.fold.entries.filter(({ role }) => role === 'user').length, 1)
  })

  test(`an error that a retry cannot fix fails at once (${provider})`, async () => {
    await using ground = await openGround([error(401, 'invalid key')], { provider })
    const done = doneOf(await all(ground.agent.run('go')))
    assert.match(done.message, /401: invalid key Check the key/)
    assert.equal(ground.upstream.requests.length, 1)
  })
}

test('a retry waits as long as the provider asks', async () => {
  await using ground = await openGround([
    error(429, 'slow down', { 'retry-after-ms': '7' }),
    error(429, 'slow down', { 'retry-after': '0' }),
    { text: 'ok' },
  ])
  const events = await all(ground.agent.run('go'))
  assert.deepEqual(
    only(events, 'retry').map(({ wait }) => wait),
    [7, 0],
  )
})

test('a provider that asks for a wait of hours is not retried', async () => {
  await using ground = await openGround([error(429, 'quota', { 'retry-after': '7200' })])
  const done = doneOf(await all(ground.agent.run('go')))
  assert.equal(done.reason, 'failed')
  assert.match(done.message, /429: quota/)
})

test('pauses between retries grow, with jitter, up to a limit', () => {
  const trouble = { kind: 'passing', reason: '' } as const
  for (let attempt = 1; attempt < 20; attempt++) {
    const grown = Math.min(RETRY.longest, RETRY.base * 2 ** (attempt - 1))
    const pause = pauseBefore(attempt, trouble, { ...RETRY, attempts: 20 })!
    assert.ok(pause >= grown * 0.75 && pause <= grown, `${attempt}: ${pause}`)
  }
})

test('a model that refuses a temperature is asked without one', async () => {
  await using ground = await openGround([
    error(400, "Unsupported value: 'temperature'"),
    { text: 'ok' },
    { text: 'ok' },
  ])
  assert.equal(doneOf(await all(ground.agent.run('go'))).reason, 'answered')
  await all(ground.agent.run('again'))
  const sent = ground.upstream.requests.map(({ json }) => json.temperature)
  assert.deepEqual(sent, [0.5, undefined, undefined])
})

test('a refused connection is retried, a refused request is not', async () => {
  const refused = await fetch('http://127.0.0.1:9/').catch(cause => cause)
  assert.equal(troubleOf(refused).kind, 'passing')
  assert.equal(troubleOf(Object.assign(new Error('no such model'), { statusCode: 404 })).kind, 'lasting')
  assert.equal(troubleOf({ type: 'overloaded_error', message: 'Overloaded' }).kind, 'passing')
})

test('stopping during the pause before a retry ends the turn', async () => {
  await using ground = await openGround([error(529, 'Overloaded')], { retry: { base: 60_000 } })
  assert.equal(doneOf(await stoppedAt('retry', ground, 'go')).reason, 'aborted')
})
