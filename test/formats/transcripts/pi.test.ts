import { pi } from '../../../src/formats/transcripts/pi.ts'
import { transcriptReaderContract } from '../../contracts/transcript-reader.ts'

const timestamp = '2026-01-01T00:00:01.000Z'
const header = { type: 'session', id: 'p1', timestamp, cwd: '/r' }
const message = (body: Record<string, unknown>, more = {}) => ({ type: 'message', timestamp, message: body, ...more })
const user = (text: string, more = {}) => message({ role: 'user', content: [{ type: 'text', text }] }, more)
const assistant = (content: unknown[], more = {}) =>
  message(
    {
      role: 'assistant',
      content,
      stopReason: 'toolUse',
      model: 'm',
      usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 },
    },
    more,
  )
const call = (id: string, name: string, args: unknown) => ({ type: 'toolCall', id, name, arguments: args })
const result = (toolCallId: string, text: string, isError = false, more = {}) =>
  message({ role: 'toolResult', toolCallId, toolName: 'read', content: [{ type: 'text', text }], isError }, more)
const say = (text: string) => ({ type: 'text', text })

transcriptReaderContract(pi, [
  {
    name: 'a list with a call that was paid and aborted, and a command of the user',
    file: [
      header,
      { type: 'model_change', timestamp, provider: 'x', modelId: 'm' },
      user('go'),
      assistant([
        { type: 'thinking', thinking: 'hm' },
        call('t1', 'read', { path: 'a' }),
        call('t2', 'read', { path: 'b' }),
      ]),
      result('t1', 'A'),
      result('t2', 'none', true),
      assistant([]),
      message({ role: 'bashExecution', command: 'ls', output: 'a\n', exitCode: 0 }),
      assistant([call('t3', 'read', { path: 'c' })]),
      user('stop'),
    ],
    sessions: {
      p1: [
        'user: go',
        'assistant: (hm) | read#t1{"path":"a"} | read#t2{"path":"b"}',
        'tool: read#t1=A',
        'tool: read#t2!=none',
        'assistant: ()',
        'user: $ ls\na\n',
        'assistant: read#t3{"path":"c"}',
        'user: stop',
      ],
    },
  },
  {
    name: 'compactions that keep a tail, by index',
    file: [
      header,
      user('one'),
      assistant([say('1')]),
      user('two'),
      assistant([say('2')]),
      { type: 'compaction', timestamp, summary: 'S1', firstKeptEntryIndex: 3, tokensBefore: 9 },
      user('three'),
      assistant([say('3')]),
      { type: 'compaction', timestamp, summary: 'S2', firstKeptEntryIndex: 4, tokensBefore: 9 },
      user('four'),
    ],
    sessions: {
      p1: ['user: one', 'assistant: 1', 'user: two', 'assistant: 2'],
      'p1#2': ['user: S1', 'user: two', 'assistant: 2', 'user: three', 'assistant: 3'],
      'p1#3': ['user: S2', 'assistant: 2', 'user: three', 'assistant: 3', 'user: four'],
    },
  },
  {
    name: 'a compaction by id whose tail begins with a result',
    file: [
      { ...header, version: 3 },
      user('one', { id: 'a', parentId: null }),
      assistant([call('t', 'read', {})], { id: 'b', parentId: 'a' }),
      result('t', 'A', false, { id: 'c', parentId: 'b' }),
      assistant([say('2')], { id: 'd', parentId: 'c' }),
      { type: 'compaction', id: 'e', parentId: 'd', timestamp, summary: 'S', firstKeptEntryId: 'c' },
      { type: 'custom_message', id: 'f', parentId: 'e', timestamp, content: 'note' },
    ],
    sessions: {
      p1: ['user: one', 'assistant: read#t{}', 'tool: read#t=A', 'assistant: 2'],
      'p1#2': ['user: S', 'assistant: 2', 'user: note'],
    },
  },
  {
    name: 'a tree whose second branch goes on from an earlier entry',
    file: [
      { ...header, version: 3 },
      user('one', { id: 'a', parentId: null }),
      assistant([say('1')], { id: 'b', parentId: 'a' }),
      user('left', { id: 'c', parentId: 'b' }),
      assistant([say('L')], { id: 'd', parentId: 'c' }),
      user('right', { id: 'e', parentId: 'b' }),
      assistant([say('R')], { id: 'f', parentId: 'e' }),
    ],
    sessions: {
      p1: ['user: one', 'assistant: 1', 'user: left', 'assistant: L'],
      'p1#2': ['user: one', 'assistant: 1', 'user: right', 'assistant: R'],
    },
  },
])
