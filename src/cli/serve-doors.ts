/**
 * The doors that the server has beside its own routes: the proxy for agents, its numbers for Prometheus, and MCP.
 *
 * Over HTTP, MCP offers no file tools and no commands: whoever reaches a port is not thereby at home in a folder.
 */

import type { Palimpsest } from '../engine.ts'
import { createMcpHandler } from '../mcp.ts'
import type { Memory } from '../memory/memory.ts'
import { proxyMounts } from '../proxy/mounts.ts'
import { createProxy } from '../proxy/proxy.ts'
import type { Mounted } from '../server.ts'
import { shareOption } from './command.ts'
import { upstreamsIn } from './launch.ts'

export type DoorOptions = {
  pal: Palimpsest
  memory: Memory
  values: { policy?: string; holdout?: string; 'anthropic-upstream'?: string; 'openai-upstream'?: string }
  env: Record<string, string | undefined>
  log: (line: string) => void
}

export function doorsOf({ pal, memory, values, env, log }: DoorOptions): Mounted[] {
  const holdout = shareOption(values.holdout, '--holdout')
  const proxy = createProxy({
    pal,
    log,
    upstreams: {
      ...upstreamsIn(env),
      ...(values['anthropic-upstream'] ? { anthropic: values['anthropic-upstream'] } : {}),
      ...(values['openai-upstream'] ? { openai: values['openai-upstream'] } : {}),
    },
    ...(values.policy ? { policy: values.policy } : {}),
    ...(holdout === undefined ? {} : { holdout }),
  })
  return [
    ...proxyMounts(proxy),
    { prefix: '/metrics', handle: async () => new Response(proxy.metrics(), { headers: METRICS }) },
    { prefix: '/mcp', handle: (request, { caller }) => mcpFor(pal, memory, caller.user ?? 'local')(request) },
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
