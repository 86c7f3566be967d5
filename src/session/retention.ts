/**
 * Chooses the sessions that a home removes, by age and by size, from `retention` in palimpsest.json. Pure, except
 * that it reads session sizes when a rule needs them.
 */
import { z } from 'zod'
import { amount } from '../model/text.ts'
import { isInProject } from './recall.ts'
import type { SessionInfo } from './session-info.ts'

const name = z.string().min(1)

export const ruleSchema = z.strictObject({
  days: z.number().positive().optional().describe('Delete sessions not used for this many days'),
  megabytes: z
    .number()
    .positive()
    .optional()
    .describe('Keep at most this size, and delete the least recently used sessions first'),
  per: z.enum(['user', 'project']).optional().describe('Apply the size per user or per project'),
  user: name.optional().describe('Only sessions of this user'),
  project: name.optional().describe('Only sessions in this folder, by its path or the end of it'),
  tag: name.optional().describe('Only sessions with this tag'),
  except: name.optional().describe('Keep sessions with this tag'),
})

export const retentionSchema = z.strictObject({
  archive: name.optional().describe('The folder to which each session is written, compressed, before it is deleted'),
  rules: z
    .array(
      ruleSchema.refine(({ days, megabytes }) => (days ?? megabytes) !== undefined, 'days or megabytes is required'),
    )
    .min(1),
})

export type Retention = z.infer<typeof retentionSchema>
export type Rule = Retention['rules'][number]

/** A session to remove, and the reason. */
export type Retired = { info: SessionInfo; why: string }

const DAY_MS = 24 * 60 * 60 * 1000
const MB = 1024 * 1024

export type RetentionContext = { now: number; sizeOf: (session: SessionInfo) => Promise<number> }

/** `sizeOf` is called only for sessions under a size rule, most recently used first. */
export async function toRetire(
  sessions: readonly SessionInfo[],
  rules: readonly Rule[],
  { now, sizeOf }: RetentionContext,
): Promise<Retired[]> {
  const gone = new Map<string, Retired>()
  const latestFirst = sessions.toSorted((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? 1 : -1))
  for (const rule of rules) {
    const meant = () => latestFirst.filter(info => !gone.has(info.id) && isMeant(info, rule))
    for (const retired of tooOld(meant(), rule, now)) gone.set(retired.info.id, retired)
    for (const retired of await tooLarge(meant(), rule, sizeOf)) gone.set(retired.info.id, retired)
  }
  return [...gone.values()]
}

function tooOld(sessions: readonly SessionInfo[], { days }: Rule, now: number): Retired[] {
  if (days === undefined) return []
  const old = sessions.filter(({ updatedAt }) => updatedAt < now - days * DAY_MS)
  return old.map(info => ({ info, why: `not used for ${amount(days, 'day')}` }))
}

async function tooLarge(
  latestFirst: readonly SessionInfo[],
  rule: Rule,
  sizeOf: RetentionContext['sizeOf'],
): Promise<Retired[]> {
  const { megabytes } = rule
  if (megabytes === undefined) return []
  const retired: Retired[] = []
  for (const own of Map.groupBy(latestFirst, info => groupOf(info, rule)).values()) {
    const large = await beyond(own, megabytes * MB, sizeOf)
    retired.push(...large.map(info => ({ info, why: `beyond ${megabytes} MB` })))
  }
  return retired
}

function isMeant({ owner, about }: SessionInfo, { user, project, tag, except }: Rule): boolean {
  return (
    (user === undefined || owner === user) &&
    (project === undefined || isInProject(about.project, project)) &&
    (tag === undefined || about.tags?.includes(tag) === true) &&
    (except === undefined || !about.tags?.includes(except))
  )
}

function groupOf({ owner, about }: SessionInfo, { per }: Rule): string {
  return (per === 'user' ? owner : per === 'project' ? about.project : undefined) ?? ''
}

/** The sessions that exceed the size. The most recently used one is always kept. */
async function beyond(
  latestFirst: readonly SessionInfo[],
  most: number,
  sizeOf: RetentionContext['sizeOf'],
): Promise<SessionInfo[]> {
  let size = 0
  let kept = 0
  for (const info of latestFirst) {
    size += await sizeOf(info)
    if (size > most && kept > 0) break
    kept++
  }
  return latestFirst.slice(kept)
}
