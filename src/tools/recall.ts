/**
 * The tool with which an agent finds texts that are no longer in view, in three steps: hits with their costs, the
 * parts around one, its text. It searches the agent's own session, or all sessions that its user may see.
 *
 * Text that the user has hidden stays hidden here too. Calls and results of the context tools are left out.
 */

import { z } from 'zod'
import { PalimpsestError } from '../model/errors.ts'
import { amount, cut, inOneLine, minuteOf, withCommas } from '../model/text.ts'
import type { Edit } from '../model/types.ts'
import type { Palimpsest } from '../session/engine.ts'
import { type LiveContext, liveContext } from '../session/live-context.ts'
import { type Nearby, narrowedBy, type RecallOptions, type SessionHit } from '../session/recall.ts'
import type { Session } from '../session/session.ts'
import { HIDDEN, hiddenByUser } from '../view/hidden.ts'
import { isOwnTool } from '../view/shown-texts.ts'
import { defineTool } from './tool.ts'

/** The sessions that the agent's user may see, including the agent's own. */
type SeenSessions = {
  recall(query: string, options: RecallOptions & { project?: string }): Promise<{ hits: SessionHit[]; behind: boolean }>
  /** The folder that a session works in, if it is known. */
  projectOf(session: string): Promise<string | undefined>
  open(session: string): Promise<Session>
}

export type SessionToolContext = {
  session: Session
  /** Without it the agent searches its own session only. */
  sessions?: SeenSessions
  /** Without it the agent edits its own session only. */
  live?: LiveContext
  /** Opens a session that was made for the agent's own long outputs; undefined if the name is of another session. */
  openOutputs?: (session: string) => Promise<Session> | undefined
  signal?: AbortSignal
}

const DEFAULT_HITS = 10
const TEXT_CHARS = 20_000
const NEIGHBOURS = 3

/** The sessions of a home, or of one of its users (`pal.of`). */
export function seenSessions(pal: Palimpsest): SeenSessions {
  return {
    recall: (query, options) => pal.recall(query, options),
    projectOf: async session => (await pal.find(session))?.about.project,
    open: session => pal.session(session, { mustExist: true }),
  }
}

/** The sessions whose view an agent may edit, without text that its user has hidden. */
export function agentContext(pal: Palimpsest): LiveContext {
  return liveContext(pal, {
    by: 'agent',
    isHidden: (session, entry, part) => hiddenByUser(session.fold, entry, part) !== undefined,
  })
}

const recallInput = z.object({
  query: z.string().min(1).optional().describe('What to look for, e.g. "why did the timezone test fail".'),
  around: z.string().optional().describe('The id of a hit: shows the parts around it.'),
  text: z.string().optional().describe('The id of a hit: its text.'),
  from: z.number().int().min(0).optional().describe('With text: the first character.'),
  session: z.string().optional().describe('With around and text: the session of the hit; yours unless given.'),
  sessions: z.enum(['this', 'project', 'all']).optional().describe('Where to look; "this" unless given.'),
  type: z
    .enum(['text', 'reasoning', 'tool-call', 'tool-result', 'user', 'assistant'])
    .optional()
    .describe('Only such parts, or only what the user or you said.'),
  tool: z.string().optional().describe('Only calls and results of this tool.'),
  path: z.string().optional().describe('Only calls about this file, and their results; the end of a path is enough.'),
  since: z.string().optional().describe('Not before this time: 2026-05-18 or 2026-05-18T09:00Z.'),
  until: z.string().optional().describe('Not after it.'),
  limit: z.number().int().min(1).max(100).optional().describe(`How many hits; ${DEFAULT_HITS} unless given.`),
})

export const recallTool = defineTool({
  name: 'recall',
  description: `Find what is no longer in your context: earlier requests, file contents, command output, your own words. Use it before you read a file or run a command again, and when something was summarised away.

Three steps
1. query: a question, a line that you remember, a name, a path or a command; any word may match. Gives hits, best first, each with an id, when it was, whether it is in view, and what its whole text costs in tokens.
2. around: an id; what happened just before and after it, a line each.
3. text: an id; the whole text, or from the character \`from\` on where it is long.
Narrow a query by type, tool, path, since and until. sessions: "project" searches all sessions in your working folder, "all" every session of your user; name the session of such a hit in steps 2 and 3.`,
  input: recallInput,
  annotations: { readOnly: true },
  run: async ({ query, around, text, from, session, ...more }, context: SessionToolContext) => {
    if (text !== undefined) return describeText(await sessionOf(context, session), text, from ?? 0)
    if (around !== undefined) return describeNear(await sessionOf(context, session), around)
    if (query !== undefined) return describeHits(context, query, more)
    throw new PalimpsestError(
      'INVALID_INPUT',
      'Give something to search for: recall(query="…"), or around or text with an id.',
    )
  },
})

type Narrowed = Omit<z.output<typeof recallInput>, 'query' | 'around' | 'text' | 'from' | 'session'>

