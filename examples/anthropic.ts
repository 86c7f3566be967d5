/** A tool loop on the Anthropic SDK: the ledger keeps every message, and the model is sent the view. */
import Anthropic from '@anthropic-ai/sdk'
import type { MessageParam, TextBlockParam, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages'
import { openPalimpsest, thrifty } from 'palimpsest'
import { fromAnthropic, toAnthropic } from 'palimpsest/adapters'
import { READ_FILE, readTextFile } from './read-file.ts'

const model = 'claude-sonnet-4-5'
const client = new Anthropic()
await using pal = await openPalimpsest()
const session = await pal.session(`example-${Date.now()}`, { model, planner: thrifty({ keep: 'more' }) })
const messages: MessageParam[] = [{ role: 'user', content: process.argv[2] ?? 'What is in package.json?' }]

for (;;) {
  const view = await session.sync(fromAnthropic(messages, 'You read files.'))
  const answer = await client.messages.create({
    model,
    max_tokens: 1000,
    tools: [{ name: READ_FILE.name, description: READ_FILE.description, input_schema: READ_FILE.schema }],
    ...toAnthropic<MessageParam, TextBlockParam[]>(view.messages),
  })
  messages.push({ role: 'assistant', content: answer.content })
  const results: ToolResultBlockParam[] = []
  for (const block of answer.content) {
    if (block.type === 'text') console.log(block.text)
    if (block.type !== 'tool_use') continue
    results.push({
      type: 'tool_result',
      tool_use_id: block.id,
      content: await readTextFile(block.input as { path: string }),
    })
  }
  if (results.length === 0) break
  messages.push({ role: 'user', content: results })
}
