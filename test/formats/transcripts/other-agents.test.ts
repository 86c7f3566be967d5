import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aider } from '../../../src/formats/transcripts/aider.ts'
import { atif } from '../../../src/formats/transcripts/atif.ts'
import { copilotCli } from '../../../src/formats/transcripts/copilot-cli.ts'
import { geminiCli, geminiCliLines } from '../../../src/formats/transcripts/gemini-cli.ts'
import { miniSweAgent } from '../../../src/formats/transcripts/mini-swe-agent.ts'
import { openhands } from '../../../src/formats/transcripts/openhands.ts'
import { readTranscript } from '../../../src/formats/transcripts/read-transcript.ts'
import { sweAgent } from '../../../src/formats/transcripts/swe-agent.ts'
import { tauBench } from '../../../src/formats/transcripts/tau-bench.ts'
import { tau2Bench } from '../../../src/formats/transcripts/tau2-bench.ts'
import { recordedTimeline } from '../../../src/replay/account.ts'
import { fileOf, sampleText, transcriptReaderContract } from '../../contracts/transcript-reader.ts'

const timestamp = '2026-01-01T00:00:01.000Z'
const event = (type: string, data: Record<string, unknown>) => ({ type, data, id: type, timestamp })
const openAiCall = (id: string, name: string, args: unknown) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(args) },
})

transcriptReaderContract(copilotCli, [
  {
    name: 'a turn with parallel calls, a sub-agent and a compaction',
    file: [
      event('session.start', { sessionId: 'g1', context: { cwd: '/r' } }),
      event('system.message', { content: 'S' }),
      event('user.message', { content: 'go', transformedContent: 'go now' }),
      event('assistant.message', {
        messageId: 'm1',
        content: 'I look.',
        reasoningText: 'hm',
        outputTokens: 3,
        toolRequests: [
          { toolCallId: 'a', name: 'bash', arguments: { command: 'ls' } },
          { toolCallId: 'b', name: 'view', arguments: { path: 'x' } },
        ],
      }),
      event('hook.start', { input: { toolName: 'view' } }),
      event('tool.execution_complete', { toolCallId: 'b', success: false, error: { message: 'no file' } }),
      event('assistant.message', { messageId: 'n1', content: 'sub', parentToolCallId: 'a', toolRequests: [] }),
      event('tool.execution_complete', { toolCallId: 'a', success: true, result: { content: 'out' } }),
      event('system.message', { content: 'S' }),
      event('session.compaction_complete', { success: true, summaryContent: 'Sum' }),
      event('user.message', { content: 'more' }),
    ],
    sessions: {
      g1: [
        'system: S',
        'user: go now',
        'assistant: (hm) | I look. | bash#a{"command":"ls"} | view#b{"path":"x"}',
        'tool: view#b!=no file',
        'tool: bash#a=out',
      ],
      'g1/a': ['assistant: sub'],
      'g1#2': ['system: S', 'user: Sum', 'user: more'],
    },
  },
])

transcriptReaderContract(geminiCli, [
  {
    name: 'calls with their results beside them',
    file: {
      sessionId: 'm1',
      projectHash: 'h',
      messages: [
        { type: 'info', content: 'notice', timestamp },
        { type: 'user', content: [{ text: 'go' }, { inlineData: { mimeType: 'image/png', data: 'QQ==' } }], timestamp },
        {
          type: 'gemini',
          content: 'I read.',
          timestamp,
          thoughts: [{ subject: 'Plan', description: 'read' }],
          tokens: { input: 10, cached: 4, output: 2, thoughts: 1 },
          toolCalls: [
            {
              id: 'a',
              name: 'read_file',
              args: { file_path: 'x' },
              status: 'success',
              result: [{ functionResponse: { response: { output: 'X' } } }],
            },
            {
              id: 'b',
              name: 'replace',
              args: {},
              status: 'error',
              result: [{ functionResponse: { response: { error: 'bad' } } }],
            },
            { id: 'c', name: 'glob', args: {}, status: 'cancelled' },
          ],
        },
        { type: 'user', content: 'old form', timestamp },
      ],
    },
    sessions: {
      m1: [
        'user: go | <image/png QQ==>',
        'assistant: (Plan\nread) | I read. | read_file#a{"file_path":"x"} | replace#b{} | glob#c{}',
        'tool: read_file#a=X',
        'tool: replace#b!=bad',
        'user: old form',
      ],
    },
  },
])

const head = { sessionId: 'm1', projectHash: 'h', kind: 'main', directories: ['/r'] }
const asked = (id: string, text: string) => ({ id, type: 'user', content: [{ text }], timestamp })
const told = (id: string, text: string, more = {}) => ({ id, type: 'gemini', content: text, timestamp, ...more })
const counted = { model: 'gemini-3-flash-preview', tokens: { input: 10, cached: 4, output: 2, thoughts: 1, tool: 3 } }

