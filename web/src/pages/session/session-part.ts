/** A response about a session that is read again when the session grows. */
import { type AnswerOf, getOfSession, type QueryOf, type SessionPath } from '../../api.ts'
import { type Resource, useResource } from '../../resource.ts'

type Asked<P extends SessionPath> = { session: string; length: number; query?: QueryOf<P> }

export function useSessionPart<P extends SessionPath>(
  path: P,
  { session, length, query }: Asked<P>,
): Resource<AnswerOf<'GET', P>> {
  const key = `${session}\n${length}\n${JSON.stringify(query)}`
  return useResource(key, signal => getOfSession(path, { session, query, signal }), { keep: true })
}