async function describeHits(context: SessionToolContext, query: string, narrowed: Narrowed): Promise<string> {
  const { limit = DEFAULT_HITS } = narrowed
  const { found, notes } = await searched(context, query, narrowed)
  const hits = found.filter(hit => !isOwnTool(hit.tool ?? '')).slice(0, limit)
  if (hits.length === 0) {
    return [`Nothing was found for ${JSON.stringify(query)}. Try other words, or fewer conditions.`, ...notes].join(
      '\n',
    )
  }
  const away = hits.filter(hit => !hit.inView)
  const lines = [...away, ...hits.filter(({ inView }) => inView)].map(hit => describeHit(context, hit))
  const how = away.length > 0 ? ['Next: recall(around="<id>") for its context, recall(text="<id>") for all of it.'] : []
  const count = `${amount(hits.length, 'hit')}, ${withCommas(away.length)} of them not in view:`
  return [count, ...lines, ...how, ...notes].join('\n')
}

type Searched = { found: SessionHit[]; notes: string[] }

async function searched(
  { session, sessions }: SessionToolContext,
  query: string,
  narrowed: Narrowed,
): Promise<Searched> {
  const { limit = DEFAULT_HITS, sessions: scope = 'this', ...filters } = narrowed
  // Calls of these tools are filtered out below, so ask for more.
  const options: RecallOptions = { limit: limit * 2, ...narrowedBy(filters) }
  const project = scope === 'project' ? await sessions?.projectOf(session.id) : undefined
  if (sessions && (scope === 'all' || project !== undefined)) {
    const { hits, behind } = await sessions.recall(query, { ...options, ...(project === undefined ? {} : { project }) })
    return { found: hits, notes: behind ? ['Older sessions are still being indexed: ask again later for more.'] : [] }
  }
  const why = sessions ? 'its folder is not known' : 'others are not open to you'
  return {
    found: (await session.recall(query, options)).map(hit => ({ session: session.id, ...hit })),
    notes: scope === 'this' ? [] : [`Only this session was searched: ${why}.`],
  }
}

function describeHit(context: SessionToolContext, hit: SessionHit): string {
  const { hash, entry, at, snippet, inView, hidden, copies } = hit
  const isOther = hit.session !== context.session.id
  const where = [
    `${whatIs(hit)} (${isOther ? `session ${JSON.stringify(hit.session)}, ` : ''}entry ${entry}, ${minuteOf(at)})`,
    isOther ? undefined : inView ? 'in view' : 'not in view',
    amount(hit.tokens, 'token'),
    copies ? `${amount(copies, 'older copy', 'older copies')}` : undefined,
  ]
  const shown = hidden ? HIDDEN : quote(snippet, 240)
  return `- ${hash}: ${where.filter(part => part !== undefined).join(', ')}: ${shown}`
}

async function describeNear(session: Session, id: string): Promise<string> {
  const near = await session.around(id, { before: NEIGHBOURS, after: NEIGHBOURS })
  return near
    .filter(({ tool }) => !isOwnTool(tool ?? ''))
    .map(part => {
      const hidden = !part.inView && hiddenByUser(session.fold, part.entry, part.part)
      const shown = hidden ? HIDDEN : quote(part.preview, 160)
      const mark = part.hash === id ? '>' : '-'
      return `${mark} ${part.hash}: ${whatIs(part)} (entry ${part.entry}), ${amount(part.tokens, 'token')}: ${shown}`
    })
    .join('\n')
}

async function describeText(session: Session, id: string, from: number): Promise<string> {
  const { entry, part, text } = await session.original(id)
  checkNotHidden(session, { id, entry, part })
  const shown = cut(text, from, from + TEXT_CHARS)
  const end = from + shown.length
  const more =
    end < text.length ? `\n[${withCommas(text.length - end)} characters more: recall(text="${id}", from=${end})]` : ''
  return `[${id}, entry ${entry}]\n${shown}${more}`
}

async function sessionOf(context: SessionToolContext, named: string | undefined): Promise<Session> {
  const { session, sessions } = context
  if (named === undefined || named === session.id) return session
  const outputs = context.openOutputs?.(named)
  if (outputs) return outputs
  if (sessions) return sessions.open(named)
  throw new PalimpsestError('SESSION_NOT_FOUND', `There is no session ${named} that you may see.`, { session: named })
}

function whatIs({ role, tool, kind }: Pick<Nearby, 'role' | 'tool' | 'kind'>): string {
  if (tool) return `${kind === 'tool-result' ? 'result of' : 'call of'} ${tool}`
  return kind === 'text' ? `${role} text` : kind
}

/** Throws if the user has hidden the original of an id; if the id names a whole entry, any part of it. */
export function checkNotHidden(
  { fold }: Session,
  { id, entry, part }: { id: string; entry: number; part: number },
): void {
  const isWhole = fold.records.get(id)?.edit.target.type === 'entry'
  const hider = hiddenByUser(fold, entry, isWhole ? undefined : part)
  if (hider) throw hiddenError(id, hider)
}

export function hiddenError(what: string, { id }: Edit): PalimpsestError {
  return new PalimpsestError('PINNED', `The user hid ${what} (${id}). Ask the user if you need it.`, { id: what })
}

export function quote(text: string, most = 80): string {
  return JSON.stringify(inOneLine(text, most))
}
