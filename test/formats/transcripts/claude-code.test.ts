import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claudeCode } from '../../../src/formats/transcripts/claude-code.ts'
import { readTranscript } from '../../../src/formats/transcripts/read-transcript.ts'
import { recordedTimeline } from '../../../src/replay/account.ts'
import { billsBy, reportOn } from '../../../src/replay/report.ts'
import { rentOf } from '../../../src/view/rent.ts'
import { statisticsOf } from '../../../src/view/statistics.ts'
import { fileOf, outline, sampleText, transcriptReaderContract } from '../../contracts/transcript-reader.ts'

let second = 0
const line = (uuid: string, parentUuid: string | null, more: Record<string, unknown>) => ({
  uuid,
  parentUuid,
  sessionId: 's1',
  isSidechain: false,
  cwd: '/r',
  timestamp: new Date(Date.UTC(2026, 0, 1, 0, 0, second++)).toISOString(),
  ...more,
})
const user = (uuid: string, parent: string | null, content: unknown, more = {}) =>
  line(uuid, parent, { type: 'user', message: { role: 'user', content }, ...more })
const assistant = (uuid: string, parent: string | null, id: string, block: unknown, more = {}) =>
  line(uuid, parent, {
    type: 'assistant',
    message: {
      id,
      role: 'assistant',
      model: 'claude-x',
      content: [block],
      usage: { input_tokens: 3, cache_read_input_tokens: 5, cache_creation_input_tokens: 7, output_tokens: 2 },
    },
    ...more,
  })
const use = (id: string, name: string, input: unknown) => ({ type: 'tool_use', id, name, input })
const result = (id: string, content: unknown, is_error?: boolean) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  is_error,
})
const say = (text: string) => ({ type: 'text', text })

const parallel = [
  { type: 'summary', summary: 'x', leafUuid: 'z', sessionId: 's1' },
  user('a', null, 'look'),
  assistant('b', 'a', 'm1', { type: 'thinking', thinking: 'hm', signature: 'sig' }),
  assistant('c', 'b', 'm1', say('I read.')),
  assistant('d', 'c', 'm1', use('t1', 'Read', { file_path: '/a' })),
  user('e', 'd', [result('t1', 'A')], { toolUseResult: { huge: 'copy' } }),
  line('p', 'd', { type: 'progress', data: { type: 'bash_progress' } }),
  assistant('f', 'p', 'm1', use('t2', 'Read', { file_path: '/b' })),
  user('g', 'f', [
    result(
      't2',
      [say('B'), { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }],
      true,
    ),
    say('stop'),
  ]),
  line('h', 'g', { type: 'attachment', attachment: { type: 'edited_text_file', filename: '/a', snippet: '1\tx' } }),
  line('i', 'h', { type: 'attachment', attachment: { type: 'task_reminder', content: [], itemCount: 0 } }),
  assistant('j', 'i', 'm2', say('Done.')),
]

const compacted = [
  user('a', null, 'first'),
  assistant('b', 'a', 'm1', say('one')),
  assistant('b2', 'b', 'm2', say('two')),
  line('c', null, {
    type: 'system',
    subtype: 'compact_boundary',
    logicalParentUuid: 'b',
    compactMetadata: { trigger: 'auto', preTokens: 9, preservedSegment: { headUuid: 'b2', tailUuid: 'b2' } },
  }),
  user('d', 'c', 'This is the summary', { isCompactSummary: true }),
  user('e', 'd', 'second'),
]

const sidechain = [
  user('a', null, 'go'),
  assistant('b', 'a', 'm1', use('t1', 'Task', { prompt: 'x' })),
  user('sub1', null, 'x', { isSidechain: true }),
  assistant('sub2', 'sub1', 'n1', say('sub says'), { isSidechain: true }),
  user('c', 'b', [result('t1', 'sub says')]),
]

transcriptReaderContract(claudeCode, [
  {
    name: 'a parallel batch with results between its lines',
    file: parallel,
    sessions: {
      s1: [
        'user: look',
        'assistant: (hm) | I read. | Read#t1{"file_path":"/a"} | Read#t2{"file_path":"/b"}',
        'tool: Read#t1=A',
        'tool: Read#t2!=[B | <image/png AAAA>]',
        'user: stop',
        'user: [edited text file: /a]\n1\tx',
        'assistant: Done.',
      ],
    },
  },
  {
    name: 'a compaction that kept the last message',
    file: compacted,
    sessions: {
      s1: ['user: first', 'assistant: one', 'assistant: two'],
      's1#2': ['user: This is the summary', 'assistant: two', 'user: second'],
    },
  },
  {
    name: 'a sub-agent in the same file',
    file: sidechain,
    sessions: {
      s1: ['user: go', 'assistant: Task#t1{"prompt":"x"}', 'tool: Task#t1=sub says'],
      's1/sub1': ['user: x', 'assistant: sub says'],
    },
  },
  {
    name: 'a prompt that took the place of an earlier one',
    file: [
      user('a', null, 'hello'),
      assistant('b', 'a', 'm1', say('hi')),
      user('c', 'b', 'wrong way'),
      assistant('d', 'c', 'm2', say('going')),
      user('e', 'b', 'right way'),
      assistant('f', 'e', 'm3', say('yes')),
    ],
    sessions: {
      s1: ['user: hello', 'assistant: hi', 'user: wrong way', 'assistant: going'],
      's1#2': ['user: hello', 'assistant: hi', 'user: right way', 'assistant: yes'],
    },
  },
  {
    name: 'a result whose call is missing and one that comes twice',
    file: [
      user('a', null, [result('gone', 'A')]),
      assistant('b', 'a', 'm', use('t', 'Read', 'not JSON')),
      user('c', 'b', [result('t', 'B')]),
      user('d', 'c', [result('t', 'C')]),
    ],
    sessions: {
      s1: [
        'user: [Result of an unknown tool]\nA',
        'assistant: Read#t"not JSON"',
        'tool: Read#t=B',
        'user: [Result of Read]\nC',
      ],
    },
    problems: 2,
  },
])

