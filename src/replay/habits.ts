/**
 * Habits that cost money, found in a recorded session: how often each happened, its tokens and dollars, and what to do
 * about it. The causes of lost caches are those of `why`; the others are found in the results themselves. The kinds
 * overlap a little: a huge result that comes twice counts as both.
 */

import { textOf } from '../model/leaves.ts'
import { withCommas } from '../model/text.ts'
import { partTokens } from '../model/tokens.ts'
import type { CacheMiss, Message } from '../model/types.ts'
import type { Timeline } from '../view/timeline.ts'
import { whyOf } from './why.ts'

type HabitKind = 'repeated' | 'huge' | 'cold' | 'busts' | 'switches' | 'front'
/** `times` is the number of `things`; `about` continues the sentence after them. */
export type Habit = {
  name: string
  things: [one: string, many: string]
  about: string
  fix: string
  times: number
  tokens: number
  dollars: number
}
export type Habits = Record<HabitKind, Habit>

const HUGE_TOKENS = 8000
const MANY_OVERHEAD_TOKENS = 20_000
const MIN_REPEATED_TOKENS = 100

const WORDS: Record<HabitKind, Pick<Habit, 'name' | 'things' | 'about' | 'fix'>> = {
  repeated: {
    name: 'Repeated results',
    things: ['time', 'times'],
    about: 'a tool returned text that it had returned before, and both copies stayed to the end of the session',
    fix: 'let the agent note what it found instead of looking again; thrifty shortens the copies.',
  },
  huge: {
    name: 'Very long results',
    things: ['result', 'results'],
    about: `had more than ${withCommas(HUGE_TOKENS)} tokens; the sum counts only the excess`,
    fix: 'ask for the part that you need (a line range, grep, head); thrifty shortens what is not quoted again.',
  },
  cold: {
    name: 'Coming back after a break',
    things: ['time', 'times'],
    about: 'the next message came after the cache had expired, and the whole prompt was written again',
    fix: 'after a long pause, start a new session, or let the planner shorten the prompt, which is free then.',
  },
  busts: {
    name: 'Unexpected cache misses',
    things: ['call', 'calls'],
    about:
      'found much less in the cache than expected: the client changed the beginning, or the provider lost the cache',
    fix: 'connect MCP servers and load skills before the first message, not during the session.',
  },
  switches: {
    name: 'Switching models in a session',
    things: ['time', 'times'],
    about: 'another model had to write the whole prompt to its own cache',
    fix: 'stay with one model for a session, and start a new session for another model.',
  },
  front: {
    name: 'A long system prompt and many tools',
    things: ['call', 'calls'],
    about: `carried more than ${withCommas(MANY_OVERHEAD_TOKENS)} tokens of system prompt and tools; the sum counts only the excess`,
    fix: 'switch off the MCP servers and skills that this project does not need.',
  },
}

const HABIT_OF: Partial<Record<CacheMiss['cause'], HabitKind>> = {
  pause: 'cold',
  model: 'switches',
  client: 'busts',
  provider: 'busts',
}

function noHabits(): Habits {
  const kinds = Object.entries(WORDS).map(([kind, words]) => [kind, { ...words, times: 0, tokens: 0, dollars: 0 }])
  return Object.fromEntries(kinds)
}

export function addHabits(all: readonly Habits[]): Habits {
  const sums = noHabits()
  for (const one of all) for (const kind of Object.keys(sums) as HabitKind[]) note(sums[kind], one[kind])
  return sums
}

/** The most expensive habits, most expensive first. */
export function worstHabits(habits: Habits, most: number): Habit[] {
  const found = Object.values(habits).filter(({ dollars }) => dollars > 0)
  return found.sort((a, b) => b.dollars - a.dollars).slice(0, most)
}

export function habitsIn(timeline: Timeline): Habits {
  const habits = noHabits()
  for (const { cause, times, lost, extraUsd } of whyOf(timeline).causes) {
    const kind = HABIT_OF[cause as CacheMiss['cause']]
    if (kind) note(habits[kind], { times, tokens: lost, dollars: extraUsd })
  }
  for (const call of timeline.calls) {
    const { read } = timeline.modelOf(call)
    const input = timeline.inputPriceOf(call)
    const tokens = (call.overhead - MANY_OVERHEAD_TOKENS) * timeline.scale
    if (tokens > 0 && !call.inherited) note(habits.front, { times: 1, tokens, dollars: (tokens * read * input) / 1e6 })
  }
  addResults(habits, timeline)
  return habits
}

/** Adds repeated results, and the excess of huge ones, priced for the calls that carried them. */
function addResults(habits: Habits, timeline: Timeline): void {
  const { fold, calls, scale } = timeline
  const seen = new Set<string>()
  let call = 0
  for (const [entry, { message }] of fold.entries.entries()) {
    while (call < calls.length && calls[call]!.entry < entry) call++
    const next = calls[call]
    if (!message || !next || next.inherited) continue
    const { read, write } = timeline.modelOf(next)
    const input = timeline.inputPriceOf(next)
    const dollars = (tokens: number) => (tokens * scale * (write + read * (calls.length - call)) * input) / 1e6
    for (const [tokens, kind] of resultsIn(message, seen, timeline))
      note(habits[kind], { times: 1, tokens: tokens * scale, dollars: dollars(tokens) })
  }
}

function* resultsIn({ parts }: Message, seen: Set<string>, { fold }: Timeline): Generator<[number, HabitKind]> {
  for (const part of parts) {
    if (part.type !== 'tool-result') continue
    const tokens = partTokens(part, fold.count)
    const text = textOf(part)
    if (seen.has(text) && tokens > MIN_REPEATED_TOKENS) yield [tokens, 'repeated']
    else if (tokens > HUGE_TOKENS) yield [tokens - HUGE_TOKENS, 'huge']
    seen.add(text)
  }
}

function note(habit: Habit, { times, tokens, dollars }: Pick<Habit, 'times' | 'tokens' | 'dollars'>): void {
  habit.times += times
  habit.tokens += tokens
  habit.dollars += dollars
}
