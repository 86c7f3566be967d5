import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { readSessions, readTranscript, readTranscriptStream } from '../../../src/formats/transcripts/read-transcript.ts'
import type { PalimpsestError } from '../../../src/model/errors.ts'
import { fileOf, outline } from '../../contracts/transcript-reader.ts'

const line = (uuid: string, content: string) =>
  JSON.stringify({
    type: 'user',
    uuid,
    parentUuid: null,
    isSidechain: false,
    sessionId: 's',
    message: { role: 'user', content },
  })

async function failure(path: string): Promise<PalimpsestError> {
  return readTranscript(path).then(
    () => assert.fail('it was read'),
    (error: PalimpsestError) => error,
  )
}

test('an unreadable file is an error with a stable code that says what to do', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
  const cases: [path: string, code: string, says: RegExp][] = [
    [join(folder, 'absent'), 'FILE_NOT_FOUND', /Check that the file exists/],
    [folder, 'FORMAT_UNKNOWN', /is a folder/],
    [fileOf(''), 'FORMAT_UNKNOWN', /is empty/],
    [fileOf('hello\nworld\n'), 'FORMAT_UNKNOWN', /Known formats: claude-code, codex, pi/],
    [fileOf('{"a":1}\n{"b":2}\n'), 'FORMAT_UNKNOWN', /Known formats/],
    [fileOf('{"simulations":[{"messages":['), 'FORMAT_BROKEN', /truncated/],
    [fileOf('{"type":"user","mess'), 'FORMAT_BROKEN', /not valid JSON/],
    [fileOf(`${JSON.stringify({ type: 'session', id: 'x', cwd: '/' })}\n`), 'FORMAT_UNKNOWN', /has no messages/],
    [fileOf(Uint8Array.from([0, 1, 2, 255, 254, 10, 0])), 'FORMAT_UNKNOWN', /Known formats/],
  ]
  for (const [path, code, says] of cases) {
    const error = await failure(path)
    assert.equal(error.code, code, error.message)
    assert.match(error.message, says)
    await assert.rejects(readSessions(path).next(), { code, message: error.message })
  }
  await rm(folder, { recursive: true })
})

test('a format can be given instead of detected', async () => {
  const { format } = await readTranscript(fileOf(`${line('a', 'x')}\n`), { format: 'claude-code' })
  assert.equal(format, 'claude-code')
  const other = await readTranscript(fileOf('no mark of aider\n'), { format: 'aider' })
  assert.deepEqual(outline(other.sessions[0]!.messages), ['assistant: no mark of aider'])
})

test('a line of 50 MB is read, a longer one is reported and left out', async () => {
  const long = 'x'.repeat(50 * 1024 * 1024)
  const path = fileOf([line('a', 'before'), line('b', long), line('c', 'after'), ''].join('\n'))
  const whole = await readTranscript(path)
  assert.equal(whole.sessions[0]!.messages.length, 3)
  assert.equal(whole.problems.length, 0)
  const bounded = await readTranscript(path, { maxLine: 1024 * 1024 })
  assert.deepEqual(outline(bounded.sessions[0]!.messages), ['user: before', 'user: after'])
  assert.deepEqual(
    bounded.problems.map(problem => problem.line),
    [2],
  )
})

test('a last line without an end, or one that is too long, is still handled', async () => {
  const path = fileOf(`${line('a', 'one')}\n${line('b', 'two')}`)
  const read = await readTranscript(path)
  assert.deepEqual(outline(read.sessions[0]!.messages), ['user: one', 'user: two'])
  const bounded = await readTranscript(fileOf(`${line('a', 'one')}\n${line('b', 'x'.repeat(5000))}`), { maxLine: 1000 })
  assert.deepEqual(
    bounded.problems.map(problem => problem.line),
    [2],
  )
})

test('with a missing line break or a line cut by a crash, all whole records are read', async () => {
  const said = ['zero', 'one', 'two {"a":{"b":1}} and "c":', 'three']
  const [zero, one, two, three] = said.map((text, i) => line(`${i}`, text))
  const file = `${zero}\n${one}${two}\n${one!.slice(0, 70)}${three}\n${two!.slice(0, -9)}\n`
  const read = await readTranscript(fileOf(file))
  const texts = said.map(text => `user: ${text}`)
  assert.deepEqual(outline(read.sessions[0]!.messages), texts)
  assert.deepEqual(
    read.problems.map(({ line: number }) => number),
    [2, 3, 4],
  )
})

