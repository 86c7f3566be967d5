/**
 * A chat as a list of items, made from the entries of the ledger and extended by the events of a running turn.
 *
 * Both sources give the same items, so a streamed turn looks the same when it is read later. Pure.
 */
import type { AgentEvent } from '../../../../src/agent/events.ts'
import type { Entry, Part } from '../../api-types.ts'

export type ToolItem = {
  kind: 'tool'
  id: string
  name: string
  input: unknown
  /** Undefined while the tool runs. */
  result?: { text: string; isError: boolean }
  /** A question that the user must answer first. */
  approval?: { question: string; answer?: boolean }
}

export type ChatItem =
  | { kind: 'user'; text: string }
  | { kind: 'text'; text: string }
  | { kind: 'reasoning'; text: string }
  | ToolItem
  | { kind: 'edits'; ids: string[]; saved: number; decision: string }
  | { kind: 'retry'; attempt: number; wait: number; reason: string }
  | { kind: 'interrupted'; names: string[] }
  | { kind: 'delegated'; session: string; items: ChatItem[] }
  | { kind: 'done'; reason: Exclude<DoneReason, 'answered'>; message: string }

type DoneReason = Extract<AgentEvent, { type: 'done' }>['reason']

/** The entries of the ledger as items, without the system prompt. */
export function itemsOf(entries: readonly Entry[]): ChatItem[] {
  let items: ChatItem[] = []
  for (const { message } of entries) {
    if (message.role === 'system') continue
    for (const part of message.parts) items = withPart(items, message.role, part)
  }
  return items
}

function withPart(items: ChatItem[], role: string, part: Part): ChatItem[] {
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? items : [...items, { kind: role === 'user' ? 'user' : 'text', text: part.text }]
    case 'reasoning':
      return part.text.trim() === '' ? items : [...items, { kind: 'reasoning', text: part.text }]
    case 'tool-call':
      return [...items, { kind: 'tool', id: part.id, name: part.name, input: part.input }]
    case 'tool-result': {
      const text = typeof part.output === 'string' ? part.output : part.output.map(textIn).join('\n')
      return changeTool(items, part.id, tool => ({ ...tool, result: { text, isError: part.isError === true } }))
    }
    case 'image':
      return [...items, { kind: role === 'user' ? 'user' : 'text', text: `[${part.mediaType}]` }]
    case 'raw':
      return items
  }
}

function textIn(part: Part): string {
  return 'text' in part ? part.text : `[${part.type}]`
}

/** The items after one more event of the running turn. */
export function withEvent(items: readonly ChatItem[], event: AgentEvent): ChatItem[] {
  const last = items.at(-1)
  switch (event.type) {
    case 'text':
    case 'reasoning': {
      const { type: kind, text } = event
      if (last?.kind === kind) return [...items.slice(0, -1), { kind, text: last.text + text }]
      return [...items, { kind, text }]
    }
    case 'call':
      return hasTool(items, event.id)
        ? changeTool(items, event.id, tool => ({ ...tool, input: event.input }))
        : [...items, { kind: 'tool', id: event.id, name: event.name, input: event.input }]
    case 'result':
      return changeTool(items, event.id, tool => ({ ...tool, result: { text: event.text, isError: event.isError } }))
    case 'approval': {
      const known: readonly ChatItem[] = hasTool(items, event.id)
        ? items
        : [...items, { kind: 'tool', id: event.id, name: event.name, input: undefined }]
      return changeTool(known, event.id, tool => ({ ...tool, approval: { question: event.question } }))
    }
    case 'approved':
      return changeTool(items, event.id, ({ approval, ...tool }) => ({
        ...tool,
        ...(approval ? { approval: { ...approval, answer: event.yes } } : {}),
      }))
    case 'edits':
      return [...items, { kind: 'edits', ids: event.ids, saved: event.saved, decision: event.decision }]
    case 'retry':
      return [...items, { kind: 'retry', attempt: event.attempt, wait: event.wait, reason: event.reason }]
    case 'interrupted':
      return [...items, { kind: 'interrupted', names: event.calls.map(({ name }) => name) }]
    case 'delegated':
      return withDelegated(items, event.session, event.event)
    case 'proposals':
    case 'usage':
      return [...items]
    case 'done':
      return event.reason === 'answered'
        ? [...items]
        : [...items, { kind: 'done', reason: event.reason, message: event.message }]
  }
}

/** Keeps the events of one subagent together. */
function withDelegated(items: readonly ChatItem[], session: string, event: AgentEvent): ChatItem[] {
  const at = items.findIndex(item => item.kind === 'delegated' && item.session === session)
  const known = items[at]
  const inner = withEvent(known?.kind === 'delegated' ? known.items : [], event)
  const item: ChatItem = { kind: 'delegated', session, items: inner }
  return at < 0 ? [...items, item] : items.with(at, item)
}

function hasTool(items: readonly ChatItem[], id: string): boolean {
  return items.some(item => item.kind === 'tool' && item.id === id)
}

/** Changes the last call with this id; a provider may use an id again in a later turn. */
function changeTool(items: readonly ChatItem[], id: string, change: (tool: ToolItem) => ToolItem): ChatItem[] {
  const at = items.findLastIndex(item => item.kind === 'tool' && item.id === id)
  const found = items[at]
  return found?.kind === 'tool' ? items.with(at, change(found)) : [...items]
}

/** The open question of the agent or of one of its subagents. */
export function openQuestion(items: readonly ChatItem[]): ToolItem | undefined {
  for (const item of items.toReversed()) {
    const found = item.kind === 'delegated' ? openQuestion(item.items) : item
    if (found?.kind === 'tool' && found.approval && found.approval.answer === undefined && !found.result) return found
  }
  return undefined
}
