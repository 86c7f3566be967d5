/**
 * Our tools with real SDKs: a scripted model reads a large file, edits another, discards the large result by the id at
 * its end, and answers. The script is the same for each form of the tools.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import type { MessageParam, ToolResultBlockParam, ToolUnion } from '@anthropic-ai/sdk/resources/messages'
import { generateText, isStepCount, type ToolSet, wrapLanguageModel } from 'ai'
import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { palimpsest } from '../../src/doors/library/ai-sdk.ts'
import { fromAnthropic, toAnthropic } from '../../src/formats/adapters/anthropic.ts'
import { fromOpenAIChat, toOpenAIChat } from '../../src/formats/adapters/openai-chat.ts'
import { fromOpenAIResponses, toOpenAIResponses } from '../../src/formats/adapters/openai-responses.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { contextTools } from '../../src/tools/context.ts'
import { fileTools } from '../../src/tools/files.ts'
import type { SessionToolContext } from '../../src/tools/recall.ts'
import { sessionJournal } from '../../src/tools/session-journal.ts'
import {
  runTool,
  type Tool,
  type ToolContext,
  toAiSdkTools,
  toAnthropicTools,
  toOpenAIResponsesTools,
  toOpenAITools,
} from '../../src/tools/tool.ts'
import { type Received, startUpstream, type Turn } from '../upstream.ts'
import { makeSandbox } from './sandbox.ts'

type Context = ToolContext & SessionToolContext
type Loop = (url: string, session: Session, context: Context) => Promise<void>

const TOOLS: readonly Tool<Context>[] = [...fileTools, ...contextTools]
const LARGE = 'one of many lines that nobody needs twice\n'.repeat(200)
const QUESTION = 'Set the version to 2.'

function script({ body }: Received, index: number): Turn {
  if (index === 0) {
    return {
      calls: [
        { name: 'read_file', input: { path: 'large.txt' } },
        {
          name: 'edit_file',
          input: { path: 'version.txt', old_string: 'version 1', new_string: 'version 2', intent: 'bump' },
        },
      ],
    }
  }
  const [, id = 'none'] = /\[id ([0-9a-f]{8})\]/.exec(body) ?? []
  if (index === 1) return { calls: [{ name: 'context', input: { action: 'discard', targets: [[id]] } }] }
  return { text: 'It is version 2.' }
}

async function run(name: string, input: unknown, context: Context): Promise<string> {
  const tool = TOOLS.find(candidate => candidate.name === name)
  assert.ok(tool, name)
  return (await runTool(tool, input, context)).text
}

const loops: Record<string, Loop> = {
  'OpenAI Chat': async (url, session, context) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
    const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: QUESTION }]
    for (;;) {
      const view = await session.sync(fromOpenAIChat(messages))
      const completion = await client.chat.completions.create({
        model: 'gpt-5',
        messages: toOpenAIChat<ChatCompletionMessageParam>(view.messages),
        tools: toOpenAITools(TOOLS),
      })
      const { message } = completion.choices[0]!
      messages.push(message)
      if (!message.tool_calls) return
      for (const call of message.tool_calls) {
        if (call.type !== 'function') continue
        const content = await run(call.function.name, call.function.arguments, context)
        messages.push({ role: 'tool', tool_call_id: call.id, content })
      }
    }
  },

  'OpenAI Responses': async (url, session, context) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 })
    const input: ResponseInputItem[] = [{ role: 'user', content: QUESTION }]
    for (;;) {
      const view = await session.sync(fromOpenAIResponses(input))
      const prompt = toOpenAIResponses<ResponseInputItem>(view.messages)
      const tools = toOpenAIResponsesTools(TOOLS)
      const { output } = await client.responses.create({ model: 'gpt-5', ...prompt, tools, store: false })
      input.push(...(output as ResponseInputItem[]))
      const calls = output.filter(item => item.type === 'function_call')
      if (calls.length === 0) return
      for (const { name, call_id, arguments: text } of calls) {
        input.push({ type: 'function_call_output', call_id, output: await run(name, text, context) })
      }
    }
  },

  Anthropic: async (url, session, context) => {
    const client = new Anthropic({ baseURL: url, apiKey: 'none', maxRetries: 0 })
    const messages: MessageParam[] = [{ role: 'user', content: QUESTION }]
    for (;;) {
      const view = await session.sync(fromAnthropic(messages))
      const prompt = toAnthropic<MessageParam>(view.messages)
      const tools = toAnthropicTools(TOOLS) as ToolUnion[]
      const { content } = await client.messages.create({
        model: 'claude-x',
        max_tokens: 100,
        messages: prompt.messages,
        tools,
      })
      messages.push({ role: 'assistant', content })
      const calls = content.filter(block => block.type === 'tool_use')
      if (calls.length === 0) return
      const results: ToolResultBlockParam[] = []
      for (const { id, name, input } of calls) {
        results.push({ type: 'tool_result', tool_use_id: id, content: await run(name, input, context) })
      }
      messages.push({ role: 'user', content: results })
    }
  },

  'the AI SDK': async (url, session, context) => {
    const provider = createOpenAICompatible({ name: 'local', baseURL: `${url}/v1` })
    const model = wrapLanguageModel({ model: provider('m'), middleware: palimpsest(session) })
    const tools: ToolSet = toAiSdkTools(TOOLS, context)
    await generateText({ model, tools, prompt: QUESTION, stopWhen: isStepCount(5), maxRetries: 0 })
  },
}

for (const [name, loop] of Object.entries(loops)) {
  test(`a model edits a file and its own context through ${name}`, async () => {
    const { context: plain, put, get } = await makeSandbox()
    await put('large.txt', LARGE)
    await put('version.txt', 'version 1\n')
    await using pal = await openPalimpsest({ home: ':memory:' })
    const session = await pal.session('work', { ids: true })
    await using upstream = await startUpstream(script)
    await loop(upstream.url, session, { ...plain, session, journal: sessionJournal(session) })

    assert.equal(await get('version.txt'), 'version 2\n')
    const [, second, third] = upstream.requests
    assert.equal(upstream.requests.length, 3)
    assert.ok(second!.body.includes(JSON.stringify(LARGE).slice(1, -1)), 'the result was whole when it was new')
    assert.ok(!third!.body.includes('nobody needs twice'), 'and is gone when it was discarded')
    assert.match(
      third!.body,
      /\[Discarded: result of read_file, \d+ chars\. Restore it with id [0-9a-f]{8} if needed\]/,
    )
    assert.match(third!.body, /Edited version\.txt: replaced 9 chars with 9 chars/)
    assert.match(third!.body, /Done: [\d,]+ tokens saved\./)
    assert.deepEqual(
      (await session.files()).map(({ action, path }) => `${action} ${path}`),
      ['read large.txt', 'write version.txt'],
    )
    const offered = JSON.stringify(third!.json.tools)
    for (const tool of TOOLS) assert.ok(offered.includes(`"${tool.name}"`), tool.name)
  })
}
