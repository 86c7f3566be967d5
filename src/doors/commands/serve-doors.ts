/**
 * The doors that the server has beside its own routes: the proxy for agents, its numbers for Prometheus, MCP, and the
 * files of the web UI.
 *
 * Over HTTP, MCP offers no file tools and no commands: whoever reaches a port is not thereby at home in a folder.
 */

import type { AgentDesk } from '../../agent/desk.ts'
import type { Memory } from '../../memory/memory.ts'
import type { Palimpsest } from '../../session/engine.ts'
import { createMcpHandler } from '../mcp/mcp.ts'
import { proxyMounts } from '../proxy/mounts.ts'
import { createProxy } from '../proxy/proxy.ts'
import { agentChat } from '../server/agent-chat.ts'
import type { Mounted } from '../server/server.ts'
import { webMounts } from '../server/web.ts'
import { type ProxyValues, proxyOptionsFrom } from './proxy-options.ts'

export type DoorOptions = {
  pal: Palimpsest
  memory: Memory
  agent: AgentDesk
  values: ProxyValues
  env: Record<string, string | undefined>
  log: (line: string) => void
}

export function doorsOf({ pal, memory, agent, values, env, log }: DoorOptions): Mounted[] {
  const proxy = createProxy({ pal, log, ...proxyOptionsFrom(values, { env, memory: async () => memory }) })
  return [
    ...proxyMounts(proxy),
    { prefix: '/metrics', handle: async () => new Response(proxy.metrics(), { headers: METRICS }) },
    { prefix: '/mcp', handle: (request, { caller }) => mcpFor(pal, memory, caller.user ?? 'local')(request) },
    agentChat(agent, log),
    ...webMounts(),
  ]
}

const METRICS = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }

function mcpFor(pal: Palimpsest, memory: Memory, user: string): (request: Request) => Promise<Response> {
  return createMcpHandler({
    pal,
    root: '.',
    tools: ['context', 'workspace', 'memory'],
    session: `mcp-${user}`,
    memory: { memory, user, agent: 'mcp' },
  })
}
