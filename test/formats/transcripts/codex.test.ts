import assert from 'node:assert/strict'
import { test } from 'node:test'
import { codex } from '../../../src/formats/transcripts/codex.ts'
import { readTranscript } from '../../../src/formats/transcripts/read-transcript.ts'
import { recordedTimeline } from '../../../src/replay/account.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { importSession } from '../../../src/session/import-transcript.ts'
import { readTimeline } from '../../../src/session/timelines.ts'
import { summaryOf } from '../../../src/view/totals.ts'
import { fileOf, sampleText, transcriptReaderContract } from '../../contracts/transcript-reader.ts'

const line = (type: string, payload: Record<string, unknown>) => ({
  timestamp: '2026-01-01T00:00:01.000Z',
  type,
  payload,
})
const item = (payload: Record<string, unknown>) => line('response_item', payload)
const says = (role: string, text: string) =>
  item({ type: 'message', role, content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }] })
const call = (call_id: string, cmd: string) =>
  item({ type: 'function_call', name: 'exec_command', arguments: JSON.stringify({ cmd }), call_id })
const output = (call_id: string, text: unknown) => item({ type: 'function_call_output', call_id, output: text })
const tokens = (input: number, cached: number) =>
  line('event_msg', {
    type: 'token_count',
    info: { last_token_usage: { input_tokens: input, cached_input_tokens: cached, output_tokens: 4 } },
  })

const plain = [
  line('session_meta', { id: 'c1', cwd: '/r', base_instructions: { text: 'You code.' } }),
  line('turn_context', { model: 'gpt-x' }),
  says('developer', 'Be careful.'),
  says('user', 'go'),
  line('event_msg', { type: 'user_message', message: 'go' }),
  item({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'plan' }], encrypted_content: 'x' }),
  says('assistant', 'I look.'),
  call('k1', 'ls'),
  call('k2', 'false'),
  output('k2', 'Exit code: 1\nWall time: 0 seconds\nOutput:\n'),
  output('k1', 'Chunk ID: 1\nWall time: 0 seconds\nProcess exited with code 0\nOutput:\na'),
  tokens(100, 60),
  item({ type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin Patch', call_id: 'k3' }),
  item({
    type: 'custom_tool_call_output',
    call_id: 'k3',
    output: '{"output":"no","metadata":{"exit_code":1,"duration_seconds":0}}',
  }),
  tokens(120, 100),
  item({ type: 'web_search_call', status: 'completed', action: { query: 'q' } }),
  item({ type: 'function_call', name: 'shell', arguments: '{"command":["bash",', call_id: 'k4' }),
]

transcriptReaderContract(codex, [
  {
    name: 'a turn with parallel calls',
    file: plain,
    sessions: {
      c1: [
        'system: You code.',
        'system: Be careful.',
        'user: go',
        'assistant: (plan) | I look. | exec_command#k1{"cmd":"ls"} | exec_command#k2{"cmd":"false"}',
        'tool: exec_command#k2!=Exit code: 1\nWall time: 0 seconds\nOutput:\n',
        'tool: exec_command#k1=Chunk ID: 1\nWall time: 0 seconds\nProcess exited with code 0\nOutput:\na',
        'assistant: apply_patch#k3"*** Begin Patch"',
        'tool: apply_patch#k3!={"output":"no","metadata":{"exit_code":1,"duration_seconds":0}}',
        'assistant: <raw openai-responses> | shell#k4"{\\"command\\":[\\"bash\\","',
      ],
    },
  },
  {
    name: 'a compaction with a replacement history',
    file: [
      line('session_meta', { id: 'c1', base_instructions: { text: 'S' } }),
      says('user', 'go'),
      says('assistant', 'done'),
      line('compacted', {
        message: 'summary',
        replacement_history: [
          { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'go' }] },
          { type: 'compaction', encrypted_content: 'x' },
        ],
      }),
      says('user', 'more'),
      says('assistant', 'ok'),
    ],
    sessions: {
      c1: ['system: S', 'user: go', 'assistant: done'],
      'c1#2': [
        'system: S',
        'user: go',
        'assistant: <raw openai-responses>',
        'user: summary',
        'user: more',
        'assistant: ok',
      ],
    },
  },
  {
    name: 'images in prompts and in results',
    file: [
      item({
        type: 'message',
        role: 'user',
        content: [{ type: 'input_image', image_url: 'data:image/jpeg;base64,QQ==' }],
      }),
      item({ type: 'function_call', name: 'view_image', arguments: '{}', call_id: 'v' }),
      output('v', [
        { type: 'input_text', text: 'see' },
        { type: 'input_image', image_url: 'https://x/y.png' },
      ]),
    ],
    sessions: {
      sample: [
        'user: <image/jpeg QQ==>',
        'assistant: view_image#v{}',
        'tool: view_image#v=[see | <image/png https://x/y.png>]',
      ],
    },
  },
])

test('cached tokens are subtracted from the input', async () => {
  const { sessions } = await readTranscript(fileOf(sampleText(plain)))
  assert.deepEqual(sessions[0]!.usage, [
    { message: 3, usage: { input: 40, cacheRead: 60, output: 4, model: 'gpt-x' } },
    { message: 6, usage: { input: 20, cacheRead: 100, output: 4, model: 'gpt-x' } },
  ])
})

