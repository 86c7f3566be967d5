/** The AI SDK: every call of the wrapped model sends the session's view. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { generateText, isStepCount, tool, wrapLanguageModel } from 'ai'
import { openPalimpsest } from 'palimpsest'
import { palimpsest } from 'palimpsest/ai-sdk'
import { z } from 'zod'
import { READ_FILE, readTextFile } from './read-file.ts'

const name = 'claude-sonnet-4-5'
const { ANTHROPIC_BASE_URL: base } = process.env
const anthropic = createAnthropic(base ? { baseURL: `${base}/v1` } : {})
await using pal = await openPalimpsest()
const session = await pal.session(`example-${Date.now()}`, { model: name })
const model = wrapLanguageModel({ model: anthropic(name), middleware: palimpsest(session) })

const { text } = await generateText({
  model,
  prompt: process.argv[2] ?? 'What is in package.json?',
  tools: {
    [READ_FILE.name]: tool({
      description: READ_FILE.description,
      inputSchema: z.object({ path: z.string() }),
      execute: readTextFile,
    }),
  },
  stopWhen: isStepCount(10),
})
console.log(text)
