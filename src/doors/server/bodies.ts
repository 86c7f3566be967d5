/**
 * Request bodies: limited in size while they are read, JSON if a route takes JSON, of limited depth, and with valid
 * Unicode.
 */
import { isPalimpsestError, PalimpsestError } from '../../model/errors.ts'
import { parseJson } from '../../model/json.ts'
import { valuesIn } from '../../model/json-text.ts'

const MAX_DEPTH = 64
/** A value takes far more memory than the two bytes that it can have. */
const MAX_VALUES = 1_000_000

/** The bytes of a body; stops reading at the limit. */
export async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const declared = Number(request.headers.get('content-length') ?? 0)
  if (declared > limit) throw tooLarge(limit)
  if (!request.body) return new Uint8Array()
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of request.body) {
      size += chunk.length
      if (size > limit) throw tooLarge(limit)
      chunks.push(chunk)
    }
  } catch (error) {
    if (isPalimpsestError(error)) throw error
    // The client has gone away, which is no failure of ours.
    throw new PalimpsestError('FORMAT_BROKEN', 'The body ended too early.', {}, error)
  }
  return Buffer.concat(chunks)
}

/** The JSON value in a body; undefined if the body is empty. */
export function parseJsonBody(bytes: Uint8Array, contentType: string | null): unknown {
  if (bytes.length === 0) return undefined
  if (!/^application\/json\s*(?:;|$)/i.test(contentType ?? '')) {
    throw new PalimpsestError('MEDIA_TYPE_UNSUPPORTED', 'Send the body as Content-Type: application/json.')
  }
  const value = parseBody(bytes)
  checkJson(value)
  return value
}

export function parseBody(bytes: Uint8Array): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (valuesIn(text, MAX_VALUES) > MAX_VALUES) throw tooLarge(MAX_VALUES, 'values')
    return parseJson(text)
  } catch (error) {
    if (isPalimpsestError(error)) throw error
    throw new PalimpsestError('FORMAT_BROKEN', 'The body is not valid JSON in UTF-8.')
  }
}

/** Walks without recursion, because the value may be deeper than the stack. */
function checkJson(root: unknown): void {
  const rest: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }]
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { value, depth } = next
    if (typeof value === 'string') checkText(value)
    if (value === null || typeof value !== 'object') continue
    if (depth >= MAX_DEPTH) {
      throw new PalimpsestError('INVALID_INPUT', `The body is nested more than ${MAX_DEPTH} levels deep.`)
    }
    for (const [key, inner] of Object.entries(value)) {
      checkText(key)
      rest.push({ value: inner, depth: depth + 1 })
    }
  }
}

function checkText(text: string): void {
  if (text.isWellFormed()) return
  throw new PalimpsestError('INVALID_UNICODE', 'A text in the body is not valid Unicode (a lone surrogate).')
}

function tooLarge(limit: number, what = 'bytes'): PalimpsestError {
  return new PalimpsestError('TOO_LARGE', `The body is larger than ${limit} ${what}.`, { limit })
}
