import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { palimpsestExport, palimpsestRecording } from '../../../src/formats/transcripts/palimpsest.ts'
import { readTranscript } from '../../../src/formats/transcripts/read-transcript.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { openSample, SAMPLE_FILE } from '../../../src/session/sample.ts'
import { runCli } from '../../cli.ts'
import { transcriptReaderContract } from '../../contracts/transcript-reader.ts'

const say = (role: string, text: string) => ({ role, parts: [{ type: 'text', text }] })
const call = { role: 'assistant', parts: [{ type: 'tool-call', id: 'c1', name: 'ls', input: { path: '.' } }] }
const result = { role: 'tool', parts: [{ type: 'tool-result', id: 'c1', name: 'ls', output: 'a.ts' }] }
const messages = [say('user', 'go'), call, result, say('assistant', 'done')]
const ledger = messages.map((message, seq) => ({ seq, at: seq, type: 'entry', message }))
const edit = { seq: 4, at: 4, type: 'edit', edits: [] }
const outline = ['user: go', 'assistant: ls#c1{"path":"."}', 'tool: ls#c1=a.ts', 'assistant: done']

transcriptReaderContract(palimpsestExport, [
  {
    name: 'two sessions',
    file: {
      format: 'palimpsest-sessions',
      version: 1,
      sessions: [
        { id: 'one', model: 'gpt-5', ledger: [...ledger, edit] },
        { id: 'two', ledger: ledger.slice(0, 1) },
      ],
    },
    sessions: { one: outline, two: outline.slice(0, 1) },
  },
])

transcriptReaderContract(palimpsestRecording, [
  {
    name: 'one session',
    file: [
      { policy: 'agent', model: 'gpt-5' },
      ...ledger.map(({ at, type, message }) => ({ at, event: { type, message } })),
    ],
    sessions: { sample: outline },
  },
  {
    name: 'a part of a type that is unknown, though every object has that name',
    file: [
      { policy: 'agent' },
      { at: 0, event: { type: 'entry', message: say('user', 'go') } },
      { at: 1, event: { type: 'entry', message: { role: 'user', parts: [{ type: 'valueOf', text: 'x' }] } } },
    ],
    sessions: { sample: ['user: go'] },
  },
])

test('the sample and its export are read as the same session', async t => {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-own-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const home = join(folder, '.agent')
  const pal = await openPalimpsest({ home })
  const session = await openSample(pal)
  const happened = (await session.events()).flatMap(({ event }) => (event.type === 'entry' ? [event.message] : []))
  await pal.close()
  const plain = (list: readonly { role: string; parts: readonly unknown[] }[]) =>
    list.map(({ role, parts }) => ({ role, parts }))

  const sample = await readTranscript(SAMPLE_FILE)
  assert.deepEqual(plain(sample.sessions[0]!.messages), plain(happened))

  const exported = await runCli(['export', 'sample', '--home', home])
  const file = join(folder, 'sample.json')
  await writeFile(file, exported.stdout)
  const again = await readTranscript(file)
  assert.deepEqual([again.format, again.sessions.map(({ id }) => id)], ['palimpsest', ['sample']])
  assert.deepEqual(plain(again.sessions[0]!.messages), plain(happened))

  const imported = await runCli(['import', file, '--home', join(folder, 'other')])
  assert.equal(imported.code, 0, imported.stderr)
  const replayed = await runCli(['replay', SAMPLE_FILE])
  assert.equal(replayed.code, 0, replayed.stderr)
  assert.match(replayed.stdout, /thrifty/)
})
