/**
 * Detects which provider's form a JSON value has: a list of messages, or a request with one. It looks for roles,
 * fields and block types that only one provider uses; a list of plain texts counts as OpenAI Chat.
 */
import { isRecord } from '../model/json.ts'
import type { Wire } from './adapters/original.ts'

export const WIRE_DIALECTS = ['anthropic', 'openai-chat', 'openai-responses'] as const
export type WireDialect = (typeof WIRE_DIALECTS)[number]

/** `around` is the request with the list under `key`; without a key the list is the whole value. */
export type WireForm = { dialect: WireDialect | 'neutral'; list: unknown[]; around: Wire; key?: 'messages' | 'input' }

export function isWireDialect(name: string): name is WireDialect {
  return WIRE_DIALECTS.some(dialect => dialect === name)
}

/** The form of a value, in the given dialect if there is one; undefined if there is no list of messages. */
export function wireFormOf(value: unknown, dialect?: WireDialect): WireForm | undefined {
  const form = listIn(value)
  if (!form || form.list.length === 0 || !form.list.every(isRecord)) return undefined
  const known = dialect ?? dialectOf(form.list, form)
  return known && { ...form, dialect: known }
}

function listIn(value: unknown): Omit<WireForm, 'dialect'> | undefined {
  if (Array.isArray(value)) return { list: value, around: {} }
  if (!isRecord(value)) return undefined
  if (Array.isArray(value['messages'])) return { list: value['messages'], around: value, key: 'messages' }
  if (Array.isArray(value['input'])) return { list: value['input'], around: value, key: 'input' }
  return undefined
}

const RESPONSES_ITEMS = new Set([
  'function_call',
  'function_call_output',
  'reasoning',
  'item_reference',
  'custom_tool_call',
])
const RESPONSES_BLOCKS = new Set(['input_text', 'output_text', 'input_image', 'input_file'])
const ANTHROPIC_BLOCKS = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'image', 'document'])
const CHAT_ROLES = new Set(['tool', 'developer', 'function', 'system'])

function dialectOf(list: readonly Wire[], { around, key }: Omit<WireForm, 'dialect'>): WireForm['dialect'] | undefined {
  if (list.every(item => typeof item['role'] === 'string' && Array.isArray(item['parts']))) return 'neutral'
  const blocks = new Set(list.flatMap(blockTypes))
  const has = (types: ReadonlySet<string>) => types.intersection(blocks).size > 0
  if (key === 'input' || list.some(item => RESPONSES_ITEMS.has(String(item['type']))) || has(RESPONSES_BLOCKS)) {
    return 'openai-responses'
  }
  if (!list.every(item => typeof item['role'] === 'string')) return undefined
  if (has(ANTHROPIC_BLOCKS) || around['system'] !== undefined) return 'anthropic'
  if (list.some(item => 'content' in item || 'tool_calls' in item || CHAT_ROLES.has(String(item['role'])))) {
    return 'openai-chat'
  }
  return undefined
}

function blockTypes({ content }: Wire): string[] {
  return Array.isArray(content) ? content.filter(isRecord).map(block => String(block['type'])) : []
}
