import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { palimpsestExport, palimpsestRecording } from '../../../src/formats/transcripts/palimpsest.ts'
import { readTranscript } from '../../../src/formats/transcripts/read-transcript.ts'
import type { Usage } from '../../../src/model/types.ts'
import { recordedTimeline } from '../../../src/replay/account.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { openSample, SAMPLE_FILE } from '../../../src/session/sample.ts'
import { Timelines } from '../../../src/session/timelines.ts'
import { EXPORT, exportSession } from '../../../src/session/whole-session.ts'
import { type Statistics, statisticsOf } from '../../../src/view/statistics.ts'
import { runCli } from '../../cli.ts'
import { fileOf, sampleText, transcriptReaderContract } from '../../contracts/transcript-reader.ts'

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

test('an exported session costs what it costs in its home: by lifetime, tier and search, and forks only their own calls', async () => {
  const pal = await openPalimpsest({ home: ':memory:' })
  const session = await pal.session('one', { model: 'claude-opus-4-8' })
  const asked = (text: string) => session.append({ role: 'user', parts: [{ type: 'text', text }] })
  const told = (text: string) => session.append({ role: 'assistant', parts: [{ type: 'text', text }] })
  const report = (more: Usage) => session.record({ type: 'usage', usage: { model: 'claude-opus-4-8', ...more } })
  await asked('go')
  await told('one')
  await report({ input: 9, cacheWrite: 40_000, cacheWriteLong: 40_000, output: 10, searches: 3, id: 'm1' })
  await asked('on')
  await report({ input: 9, cacheRead: 40_000, output: 0, tier: 'fast', id: 'm2' })
  await told('two')
  await asked('again')
  await report({ input: 70_000, output: 0, id: 'm3' })
  await asked('and again')
  await told('four')
  await session.record({ type: 'usage', usage: { by: 'client' } })
  const fork = await session.fork(undefined, 'two')
  await fork.append({ role: 'user', parts: [{ type: 'text', text: 'else' }] })
  await fork.append({ role: 'assistant', parts: [{ type: 'text', text: 'five' }] })
  await fork.record({ type: 'usage', usage: { input: 1000, output: 1, model: 'claude-opus-4-8' } })
  const sessions = [await exportSession(pal, 'one'), await exportSession(pal, 'two')]
  const timelines = new Timelines()
  const there = await Promise.all(
    [session, fork].map(async one => statisticsOf(await timelines.of(one, (await pal.find(one.id))!))),
  )
  const read = await readTranscript(fileOf(sampleText({ ...EXPORT, sessions })))
  const here = await Promise.all(read.sessions.map(async one => statisticsOf(await recordedTimeline(one))))
  const figures = ({ calls, cost }: Statistics) => [calls, cost.toFixed(6)]
  assert.deepEqual(here.map(figures), there.map(figures))
  assert.deepEqual(
    there.map(({ calls }) => calls),
    [3, 1],
  )
  await pal.close()
})
