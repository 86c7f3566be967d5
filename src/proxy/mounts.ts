/** The proxy as doors of the server: the paths under which agents find it. */
import type { AnyRequest } from './node-http.ts'
import type { PalimpsestProxy } from './proxy.ts'

export type ProxyMount = {
  prefix: string
  light: true
  handle(request: AnyRequest, context: { caller: { user: string | undefined } }): Promise<Response>
  /** `Authorization` is the provider's; the server's own token comes as `X-Palimpsest-Token`. */
  foreignAuthorization: true
}

export const PROXY_PATHS = ['/v1', '/anthropic', '/openai', '/gemini'] as const

export function proxyMounts(proxy: PalimpsestProxy): ProxyMount[] {
  return PROXY_PATHS.map(prefix => ({
    prefix,
    light: true as const,
    handle: (request, { caller }) => proxy(request, caller),
    foreignAuthorization: true as const,
  }))
}
