/** Routes: proposals. An agent makes them; only people approve, reject and revert. */
import { z } from 'zod'
import type { ProposalInput } from '../../memory/memory.ts'
import type { Review } from '../../memory/review.ts'
import type { Proposal as EngineProposal, EntryLink as EntryLinkOf } from '../../memory/store.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { sourcesOf } from '../../tools/provenance.ts'
import { actorOf, Block, BlockParam, MAX_BODY, MAX_TITLE, MAX_WHY, toBlock, VersionName } from './blocks.ts'
import type { Caller } from './gate.ts'
import {
  defineRoute,
  EVERYBODY,
  Index,
  Next,
  named,
  nameSchema,
  PageQuery,
  PEOPLE,
  pageOf,
  type Route,
  Time,
} from './route.ts'
import type { SessionDesk } from './session-desk.ts'

const ProposalParam = { id: VersionName }
const State = z.enum(['open', 'approved', 'rejected', 'reverted']).meta({ id: 'ProposalState' })
const CONFIDENCES = ['low', 'medium', 'high'] as const
const MAX_REASONING = 4000
const MAX_ENTRIES = 100

const EntryLink = z.strictObject({ session: nameSchema(200), entry: Index })

const Proposal = named('Proposal', {
  id: z.string(),
  user_id: z.string(),
  label: z.string(),
  kind: z.enum(['edit', 'append', 'prepend', 'section', 'new']),
  base: z.object({ version: z.string(), title: z.string(), body: z.string() }).nullable(),
  title: z.string(),
  body: z.string(),
  agent_id: z.string(),
  reasoning: z.string(),
  confidence: z.enum(CONFIDENCES),
  entries: z.array(
    z.object({
      session: z.string(),
      entry: z.number(),
      source: z.enum(['user', 'tool']).optional().describe('Where its text was found, if it was.'),
    }),
  ),
  created_at: Time,
  state: State,
  decision: z.object({ at: Time, by: z.string(), why: z.string() }).nullable(),
  branch: z.string().nullable().describe('Present if the store keeps proposals as branches.'),
})

const DiffPart = z
  .object({ type: z.enum(['same', 'added', 'removed']), text: z.string() })
  .meta({ id: 'DiffPart', description: 'Words; invisible characters are written as ⟨U+200B⟩.' })

const Region = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('settled'), text: z.string() }),
    z.object({ type: z.literal('conflict'), base: z.string(), now: z.string(), proposed: z.string() }),
  ])
  .meta({ id: 'Region' })

const Merge = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('clean'),
      title: z.string(),
      body: z.string(),
      stale: z.boolean().describe('The block has changed since the proposal was made.'),
    }),
    z.object({
      type: z.literal('conflict'),
      title: z.string(),
      titles: z.object({ base: z.string(), now: z.string(), proposed: z.string() }).optional(),
      regions: z.array(Region),
      marked: z.string().describe('The whole body with marks around each conflict.'),
    }),
    z.object({ type: z.literal('deleted') }).describe('Its block has since been deleted.'),
  ])
  .meta({ id: 'Merge' })

const ReviewOut = named('Review', {
  proposal: Proposal,
  block: Block.nullable().describe('The block as it is now.'),
  merge: Merge.describe('The result of approving it now.'),
  duplicates: z
    .array(
      z.object({
        label: z.string(),
        text: z.string(),
        proposal: z.string().optional(),
        state: State.optional(),
      }),
    )
    .describe('Blocks and proposals with similar text.'),
  from_tools: z.boolean().describe('Whether its text was printed by tools and not written by the user.'),
  diff: z.array(DiffPart),
  title_diff: z.array(DiffPart),
  hidden: z.array(z.object({ char: z.string(), name: z.string(), count: z.number() })),
  problem: z.string().nullable().describe('Why approving it unchanged would be refused.'),
})

const common = {
  title: z.string().max(MAX_TITLE).optional(),
  reasoning: z.string().min(1).max(MAX_REASONING),
  confidence: z.enum(CONFIDENCES).optional(),
  agent_id: nameSchema(100).optional().describe("For a token of an agent, the token's name is used."),
  entries: z.array(EntryLink).max(MAX_ENTRIES).optional(),
}

