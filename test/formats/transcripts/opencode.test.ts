import assert from 'node:assert/strict'
import { test } from 'node:test'
import { opencode, opencodeStorage } from '../../../src/formats/transcripts/opencode.ts'
import { readTranscript } from '../../../src/formats/transcripts/read-transcript.ts'
import { callsOfRecording, copiesAmong } from '../../../src/session/copied-calls.ts'
import { fileOf, sampleText, transcriptReaderContract } from '../../contracts/transcript-reader.ts'

const sessionID = 'ses_1'
const info = (id: string, role: string, more = {}) => ({
  id,
  role,
  sessionID,
  time: { created: 5, completed: 9 },
  ...more,
})
const text = (words: string) => ({ type: 'text', text: words })
const tool = (callID: string, name: string, state: Record<string, unknown>) => ({
  type: 'tool',
  callID,
  tool: name,
  state,
})
const done = (input: unknown, output: unknown, more = {}) => ({
  status: 'completed',
  input,
  output,
  time: { start: 6, end: 7 },
  ...more,
})

const messages = [
  {
    info: info('msg_1', 'user'),
    parts: [text('go'), { type: 'file', mime: 'image/png', url: 'data:image/png;base64,QQ==' }],
  },
  {
    info: info('msg_2', 'assistant', {
      modelID: 'm',
      tokens: { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } },
    }),
    parts: [
      { type: 'step-start' },
      { type: 'reasoning', text: 'hm' },
      text('I read.'),
      tool(
        'c1',
        'read',
        done({ filePath: 'a' }, 'A', {
          attachments: [{ type: 'file', mime: 'image/png', url: 'data:image/png;base64,Qg==' }],
        }),
      ),
      tool('c2', 'read', { status: 'error', input: { filePath: 'b' }, error: 'none' }),
      { type: 'step-finish', reason: 'tool-calls' },
      { type: 'step-start' },
      tool('c3', 'bash', { status: 'running', input: { command: 'sleep' } }),
      { type: 'patch', files: [] },
    ],
  },
]
const expected = [
  'user: go | <image/png QQ==>',
  'assistant: (hm) | I read. | read#c1{"filePath":"a"} | read#c2{"filePath":"b"}',
  'tool: read#c1=[A | <image/png Qg==>]',
  'tool: read#c2!=none',
  'assistant: bash#c3{"command":"sleep"}',
]

transcriptReaderContract(opencode, [
  { name: 'an export', file: { info: { id: sessionID, directory: '/r' }, messages }, sessions: { ses_1: expected } },
  {
    name: 'an export with a compaction',
    file: {
      info: { id: sessionID },
      messages: [
        ...messages,
        { info: info('msg_3', 'user'), parts: [{ type: 'compaction', auto: true }] },
        { info: info('msg_4', 'assistant', { summary: true }), parts: [text('Summary')] },
        { info: info('msg_5', 'user'), parts: [text('on')] },
      ],
    },
    sessions: {
      ses_1: expected,
      'ses_1#2': [
        'user: [The conversation so far was compacted; its summary follows.]',
        'assistant: Summary',
        'user: on',
      ],
    },
  },
])

const records = [
  { id: 'proj', worktree: '/r' },
  ...messages.flatMap(({ info: stored, parts }, at) => [
    stored,
    ...parts.map((part, n) => ({
      ...part,
      id: `prt_${at}${String(n).padStart(2, '0')}`,
      messageID: stored.id,
      sessionID,
    })),
  ]),
  { id: sessionID, directory: '/r' },
  { id: 'ses_2', parentID: sessionID, directory: '/r' },
  { ...info('msg_9', 'user'), sessionID: 'ses_2' },
  { ...text('sub'), id: 'prt_900', messageID: 'msg_9', sessionID: 'ses_2' },
].reverse()

transcriptReaderContract(opencodeStorage, [
  {
    name: 'records of the storage folder in any order',
    file: records.map(record => JSON.stringify(record, null, 2)).join('\n'),
    sessions: { ses_1: expected, ses_2: ['user: sub'] },
  },
])

const counted = (input: number) => ({ input, output: 1, reasoning: 0, cache: { read: 0, write: 0 } })
const answered = (id: string, created: number, more = {}) => ({
  info: info(id, 'assistant', { modelID: 'm', time: { created, completed: created + 1 }, ...more }),
  parts: [text(id)],
})
const exported = async (id: string, list: object[]) => {
  const file = { info: { id }, messages: [{ info: info('msg_0', 'user'), parts: [text('go')] }, ...list] }
  return (await readTranscript(fileOf(sampleText(file)))).sessions[0]!
}

test('each step of a message has its own tokens, and a billed answer without content is counted', async () => {
  const steps = [
    { type: 'step-start' },
    text('one'),
    { type: 'step-finish', tokens: counted(5) },
    { type: 'step-start' },
    text('two'),
    { type: 'step-finish', tokens: counted(7) },
  ]
  const old = answered('msg_1', 10, { tokens: counted(7) })
  const empty = answered('msg_2', 20, { tokens: counted(9) })
  const { usage, messages: read } = await exported('ses_1', [
    { ...old, parts: steps },
    { ...empty, parts: [] },
  ])
  assert.deepEqual(
    usage.map(({ message, usage: { input } }) => [message, input]),
    [
      [1, 5],
      [2, 7],
      [3, 9],
    ],
  )
  assert.equal(read.length, 4)
})

test('a fork has the same answers as its session, under other ids', async () => {
  const first = answered('msg_1', 10, { tokens: counted(5) })
  const own = answered('msg_9', 30, { tokens: counted(6) })
  const copy = { ...first, info: { ...first.info, id: 'msg_8' } }
  const sessions = [await exported('ses_1', [first]), await exported('ses_2', [copy, own])]
  assert.deepEqual(copiesAmong(sessions.map(callsOfRecording)), [undefined, { carried: 2, from: 'ses_1' }])
})
