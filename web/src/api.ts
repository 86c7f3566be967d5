/**
 * The API for the pages: JSON in, JSON out. Every failure is an ApiError with the code and the sentence of the server.
 * A route is named by its path in the OpenAPI document; the types in api-types.ts are made from that document.
 *
 * If the server needs a token, the token is kept in sessionStorage until the tab is closed. If the server refuses it,
 * the sign-in page appears.
 */

import type { Routes } from './api-types.ts'

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

type Name = keyof Routes
type PathOf<M extends string> = Name extends infer N ? (N extends `${M} ${infer P}` ? P : never) : never
type Row<M extends string, P extends string> = Routes[`${M} ${P}` & Name]
export type AnswerOf<M extends string, P extends string> = Row<M, P>['answer']
type Sent<M extends string, P extends string> = Omit<Row<M, P>, 'answer'> & { signal?: AbortSignal }
/** The body can be omitted if all of its fields are optional. */
type Given<S> = Record<never, never> extends S ? [sent?: S] : [sent: S]
type Values = Record<string, string | number | boolean | undefined>
type Parts = { params?: Values; query?: Values; body?: unknown; signal?: AbortSignal }

export function getJson<P extends PathOf<'GET'>>(path: P, ...[sent]: Given<Sent<'GET', P>>) {
  const { params, query, signal }: Parts = sent ?? {}
  return request<AnswerOf<'GET', P>>(addressOf(path, params, query), { method: 'GET', signal })
}

/** The paths whose only parameter is the name of a session. */
export type SessionPath = Exclude<
  Extract<PathOf<'GET'>, `/sessions/{session}${string}`>,
  `${string}}${string}}${string}`
>
export type QueryOf<P extends SessionPath> =
  Row<'GET', P> extends { query?: infer Q extends Values } ? Q : Record<string, undefined>

type OfSession<P extends SessionPath> = { session: string; query?: QueryOf<P>; signal: AbortSignal }

export function getOfSession<P extends SessionPath>(path: P, { session, query, signal }: OfSession<P>) {
  return request<AnswerOf<'GET', P>>(addressOf(path, { session }, query), { method: 'GET', signal })
}

type Write = 'POST' | 'PUT' | 'DELETE'

/** A write. It carries an idempotency key, so that a request that is sent twice is executed once. */
export function sendJson<M extends Write, P extends PathOf<M>>(method: M, path: P, ...[sent]: Given<Sent<M, P>>) {
  const { params, query, body }: Parts = sent ?? {}
  const headers: Record<string, string> = { 'idempotency-key': crypto.randomUUID() }
  if (body !== undefined) headers['content-type'] = 'application/json'
  return request<AnswerOf<M, P>>(addressOf(path, params, query), { method, headers, body: JSON.stringify(body) })
}

/** A path with its parameters filled in and escaped. */
export function addressOf(path: PathOf<'GET' | Write>, params: Values = {}, query: Values = {}): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(params[name])))
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text ? `${filled}?${text}` : filled
}

/** A fetch with the token; throws if the response is an error. For streams and uploads. */
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

/** Calls the listener whenever the server asks for a token, or for another one. */
export function onRefused(listener: () => void): () => void {
  refused.add(listener)
  return () => void refused.delete(listener)
}

/** A sentence for the user about any failure. */
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
    // Not a response of our server: it came from something in between.
    return fallback
  }
}
