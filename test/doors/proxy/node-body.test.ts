import assert from 'node:assert/strict'
import { PassThrough, Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { collected, toWebBody } from '../../../src/doors/proxy/node-body.ts'

const bytes = (text: string) => new Uint8Array(Buffer.from(text))

/** A body, and what its watchers got. */
function watched(source: Readable, first: string[] = []) {
  const told: string[] = []
  const take = (chunk: Uint8Array) => void told.push(Buffer.from(chunk).toString())
  const end = async () => void told.push('(end)')
  return { told, body: toWebBody({ source, first: first.map(bytes), take, end }) }
}

describe('a body as a web stream', () => {
  test('has the chunks that were read before and those after them; only later ones are shown to the watcher', async () => {
    const { told, body } = watched(Readable.from([Buffer.from('c'), Buffer.from('d')]), ['a', 'b'])
    assert.equal(await new Response(body).text(), 'abcd')
    assert.deepEqual(told, ['c', 'd', '(end)'])
  })

  test('reads nothing before it is asked to', async () => {
    let reads = 0
    const source = new Readable({
      read() {
        this.push(reads++ < 3 ? 'x' : null)
      },
      highWaterMark: 1,
    })
    const { body } = watched(source)
    assert.equal(reads, 0)
    const reader = body.getReader()
    await reader.read()
    assert.ok(reads >= 1)
    await reader.cancel()
    assert.equal(source.destroyed, true)
  })

  test('that breaks ends for the watcher and fails for the reader', async () => {
    const source = new PassThrough()
    const { told, body } = watched(source)
    source.write('a')
    const reader = body.getReader()
    await reader.read()
    source.destroy(new Error('gone'))
    await assert.rejects(reader.read(), /gone/)
    assert.deepEqual(told, ['a', '(end)'])
  })

  test('that is cancelled ends for the watcher', async () => {
    const { told, body } = watched(new PassThrough())
    await body.cancel()
    assert.deepEqual(told, ['(end)'])
  })
})

test('a stream is collected whole, or fails where it broke', async () => {
  assert.equal((await collected(Readable.from([Buffer.from('a'), Buffer.from('b')]))).toString(), 'ab')
  const broken = new PassThrough()
  const waiting = collected(broken)
  broken.destroy()
  await assert.rejects(waiting, /disconnected/)
  const failed = new PassThrough()
  const failing = collected(failed)
  failed.destroy(new Error('reset'))
  await assert.rejects(failing, /reset/)
})

test('a body over the limit is refused, and its rest is dropped', async () => {
  const source = new PassThrough()
  const refused = assert.rejects(collected(source, 10), { code: 'TOO_LARGE' })
  for (let i = 0; i < 5; i++) source.write('12345')
  source.end()
  await refused
  assert.equal((await collected(Readable.from([Buffer.from('1234567890')]), 10)).length, 10)
})
