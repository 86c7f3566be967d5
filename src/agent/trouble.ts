/**
 * Classifies failures of a model call, and whether a retry helps.
 *
 * Temporary are too many requests, an overloaded or failing provider, and a broken or stalled connection. Everything else
 * (a wrong key, a refused request) would fail again. Provider errors are recognised by their shape, so that any version
 * of the SDK works; messages never contain a request or a header.
 */
import { headOf } from '../model/text.ts'

export type RetryOptions = {
  attempts: number
  /** The first pause; each further one is twice as long. */
  base: number
  /** The longest pause; if a provider asks for a longer one, there is no retry. */
  longest: number
}

export const RETRY: RetryOptions = { attempts: 6, base: 1_000, longest: 120_000 }

type Trouble = {
  kind: 'passing' | 'lasting' | 'temperature'
  reason: string
  /** Milliseconds that the provider asks to wait. */
  after?: number
}

type ProviderError = Error & { statusCode?: number; responseHeaders?: Record<string, string>; responseBody?: string }

export function troubleOf(error: unknown): Trouble {
  const reason = toReason(error)
  const { statusCode, responseHeaders = {} }: Partial<ProviderError> = error instanceof Error ? error : {}
  // The answer began and broke off; the cause has the reason.
  if (statusCode === 200 && error instanceof Error && error.cause !== undefined) return troubleOf(error.cause)
  if (statusCode === undefined) return { kind: isConnection(error) || isBusy(reason) ? 'passing' : 'lasting', reason }
  if (statusCode === 400 && /temperature/i.test(reason)) return { kind: 'temperature', reason }
  const said = `${statusCode}: ${reason}`
  if (!isPassing(statusCode)) return { kind: 'lasting', reason: `${said}${adviceFor(statusCode, reason)}` }
  const after = retryAfter(responseHeaders)
  return { kind: 'passing', reason: said, ...(after === undefined ? {} : { after }) }
}

/**
 * The pause before the next attempt: the provider's, or a growing one with jitter. Undefined if there is no retry,
 * because the failure is permanent or lasts too long.
 */
export function pauseBefore(attempt: number, { kind, after }: Trouble, retry: RetryOptions): number | undefined {
  const { attempts, base, longest } = retry
  if (kind !== 'passing' || attempt >= attempts) return undefined
  if (after !== undefined) return after > longest ? undefined : after
  const grown = Math.min(longest, base * 2 ** (attempt - 1))
  return Math.round(grown * (0.75 + Math.random() / 4))
}

function isPassing(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429 || status >= 500
}

const ADVICE: Record<number, string> = {
  401: ' Check the key (ANTHROPIC_API_KEY or OPENAI_API_KEY).',
  403: ' The key is not allowed to use this model.',
  404: ' Check the name of the model and the base URL.',
  413: ' Make the context smaller, with /compact in palimpsest chat.',
}

const OVERFLOW = /context (?:length|window|size)|too long|too many (?:input )?tokens|maximum.{0,40}tokens/i
const WINDOW = ' Set the size of its window in "models" of palimpsest.json, or use /compact in palimpsest chat.'

function adviceFor(status: number, reason: string): string {
  return status === 400 && OVERFLOW.test(reason) ? WINDOW : (ADVICE[status] ?? '')
}

/** Errors inside a stream have no status, only a message. */
function isBusy(text: string): boolean {
  return /overloaded|rate.?limit|too many requests|temporar|unavailable|timed? ?out|internal server|server_error|api_error/i.test(
    text,
  )
}

const CONNECTION =
  /ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|UND_ERR|terminated|socket|network|cannot connect|fetch failed|before it was complete|sent nothing/i

function isConnection(error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const code = 'code' in at ? String(at.code) : ''
    if (at.name === 'StallError' || CONNECTION.test(code) || CONNECTION.test(at.message)) return true
  }
  return false
}

function retryAfter(headers: Record<string, string>): number | undefined {
  const exact = Number(headers['retry-after-ms'])
  if (headers['retry-after-ms'] && Number.isFinite(exact)) return exact
  const named = headers['retry-after']
  if (named === undefined) return undefined
  const seconds = Number(named)
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(named) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, Math.round(ms)) : undefined
}

const LONGEST_REASON = 300

/** The provider's message in one line; the response body if the error has no message. */
function toReason(error: unknown): string {
  const words = error instanceof Error ? error.message || bodyOf(error) : (JSON.stringify(error) ?? String(error))
  return headOf(words.replace(/\s+/g, ' ').trim(), LONGEST_REASON)
}

function bodyOf(error: ProviderError): string {
  return error.responseBody ?? error.name
}
