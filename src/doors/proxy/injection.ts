/**
 * What the proxy adds to a conversation: a text after the system prompt (memory, workspace) and our own tools.
 *
 * The addition is fixed before the first request of a conversation and written into the ledger. From then on every
 * request has the same bytes, even after changes to the memory and restarts of the proxy. A conversation that began
 * without an addition never gets one. No cache mark is added or moved.
 */

import type { Wire } from '../../formats/adapters/original.ts'
import { isRecord } from '../../model/json.ts'
import type { Session } from '../../session/session.ts'
import type { ProxyDialect } from './dialect.ts'
import { defineLateTools, type LateTool, namesOfTools } from './late-tools.ts'

export type Injection = { system?: string; tools?: LateTool[] }

export type InjectionOptions = {
  /** The text that a new conversation of this user gets after its system prompt; empty for none. */
  system?: (user: string | undefined) => Promise<string>
  /** Whether new conversations get the tools `context` and `recall`. */
  tools?: boolean
}

/** The addition for a conversation that begins with this request; undefined if there is nothing to add. */
export async function newInjection(
  { dialect, body, user }: { dialect: ProxyDialect; body: Wire; user: string | undefined },
  { system, tools }: InjectionOptions,
): Promise<Injection | undefined> {
  const text = system ? await system(user) : ''
  const names = namesOfTools(body)
  // A client that offers no tools expects no tool calls.
  const added = tools && names.size > 0 ? defineLateTools(dialect, names) : undefined
  if (text === '' && !added) return undefined
  return { ...(text === '' ? {} : { system: text }), ...(added ? { tools: added } : {}) }
}

export function inject(dialect: ProxyDialect, body: Wire, { system, tools = [] }: Injection): Wire {
  const told = system === undefined ? body : dialect.addSystem(body, system)
  const own = told['tools']
  const names = namesOfTools(told)
  // If the client has since added a tool of the same name, the client's tool wins.
  const added = tools.filter(({ name }) => !names.has(name)).map(({ definition }) => definition)
  if (!Array.isArray(own) || own.length === 0 || added.length === 0) return told
  return { ...told, tools: dialect.addTools?.(own, added) ?? [...own, ...added] }
}

const RECORDED = 'Added to every request of this conversation: '
/** The injection is among the first two events, after the one that records the origin of the session. */
const AMONG = 2

export async function recordInjection(session: Session, injection: Injection): Promise<void> {
  await session.record({ type: 'decision', text: RECORDED + JSON.stringify(injection) })
}

export async function recordedInjection(session: Session): Promise<Injection | undefined> {
  for (let seq = 0; seq < AMONG; seq++) {
    const event = await session.eventAt(seq)
    if (event?.type !== 'decision' || !event.text.startsWith(RECORDED)) continue
    const value: unknown = JSON.parse(event.text.slice(RECORDED.length))
    return isRecord(value) ? value : undefined
  }
  return undefined
}

/** The approximate tokens that the injection takes in each request. */
export function injectedTokens(injection: Injection | undefined): number {
  return injection ? Math.ceil(JSON.stringify(injection).length / 4) : 0
}
