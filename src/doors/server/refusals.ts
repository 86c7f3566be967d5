/**
 * Turns a failure into an answer: `{ error: { code, message, … } }` with the right status.
 *
 * A caller's mistake is reported with its data. An internal failure is reported by its code alone: messages of stores
 * contain paths, and an unknown error may contain anything, so those are logged and never sent.
 */
import { ERROR_CODES, type ErrorCode, isPalimpsestError, ofSystem, PalimpsestError } from '../../model/errors.ts'
import { jsonAnswer, type NodeAnswer } from '../proxy/node-http.ts'

export type ErrorBody = { error: { code: string; message: string } & Record<string, unknown> }
export type Refusal = { status: number; body: ErrorBody; headers: Record<string, string> }

/** By the class of the exit code: wrong arguments, not found, conflict, unreadable, internal failure. */
const BY_EXIT: Record<number, number> = { 2: 422, 3: 404, 4: 409, 5: 422, 6: 500, 7: 503, 8: 500, 9: 401 }

const BY_CODE: Partial<Record<ErrorCode, number>> = {
  TOO_LARGE: 413,
  FORBIDDEN: 403,
  LINK_INVALID: 403,
  METHOD_NOT_ALLOWED: 405,
  MEDIA_TYPE_UNSUPPORTED: 415,
  RATE_LIMITED: 429,
  /** The body is not JSON at all; JSON that does not fit the schema is a 422. */
  FORMAT_BROKEN: 400,
  /** Requests of the right shape that conflict with the session, the view or the server's own policies. */
  INVALID_MESSAGE: 409,
  PATTERN_NOT_FOUND: 409,
  SCHEMA_VIOLATION: 422,
  KEY_REUSED: 409,
  CONFIG_INVALID: 409,
  MODEL_MISSING: 409,
}

const OUR_FAULT = 500
/** These are not internal faults, and their messages are safe to send. */
const TEMPORARY = new Set<ErrorCode>(['RATE_LIMITED', 'CLOSING'])

function statusOf(code: ErrorCode): number {
  return BY_CODE[code] ?? BY_EXIT[ERROR_CODES[code]] ?? OUR_FAULT
}

export function toRefusal(thrown: unknown, log: (line: string) => void): Refusal {
  const error = ofSystem(thrown)
  if (!isPalimpsestError(error)) {
    log(`internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    return refusal(OUR_FAULT, 'INTERNAL', 'Something went wrong on the server. Its log says more.')
  }
  const { code, message, data } = error
  const status = statusOf(code)
  if (status >= OUR_FAULT && !TEMPORARY.has(code)) {
    log(`${code}: ${message}`)
    return refusal(status, code, 'The server cannot do this now. Its log says more.')
  }
  const { retryAfter, allow, ...rest } = data
  const headers: Record<string, string> = {}
  if (typeof retryAfter === 'number') headers['retry-after'] = String(retryAfter)
  if (typeof allow === 'string') headers['allow'] = allow
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="palimpsest"'
  return { status, headers, body: { error: { ...rest, code, message } } }
}

export function toResponse({ status, headers, body }: Refusal): Response {
  return Response.json(body, { status, headers })
}

export function toNodeAnswer({ status, headers, body }: Refusal): NodeAnswer {
  return jsonAnswer(status, body, headers)
}

export function forbidden(message: string, data: Record<string, unknown> = {}): PalimpsestError {
  return new PalimpsestError('FORBIDDEN', message, data)
}

function refusal(status: number, code: string, message: string): Refusal {
  return { status, headers: {}, body: { error: { code, message } } }
}