test('usage is counted once per response, and times are kept', async () => {
  const { sessions } = await readTranscript(fileOf(sampleText(parallel)))
  const [session] = sessions
  assert.deepEqual(session!.usage, [
    { message: 1, usage: { input: 3, cacheRead: 5, cacheWrite: 7, output: 2, model: 'claude-x', id: 'm1' } },
    { message: 6, usage: { input: 3, cacheRead: 5, cacheWrite: 7, output: 2, model: 'claude-x', id: 'm2' } },
  ])
  assert.equal(session!.model, 'claude-x')
  assert.equal(session!.cwd, '/r')
  assert.equal(session!.messages[0]!.at, Date.parse(String((parallel[1] as { timestamp: string }).timestamp)))
})

test('sessions name their parents', async () => {
  const after = await readTranscript(fileOf(sampleText(compacted)))
  assert.deepEqual(
    after.sessions.map(({ parent, reason, carried }) => ({ parent, reason, carried })),
    [
      { parent: undefined, reason: undefined, carried: 0 },
      { parent: 's1', reason: 'compaction', carried: 2 },
    ],
  )
  const beside = await readTranscript(fileOf(sampleText(sidechain)))
  assert.equal(beside.sessions[1]!.parent, 's1')
  assert.equal(beside.sessions[1]!.reason, 'sub-agent')
})

test('a file with only a sub-agent is one session', async () => {
  const { sessions } = await readTranscript(
    fileOf(
      sampleText([
        user('a', null, 'x', { isSidechain: true, agentId: 'ag' }),
        assistant('b', 'a', 'm', say('y'), { isSidechain: true, agentId: 'ag' }),
      ]),
    ),
  )
  assert.deepEqual(
    sessions.map(({ messages }) => outline(messages)),
    [['user: x', 'assistant: y']],
  )
})

test('speed, region and service tier of a call are read, because its price depends on them', async () => {
  const asked = user('a', null, 'x')
  const answer = assistant('b', 'a', 'm', say('y'))
  const { message } = answer as unknown as { message: { usage: Record<string, unknown> } }
  Object.assign(message.usage, {
    service_tier: 'standard',
    speed: 'fast',
    inference_geo: 'us',
    server_tool_use: { web_search_requests: 2 },
  })
  const { sessions } = await readTranscript(fileOf(sampleText([asked, answer])))
  const { usage } = sessions[0]!.usage[0]!
  assert.deepEqual([usage.tier, usage.searches], ['fast us', 2])
})

test('a line that the file has twice counts once', async () => {
  const first = [user('a', null, 'x'), assistant('b', 'a', 'm1', say('y'))]
  const file = [...first, user('c', 'b', 'z'), assistant('d', 'c', 'm2', say('w')), ...first]
  const { sessions } = await readTranscript(fileOf(sampleText(file)))
  assert.deepEqual(
    sessions.map(({ usage, messages }) => [usage.length, messages.length]),
    [[2, 4]],
  )
})

test('an advisor is billed beside the call that asked it, at the price of its own model', async () => {
  const step = { type: 'message', output_tokens: 10, cache_creation_input_tokens: 1000 }
  const advisor = { type: 'advisor_message', model: 'claude-opus-4-8', input_tokens: 100_000, output_tokens: 1000 }
  const iterations = [
    { ...step, input_tokens: 1, cache_read_input_tokens: 20_000 },
    advisor,
    { ...step, input_tokens: 1, cache_read_input_tokens: 21_000 },
  ]
  const usage = {
    ...{ input_tokens: 2, cache_read_input_tokens: 41_000, cache_creation_input_tokens: 2000, output_tokens: 20 },
    iterations,
  }
  const answer = assistant('b', 'a', 'm', say('y'))
  Object.assign((answer as unknown as { message: object }).message, { model: 'claude-sonnet-4-5', usage })
  const { sessions, format } = await readTranscript(fileOf(sampleText([user('a', null, 'x'), answer])))
  const report = await reportOn(sessions[0]!, { format })
  const { models } = billsBy([report])
  const [own, advised] = [2 * 3 + 41_000 * 0.3 + 2000 * 3.75 + 20 * 15, 100_000 * 5 + 1000 * 25]
  assert.deepEqual(
    models.map(({ name, calls, billedUsd }) => [name, calls, billedUsd.toFixed(6)]),
    [
      ['claude-opus-4-8', 0, (advised / 1e6).toFixed(6)],
      ['claude-sonnet-4-5', 1, (own / 1e6).toFixed(6)],
    ],
  )
  const timeline = await recordedTimeline(sessions[0]!)
  assert.equal(timeline.overhead > 15_000 && timeline.overhead < 22_000, true, `${timeline.overhead}`)
  const { cost, input, cacheRead } = statisticsOf(timeline)
  assert.deepEqual([cost.toFixed(6), input, cacheRead], [((own + advised) / 1e6).toFixed(6), 100_002, 41_000])
  assert.equal(rentOf(timeline).dollars.toFixed(6), cost.toFixed(6))
})

test('a call with hidden thinking was paid', async () => {
  const thought = { type: 'thinking', thinking: '', signature: 'sig' }
  const file = [
    user('a', null, 'x'),
    assistant('b', 'a', 'm', thought),
    user('c', 'b', '[Request interrupted by user]'),
  ]
  const { sessions } = await readTranscript(fileOf(sampleText(file)))
  assert.equal(sessions[0]!.usage.length, 1)
})
