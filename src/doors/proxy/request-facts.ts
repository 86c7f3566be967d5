/**
 * Facts about the cache and the window in a request, which override the table of models: the requested lifetime (or
 * that nothing is cached), a longer window, and whether the server is told to edit the history.
 */

import type { Wire } from '../../formats/adapters/original.ts'
import { isRecord } from '../../model/json.ts'
import { listIn, type ProxyDialect } from './dialect.ts'
import type { SomeHeaders } from './node-http.ts'

export type RequestFacts = {
  /** The name of the lifetime that the request asks for; `none` if it asks for no caching. */
  cacheTtl?: string
  /** The request asks for a window of a million tokens. */
  longWindow?: true
  /** Edits of the history that the server is told to make. */
  serverEdits: string[]
  /** The server can be told to clear old results: the request has the beta, and no tools that the server runs. */
  mayClear?: true
}

/** When the server is told to clear results: if the client's own headers allow it, always, or never. */
export type ServerEdits = 'auto' | 'always' | 'never'

export function factsOf(
  dialect: ProxyDialect,
  headers: SomeHeaders,
  body: Wire,
  wanted: ServerEdits = 'auto',
): RequestFacts {
  switch (dialect.name) {
    case 'anthropic':
      return anthropicFacts(headers, body, wanted)
    case 'openai-chat':
    case 'openai-responses':
      return openaiFacts(body)
    case 'gemini':
      return { serverEdits: [] }
  }
}

function anthropicFacts(headers: SomeHeaders, body: Wire, wanted: ServerEdits): RequestFacts {
  const betas = headers.get('anthropic-beta') ?? ''
  const edits = isRecord(body['context_management']) ? listIn(body['context_management'], 'edits') : []
  const serverEdits = namesOf(edits).filter(name => SHORTENS.test(name))
  const isAllowed = wanted === 'always' || (wanted === 'auto' && betas.includes(CONTEXT_MANAGEMENT))
  const mayClear = isAllowed && serverEdits.length === 0 && !runsOnServer(body)
  return {
    cacheTtl: lastLifetime(body) ?? 'none',
    ...(/\bcontext-1m-/.test(betas) ? { longWindow: true } : {}),
    serverEdits,
    ...(mayClear ? { mayClear } : {}),
  }
}

/** The beta under which Anthropic edits the history itself. */
export const CONTEXT_MANAGEMENT = 'context-management-2025-06-27'

/** The server may count uses of its own tools too, so that it is unknown which results it would clear. */
function runsOnServer(body: Wire): boolean {
  const types = listIn(body, 'tools').map(tool => (isRecord(tool) ? tool['type'] : undefined))
  return body['mcp_servers'] !== undefined || types.some(type => RUNS_ON_SERVER.test(String(type)))
}

const RUNS_ON_SERVER = /^(?:web_search|web_fetch|code_execution|tool_search|mcp_toolset|advisor)/

/** `clear_thinking` removes nothing that we would edit. */
const SHORTENS = /^(?:clear_tool_uses|compact)_/

/** The lifetime of the last mark: everything before it is kept at least as long. */
function lastLifetime(body: Wire): string | undefined {
  const own = markIn(body)
  if (own) return own
  const messages = listIn(body, 'messages')
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i]
    const mark = isRecord(message) ? lastMark(listIn(message, 'content')) : undefined
    if (mark) return mark
  }
  return lastMark(listIn(body, 'system')) ?? lastMark(listIn(body, 'tools'))
}

function lastMark(blocks: readonly unknown[]): string | undefined {
  const marked = blocks.findLast(block => isRecord(block) && isRecord(block['cache_control']))
  return isRecord(marked) ? markIn(marked) : undefined
}

function markIn({ cache_control: mark }: Wire): string | undefined {
  if (!isRecord(mark)) return undefined
  return typeof mark['ttl'] === 'string' ? mark['ttl'] : '5m'
}

function openaiFacts(body: Wire): RequestFacts {
  const { prompt_cache_options: options, prompt_cache_retention: retention } = body
  const ttl = isRecord(options) ? options['ttl'] : undefined
  const edits = namesOf(listIn(body, 'context_management'))
  const asked = typeof ttl === 'string' ? ttl : retention
  return { ...(typeof asked === 'string' ? { cacheTtl: asked } : {}), serverEdits: edits }
}

function namesOf(edits: readonly unknown[]): string[] {
  return edits.flatMap(edit => (isRecord(edit) && typeof edit['type'] === 'string' ? [edit['type']] : []))
}
