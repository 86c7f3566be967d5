/**
 * Requests that only count tokens, for dialects in which they have a separate form: the generation request in them is
 * replaced by the one that would be sent.
 */
import { readObject } from './body-json.ts'
import type { ProxyDialect } from './dialect.ts'
import { piecesOf, type Spliced } from './splice-body.ts'

type Counted = Pick<ProxyDialect, 'counted'>

/** The bytes of the generation request. */
export function countedRequest({ counted }: Counted, count: Buffer): Buffer {
  const body = counted && readObject(count).body
  return body ? Buffer.from(JSON.stringify(counted.in(body))) : count
}

export function countRequest({ counted }: Counted, count: Buffer, sent: Spliced): Spliced {
  const body = counted && readObject(count).body
  const request = body && readObject(Buffer.concat(piecesOf(sent))).body
  if (!request) return sent
  return { bytes: count, head: Buffer.from(JSON.stringify(counted.as(body, request))), same: 0 }
}