transcriptReaderContract(geminiCliLines, [
  {
    name: 'messages that grow, and a list that is written again as it is',
    file: [
      head,
      asked('1', 'go'),
      { $set: { lastUpdated: timestamp } },
      told('2', 'I'),
      told('2', 'I read.', counted),
      { $set: { messages: [asked('1', 'go'), told('2', 'I read.', counted)] } },
      asked('3', 'more'),
      { id: 'n', type: 'info', content: 'notice', timestamp },
    ],
    sessions: { m1: ['user: go', 'assistant: I read.', 'user: more'] },
  },
  {
    name: 'the end is taken back',
    file: [
      head,
      asked('1', 'go'),
      told('2', 'one'),
      asked('3', 'wrong'),
      told('4', 'two'),
      { $rewindTo: '3' },
      asked('5', 'right'),
    ],
    sessions: {
      m1: ['user: go', 'assistant: one', 'user: wrong', 'assistant: two'],
      'm1#2': ['user: go', 'assistant: one', 'user: right'],
    },
  },
])

test("usage in Gemini's JSONL files is counted once, including rewound turns", async () => {
  const file = [
    head,
    asked('1', 'go'),
    told('2', 'one', counted),
    told('2', 'one!', counted),
    asked('3', 'wrong'),
    told('4', 'two', counted),
    { $rewindTo: '3' },
    asked('5', 'right'),
    told('6', 'three', counted),
  ]
  const { sessions } = await readTranscript(fileOf(sampleText(file)))
  assert.deepEqual(
    sessions.map(({ usage, carried, cwd }) => [usage.length, carried, cwd]),
    [
      [2, 0, '/r'],
      [1, 2, '/r'],
    ],
  )
  const usage = { input: 9, cacheRead: 4, output: 3, reasoning: 1, model: 'gemini-3-flash-preview' }
  assert.deepEqual(sessions[0]!.usage[0]!.usage, usage)
})

transcriptReaderContract(sweAgent, [
  {
    name: 'commands as text, the last observation only in the trajectory',
    file: {
      history: [
        { role: 'system', content: 'S' },
        { role: 'user', content: 'demo', is_demo: true },
        { role: 'user', content: 'issue' },
        { role: 'assistant', content: 'I look.\n```\nls\n```', thought: 'I look.\n', action: 'ls\n' },
        { role: 'user', content: 'a b' },
        { role: 'assistant', content: 'Done.\n```\nsubmit\n```', thought: 'Done.', action: 'submit\n' },
      ],
      trajectory: [
        { action: 'ls\n', observation: 'a b' },
        { action: 'submit\n', observation: 'diff' },
      ],
      info: {},
    },
    sessions: {
      sample: [
        'system: S',
        'user: demo',
        'user: issue',
        'assistant: I look. | bash#action-1{"command":"ls\\n"}',
        'tool: bash#action-1=a b',
        'assistant: Done. | bash#action-2{"command":"submit\\n"}',
        'tool: bash#action-2=diff',
      ],
    },
  },
  {
    name: 'tool calls',
    file: {
      history: [
        { role: 'user', content: [{ type: 'text', text: 'issue' }] },
        {
          role: 'assistant',
          content: 'I open.',
          action: 'open a',
          tool_calls: [openAiCall('k', 'open', { path: 'a' })],
        },
        { role: 'tool', content: '[File: a]', tool_call_ids: ['k'] },
      ],
      trajectory: [{ action: 'open a', observation: '[File: a]' }],
    },
    sessions: { sample: ['user: issue', 'assistant: I open. | open#k{"path":"a"}', 'tool: open#k=[File: a]'] },
  },
])

const block = (command: string) => `THOUGHT: so\n\n\`\`\`bash\n${command}\n\`\`\``

