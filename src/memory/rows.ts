/** Converts rows of the memory stores to values and back. The stores use the same column names. */
import { z } from 'zod'
import type { Actor, Block, EntryLink, Note, Operation, Proposal, Version } from './store.ts'

const actor = z.custom<Actor>(value => typeof value === 'string' && /^(user|admin|agent):/.test(value))
const action = z.enum(['set', 'delete', 'approve', 'reject', 'revert', 'restore', 'import']) satisfies z.ZodType<
  Note['action']
>
const text = z.string().nullish()
const time = z.coerce.number()

const versionRow = z.object({
  id: z.string(),
  user_id: z.string(),
  label: z.string(),
  title: text,
  body: text,
  schema_ref: text,
  at: time,
  actor,
  action,
  why: z.string(),
  proposal: text,
  commit_hash: text,
})

const proposalRow = z.object({
  user_id: z.string(),
  id: z.string(),
  label: z.string(),
  kind: z.enum(['edit', 'append', 'prepend', 'section', 'new']),
  state: z.enum(['open', 'approved', 'rejected', 'reverted']),
  base_version: text,
  base_title: text,
  base_body: text,
  title: z.string(),
  body: z.string(),
  agent_id: z.string(),
  reasoning: z.string(),
  confidence: z.enum(['low', 'medium', 'high']),
  entries: z.string(),
  created_at: time,
  decided_at: time.nullish(),
  decided_by: actor.nullish(),
  decided_why: text,
  before_version: text,
  after_version: text,
  branch: text,
  operation: text,
})

export const operationSchema: z.ZodType<Operation> = z.union([
  z.object({ type: z.literal('replace'), old: z.string(), new: z.string(), all: z.boolean().optional() }),
  z.object({ type: z.enum(['append', 'prepend']), text: z.string() }),
  z.object({ type: z.literal('section'), header: z.string(), content: z.string() }),
])
export const linkSchema: z.ZodType<EntryLink> = z.object({
  session: z.string(),
  entry: z.number(),
  source: z.enum(['user', 'tool']).optional(),
})
const links = z.array(linkSchema)

export function toBlock(row: Record<string, unknown>): Block {
  return {
    userId: String(row['user_id']),
    label: String(row['label']),
    title: String(row['title']),
    body: String(row['body']),
    schemaRef: row['schema_ref'] === null ? null : String(row['schema_ref']),
    updatedAt: Number(row['updated_at']),
    version: String(row['version']),
  }
}

export function toVersion(row: unknown): Version {
  const { user_id, title, body, schema_ref, actor: by, proposal, commit_hash, ...rest } = versionRow.parse(row)
  return {
    ...rest,
    userId: user_id,
    content: typeof body === 'string' ? { title: title ?? '', body, schemaRef: schema_ref ?? null } : null,
    by,
    ...(proposal ? { proposal } : {}),
    ...(commit_hash ? { commit: commit_hash } : {}),
  }
}

/** The columns of a new proposal, and their values in the same order. */
export const PROPOSAL_COLUMNS = `user_id, id, label, kind, state, base_version, base_title, base_body, title, body,
  agent_id, reasoning, confidence, entries, created_at, operation`

export function proposalValues({ base, operation, entries, ...it }: Proposal): (string | number | null)[] {
  const before = [base?.version ?? null, base?.title ?? null, base?.body ?? null]
  const made = [it.title, it.body, it.agentId, it.reasoning, it.confidence, JSON.stringify(entries), it.createdAt]
  return [
    it.userId,
    it.id,
    it.label,
    it.kind,
    it.state,
    ...before,
    ...made,
    operation ? JSON.stringify(operation) : null,
  ]
}

export function toProposal(row: unknown): Proposal {
  const it = proposalRow.parse(row)
  return {
    id: it.id,
    userId: it.user_id,
    label: it.label,
    kind: it.kind,
    base: it.base_version ? { version: it.base_version, title: it.base_title ?? '', body: it.base_body ?? '' } : null,
    title: it.title,
    body: it.body,
    ...(it.operation ? { operation: operationSchema.parse(JSON.parse(it.operation)) } : {}),
    agentId: it.agent_id,
    reasoning: it.reasoning,
    confidence: it.confidence,
    entries: links.parse(JSON.parse(it.entries)),
    createdAt: it.created_at,
    state: it.state,
    ...(it.decided_by && it.decided_at != null
      ? { decision: { at: it.decided_at, by: it.decided_by, why: it.decided_why ?? '' } }
      : {}),
    ...(it.after_version ? { result: { before: it.before_version ?? null, after: it.after_version } } : {}),
    ...(it.branch ? { branch: it.branch } : {}),
  }
}
