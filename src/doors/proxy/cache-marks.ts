/**
 * Cache marks on an edited request to Anthropic. The client's own marks stay. A mark whose block was edited away moves
 * to the nearest block before it, so the number of marks never grows and their order never changes.
 *
 * One more mark is set before the first message that differs from the last request. Anthropic looks for a cached prefix
 * only at marks and up to twenty blocks before each; clients mark their system prompt and their last message. So after
 * an edit further back, everything after the system prompt would be written to the cache again. With a mark before the
 * edit, the part before it is read from the cache. The mark is set in the request that brings the edit, if the client
 * leaves one of the four marks free, and never for a client without marks.
 */

import type { AnthropicMessage } from '../../formats/adapters/anthropic.ts'
import { sameJson, type Wire } from '../../formats/adapters/original.ts'
import { isRecord } from '../../model/json.ts'
import { listIn } from './dialect.ts'

const MOST_MARKS = 4
const LOOK_BACK_BLOCKS = 20

/**
 * The body with one more mark, if one helps. `before`: the messages that the model saw last; `now`: those it sees in
 * this request.
 */
export function withFreeMark(body: Wire, before: readonly unknown[], now = listIn(body, 'messages')): Wire {
  const messages = body['messages'] as AnthropicMessage[]
  const own = marksIn(messages)
  const around = [body, ...listIn(body, 'tools'), ...listIn(body, 'system')].filter(isRecord)
  const all = [...around.flatMap(({ cache_control: mark }) => (mark ? [mark] : [])), ...own.map(({ mark }) => mark)]
  if (all.length === 0 || all.length >= MOST_MARKS) return body
  const first = firstChange(now, before)
  const behind = messages
    .slice(first)
    .reduce((count, { content }) => count + (Array.isArray(content) ? content.length : 1), 0)
  if (first >= before.length || behind <= LOOK_BACK_BLOCKS) return body
  // The lifetime comes from a later mark: the provider requires that no mark outlives the marks before it.
  const mark = own.find(({ message }) => message >= first)?.mark ?? all.at(-1)
  const marked = markBefore(messages, first, mark)
  return marked ? { ...body, messages: marked } : body
}

/** The number of leading messages that are the same, apart from cache marks. */
function firstChange(messages: readonly unknown[], before: readonly unknown[]): number {
  let same = 0
  while (same < messages.length && same < before.length && isSame(messages[same], before[same])) same++
  return same
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || sameJson(unmarked(one), unmarked(other))
}

function unmarked(message: unknown): unknown {
  if (!isRecord(message)) return message
  const { role, content } = message
  if (typeof content === 'string') return [role, [{ type: 'text', text: content }]]
  return [
    role,
    listIn(message, 'content').map(block => (isRecord(block) ? { ...block, cache_control: undefined } : block)),
  ]
}

/** Restores the client's number of cache marks: marks that were lost with their blocks are put back. */
export function withMarks(before: readonly AnthropicMessage[], after: AnthropicMessage[]): AnthropicMessage[] {
  const set = marksIn(before)
  const kept = marksIn(after)
  if (kept.length > set.length) return withoutMarks(after, kept.slice(0, kept.length - set.length))
  const lost = set.slice(0, set.length - kept.length)
  if (lost.length === 0) return after
  const first = kept[0]?.message ?? after.length
  let messages = after
  for (const { mark } of lost.reverse()) messages = markBefore(messages, first, mark) ?? messages
  return messages
}

/** An edit may show a message in its recorded form, which may still carry a mark from that time. */
function withoutMarks(messages: AnthropicMessage[], surplus: readonly Marked[]): AnthropicMessage[] {
  const left = new Map<number, number>()
  for (const { message } of surplus) left.set(message, (left.get(message) ?? 0) + 1)
  return messages.map((message, i) => {
    let count = left.get(i) ?? 0
    if (count === 0 || !Array.isArray(message.content)) return message
    const content = message.content.map(block => {
      if (count === 0 || !isRecord(block) || !block['cache_control']) return block
      count--
      const { cache_control: _, ...rest } = block
      return rest
    })
    return { ...message, content }
  })
}

type Marked = { message: number; mark: unknown }

function marksIn(messages: readonly AnthropicMessage[]): Marked[] {
  const marks: Marked[] = []
  for (const [message, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue
    for (const block of content) {
      if (isRecord(block) && block['cache_control']) marks.push({ message, mark: block['cache_control'] })
    }
  }
  return marks
}

/** Marks the last block that can carry a mark before the message at `before`, unless it is marked already. */
function markBefore(messages: AnthropicMessage[], before: number, mark: unknown): AnthropicMessage[] | undefined {
  for (let i = before - 1; i >= 0; i--) {
    const { content } = messages[i]!
    const last = Array.isArray(content) ? content.at(-1) : undefined
    if (!isRecord(last) || !CARRIES_MARK.has(String(last['type']))) continue
    if (last['cache_control']) return undefined
    const marked = {
      ...messages[i]!,
      content: [...(content as unknown[]).slice(0, -1), { ...last, cache_control: mark }],
    }
    return messages.with(i, marked)
  }
  return undefined
}

const CARRIES_MARK = new Set(['text', 'tool_result', 'tool_use', 'image'])