transcriptReaderContract(miniSweAgent, [
  {
    name: 'bash blocks in the text',
    file: {
      trajectory_format: 'mini-swe-agent-1',
      instance_id: 'i1',
      info: { exit_status: 'Submitted' },
      messages: [
        { role: 'system', content: 'S' },
        { role: 'user', content: 'issue' },
        { role: 'assistant', content: block('false') },
        { role: 'user', content: '<returncode>1</returncode>\n<output>\n</output>' },
        { role: 'assistant', content: `${block('a')}${block('b')}` },
        { role: 'user', content: 'Please always provide EXACTLY ONE action' },
        { role: 'assistant', content: block('submit') },
        { role: 'user', content: 'diff' },
      ],
    },
    sessions: {
      i1: [
        'system: S',
        'user: issue',
        'assistant: THOUGHT: so | bash#action-1{"command":"false"}',
        'tool: bash#action-1!=<returncode>1</returncode>\n<output>\n</output>',
        `assistant: ${block('a')}${block('b')}`,
        'user: Please always provide EXACTLY ONE action',
        'assistant: THOUGHT: so | bash#action-3{"command":"submit"}',
        'user: diff',
      ],
    },
  },
  {
    name: 'tool calls',
    file: {
      trajectory_format: 'mini-swe-agent-1.1',
      info: {},
      messages: [
        { role: 'user', content: 'issue' },
        { role: 'assistant', content: null, tool_calls: [openAiCall('k', 'bash', { command: 'ls' })] },
        { role: 'tool', tool_call_id: 'k', content: 'a' },
        { role: 'exit', content: 'diff' },
      ],
    },
    sessions: { sample: ['user: issue', 'assistant: bash#k{"command":"ls"}', 'tool: bash#k=a'] },
  },
])

const response = (id: string, content: string, calls: unknown[]) => ({
  id,
  choices: [{ message: { content, tool_calls: calls } }],
  usage: { prompt_tokens: 3, completion_tokens: 1 },
})
const acts = (id: number, action: string, toolCall: string, reply: unknown) => ({
  id,
  source: 'agent',
  action,
  args: { command: 'x', thought: 't' },
  timestamp,
  tool_call_metadata: { function_name: 'execute_bash', tool_call_id: toolCall, model_response: reply },
})
const both = response('r2', 'Both.', [
  openAiCall('t1', 'execute_bash', { command: 'a' }),
  openAiCall('t2', 'execute_bash', { command: 'b' }),
])

transcriptReaderContract(openhands, [
  {
    name: 'runs with repeated call ids and a complaint without a cause',
    file: [
      {
        instance_id: 'i1',
        history: [
          { id: 0, source: 'agent', action: 'system', args: { content: 'S' } },
          { id: 1, source: 'user', action: 'message', args: { content: 'go', image_urls: [] } },
          { id: 2, source: 'user', action: 'recall', args: {} },
          acts(3, 'run', 't1', response('r1', 'One.', [openAiCall('t1', 'execute_bash', { command: 'ls' })])),
          {
            id: 4,
            source: 'agent',
            cause: 3,
            observation: 'run',
            content: 'out',
            extras: { metadata: { exit_code: 2 } },
          },
          { id: 5, source: 'agent', observation: 'error', content: 'bad call' },
          acts(6, 'run', 't1', both),
          acts(7, 'run', 't2', both),
          { id: 8, source: 'agent', cause: 7, observation: 'run', content: 'B' },
          { id: 9, source: 'agent', cause: 6, observation: 'run', content: 'A' },
        ],
      },
      {
        instance_id: 'i2',
        history: [
          { source: 'agent', action: 'run', args: { command: 'ls', thought: 'see' } },
          { source: 'agent', observation: 'run', content: 'flat' },
        ],
      },
    ],
    sessions: {
      i1: [
        'system: S',
        'user: go',
        'assistant: One. | execute_bash#event-3{"command":"ls"}',
        'tool: execute_bash#event-3!=out',
        'user: bad call',
        'assistant: Both. | execute_bash#event-6{"command":"a"} | execute_bash#event-7{"command":"b"}',
        'tool: execute_bash#event-7=B',
        'tool: execute_bash#event-6=A',
      ],
      i2: ['assistant: see | run#event-0{"command":"ls"}', 'tool: run#event-0=flat'],
    },
  },
])

const traj = [
  { role: 'system', content: 'P' },
  { role: 'user', content: 'book' },
  { role: 'assistant', content: null, tool_calls: [openAiCall('k', 'find', { a: 1 })] },
  { role: 'tool', tool_call_id: 'k', name: 'find', content: 'Error: none' },
  { role: 'assistant', content: 'sorry', tool_calls: null },
]
const talk = ['system: P', 'user: book', 'assistant: find#k{"a":1}', 'tool: find#k!=Error: none', 'assistant: sorry']

transcriptReaderContract(tauBench, [
  {
    name: 'runs that share call ids',
    file: JSON.stringify([
      { task_id: 1, trial: 0, reward: 1, traj },
      { task_id: 2, trial: 0, reward: 0, traj },
    ]),
    sessions: { 'sample-task-1-trial-0': talk, 'sample-task-2-trial-0': talk },
  },
])

