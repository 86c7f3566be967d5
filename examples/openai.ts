/** A tool loop on OpenAI's SDK: the ledger keeps every message, and the model is sent the view. */
import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import { openPalimpsest } from 'palimpsest'
import { fromOpenAIChat, toOpenAIChat } from 'palimpsest/adapters'
import { READ_FILE, readTextFile } from './read-file.ts'

const model = 'gpt-4.1'
const client = new OpenAI()
await using pal = await openPalimpsest()
const session = await pal.session(`example-${Date.now()}`, { model })
const messages: ChatCompletionMessageParam[] = [
  { role: 'system', content: 'You read files.' },
  { role: 'user', content: process.argv[2] ?? 'What is in package.json?' },
]

for (;;) {
  const view = await session.sync(fromOpenAIChat(messages))
  const { choices } = await client.chat.completions.create({
    model,
    messages: toOpenAIChat<ChatCompletionMessageParam>(view.messages),
    tools: [
      {
        type: 'function',
        function: { name: READ_FILE.name, description: READ_FILE.description, parameters: READ_FILE.schema },
      },
    ],
  })
  const answer = choices[0]!.message
  if (answer.content) console.log(answer.content)
  messages.push(answer)
  const calls = (answer.tool_calls ?? []).filter(call => call.type === 'function')
  if (calls.length === 0) break
  for (const {
    id,
    function: { arguments: input },
  } of calls) {
    messages.push({ role: 'tool', tool_call_id: id, content: await readTextFile(JSON.parse(input)) })
  }
}
