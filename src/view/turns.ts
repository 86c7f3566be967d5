/**
 * A session as a tree: the turns (requests of the user), in each turn the calls of the model, in each call the tools
 * that it called. Times, tokens and dollars are those of the timeline. Pure.
 */

import { titleIn, typedIn } from '../calls/requests.ts'
import { boundedTo, headOf, onOneLine } from '../model/text.ts'
import { messageTokens, partTokens } from '../model/tokens.ts'
import type { ToolResultPart } from '../model/types.ts'
import type { Timeline } from './timeline.ts'

export type Turn = {
  /** From 1; 0 is everything before the first request. */
  turn: number
  /** The first entry and the last. */
  entry: number
  to: number
  at: number
  ended: number
  title: string
  /** The number of model calls, the number of the first one (from 1), and their cost. */
  calls: number
  firstCall: number
  dollars: number
  saved: number
  /** Tokens that were added to the conversation. */
  tokens: number
  tools: number
  agents: number
  errors: number
  /** How often the provider lost cached text. */
  cacheLost: number
}

export type Step = {
  call: number
  entry: number
  at: number
  dollars: number
  tokens: number
  cacheLost: boolean
  tools: {
    entry: number
    part: number
    name: string
    about: string
    kind: string
    at: number
    tokens: number
    error: boolean
  }[]
}

/** An agent that a turn started: a separate session, summed up. */
export type SubAgent = Pick<Turn, 'title' | 'at' | 'ended' | 'calls' | 'tokens' | 'tools' | 'dollars' | 'errors'> & {
  session: string
}

const TITLE = 90

export function subAgentOf(session: string, timeline: Timeline): SubAgent | undefined {
  const turns = turnsOf(timeline)
  const [first] = turns
  if (!first) return undefined
  const sum = (key: 'calls' | 'tokens' | 'tools' | 'dollars' | 'errors') =>
    turns.reduce((total, turn) => total + turn[key], 0)
  const title = turns.find(turn => turn.title !== '')?.title ?? ''
  return {
    session,
    title,
    at: first.at,
    ended: turns.at(-1)!.ended,
    calls: sum('calls'),
    tokens: sum('tokens'),
    tools: sum('tools'),
    dollars: sum('dollars'),
    errors: sum('errors'),
  }
}

export function turnsOf(timeline: Timeline): Turn[] {
  const { fold, calls } = timeline
  const turns: Turn[] = []
  let call = 0
  for (const [entry, { message, at }] of fold.entries.entries()) {
    const request = typedIn(message)
    if (request !== undefined || turns.length === 0) turns.push(startOf(turns, { entry, at, request, call }))
    const turn = turns.at(-1)!
    turn.to = entry
    turn.ended = at
    turn.tokens += timeline.theirs(messageTokens(message!, fold.count))
    while (calls[call] && calls[call]!.entry <= entry) addCall(turn, timeline, calls[call++]!)
    turn.errors += message!.parts.filter(isFailed).length
  }
  countTools(timeline, turns)
  return turns
}

type Start = { entry: number; at: number; request: string | undefined; call: number }

function startOf(turns: readonly Turn[], { entry, at, request, call }: Start): Turn {
  const isAsked = request !== undefined
  const number = isAsked ? (turns.at(-1)?.turn ?? 0) + 1 : 0
  const title = isAsked ? boundedTo(onOneLine(headOf(titleIn(request) ?? request, TITLE * 4)), TITLE) : ''
  const sums = { calls: 0, dollars: 0, saved: 0, tokens: 0, tools: 0, agents: 0, errors: 0, cacheLost: 0 }
  return { turn: number, entry, to: entry, at, ended: at, title, firstCall: call + 1, ...sums }
}

function addCall(turn: Turn, timeline: Timeline, call: Timeline['calls'][number]): void {
  const { inherited, paid, raw, sent } = call
  turn.calls++
  if (timeline.lossOf(call)) turn.cacheLost++
  if (inherited) return
  turn.dollars += paid.dollars
  turn.saved += raw.cost - sent.cost
}

function countTools({ units }: Timeline, turns: readonly Turn[]): void {
  let place = 0
  for (const { entry, original, call } of units) {
    if (original.type !== 'tool-call') continue
    while (turns[place + 1] && turns[place + 1]!.entry <= entry) place++
    turns[place]!.tools++
    if (call?.kind === 'agent') turns[place]!.agents++
  }
}

/** The calls of one turn, with the tools that each called. */
export function stepsOf(timeline: Timeline, { entry: first, to }: Pick<Turn, 'entry' | 'to'>): Step[] {
  const { calls, units, fold } = timeline
  const results = new Map<string, ToolResultPart>()
  const own = units.filter(({ entry }) => entry >= first && entry <= to)
  for (const { original } of own) if (original.type === 'tool-result') results.set(original.id, original)
  return calls.flatMap((made, i) => {
    const { entry, at, paid, sent } = made
    if (entry < first || entry > to) return []
    const tools = own.flatMap(unit => {
      const { original, call } = unit
      if (unit.entry !== entry || original.type !== 'tool-call') return []
      const result = results.get(original.id)
      return {
        entry,
        part: unit.part,
        name: original.name,
        about: boundedTo(onOneLine(headOf(call?.command ?? call?.path ?? '', TITLE * 2)), TITLE),
        kind: call?.kind ?? 'other',
        at: unit.at,
        tokens: result ? timeline.theirs(partTokens(result, fold.count)) : 0,
        error: result?.isError === true,
      }
    })
    const tokens = timeline.theirs(sent.tokens)
    return {
      call: i + 1,
      entry,
      at,
      dollars: paid.dollars,
      tokens,
      cacheLost: timeline.lossOf(made) !== undefined,
      tools,
    }
  })
}

function isFailed(part: { type: string; isError?: boolean }): boolean {
  return part.type === 'tool-result' && part.isError === true
}
