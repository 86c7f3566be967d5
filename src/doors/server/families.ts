/**
 * The list of sessions for people: a session that continues another, or was started by it, is listed under it. Families
 * are filtered, sorted and summed up as a whole. Pure.
 */
import type { Named, Overview } from '../../view/figures.ts'
import type { Day, Summary } from '../../view/totals.ts'
import type { OwnedSession } from './session-desk.ts'

export type Listed = OwnedSession & {
  title: string
  live: boolean
  summary: Summary | null
  isOld: boolean
  isUntried: boolean
}

/** A session with its descendants. The sums cover those whose statistics are known. */
export type Family = Listed & {
  children: Listed[]
  total: Total
}

type Total = {
  calls: number
  billed: number
  without: number
  saved: number
  /** Dollars that could have been saved on recordings. */
  could: number
  updatedAt: number
  known: boolean
}

export const SORTS = ['used', 'cost', 'saved', 'calls', 'title'] as const
export type Sort = (typeof SORTS)[number]

export type Wanted = {
  contains?: string | undefined
  agent?: string | undefined
  project?: string | undefined
  model?: string | undefined
  tag?: string | undefined
  /** The time range in which the family was used. */
  from?: number | undefined
  to?: number | undefined
  sort?: Sort | undefined
  ascending?: boolean | undefined
}

/** A session that was written to within this time counts as active. */
const LIVE_MS = 90_000

type Latest = { summary: Summary | undefined; isOld: boolean; isUntried: boolean }

export function toListed(session: OwnedSession, { summary, isOld, isUntried }: Latest, now: number): Listed {
  const title = session.about.title || summary?.title || ''
  const live = !session.about.recorded && Math.abs(now - session.updatedAt) < LIVE_MS
  return { ...session, title, live, summary: summary ?? null, isOld, isUntried }
}

/** All families that match, in order. */
export function familiesOf(sessions: readonly Listed[], wanted: Wanted = {}): Family[] {
  const { sort = 'used', ascending = false } = wanted
  const fits = fitting(wanted)
  const found = grouped(sessions).filter(({ children, ...parent }) => fits(parent) || children.some(fits))
  const keyOf = KEYS[sort]
  const sign = ascending ? 1 : -1
  const keyed = found.map(family => ({ family, key: keyOf(family) }))
  keyed.sort((a, b) => sign * compare(a.key, b.key) || b.family.total.updatedAt - a.family.total.updatedAt)
  return keyed.map(({ family }) => family)
}

const KEYS: Record<Sort, (family: Family) => number | string> = {
  used: ({ total }) => total.updatedAt,
  cost: ({ total }) => total.billed,
  saved: ({ total }) => total.saved,
  calls: ({ total }) => total.calls,
  title: ({ title, id }) => (title || id).toLowerCase(),
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function fitting({ contains, agent, project, model, tag, from, to }: Wanted): (session: Listed) => boolean {
  const words = contains?.toLowerCase() ?? ''
  const isOneOf = (wanted: string | undefined, ...own: string[]) => wanted === undefined || own.includes(wanted)
  return ({ id, title, policy, model: own, about, updatedAt }) => {
    const { client = '', project: folder = '', tags = [] } = about
    return (
      [id, title, policy, own, client, folder, ...tags].some(text => text.toLowerCase().includes(words)) &&
      isOneOf(agent, client) &&
      isOneOf(project, projectOf(folder)) &&
      isOneOf(model, own) &&
      isOneOf(tag, ...tags) &&
      updatedAt >= (from ?? 0) &&
      updatedAt <= (to ?? Number.POSITIVE_INFINITY)
    )
  }
}

function projectOf(folder: string | undefined): string {
  return folder?.split(/[/\\]/).findLast(name => name !== '') ?? ''
}

function grouped(sessions: readonly Listed[]): Family[] {
  const byId = new Map(sessions.map(session => [session.id, session]))
  const children = new Map<string, Listed[]>()
  const roots: Listed[] = []
  for (const session of sessions) {
    const root = rootOf(session, byId)
    if (root === session) roots.push(session)
    else children.set(root.id, [...(children.get(root.id) ?? []), session])
  }
  return roots.map(root => {
    const own = (children.get(root.id) ?? []).sort((a, b) => a.createdAt - b.createdAt || compare(a.id, b.id))
    return { ...root, live: root.live || own.some(({ live }) => live), children: own, total: totalOf([root, ...own]) }
  })
}

/** The topmost ancestor that is in the list; a session that is its own ancestor is a root. */
function rootOf(session: Listed, byId: ReadonlyMap<string, Listed>): Listed {
  const seen = new Set([session.id])
  let root = session
  for (;;) {
    const parent = byId.get(root.parent?.id ?? root.about.parent ?? '')
    if (!parent) return root
    if (seen.has(parent.id)) return session
    seen.add(parent.id)
    root = parent
  }
}

function totalOf(members: readonly Listed[]): Family['total'] {
  const total = { calls: 0, billed: 0, without: 0, saved: 0, could: 0, updatedAt: 0, known: true }
  for (const { summary, updatedAt } of members) {
    total.updatedAt = Math.max(total.updatedAt, updatedAt)
    if (!summary) total.known = false
    else {
      total.calls += summary.calls
      total.billed += summary.money.with
      total.without += summary.money.without
      total.could += summary.money.could ?? 0
    }
  }
  return { ...total, saved: total.without - total.billed }
}

const WEEK = 7

/** `days`: the names of the days to report, the oldest first. */
export function overviewOf(sessions: readonly Listed[], days: readonly string[]): Overview {
  const byDay = new Map(days.map(day => [day, { day, billed: 0, saved: 0, could: 0, calls: 0 }]))
  const thisWeek = new Set(days.slice(-WEEK))
  const week = { billed: 0, saved: 0, could: 0, calls: 0, sessions: 0, input: 0, cacheRead: 0 }
  for (const { summary } of sessions) {
    const inWeek = summary?.days.filter(({ day }) => thisWeek.has(day)) ?? []
    if (inWeek.length > 0) week.sessions++
    for (const one of inWeek) addDay(week, one, WEEK_SUMS)
    for (const one of summary?.days ?? []) addDay(byDay.get(one.day), one, DAY_SUMS)
  }
  return {
    days: [...byDay.values()],
    week,
    agents: counted(sessions.map(({ about }) => about.client ?? '')),
    projects: counted(sessions.map(({ about }) => projectOf(about.project))),
    models: counted(sessions.map(({ model }) => model)),
    tags: counted(sessions.flatMap(({ about }) => about.tags ?? [])),
    sessions: sessions.length,
    counted: sessions.filter(({ summary }) => summary).length,
    untried: sessions.filter(({ isUntried }) => isUntried).length,
    live: sessions.filter(({ live }) => live).length,
  }
}

const DAY_SUMS = ['billed', 'saved', 'could', 'calls'] as const
const WEEK_SUMS = [...DAY_SUMS, 'input', 'cacheRead'] as const

function addDay<K extends keyof Day>(sum: Record<K, number> | undefined, day: Day, keys: readonly K[]): void {
  if (sum) for (const key of keys) sum[key] += Number(day[key] ?? 0)
}

/** Names and how often each occurs, the most frequent first. */
function counted(names: readonly string[]): Named[] {
  const counts = new Map<string, number>()
  for (const name of names) if (name !== '') counts.set(name, (counts.get(name) ?? 0) + 1)
  return [...counts].map(([name, sessions]) => ({ name, sessions })).sort((a, b) => b.sessions - a.sessions)
}
