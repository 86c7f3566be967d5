/** The title of a session, where only its id is known. */
import { getJson } from './api.ts'
import { useResource } from './resource.ts'

/** The titles of some sessions by their ids, once they are loaded. */
export function useTitles(sessions: readonly string[]): ReadonlyMap<string, string> {
  const ids = [...new Set(sessions)].sort()
  const found = useResource(ids.length === 0 ? undefined : ids.join('\n'), async signal => {
    const titles = await Promise.all(ids.map(session => readTitle(session, signal)))
    return new Map(ids.map((session, i) => [session, titles[i]!]))
  })
  return found.value ?? NONE
}

const NONE: ReadonlyMap<string, string> = new Map()

async function readTitle(session: string, signal: AbortSignal): Promise<string> {
  const params = { session }
  const { about } = await getJson('/sessions/{session}', { params, signal })
  if (about.title) return about.title
  const { title } = await getJson('/sessions/{session}/summary', { params, signal })
  return title || session
}
