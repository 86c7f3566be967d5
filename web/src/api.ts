/**
 * The API as the pages use it: JSON in, JSON out, and every failure an ApiError with the server's code and sentence.
 *
 * A token, where the server wants one, lives in sessionStorage: it ends with the tab. When the server refuses it,
 * the sign-in page is told.
 */

export class ApiError extends Error {
  readonly code: string
  readonly status: number
  readonly data: Record<string, unknown>

  constructor(code: string, message: string, status: number, data: Record<string, unknown> = {}) {
    super(message)
    this.code = code
    this.status = status
    this.data = data
  }
}

type Query = Record<string, string | number | boolean | undefined>
type Sent = { query?: Query; signal?: AbortSignal }

export function getJson<T>(path: string, { query, signal }: Sent = {}): Promise<T> {
  return request<T>(path + queryText(query), { method: 'GET', signal })
}

/** A write; it carries a key, so that one that is sent twice is done once. */
export function sendJson<T>(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = { 'idempotency-key': crypto.randomUUID() }
  if (body !== undefined) headers['content-type'] = 'application/json'
  return request<T>(path, { method, headers, body: JSON.stringify(body) })
}

/** The address of something under a session, each name escaped. */
export function sessionPath(session: string, ...rest: (string | number)[]): string {
  return ['/sessions', session, ...rest.map(String)]
    .map((name, i) => (i === 0 ? name : encodeURIComponent(name)))
    .join('/')
}

/** A fetch with our token; an answer that is no success is thrown. For streams and uploads. */
export async function fetchApi(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  const token = storedToken()
  if (token) headers.set('authorization', `Bearer ${token}`)
  const response = await fetch(path, { ...init, headers }).catch(error => {
    if (init.signal?.aborted) throw error
    throw new ApiError('UNREACHABLE', 'The server does not answer. Is it still running?', 0)
  })
  if (response.ok) return response
  const error = toError(response.status, await response.text())
  if (error.status === 401) for (const listener of refused) listener()
  throw error
}

const TOKEN = 'palimpsest.token'
const refused = new Set<() => void>()

export function storedToken(): string | undefined {
  return sessionStorage.getItem(TOKEN) ?? undefined
}

export function storeToken(token: string | undefined): void {
  if (token === undefined) sessionStorage.removeItem(TOKEN)
  else sessionStorage.setItem(TOKEN, token)
}

/** Called whenever the server wants a token, or another one. */
export function onRefused(listener: () => void): () => void {
  refused.add(listener)
  return () => void refused.delete(listener)
}

/** What to tell a person about any failure. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function request<T>(path: string, init: RequestInit): Promise<T> {
  const response = await fetchApi(path, init)
  return (await response.json()) as T
}

export function toError(status: number, text: string): ApiError {
  const fallback = new ApiError('UNKNOWN', `The server answered ${status}.`, status)
  try {
    const { code, message, ...data } = JSON.parse(text).error
    return typeof message === 'string' ? new ApiError(String(code), message, status, data) : fallback
  } catch {
    // Not one of our answers: something between us and the server spoke.
    return fallback
  }
}

function queryText(query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text && `?${text}`
}