transcriptReaderContract(tau2Bench, [
  {
    name: 'a simulation whose user calls tools too',
    file: {
      info: { agent_info: { llm: 'm' } },
      tasks: [],
      simulations: [
        {
          id: 'sim',
          messages: [
            { role: 'assistant', content: 'Hi', tool_calls: null, timestamp },
            { role: 'user', content: null, tool_calls: [{ id: 'u', name: 'look', arguments: {}, requestor: 'user' }] },
            { role: 'tool', id: 'u', content: 'seen', requestor: 'user', error: false },
            { role: 'user', content: 'help', tool_calls: null },
            {
              role: 'assistant',
              content: null,
              tool_calls: [{ id: 'k', name: 'find', arguments: { a: 1 }, requestor: 'assistant' }],
              usage: { prompt_tokens: 5, completion_tokens: 1 },
            },
            { role: 'tool', id: 'k', content: 'no', requestor: 'assistant', error: true },
          ],
        },
      ],
    },
    sessions: {
      sim: ['assistant: Hi', 'user: help', 'assistant: find#k{"a":1}', 'tool: find#k!=no'],
      'sim/user': ['assistant: look#u{}', 'tool: look#u=seen'],
    },
  },
])

transcriptReaderContract(atif, [
  {
    name: 'steps with a sub-agent',
    file: {
      schema_version: 'ATIF-v1.5',
      session_id: 'a1',
      agent: { name: 'x', model_name: 'm' },
      steps: [
        { source: 'system', message: 'S' },
        {
          source: 'user',
          message: [
            { type: 'text', text: 'go' },
            { type: 'image', source: { media_type: 'image/png', path: 'a.png' } },
          ],
        },
        {
          source: 'agent',
          message: 'I run.',
          reasoning_content: 'hm',
          timestamp,
          tool_calls: [{ tool_call_id: 'k', function_name: 'bash', arguments: { command: 'ls' } }],
          observation: { results: [{ content: 'out' }] },
          metrics: { prompt_tokens: 5, cached_tokens: 2, completion_tokens: 1 },
        },
        { source: 'agent', message: 'aside', extra: { is_sidechain: true } },
        { source: 'agent', message: '', observation: { results: [{ content: 'noted' }] } },
      ],
    },
    sessions: {
      a1: [
        'system: S',
        'user: go | <image/png a.png>',
        'assistant: (hm) | I run. | bash#k{"command":"ls"}',
        'tool: bash#k=out',
        'user: noted',
      ],
      'a1/side': ['assistant: aside'],
    },
  },
])

test("the model and the usage below an answer are read from aider's history", async () => {
  const lines = [
    '# aider chat started at 2024-09-01 10:00:00',
    '',
    '> Main model: claude-3-5-sonnet-20240620 with diff edit format, prompt cache  ',
    '',
    '#### fix it  ',
    '',
    'Sure.',
    '',
    '> Tokens: 11,055 sent, 10,984 cache hit, 30 received. Cost: $0.0040 message, $0.0040 session.  ',
    '> Model: gpt-4o with diff edit format  ',
    '',
    '#### more  ',
    '',
    'Yes.',
    '',
    '> Tokens: 15k sent, 1.6k received.  ',
    '',
    '# aider chat started at 2024-09-02 10:00:00',
    '',
    '> Model: gpt-4o with diff edit format  ',
    '',
    'No count of tokens.',
  ]
  const { sessions } = await readTranscript(fileOf(lines.join('\n')))
  assert.deepEqual(
    sessions.map(({ model, usage }) => [model, usage.map(({ usage }) => usage)]),
    [
      [
        'claude-3-5-sonnet-20240620',
        [
          { input: 71, cacheRead: 10_984, output: 30, model: 'claude-3-5-sonnet-20240620' },
          { input: 15_000, cacheRead: 0, output: 1600, model: 'gpt-4o' },
        ],
      ],
      ['gpt-4o', []],
    ],
  )
  const [first] = (await recordedTimeline(sessions[0]!)).calls
  assert.equal(first!.paid.dollars.toFixed(4), '0.0040', 'as aider says')
})

transcriptReaderContract(aider, [
  {
    name: 'two sessions',
    file: '\n# aider chat started at 2024-05-01 10:00:00\n\n> Added a.py  \n\n#### fix it  \n#### please  \n\nSure.\n\na.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n\n> Applied edit to a.py  \n\n# aider chat started at 2024-05-02 10:00:00\n\n#### hi  \n',
    sessions: {
      'sample@2024-05-01 10:00:00': [
        'user: > Added a.py',
        'user: fix it\nplease',
        'assistant: Sure.\n\na.py\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE',
        'user: > Applied edit to a.py',
      ],
      'sample@2024-05-02 10:00:00': ['user: hi'],
    },
  },
])
