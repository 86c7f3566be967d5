/**
 * Real transcripts, if they are installed: every file is read without loss, by numbers that were counted in the raw
 * files in another way.
 */

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readTranscript, readTranscriptStream } from '../../src/formats/transcripts/read-transcript.ts'
import type { Message, Part, ToolResultPart } from '../../src/model/types.ts'
import { checkView } from '../../src/view/legality.ts'
import { assertAppendable, sessionsOneByOne } from '../contracts/transcript-reader.ts'

type Counted = {
  file: string
  format: string
  conversations: number
  messages: number
  user_turns: number
  tool_calls: number
  tool_results: number
  errors: number
  parallel_turns: number
  largest_result: number
  max_ctx_tokens: number
  compactions: number
}

const folder = fileURLToPath(new URL('../../../shared/traces/', import.meta.url))
const index = `${folder}index.json`
const skip = existsSync(index) ? false : 'no ../shared/traces'
const traces: Counted[] = skip ? [] : JSON.parse(readFileSync(index, 'utf8'))

describe('real transcripts', { skip }, () => {
  for (const counted of traces) {
    test(`${counted.file} reads without loss`, async () => {
      if (counted.format === 'aider') return checkAider(counted)
      const found = await countStream(`${folder}${counted.file}`)
      assert.equal(found.format, counted.format)
      assert.equal(found.conversations, counted.conversations)
      assert.equal(found.calls, counted.tool_calls)
      assert.equal(found.results + (counted.format === 'openhands' ? found.complaints : 0), counted.tool_results)
      assert.equal(found.parallel, counted.parallel_turns)
      assert.equal(found.compactions, counted.compactions - (found.continues ? 1 : 0))
      if (counted.max_ctx_tokens > 0) assert.equal(found.context, counted.max_ctx_tokens)
      if (counted.format !== 'swe-agent') {
        assert.equal(found.errors + found.complaints, counted.errors)
        assert.equal(found.largest, counted.largest_result)
      }
      checkUsers(found.users, counted)
      assert.deepEqual(found.problems, [])
    })

    test(`${counted.file} gives sessions that a ledger accepts`, async () => {
      const { sessions } = await readTranscript(`${folder}${counted.file}`)
      assert.deepEqual(await sessionsOneByOne(`${folder}${counted.file}`), sessions)
      for (const session of sessions) {
        assertAppendable(session)
        const rules = new Set(checkView(session.messages).map(({ rule }) => rule))
        // Aborted calls have no result in the file; the engine answers them.
        rules.delete('call-without-result')
        assert.deepEqual([...rules], [])
      }
    })
  }
})

type Found = {
  format: string
  conversations: number
  compactions: number
  /** The file begins after a compaction. */
  continues: boolean
  calls: number
  results: number
  errors: number
  /** Answers to an invalid call, which are stored as text. */
  complaints: number
  parallel: number
  users: number
  largest: number
  context: number
  problems: unknown[]
}

async function countStream(path: string): Promise<Found> {
  const found: Found = {
    format: '',
    conversations: 0,
    compactions: 0,
    continues: false,
    calls: 0,
    results: 0,
    errors: 0,
    complaints: 0,
    parallel: 0,
    users: 0,
    largest: 0,
    context: 0,
    problems: [],
  }
  let messages = 0
  for await (const event of readTranscriptStream(path)) {
    if (event.type === 'format') found.format = event.format
    else if (event.type === 'session' && event.session.reason === 'compaction') found.compactions++
    else if (event.type === 'session' && !event.session.reason) found.conversations++
    else if (event.type === 'problem') found.problems.push(event.problem)
    else if (event.type === 'usage') {
      const { input = 0, cacheRead = 0, cacheWrite = 0 } = event.usage
      found.context = Math.max(found.context, input + cacheRead + cacheWrite)
    } else if (event.type === 'message') {
      if (messages++ === 0) found.continues = textOf(event.message).startsWith('This session is being continued')
      countMessage(found, event.message)
    }
  }
  return found
}

function countMessage(found: Found, message: Message): void {
  const calls = message.parts.filter(part => part.type === 'tool-call' || isWebSearch(part)).length
  found.calls += calls
  if (calls > 1) found.parallel++
  if (message.role === 'user') found.users++
  if (message.role === 'user' && COMPLAINT[found.format]?.test(textOf(message))) found.complaints++
  for (const part of message.parts) {
    if (part.type !== 'tool-result') continue
    found.results++
    if (part.isError) found.errors++
    found.largest = Math.max(found.largest, [...resultText(part)].length)
  }
}

const COMPLAINT: Record<string, RegExp> = {
  openhands: /^Parameter 'command' is expected/,
  'mini-swe-agent': /^Please always provide EXACTLY ONE action/,
}

function checkUsers(users: number, counted: Counted): void {
  // These have more user messages: added by the client, resent history, complaints, demos.
  const more = ['claude-code', 'codex', 'mini-swe-agent', 'swe-agent', 'openhands', 'pi'].includes(counted.format)
  if (more) assert.ok(users >= (counted.format === 'openhands' ? counted.conversations : counted.user_turns))
  else assert.equal(users, counted.user_turns)
}

/** aider's file is text: nothing of it may be missing, except the marks of the format. */
async function checkAider(counted: Counted): Promise<void> {
  const path = `${folder}${counted.file}`
  const { format, sessions, problems } = await readTranscript(path)
  assert.equal(format, 'aider')
  assert.deepEqual(problems, [])
  const starts = readFileSync(path, 'utf8').match(/^# aider chat started at .*/gm) ?? []
  const spoken = readFileSync(path, 'utf8')
    .replace(/^# aider chat started at .*/gm, '')
    .replace(/^####/gm, '')
  const read = sessions.flatMap(session => session.messages.map(textOf)).join('\n')
  assert.equal(read.replace(/\s/g, ''), spoken.replace(/\s/g, ''))
  assert.ok(sessions.length <= starts.length + 1)
}

function textOf(message: Message): string {
  return message.parts.map(part => (part.type === 'text' ? part.text : '')).join('\n')
}

function resultText({ output }: ToolResultPart): string {
  return typeof output === 'string' ? output : output.map(part => (part.type === 'text' ? part.text : '')).join('\n')
}

/** A search by the provider itself: counted as a call, without an id or a result. */
function isWebSearch(part: Part): boolean {
  return part.type === 'raw' && (part.value as { type?: string }).type === 'web_search_call'
}
