/** The paths under which the server offers the proxy to agents. */
import type { NodeAnswer, NodeRequest } from './node-http.ts'
import type { PalimpsestProxy } from './proxy.ts'

type Context = { caller: { id: string; user: string | undefined; owner: string | undefined; role: string } }

export type ProxyMount = {
  prefix: string
  roles: readonly ['user', 'agent', 'admin']
  handle(request: Request, context: Context): Promise<Response>
  pass(request: NodeRequest, context: Context): Promise<NodeAnswer>
  /** `Authorization` is the provider's; the server's own token comes as `X-Palimpsest-Token`. */
  foreignAuthorization: true
}

const PROXY_PATHS = ['/v1', '/anthropic', '/openai', '/gemini'] as const

export function proxyMounts(proxy: PalimpsestProxy): ProxyMount[] {
  return PROXY_PATHS.map(prefix => ({
    prefix,
    roles: ['user', 'agent', 'admin'],
    handle: (request, { caller }) => proxy(request, caller),
    pass: (request, { caller }) => proxy(request, caller),
    foreignAuthorization: true as const,
  }))
}
