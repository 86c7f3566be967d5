/** Something that the server says of a session, read anew when the session has grown. */
import { getJson, sessionPath } from '../../api.ts'
import { type Resource, useResource } from '../../resource.ts'

type Asked = { session: string; length: number; query?: Record<string, string | number> }

export function useSessionPart<T>(path: string, { session, length, query = {} }: Asked): Resource<T> {
  const key = `${session}\n${length}\n${JSON.stringify(query)}`
  return useResource(key, signal => getJson<T>(sessionPath(session, path), { query, signal }), { keep: true })
}
