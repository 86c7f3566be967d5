/** The text of a status line, from the service: how full the window is, the savings, and the share of cache reads. */
import { isRecord, parseJson } from '../../model/json.ts'
import { amount, asDollars } from '../../model/text.ts'
import { isSegment } from '../../session/live-context.ts'

/** A status line is redrawn often, so it must not wait. */
const WAIT_MS = 1500

export type Status = {
  session: string
  tokens: number
  window: number
  edits: number
  saved: number
  /** The share of input tokens that were read from the cache. */
  cached: number | null
  isCold: boolean
  nextUsd: number
  /** Parts that could be removed at no cost on a cold cache, and are seldom quoted later. */
  free: string[]
  parts: { id: string; tokens: number }[]
}

/** The reason why there is no status for a session. */
export type Absent = 'no service' | 'no answer' | 'no call'

const ABSENT: Record<Absent, string> = {
  'no service': 'no service is installed (palimpsest install claude)',
  'no answer': 'the service does not answer (palimpsest logs)',
  'no call': 'no call of this session has been recorded yet',
}

/** The session that Claude Code names on stdin. */
export function sessionNamedIn(text: string): string | undefined {
  try {
    const given: unknown = parseJson(text)
    const id = isRecord(given) ? given['session_id'] : undefined
    return typeof id === 'string' && id !== '' ? `claude-${id}` : undefined
  } catch {
    return undefined
  }
}

/** The conversation may have continued in another session, so the newest of its family is used. */
export async function statusOf(url: string | undefined, name: string | undefined): Promise<Status | Absent> {
  if (url === undefined) return 'no service'
  if (name === undefined) return 'no call'
  try {
    const list = await ask<{ sessions: { id: string; updatedAt: number }[] }>(
      `${url}/sessions?contains=${encodeURIComponent(name)}`,
    )
    const [newest] = list.sessions.filter(({ id }) => isSegment(id, name)).sort((a, b) => b.updatedAt - a.updatedAt)
    return newest ? await ask<Status>(`${url}/sessions/${encodeURIComponent(newest.id)}/now`) : 'no call'
  } catch {
    return 'no answer'
  }
}

async function ask<T>(url: string): Promise<T> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(WAIT_MS) })
  if (!answer.ok) throw new Error(String(answer.status))
  return (await answer.json()) as T
}

export function statusText(status: Status | Absent): string {
  if (typeof status === 'string') return `palimpsest: ${ABSENT[status]}`
  const { tokens, window, edits, saved, cached, isCold, nextUsd } = status
  const told = [
    `${Math.round(tokens / 1000)}k of ${Math.round(window / 1000)}k tokens`,
    `${asDollars(saved)} saved by ${amount(edits, 'edit')}`,
    ...(cached === null ? [] : [`${Math.round(100 * cached)} % from cache`]),
    ...(isCold ? [`cache cold: next call ${asDollars(nextUsd)}, ${freeNow(status)}`] : []),
  ]
  return `palimpsest ${told.join(' · ')}`
}

function freeNow({ free, parts }: Status): string {
  const tokens = parts.filter(({ id }) => free.includes(id)).reduce((total, part) => total + part.tokens, 0)
  return tokens < 1000 ? 'edits free now' : `free now: remove ${Math.round(tokens / 1000)}k (palimpsest context)`
}
