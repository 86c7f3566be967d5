/** Arbitrary sessions: parallel calls, images, reasoning, errors, empty messages, all of Unicode, interruptions. */

import type { Message, Part, ToolCallPart } from '../../src/model/types.ts'
import * as fc from '../property.ts'

const text = fc.oneof(
  fc.lorem({ maxCount: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.constantFrom('$& $$ $`', 'a\r\nb', '', '   ', '{"$content":"x"}', '🙂'.repeat(9)),
)

const json = fc.oneof(
  fc.record({ path: fc.constantFrom('a.ts', 'b/c.ts'), content: text }),
  fc.record({ command: text }, { requiredKeys: [] }),
  fc.jsonValue({ maxDepth: 2 }).map(value => ({ value })),
)

const image: fc.Arbitrary<Part> = fc.record({
  type: fc.constant('image' as const),
  mediaType: fc.constant('image/png'),
  data: fc.base64String({ maxLength: 40 }),
})

const output = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 1, arbitrary: fc.array(fc.oneof(text.map(asText), image), { maxLength: 3 }) },
)

type Step = {
  user: string | undefined
  withImage: Part | undefined
  reasoning: string | undefined
  said: string | undefined
  raw: boolean
  calls: { input: unknown; output: string | Part[]; isError: boolean }[]
  /** The share of calls with an answer; the others are interrupted. */
  answered: number
  together: boolean
  reversed: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  user: fc.option(text, { nil: undefined }),
  withImage: fc.option(image, { nil: undefined, freq: 6 }),
  reasoning: fc.option(fc.lorem({ maxCount: 5 }), { nil: undefined, freq: 3 }),
  said: fc.option(text, { nil: undefined }),
  raw: fc.boolean(),
  calls: fc.array(fc.record({ input: json, output, isError: fc.boolean() }), { maxLength: 3 }),
  answered: fc.oneof({ weight: 9, arbitrary: fc.constant(3) }, { weight: 1, arbitrary: fc.nat(2) }),
  together: fc.boolean(),
  reversed: fc.boolean(),
})

/** A session that begins with a request; anything may follow. */
export const session: fc.Arbitrary<Message[]> = fc
  .array(step, { minLength: 1, maxLength: 9 })
  .map(steps => [{ role: 'user' as const, parts: [asText('Fix the login.')] }, ...steps.flatMap(toMessages)])

function toMessages(step: Step, index: number): Message[] {
  const messages: Message[] = []
  if (step.user !== undefined) {
    const parts: Part[] = [asText(step.user), ...(step.withImage ? [step.withImage] : [])]
    messages.push({ role: 'user', parts })
  }
  const calls: ToolCallPart[] = step.calls.map((call, i) => ({
    type: 'tool-call',
    id: `call_${index}_${i}`,
    name: i % 2 ? 'bash' : 'read_file',
    input: call.input,
  }))
  const parts: Part[] = [
    ...(step.reasoning === undefined ? [] : [{ type: 'reasoning' as const, text: step.reasoning }]),
    ...(step.said === undefined ? [] : [asText(step.said)]),
    ...(step.raw
      ? [{ type: 'raw' as const, provider: 'anthropic', value: { type: 'server_tool_use', n: index } }]
      : []),
    ...calls,
  ]
  messages.push({ role: 'assistant', parts: parts.length > 0 ? parts : [asText('ok')] })
  const results = calls.slice(0, step.answered).map((call, i) => {
    const { output, isError } = step.calls[i]!
    return { type: 'tool-result' as const, id: call.id, name: call.name, output, ...(isError ? { isError } : {}) }
  })
  if (step.reversed) results.reverse()
  if (step.together && results.length > 0) messages.push({ role: 'tool', parts: results })
  else for (const result of results) messages.push({ role: 'tool', parts: [result] })
  return messages
}

function asText(text: string): Part {
  return { type: 'text', text }
}