const propose = defineRoute({
  method: 'post',
  path: '/users/{user}/blocks/{label}/propose',
  summary: 'Propose a change to a block',
  description:
    'A whole body (for a new block too), old_string and new_string, a text to append or ' +
    'prepend, or a Markdown section (its header) with new content. The block changes when a person approves.',
  roles: EVERYBODY,
  params: BlockParam,
  body: z.union([
    z.strictObject({ ...common, body: z.string().max(MAX_BODY) }),
    z.strictObject({
      ...common,
      old_string: z.string().min(1).max(MAX_BODY),
      new_string: z.string().max(MAX_BODY),
      replace_all: z.boolean().optional(),
    }),
    z.strictObject({ ...common, append: z.string().min(1).max(MAX_BODY) }),
    z.strictObject({ ...common, prepend: z.string().min(1).max(MAX_BODY) }),
    z.strictObject({ ...common, section: z.string().min(1).max(MAX_TITLE), content: z.string().max(MAX_BODY) }),
  ]),
  answer: Proposal,
  status: 201,
  refusals: [409],
  async run({ params, body, caller, doors }) {
    const { user, label } = params
    const { title, reasoning, confidence, entries } = body
    const agentId = caller.role === 'agent' ? caller.name : (body.agent_id ?? (caller.name || 'user'))
    const block = await doors.memory.block(user, label)
    const isNew = 'body' in body && !block
    if ('body' in body && body.body === block?.body && (title ?? block.title) === block.title) {
      throw new PalimpsestError('ALREADY', `The proposal changes nothing in block '${label}'.`, { label })
    }
    const made = await doors.memory.propose(user, label, {
      ...changeIn(body, label, isNew),
      agentId,
      reasoning,
      title,
      confidence,
      entries: entries && (await sourced(doors.desk, caller, { entries, text: textIn(body) })),
    })
    return toProposal(made)
  },
})

const list = defineRoute({
  method: 'get',
  path: '/users/{user}/proposals',
  summary: "A user's proposals, newest first",
  roles: EVERYBODY,
  query: {
    limit: PageQuery.limit,
    cursor: VersionName.optional(),
    state: State.optional(),
    label: nameSchema(100).optional(),
  },
  answer: z.object({ proposals: z.array(Proposal), next: Next }),
  refusals: [404],
  async run({ params, query, doors }) {
    const { state, label } = query
    if (query.cursor !== undefined) await doors.memory.proposal(params.user, query.cursor)
    const page = await pageOf(query, 'id', page => doors.memory.proposals(params.user, { state, label, ...page }))
    return { proposals: page.items.map(toProposal), next: page.next }
  },
})

const review = defineRoute({
  method: 'get',
  path: '/users/{user}/proposals/{id}',
  summary: 'A proposal, with the changes that approving it would make, word by word',
  roles: EVERYBODY,
  params: ProposalParam,
  answer: ReviewOut,
  async run({ params, doors }) {
    return toReview(await doors.memory.review(params.user, params.id))
  },
})

const Decided = z.object({ proposal: Proposal, block: Block.nullable() })
const decisionBody = { why: z.string().max(MAX_WHY).optional() }

const approve = defineRoute({
  method: 'post',
  path: '/users/{user}/proposals/{id}/approve',
  summary: 'Approve a proposal, unchanged or with your own body',
  description:
    'Later changes are merged in, line by line. A conflict is a 409 with both versions: approve again with ' +
    'a body. `seen` is the version that the body was written for.',
  roles: PEOPLE,
  params: ProposalParam,
  body: z.strictObject({
    body: z.string().max(MAX_BODY).optional(),
    title: z.string().max(MAX_TITLE).optional(),
    seen: VersionName.nullable().optional(),
    ...decisionBody,
  }),
  bodyOptional: true,
  answer: Decided,
  refusals: [409],
  async run({ params, body = {}, caller, doors }) {
    const by = actorOf(caller, params.user)
    const { proposal, block } = await doors.memory.approve(params.user, params.id, { ...body, by })
    return { proposal: toProposal(proposal), block: toBlock(block) }
  },
})

