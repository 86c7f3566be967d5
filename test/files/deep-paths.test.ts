/** Paths of many folders: the number of system calls to resolve them does not grow with them. */
import assert from 'node:assert/strict'
import { mkdtempSync, promises, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openRoot, withPlace } from '../../src/files/root.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-deep-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Counts the calls of the real function while something runs. */
async function resolvedDuring(work: () => Promise<unknown>): Promise<number> {
  const { realpath } = promises
  let calls = 0
  Object.assign(promises, {
    realpath: (...args: Parameters<typeof realpath>) => {
      calls++
      return realpath(...args)
    },
  })
  syncBuiltinESMExports()
  try {
    await work()
    return calls
  } finally {
    Object.assign(promises, { realpath })
    syncBuiltinESMExports()
  }
}

const deep = (depth: number) => `${'a/'.repeat(depth)}file.txt`

test('2,000 folders are resolved with a logarithmic number of calls, whether they exist or not', async () => {
  const root = await openRoot(folder)
  const found = async (make: boolean) => {
    const keys: string[] = []
    const calls = await resolvedDuring(() =>
      withPlace({ root, path: deep(2000), make }, async place => keys.push(place.key)).catch(error => {
        assert.equal(error.code, 'FILE_NOT_FOUND')
      }),
    )
    return { calls, keys }
  }
  const missing = await found(false)
  assert.deepEqual(missing.keys, [])
  const made = await found(true)
  const there = await found(true)
  assert.deepEqual([made.keys, there.keys], [[deep(2000)], [deep(2000)]])
  for (const { calls } of [missing, made, there]) assert.ok(calls > 0 && calls <= 14, `${calls} calls`)
})

test('a path that is too long is refused, and the error shows only its beginning', async () => {
  const root = await openRoot(folder)
  const reading = withPlace({ root, path: deep(3000), make: true }, async place => place.key)
  await assert.rejects(reading, (error: Error & { code: string }) => {
    assert.equal(error.code, 'PATH_REFUSED')
    assert.match(error.message, /longer than 4096 characters/)
    return error.message.length < 200
  })
})