test('a repeated count is counted once, even in the middle of a response', async () => {
  const counted = (input: number, total: number) =>
    line('event_msg', {
      type: 'token_count',
      info: {
        last_token_usage: { input_tokens: input, cached_input_tokens: 0, output_tokens: 4 },
        total_token_usage: { input_tokens: total },
      },
    })
  const file = [
    line('session_meta', { id: 'c1' }),
    says('user', 'go'),
    says('assistant', 'one'),
    counted(100, 100),
    counted(100, 100),
    says('assistant', 'two,'),
    counted(100, 100),
    says('assistant', 'and more'),
    counted(120, 220),
  ]
  const [session] = (await readTranscript(fileOf(sampleText(file)))).sessions
  assert.deepEqual(
    session!.usage.map(({ message, usage }) => [message, usage.input]),
    [
      [1, 100],
      [2, 120],
    ],
  )
})

test('messages kept by a compaction were paid before it', async () => {
  const kept = [says('user', 'go').payload, says('assistant', 'done').payload]
  const file = [
    line('session_meta', { id: 'c1' }),
    says('user', 'go'),
    says('assistant', 'done'),
    tokens(100, 0),
    line('compacted', { message: 'summary', replacement_history: kept }),
    says('user', 'more'),
    says('assistant', 'ok'),
    tokens(50, 0),
  ]
  const [first, second] = (await readTranscript(fileOf(sampleText(file)))).sessions
  assert.deepEqual([first!.carried, second!.carried, second!.messages.length], [0, 3, 5])
  assert.equal(summaryOf(await recordedTimeline(second!)).calls, 1)
})

const at = (seconds: number, entry: Record<string, unknown>) => ({
  ...entry,
  timestamp: new Date(Date.UTC(2026, 0, 2, 0, 0) + seconds * 1000).toISOString(),
})
const conversation = [
  line('turn_context', { model: 'gpt-5.4' }),
  says('user', 'go'),
  says('assistant', 'one'),
  tokens(100_000, 0),
  says('user', 'more'),
  says('assistant', 'two'),
  tokens(200_000, 0),
]

for (const [kind, meta, reason] of [
  ['a fork', { forked_from_id: 'c1' }, 'fork'],
  ['a subagent', { source: { subagent: { thread_spawn: { parent_thread_id: 'c1' } } } }, 'sub-agent'],
] as const) {
  test(`the history at the beginning of ${kind} was paid in its original session`, async () => {
    const own = [says('user', 'mine'), says('assistant', 'three'), tokens(300_000, 0)]
    // The copy is written within milliseconds with the time of the fork, and the first own message follows at once.
    const copy = [line('session_meta', { id: 'c2', ...meta }), line('session_meta', { id: 'c1' }), ...conversation]
    const file = [
      ...copy.map((entry, i) => at(i / 100, entry)),
      at(0.2, own[0]!),
      ...own.slice(1).map((entry, i) => at(5 + i, entry)),
    ]
    const { sessions } = await readTranscript(fileOf(sampleText(file)))
    assert.deepEqual(
      sessions.map(({ id, parent, reason: why, carried }) => [id, parent, why, carried]),
      [['c2', 'c1', reason, 4]],
    )
    const { calls, money, title } = summaryOf(await recordedTimeline(sessions[0]!))
    assert.deepEqual([calls, title], [1, 'mine'])
    assert.equal(money.with, (300_000 * 2.5 * 2 + 4 * 15 * 1.5) / 1e6)
  })
}

test('a copy with its original times ends where the fork begins', async () => {
  const meta = line('session_meta', { id: 'c2', forked_from_id: 'c1' })
  const old = conversation.map((entry, i) => at(-3600 + 60 * i, entry))
  const own = [says('user', 'mine'), says('assistant', 'three'), tokens(300_000, 0)]
  const file = [at(0, meta), ...old, ...own.map((entry, i) => at(5 + i, entry))]
  const [session] = (await readTranscript(fileOf(sampleText(file)))).sessions
  assert.equal(session!.carried, 4)
})

test('a session that is not a fork pays for all its messages, however fast they came', async () => {
  const file = [line('session_meta', { id: 'c1' }), ...conversation].map((entry, i) => at(i / 100, entry))
  const [session] = (await readTranscript(fileOf(sampleText(file)))).sessions
  assert.equal(session!.carried, 0)
})

test('cache writes are subtracted from the input, and reasoning tokens are read', async () => {
  const usage = {
    input_tokens: 1000,
    cached_input_tokens: 300,
    cache_write_input_tokens: 600,
    output_tokens: 50,
    reasoning_output_tokens: 20,
  }
  const file = [
    line('session_meta', { id: 'c1' }),
    line('turn_context', { model: 'gpt-6-sol' }),
    says('user', 'go'),
    says('assistant', 'one'),
    line('event_msg', { type: 'token_count', info: { last_token_usage: usage } }),
  ]
  const [session] = (await readTranscript(fileOf(sampleText(file)))).sessions
  assert.deepEqual(session!.usage[0]!.usage, {
    ...{ input: 100, cacheRead: 300, cacheWrite: 600, output: 50, reasoning: 20, model: 'gpt-6-sol' },
  })
})

test('an answer without content is a call of its own', async () => {
  const file = [
    line('session_meta', { id: 'c1' }),
    says('user', 'go'),
    says('assistant', 'one'),
    tokens(100, 0),
    item({ type: 'reasoning', summary: [], encrypted_content: 'x' }),
    tokens(200, 0),
    says('user', 'more'),
    says('assistant', 'two'),
    tokens(300, 0),
  ]
  const [session] = (await readTranscript(fileOf(sampleText(file)))).sessions
  assert.deepEqual(
    session!.usage.map(({ usage }) => usage.input),
    [100, 200, 300],
  )
  const pal = await openPalimpsest({ home: ':memory:' })
  const { session: name } = await importSession(pal, session!)
  const { money, calls } = summaryOf(await readTimeline(pal, (await pal.find(name))!))
  assert.equal(calls, 3)
  assert.equal(money.with, summaryOf(await recordedTimeline(session!)).money.with)
  await pal.close()
})
