/**
 * What a request says about its cache and its window, which counts before the table of models: the lifetime that it asks
 * for (or that nothing is cached at all), a longer window, and whether the server is told to edit the history itself.
 */
import { isWire, type Wire } from '../../formats/adapters/original.ts'
import type { ProxyDialect } from './dialect.ts'
import type { SomeHeaders } from './node-http.ts'

export type RequestFacts = {
  /** The name of the lifetime that the request asks for; `none` where it asks for no caching. */
  cacheTtl?: string
  /** A window of a million tokens is asked for. */
  longWindow?: true
  /** Edits of the history that the server is told to make. */
  serverEdits: string[]
}

export function factsOf(dialect: ProxyDialect, headers: SomeHeaders, body: Wire): RequestFacts {
  switch (dialect.name) {
    case 'anthropic':
      return anthropicFacts(headers, body)
    case 'openai-chat':
    case 'openai-responses':
      return openaiFacts(body)
    case 'gemini':
      return { serverEdits: [] }
  }
}

function anthropicFacts(headers: SomeHeaders, body: Wire): RequestFacts {
  const betas = headers.get('anthropic-beta') ?? ''
  const edits = isWire(body['context_management']) ? listIn(body['context_management'], 'edits') : []
  return {
    cacheTtl: lastLifetime(body) ?? 'none',
    ...(/\bcontext-1m-/.test(betas) ? { longWindow: true } : {}),
    serverEdits: namesOf(edits).filter(name => SHORTENS.test(name)),
  }
}

/** `clear_thinking` takes nothing that we would edit. */
const SHORTENS = /^(?:clear_tool_uses|compact)_/

/** The lifetime of the last mark: everything before it is kept at least as long. */
function lastLifetime(body: Wire): string | undefined {
  const own = markIn(body)
  if (own) return own
  const messages = listIn(body, 'messages')
  for (let i = messages.length - 1; i >= 0; i--) {
    const message = messages[i]
    const mark = isWire(message) ? lastMark(listIn(message, 'content')) : undefined
    if (mark) return mark
  }
  return lastMark(listIn(body, 'system')) ?? lastMark(listIn(body, 'tools'))
}

function lastMark(blocks: readonly unknown[]): string | undefined {
  const marked = blocks.findLast(block => isWire(block) && isWire(block['cache_control']))
  return isWire(marked) ? markIn(marked) : undefined
}

function markIn({ cache_control: mark }: Wire): string | undefined {
  if (!isWire(mark)) return undefined
  return typeof mark['ttl'] === 'string' ? mark['ttl'] : '5m'
}

function openaiFacts(body: Wire): RequestFacts {
  const { prompt_cache_options: options, prompt_cache_retention: retention } = body
  const ttl = isWire(options) ? options['ttl'] : undefined
  const edits = namesOf(listIn(body, 'context_management'))
  const asked = typeof ttl === 'string' ? ttl : retention
  return { ...(typeof asked === 'string' ? { cacheTtl: asked } : {}), serverEdits: edits }
}

function namesOf(edits: readonly unknown[]): string[] {
  return edits.flatMap(edit => (isWire(edit) && typeof edit['type'] === 'string' ? [edit['type']] : []))
}

function listIn(holder: Wire, key: string): unknown[] {
  const list = holder[key]
  return Array.isArray(list) ? list : []
}
