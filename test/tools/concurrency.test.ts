import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { appendFileSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { changeFile } from '../../src/files/atomic.ts'
import { openRoot } from '../../src/files/root.ts'
import { appendToFile, editFile } from '../../src/tools/edit-files.ts'
import { makeSandbox } from './sandbox.ts'

const WRITER = join(import.meta.dirname, 'writer.ts')

test('1,000 edits of one file by five processes are all kept', { timeout: 600_000 }, async () => {
  const { root, put, get } = await makeSandbox()
  await put('log.md', 'begin\n<end>\n')
  const names = ['a', 'b', 'c', 'd', 'e']
  const acknowledged = await Promise.all(names.map(name => startWriter(root, 'log.md', name, 200, 'edit').done))
  const lines = (await get('log.md')).split('\n')
  assert.equal(acknowledged.flat().length, 1000)
  assert.deepEqual(lines.slice(1, -2).sort(), acknowledged.flat().sort())
  assert.deepEqual([lines[0], lines.at(-2), lines.at(-1)], ['begin', '<end>', ''])
})

test('concurrent changes within one process are all kept', async () => {
  const { run, put, get } = await makeSandbox()
  await put('log.md', '')
  const numbers = Array.from({ length: 100 }, (_, i) => i)
  await Promise.all(numbers.map(i => run(appendToFile, { path: 'log.md', content: `${i}\n` })))
  const lines = (await get('log.md')).split('\n').slice(0, -1)
  assert.deepEqual(
    lines.map(Number).sort((a, b) => a - b),
    numbers,
  )
})

test('a file reached by two paths has one lock', async () => {
  const { root, run, put, get } = await makeSandbox()
  await put('a/log.md', '')
  const roots = [root, join(root, 'a')]
  await Promise.all(
    Array.from({ length: 60 }, (_, i) =>
      i % 2 === 0
        ? run(appendToFile, { path: 'a/log.md', content: 'x' })
        : openRoot(roots[1] ?? '').then(inner => changeFile({ root: inner, path: 'log.md' }, {}, now => `${now}x`)),
    ),
  )
  assert.equal(await get('a/log.md'), 'x'.repeat(60))
})

test('a write of a program without locks is not overwritten, because the change is computed again', async () => {
  const { root, put, get } = await makeSandbox()
  await put('notes.md', 'one\n')
  let calls = 0
  await changeFile({ root: await openRoot(root), path: 'notes.md' }, {}, now => {
    if (++calls === 1) appendFileSync(join(root, 'notes.md'), 'two\n')
    return `${now}three\n`
  })
  assert.equal(await get('notes.md'), 'one\ntwo\nthree\n')
  assert.equal(calls, 2)
})

test('a file that appears during its creation is not overwritten', async () => {
  const { root, get } = await makeSandbox()
  await changeFile({ root: await openRoot(root), path: 'new.md' }, {}, now => {
    if (now === null) writeFileSync(join(root, 'new.md'), 'theirs\n')
    return `${now ?? ''}ours\n`
  })
  assert.equal(await get('new.md'), 'theirs\nours\n')
})

test('a file that changes at every read is given up and not changed by us', async () => {
  const { root, put } = await makeSandbox()
  await put('busy.md', '')
  let n = 0
  const attempt = changeFile({ root: await openRoot(root), path: 'busy.md' }, {}, now => {
    appendFileSync(join(root, 'busy.md'), `${n++}\n`)
    return `${now}ours\n`
  })
  await assert.rejects(attempt, { code: 'FILE_CHANGED' })
  assert.doesNotMatch(await readFile(join(root, 'busy.md'), 'utf8'), /ours/)
})

test('kill -9 at any moment leaves an old or a new version, no lock and no temporary files', {
  timeout: 600_000,
}, async () => {
  const { root, run, put, get } = await makeSandbox()
  await put('big.txt', `${'0'.repeat(200_000)}\n`)
  await put('log.md', '<end>\n')
  for (let round = 0; round < 12; round++) {
    const writers = [
      startWriter(root, 'big.txt', `w${round}`, 10_000, 'grow'),
      startWriter(root, 'log.md', `e${round}`, 10_000, 'edit'),
    ]
    await Promise.all(writers.map(writer => writer.acknowledges(2 + round)))
    for (const writer of writers) writer.kill()
    const seen = (await Promise.all(writers.map(writer => writer.done)))[1] ?? []
    assert.match(await get('big.txt'), /^(\d)\1{199999}\n$/, `round ${round}: a mix`)
    const lines = new Set((await get('log.md')).split('\n'))
    assert.deepEqual(
      seen.filter(line => !lines.has(line)),
      [],
      `round ${round}: acknowledged and lost`,
    )
  }
  // A later process is not blocked, and removes temporary files.
  const tidy = startWriter(root, 'log.md', 'tidy', 1, 'edit')
  assert.deepEqual(await tidy.done, ['tidy-0'])
  assert.deepEqual((await readdir(root)).sort(), ['big.txt', 'log.md'])
  assert.match((await run(editFile, { path: 'log.md', old_string: '<end>', new_string: 'done' })).text, /^Edited/)
})

type Writer = { done: Promise<string[]>; acknowledges: (count: number) => Promise<void>; kill: () => void }

/** `done` gives the acknowledged lines after the process has ended. */
function startWriter(root: string, path: string, name: string, count: number, mode: string): Writer {
  const child = spawn(process.execPath, [WRITER, root, path, name, String(count), mode], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  let killed = false
  const lines = () => output.split('\n').slice(0, -1)
  child.stderr.on('data', bytes => (errors += bytes))
  const closed = new Promise<void>((resolve, reject) =>
    child.on('close', code => (code === 0 || killed ? resolve() : reject(new Error(errors)))),
  )
  const waiting: { count: number; resolve: () => void }[] = []
  child.stdout.on('data', bytes => {
    output += bytes
    for (const { count, resolve } of waiting) if (lines().length >= count) resolve()
  })
  return {
    done: closed.then(lines),
    acknowledges: count => Promise.race([new Promise<void>(resolve => waiting.push({ count, resolve })), closed]),
    kill: () => {
      killed = true
      child.kill('SIGKILL')
    },
  }
}
