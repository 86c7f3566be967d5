import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type Anthropic from '@anthropic-ai/sdk'
import { generateText, isStepCount, type ToolSet } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import type OpenAI from 'openai'
import { z } from 'zod'
import { PalimpsestError } from '../../src/model/errors.ts'
import { memoryTool, textEditorTool } from '../../src/tools/anthropic.ts'
import { contextTools } from '../../src/tools/context.ts'
import { fileTools } from '../../src/tools/files.ts'
import { memoryTools } from '../../src/tools/memory.ts'
import {
  defineTool,
  runTool,
  type Tool,
  toAiSdkTools,
  toAnthropicTools,
  toJsonSchema,
  toMcpResult,
  toMcpTools,
  toOpenAIResponsesTools,
  toOpenAITools,
} from '../../src/tools/tool.ts'
import { workspaceTools } from '../../src/tools/workspace.ts'
import { makeSandbox } from './sandbox.ts'

const greet = defineTool({
  name: 'greet',
  description: 'Greets.',
  input: z.object({ name: z.string().describe('Whom.'), times: z.number().int().min(1).optional() }),
  annotations: { readOnly: true },
  run: ({ name, times = 1 }) => Array(times).fill(`Hello ${name}`).join('\n'),
})

test('a tool gets parsed input, as an object or as JSON text', async () => {
  const { run } = await makeSandbox()
  assert.deepEqual(await run(greet, { name: 'Ada', times: 2 }), { text: 'Hello Ada\nHello Ada' })
  assert.deepEqual(await run(greet, '{"name":"Ada"}'), { text: 'Hello Ada' })
})

test('wrong arguments give a result that names each and the expected values', async () => {
  const { run } = await makeSandbox()
  const result = await run(greet, { times: 0.5 })
  assert.equal(result.isError, true)
  assert.match(result.text, /^Invalid arguments for greet:\n- name: .*expected string.*\n- times: .*expected int/)
  assert.match((await run(greet, '{"name":')).text, /not valid JSON/)
  assert.match((await run(greet, null)).text, /- name:/)
  assert.match((await run(greet, [])).text, /- arguments: .*expected object/)
  assert.match((await run(greet, {})).text, /^Invalid arguments for greet:\n- name: is missing, expected string\n/)
})

test('our own errors are results, defects are thrown', async () => {
  const { run } = await makeSandbox()
  const failing = (error: Error) => ({ ...greet, run: () => Promise.reject(error) })
  const expected = failing(new PalimpsestError('FILE_NOT_FOUND', 'It is not there.'))
  assert.deepEqual(await run(expected, {}), { text: 'It is not there.', isError: true })
  await assert.rejects(run(failing(new TypeError('a defect')), {}), /a defect/)
  const full = Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC', syscall: 'write' })
  assert.deepEqual(await run(failing(full), {}), { text: 'No space left on the disk (ENOSPC).', isError: true })
})

test('a cancelled call does not start', async () => {
  const { context } = await makeSandbox()
  await assert.rejects(runTool(greet, { name: 'x' }, { ...context, signal: AbortSignal.abort() }), {
    name: 'AbortError',
  })
})

const own: readonly Tool<never>[] = [...fileTools, ...contextTools, ...workspaceTools, ...memoryTools]
const tools: readonly Tool<never>[] = [
  ...own,
  textEditorTool({ maxCharacters: 10_000 }),
  memoryTool({ folder: '/tmp' }),
]

test('every tool has a unique name, a description and an object schema', () => {
  assert.equal(new Set(tools.map(tool => tool.name)).size, tools.length)
  for (const tool of tools) {
    assert.match(tool.name, /^[a-z_]{3,64}$/)
    assert.ok(tool.description.length > 40, tool.name)
    assert.equal(toJsonSchema(tool).type, 'object', tool.name)
  }
})

test('every tool and each of its arguments is in the documentation', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/tools.md'), 'utf8')
  for (const tool of own) {
    const inputs = Object.entries(tool.input.shape).map(([name, type]) =>
      type.safeParse(undefined).success ? `${name}?` : name,
    )
    const signature = `${tool.name}(${inputs.join(', ')})`
    assert.ok(page.includes(signature), signature)
  }
  for (const tool of tools) assert.ok(page.includes(tool.name), tool.name)
})

