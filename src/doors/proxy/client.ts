/**
 * Facts about a request from its client: the conversation that it belongs to, if the client has headers for that, and
 * whether it is a turn of the conversation or a side request (a title, a commit message, the client's own compaction, a
 * check for loops). Each rule was seen in a real client. For an unknown client, the messages decide.
 */

import { hash } from 'node:crypto'
import type { Wire } from '../../formats/adapters/original.ts'
import { isRecord } from '../../model/json.ts'
import { textOf } from '../../model/leaves.ts'
import { headOf } from '../../model/text.ts'
import type { Message } from '../../model/types.ts'
import type { SomeHeaders } from './node-http.ts'

export type ClientKey = {
  /** The name of the conversation, and of the session that keeps it. */
  key: string
  /** The conversation whose agent started this one. */
  parent?: string
  /** The header that named the conversation. */
  by: string
}

type Rule = { header: string; name: string; child?: string; parent?: string }

/** The first header that is present decides. */
const RULES: readonly Rule[] = [
  { header: 'x-palimpsest-session', name: '' },
  {
    header: 'x-claude-code-session-id',
    name: 'claude-',
    child: 'x-claude-code-agent-id',
    parent: 'x-claude-code-parent-agent-id',
  },
  { header: 'thread-id', name: 'codex-', parent: 'x-codex-parent-thread-id' },
  { header: 'x-session-id', name: 'session-', parent: 'x-parent-session-id' },
  { header: 'x-session-affinity', name: 'session-', parent: 'x-parent-session-id' },
  { header: 'session_id', name: 'session-' },
]

const LONGEST_ID = 120
const LONGEST_KEY = 150

export function clientKeyOf(headers: SomeHeaders): ClientKey | undefined {
  for (const { header, name, child, parent } of RULES) {
    const id = idIn(headers, header)
    if (id === undefined) continue
    const base = name + id
    const agent = child && idIn(headers, child)
    const above = parent && idIn(headers, parent)
    if (child && agent) return { key: childKey(base, agent), by: child, parent: above ? childKey(base, above) : base }
    return { key: base, by: header, ...(above && !child ? { parent: name + above } : {}) }
  }
  return undefined
}

/** Two joined long ids must still be a valid name, with room for the suffixes of forks and side requests. */
function childKey(base: string, agent: string): string {
  const key = `${base}.${agent}`
  return key.length <= LONGEST_KEY ? key : `${headOf(key, LONGEST_KEY - 13)}-${hash('sha1', key).slice(0, 12)}`
}

function idIn(headers: SomeHeaders, name: string): string | undefined {
  const value = headers.get(name)?.trim()
  return value ? headOf(value, LONGEST_ID) : undefined
}

/** Programs by the beginning of their `User-Agent`; SDKs name the program only there. */
const AGENTS: readonly [RegExp, string][] = [
  [/^claude-cli\b|^claude-code\b/i, 'claude-code'],
  [/^codex/i, 'codex'],
  [/^opencode/i, 'opencode'],
  [/^pi(?:-coding-agent)?[/ ]/i, 'pi'],
  [/^gemini-?cli/i, 'gemini'],
  [/^google-genai-sdk/i, 'google-genai'],
  [/^qwen-?code/i, 'qwen'],
  [/^cline/i, 'cline'],
  [/^litellm/i, 'litellm'],
  [/^Anthropic\//, 'anthropic-sdk'],
  [/^OpenAI\//, 'openai-sdk'],
  [/^ai(?:-sdk)?\/|\bai-sdk\//, 'ai-sdk'],
]

/** The program that sends the request, if its headers tell. */
export function clientNameOf(headers: SomeHeaders): string | undefined {
  if (headers.has('x-claude-code-session-id')) return 'claude-code'
  const originator = headers.get('originator')
  if (originator?.startsWith('codex')) return 'codex'
  const agent = headers.get('user-agent') ?? ''
  return AGENTS.find(([pattern]) => pattern.test(agent))?.[1]
}

export type Side = 'title' | 'commit' | 'compaction' | 'check'

/** Side requests, recognized by the words that clients use in them. */
const ASKED: readonly [Side, RegExp][] = [
  [
    'compaction',
    /CONTEXT CHECKPOINT COMPACTION|create a detailed summary of (?:the|our) conversation|detailed prompt for continuing our conversation|<state_snapshot>|summari[sz]e (?:the|this|our) conversation (?:so far|above)|anchored (?:context )?summary/i,
  ],
  ['title', /title generator|(?:generate|write|create|come up with) an? [\w ,]{0,60}\btitle\b|isNewTopic/i],
  [
    'commit',
    /(?:generate|write|create) an? [\w ,]{0,80}\bcommit message|expert software engineer that generates (?:concise, )?one-line Git commit messages/i,
  ],
  [
    'check',
    /diagnostic agent that determines whether a conversational AI|content and structure of your immediately preceding response/i,
  ],
]

/** The purpose of a side request; undefined for a turn of the conversation. */
export function sideOf(headers: SomeHeaders, body: Wire, messages: readonly Message[]): Side | undefined {
  if (isCodexCompaction(headers, body) || isRecord(body['compaction'])) return 'compaction'
  const last = messages.at(-1)
  const asked = last?.role === 'user' ? last.parts.map(textOf).join('\n') : ''
  if (ASKED[0]![1].test(asked.slice(0, 4000)) || ASKED[0]![1].test(asked.slice(-4000))) return 'compaction'
  if (hasTools(body)) return undefined
  const system = messages[0]?.role === 'system' ? messages[0].parts.map(textOf).join('\n').slice(0, 2000) : ''
  const side = ASKED.find(([, pattern]) => pattern.test(system) || pattern.test(asked.slice(0, 2000)))?.[0]
  // A title or a commit message takes a single call: a request that holds an answer is a conversation.
  const isAnswered = messages.some(({ role }) => role === 'assistant')
  return isAnswered && (side === 'title' || side === 'commit') ? undefined : side
}

/** Newer OpenAI models get their tools in the list of messages. */
export function hasTools({ tools, input }: Wire): boolean {
  if (Array.isArray(tools) && tools.length > 0) return true
  return Array.isArray(input) && input.some(item => isRecord(item) && item['type'] === 'additional_tools')
}

function isCodexCompaction(headers: SomeHeaders, { input }: Wire): boolean {
  const last: unknown = Array.isArray(input) ? input.at(-1) : undefined
  if (isRecord(last) && last['type'] === 'compaction_trigger') return true
  return /"request_kind"\s*:\s*"compaction"/.test(headers.get('x-codex-turn-metadata') ?? '')
}
