import { opencode, opencodeStorage } from '../../../src/formats/transcripts/opencode.ts'
import { transcriptReaderContract } from '../../contracts/transcript-reader.ts'

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