const reject = defineRoute({
  method: 'post',
  path: '/users/{user}/proposals/{id}/reject',
  summary: 'Reject a proposal',
  roles: PEOPLE,
  params: ProposalParam,
  body: z.strictObject(decisionBody),
  bodyOptional: true,
  answer: Proposal,
  refusals: [409],
  async run({ params, body = {}, caller, doors }) {
    const by = actorOf(caller, params.user)
    return toProposal(await doors.memory.reject(params.user, params.id, { by, why: body.why }))
  },
})

const revert = defineRoute({
  method: 'post',
  path: '/users/{user}/proposals/{id}/revert',
  summary: 'Revert an approval and keep later changes',
  roles: PEOPLE,
  params: ProposalParam,
  body: z.strictObject({ body: z.string().max(MAX_BODY).optional(), ...decisionBody }),
  bodyOptional: true,
  answer: Decided,
  refusals: [409],
  async run({ params, body = {}, caller, doors }) {
    const by = actorOf(caller, params.user)
    const { proposal, block } = await doors.memory.revert(params.user, params.id, { ...body, by })
    return { proposal: toProposal(proposal), block: block ? toBlock(block) : null }
  },
})

export const proposalRoutes: readonly Route[] = [propose, list, review, approve, reject, revert]

type Wanted =
  | { body: string }
  | { old_string: string; new_string: string; replace_all?: boolean }
  | { append: string }
  | { prepend: string }
  | { section: string; content: string }

function textIn(wanted: Wanted): string {
  if ('body' in wanted) return wanted.body
  if ('append' in wanted) return wanted.append
  if ('prepend' in wanted) return wanted.prepend
  return 'section' in wanted ? wanted.content : wanted.new_string
}

/** The cited entries, and those that contain the text. Sessions of other users are not searched. */
async function sourced(
  desk: SessionDesk,
  caller: Caller,
  { entries, text }: { entries: readonly EntryLinkOf[]; text: string },
): Promise<EntryLinkOf[]> {
  const links: EntryLinkOf[] = [...entries]
  for (const session of new Set(entries.map(link => link.session))) {
    const opened = await desk.open(caller, session).catch(() => undefined)
    for (const link of opened ? await sourcesOf(opened, text) : []) {
      if (link.source !== undefined && links.length < MAX_ENTRIES) links.push(link)
    }
  }
  const found = new Set(links.filter(({ source }) => source).map(({ session, entry }) => `${entry} ${session}`))
  return links.filter(({ source, session, entry }) => source || !found.has(`${entry} ${session}`))
}

function changeIn(wanted: Wanted, label: string, isNew: boolean): Pick<ProposalInput, 'kind' | 'body'> {
  if ('body' in wanted) return { kind: isNew ? 'new' : 'edit', body: wanted.body }
  if ('append' in wanted) return { body: { type: 'append', text: wanted.append } }
  if ('prepend' in wanted) return { body: { type: 'prepend', text: wanted.prepend } }
  if ('section' in wanted) return { body: { type: 'section', header: wanted.section, content: wanted.content } }
  const { old_string: oldString, new_string: newString, replace_all: all = false } = wanted
  if (oldString === newString) {
    throw new PalimpsestError('ALREADY', 'old_string and new_string must be different.', { label })
  }
  return { body: { type: 'replace', old: oldString, new: newString, all } }
}

function toProposal(proposal: EngineProposal): z.input<typeof Proposal> {
  const { userId, agentId, createdAt, decision, branch, result: _, operation: __, ...rest } = proposal
  return {
    ...rest,
    user_id: userId,
    agent_id: agentId,
    created_at: createdAt,
    decision: decision ?? null,
    branch: branch ?? null,
  }
}

function toReview(review: Review): z.input<typeof ReviewOut> {
  const { proposal, block, merge, diff, titleDiff, hidden, problem, duplicates, fromTools } = review
  return {
    duplicates,
    from_tools: fromTools,
    proposal: toProposal(proposal),
    block: block ? toBlock(block) : null,
    merge,
    diff,
    title_diff: titleDiff,
    hidden,
    problem: problem ?? null,
  }
}