test('tools can be sent to OpenAI as functions', () => {
  const chat: OpenAI.Chat.Completions.ChatCompletionTool[] = toOpenAITools([greet])
  assert.deepEqual(chat, [
    {
      type: 'function',
      function: {
        name: 'greet',
        description: 'Greets.',
        parameters: {
          type: 'object',
          properties: {
            name: { type: 'string', description: 'Whom.' },
            times: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
          },
          required: ['name'],
        },
      },
    },
  ])
  const responses: OpenAI.Responses.Tool[] = toOpenAIResponsesTools(tools)
  assert.equal(responses.length, tools.length)
})

test('tools can be sent to MCP with a schema and hints', () => {
  assert.deepEqual(toMcpTools([greet])[0]?.annotations, {
    readOnlyHint: true,
    destructiveHint: false,
    openWorldHint: false,
  })
  assert.deepEqual(toMcpTools([greet])[0]?.inputSchema.type, 'object')
  assert.deepEqual(toMcpResult({ text: 'no', isError: true }), {
    content: [{ type: 'text', text: 'no' }],
    isError: true,
  })
})

test('no schema has constructs that some providers refuse: an array without items, a tuple', () => {
  for (const tool of tools) {
    const arrays = JSON.stringify(toJsonSchema(tool)).match(/"type":"array"/g)?.length ?? 0
    const items = JSON.stringify(toJsonSchema(tool)).match(/"items":\{/g)?.length ?? 0
    assert.equal(arrays, items, tool.name)
    assert.ok(!JSON.stringify(toJsonSchema(tool)).includes('prefixItems'), tool.name)
  }
})

test('tools can be sent to Anthropic with a schema, or as the tool that the model knows', () => {
  const all: Anthropic.Beta.Messages.BetaToolUnion[] = toAnthropicTools(
    tools,
  ) as Anthropic.Beta.Messages.BetaToolUnion[]
  assert.deepEqual(all.slice(-2), [
    { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 10_000 },
    { type: 'memory_20250818', name: 'memory' },
  ])
  assert.deepEqual(Object.keys(all[0] ?? {}), ['name', 'description', 'input_schema'])
})

test('the AI SDK runs our tools, and the model gets our messages about wrong arguments', async () => {
  const { context, put, get } = await makeSandbox()
  await put('a.md', 'one')
  const calls = [
    { toolName: 'edit_file', input: '{"path":"a.md","old_string":"one","new_string":"$&"}' },
    { toolName: 'edit_file', input: '{"path":"a.md"}' },
  ]
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }
  let step = 0
  const model = new MockLanguageModelV4({
    doGenerate: async () => {
      const call = calls[step++]
      return {
        content: call
          ? [{ type: 'tool-call' as const, toolCallId: `c${step}`, ...call }]
          : [{ type: 'text' as const, text: 'done' }],
        finishReason: { unified: call ? ('tool-calls' as const) : ('stop' as const), raw: undefined },
        usage,
        warnings: [],
      }
    },
  })
  const set: ToolSet = toAiSdkTools(fileTools, context)
  await generateText({ model, tools: set, prompt: 'go', stopWhen: isStepCount(5) })
  assert.equal(await get('a.md'), '$&')
  const offered = model.doGenerateCalls[0]?.tools?.find(tool => tool.name === 'edit_file')
  assert.deepEqual(Object.keys((offered && 'inputSchema' in offered && offered.inputSchema.properties) || {}), [
    'path',
    'old_string',
    'new_string',
    'intent',
  ])
  const results = (model.doGenerateCalls[2]?.prompt ?? []).filter(message => message.role === 'tool')
  const outputs = results.flatMap(message => message.content.map(part => 'output' in part && part.output))
  assert.deepEqual(outputs[0], { type: 'text', value: 'Edited a.md: replaced 3 chars with 2 chars' })
  assert.match(JSON.stringify(outputs[1]), /"type":"error-text","value":"Invalid arguments for edit_file/)
})
