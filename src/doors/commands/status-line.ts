/** What a status line says, from the service: how full the window is, what was saved, how much came from the cache. */
import { isRecord, parseJson } from '../../model/json.ts'
import { asDollars } from '../../model/text.ts'
import { isSegment } from '../../session/live-context.ts'

/** A status line is drawn again and again: it must not wait. */
const WAIT_MS = 1500

export type Status = {
  session: string
  tokens: number
  window: number
  edits: number
  saved: number
  /** Of the tokens of input, those that were read from the cache. */
  cached: number | null
  isCold: boolean
  nextUsd: number
}

/** The session that Claude Code says on stdin. */
export function sessionIn(text: string): string | undefined {
  try {
    const given: unknown = parseJson(text)
    const id = isRecord(given) ? given['session_id'] : undefined
    return typeof id === 'string' && id !== '' ? `claude-${id}` : undefined
  } catch {
    return undefined
  }
}

/** The conversation may have gone on in another session: the newest of its family is asked for. */
export async function statusOf(url: string, name: string): Promise<Status | undefined> {
  try {
    const list = await ask<{ sessions: { id: string; updatedAt: number }[] }>(
      `${url}/sessions?contains=${encodeURIComponent(name)}`,
    )
    const [newest] = list.sessions.filter(({ id }) => isSegment(id, name)).sort((a, b) => b.updatedAt - a.updatedAt)
    return newest && (await ask<Status>(`${url}/sessions/${encodeURIComponent(newest.id)}/now`))
  } catch {
    return undefined
  }
}

async function ask<T>(url: string): Promise<T> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(WAIT_MS) })
  if (!answer.ok) throw new Error(String(answer.status))
  return (await answer.json()) as T
}

export function statusText({ tokens, window, edits, saved, cached, isCold, nextUsd }: Status): string {
  const parts = [
    `${Math.round(tokens / 1000)}k of ${Math.round(window / 1000)}k tokens`,
    `${asDollars(saved)} saved by ${edits} ${edits === 1 ? 'edit' : 'edits'}`,
    ...(cached === null ? [] : [`${Math.round(100 * cached)} % from cache`]),
    ...(isCold ? [`cache cold: next call ${asDollars(nextUsd)}, edits free now (/palimpsest:context)`] : []),
  ]
  return `palimpsest ${parts.join(' · ')}`
}
