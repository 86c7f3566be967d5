/** Kinds of parts in a few groups, each with its own colour. Pure. */

export type KindGroup =
  | 'system'
  | 'user'
  | 'assistant'
  | 'reasoning'
  | 'read'
  | 'search'
  | 'shell'
  | 'edit'
  | 'web'
  | 'agent'
  | 'inserted'
  | 'other'

export const KIND_NAMES: Record<KindGroup, string> = {
  system: 'System',
  user: 'User',
  assistant: 'Assistant',
  reasoning: 'Reasoning',
  read: 'Read',
  search: 'Search',
  shell: 'Shell',
  edit: 'Edit',
  web: 'Web',
  agent: 'Agents, memory',
  inserted: 'Inserted',
  other: 'Other',
}

const GROUPS: Record<string, KindGroup> = {
  system: 'system',
  user: 'user',
  assistant: 'assistant',
  reasoning: 'reasoning',
  read: 'read',
  'shell-read': 'read',
  search: 'search',
  list: 'search',
  'shell-search': 'search',
  shell: 'shell',
  edit: 'edit',
  write: 'edit',
  'shell-write': 'edit',
  fetch: 'web',
  agent: 'agent',
  memory: 'agent',
  todo: 'agent',
  inserted: 'inserted',
}

export function groupOf(kind: string): KindGroup {
  return (Object.hasOwn(GROUPS, kind) ? GROUPS[kind] : undefined) ?? 'other'
}
