/** A LangChain agent: every model call sends the session's view. */
import { ChatAnthropic } from '@langchain/anthropic'
import { createAgent, tool } from 'langchain'
import { openPalimpsest } from 'palimpsest'
import { palimpsest } from 'palimpsest/langchain'
import { z } from 'zod'
import { READ_FILE, readTextFile } from './read-file.ts'

const name = 'claude-sonnet-4-5'
const { ANTHROPIC_BASE_URL: base } = process.env
await using pal = await openPalimpsest()
const session = await pal.session(`example-${Date.now()}`, { model: name })
const readFile = tool(readTextFile, {
  name: READ_FILE.name,
  description: READ_FILE.description,
  schema: z.object({ path: z.string() }),
})
const agent = createAgent({
  model: new ChatAnthropic({ model: name, ...(base ? { anthropicApiUrl: base } : {}) }),
  tools: [readFile],
  middleware: [palimpsest(session)],
})
const { messages } = await agent.invoke({
  messages: [{ role: 'user', content: process.argv[2] ?? 'What is in package.json?' }],
})
console.log(messages.at(-1)?.text)