test('bytes that are not UTF-8 are reported with the line and replaced', async () => {
  const bytes = Buffer.concat([
    Buffer.from(`${line('a', 'fine')}\n`),
    Buffer.from(line('b', 'b@d').replace('@', 'QQ')).map(byte => (byte === 0x51 ? 0xff : byte)),
    Buffer.from('\n'),
  ])
  const { sessions, problems } = await readTranscript(fileOf(bytes))
  assert.deepEqual(outline(sessions[0]!.messages), ['user: fine', 'user: b\uFFFD\uFFFDd'])
  assert.deepEqual(
    problems.map(problem => problem.line),
    [2],
  )
})

test('characters across chunks are read whole', async () => {
  const text = '🜁é'.repeat(400_000)
  const { sessions, problems } = await readTranscript(fileOf(`${line('a', text)}\n`))
  assert.deepEqual(problems, [])
  assert.deepEqual(sessions[0]!.messages[0]!.parts, [{ type: 'text', text }])
})

test('lone surrogates are replaced and reported, pairs stay', async () => {
  const { sessions, problems } = await readTranscript(
    fileOf(`${line('a', 'x').replace('"x"', '"\\ud83d\\ude00 \\ud800"')}\n`),
  )
  assert.deepEqual(outline(sessions[0]!.messages), ['user: 😀 \uFFFD'])
  assert.deepEqual(
    problems.map(problem => problem.line),
    [1],
  )
})

test('a format is recognised even if the first lines are broken', async () => {
  const { format, problems } = await readTranscript(fileOf(`{"cut\n\n[1,2\n${line('a', 'x')}\n`))
  assert.equal(format, 'claude-code')
  assert.deepEqual(
    problems.map(problem => problem.line),
    [1, 3],
  )
})

test('a single JSON value is read up to a limit', async () => {
  const path = fileOf(JSON.stringify({ simulations: [], tasks: [], pad: 'x'.repeat(2000) }, null, 1))
  await assert.rejects(readTranscript(path, { maxDocument: 1000 }), { code: 'TOO_LARGE' })
})

test('the stream yields messages before the end of the file', async () => {
  const path = fileOf(`${line('a', 'first')}\n${`${line('b', 'x'.repeat(1000))}\n`.repeat(20_000)}{"cut`)
  const types: string[] = []
  for await (const event of readTranscriptStream(path)) {
    types.push(event.type)
    if (event.type === 'message') break
  }
  assert.deepEqual(types, ['format', 'session', 'message'])
})

test('a complete session is yielded before the end of the file', async () => {
  const chats = [1, 2, 3].map(n => `# aider chat started at 2025-01-0${n} 10:00:00\n\n#### ask ${n}\n\nanswer\n`)
  const path = fileOf(`${chats[0]}# aider chat started at 2025-01-01 11:00:00\n${chats[1]}${chats[2]}`)
  const given: [id: string, place: number][] = []
  for await (const { session, place } of readSessions(path)) given.push([session.id, place])
  assert.deepEqual(given, [
    ['sample@2025-01-01 10:00:00', 1],
    ['sample@2025-01-02 10:00:00', 2],
    ['sample@2025-01-03 10:00:00', 3],
  ])
})

test('a file of many sessions is read by a process with little memory', async () => {
  const text = 'x'.repeat(100_000)
  const compacted = (n: number) =>
    [line(`${n}`, text), JSON.stringify({ ...JSON.parse(line(`${n}c`, `summary ${n}`)), isCompactSummary: true })].join(
      '\n',
    )
  const path = fileOf(Array.from({ length: 1200 }, (_, n) => `${compacted(n)}\n`).join(''))
  const module = new URL('../../../src/formats/transcripts/read-transcript.ts', import.meta.url).href
  const program = `
    const { readSessions } = await import(${JSON.stringify(module)})
    let messages = 0
    for await (const { session } of readSessions(${JSON.stringify(path)})) messages += session.messages.length
    console.log(messages)`
  const heap = '--max-old-space-size=48'
  const { stdout } = await promisify(execFile)(process.execPath, [heap, '--input-type=module', '-e', program])
  assert.equal(stdout, '2400\n')
})
