/** `palimpsest/server`: the HTTP server, the proxy, the MCP server and the agent, for programs that run them. */
export type { Agent } from '../../agent/agent.ts'
export type { AgentEvent } from '../../agent/events.ts'
export { type Home, type OpenAgentOptions, openAgentFrom, openHome } from '../../agent/open.ts'
export { createMcpServer, type McpOptions } from '../mcp/mcp.ts'
export { type Front, type FrontOptions, serveProxy } from '../proxy/front.ts'
export { createProxy, type PalimpsestProxy, type ProxyOptions } from '../proxy/proxy.ts'
export { createServer, type Listening, type Server, type ServerOptions, serve } from '../server/server.ts'
export { openServerStore, type ServerStore } from '../server/server-store.ts'
