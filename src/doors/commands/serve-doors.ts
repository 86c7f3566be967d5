/**
 * The doors of the server in addition to its own routes: the proxy for agents, its numbers for Prometheus, MCP, and the
 * files of the web UI.
 *
 * Over HTTP, MCP offers no file tools and no commands: a remote caller has no right to a folder. It acts for its
 * caller, with their sessions, their memory, and the workspace of their agent.
 */

import type { AgentDesk } from '../../agent/desk.ts'
import { proposeRepeated } from '../../agent/preferences.ts'
import { DecisionLinks } from '../../memory/decision-links.ts'
import type { Memory } from '../../memory/memory.ts'
import { workspaceIn } from '../../memory/workspace.ts'
import type { Environment } from '../../model/defaults.ts'
import type { Palimpsest } from '../../session/engine.ts'
import { createMcpHandler } from '../mcp/mcp.ts'
import { proxyMounts } from '../proxy/mounts.ts'
import { Notices, type Told } from '../proxy/notices.ts'
import { createProxy } from '../proxy/proxy.ts'
import { agentChat } from '../server/agent-chat.ts'
import { decidePages } from '../server/decide.ts'
import { LOCAL } from '../server/gate.ts'
import { ADMINS, EVERYBODY } from '../server/route.ts'
import type { MountContext, Mounted } from '../server/server.ts'
import { NAMELESS, ownName } from '../server/users.ts'
import { webMounts } from '../server/web.ts'
import { type ProxyValues, proxyOptionsFrom } from './proxy-options.ts'

export type DoorOptions = {
  pal: Palimpsest
  memory: Memory
  agent: AgentDesk
  values: ProxyValues
  env: Environment
  log: (line: string) => void
  /** The server's address for users, if it differs from the one for programs. */
  publicUrl?: string | undefined
  /** Whether answers through the proxy mention that a proposal waits. */
  noticeInAnswers?: boolean | undefined
  /** Signs the links with which a user decides; all servers of a home share it. */
  linkKey: Buffer
  /** Which proposals were already announced. */
  told: Told
}

export async function doorsOf({
  pal,
  memory,
  agent,
  values,
  env,
  log,
  publicUrl,
  linkKey,
  told,
  noticeInAnswers = true,
}: DoorOptions): Promise<Mounted[]> {
  const links = new DecisionLinks(linkKey)
  const users = [...new Set([...(values.memory === undefined ? [] : [values.memory]), ownName(env), NAMELESS])]
  const proxy = createProxy({
    // The daily log goes to the workspace that models are told about.
    pal: values.workspace ? pal.with({ workspace: workspaceIn(env, { files: pal.files }) }) : pal,
    log,
    learn: (said, { user = users[0]!, owner }) =>
      proposeRepeated({ pal: owner === undefined ? pal : pal.of(owner), memory, user }, said),
    ...(noticeInAnswers ? { notices: new Notices({ memory, links, told, users, publicUrl }) } : {}),
    ...(await proxyOptionsFrom(values, { env, files: pal.files, settings: pal.settings, memory: async () => memory })),
  })
  return [
    ...proxyMounts(proxy),
    {
      prefix: '/metrics',
      roles: ADMINS,
      handle: async () => new Response(await proxy.metrics(), { headers: METRICS }),
    },
    {
      prefix: '/mcp',
      roles: EVERYBODY,
      handle: (request, context) => mcpFor(context, new URL('/#/memory', publicUrl ?? request.url).href)(request),
    },
    agentChat(agent, { links, publicUrl, log }),
    decidePages(links),
    ...webMounts(),
  ]
}

const METRICS = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }

function mcpFor({ caller, doors }: MountContext, where: string): (request: Request) => Promise<Response> {
  const { user = NAMELESS, name } = caller
  return createMcpHandler({
    pal: doors.desk.of(caller),
    seesSessions: true,
    root: '.',
    tools: ['context', 'workspace', 'memory'],
    workspace: caller.id === LOCAL.id ? doors.workspace : doors.pal.files.of(user, 'workspace'),
    memory: { memory: doors.memory, user, agent: name || 'mcp', where },
  })
}
