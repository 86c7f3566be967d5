/** Routes: the effect of a session's edits, and the effect that a policy's edits would have had. */
import { z } from 'zod'
import type { Replayable } from '../../replay/account.ts'
import { verdictOf, wouldBe } from '../../replay/verdict.ts'
import type { Verdict } from '../../view/figures.ts'
import type { Timeline } from '../../view/timeline.ts'
import { defineRoute, EVERYBODY, named, nameSchema, numberIn, type Route } from './route.ts'
import { Edit } from './schemas.ts'
import { BarOut, inTheirs, mergedBars } from './session-map.ts'
import { LossCause, openTimeline, remember } from './session-timeline.ts'
import { costsOf, replayable } from './transcripts.ts'

const MOST_BARS = 5000
const BARS = 1500
const MOST_EDITS = 2000

/** Reading the quotes of a long session takes a while, and a replay longer. */
const rememberVerdict = remember<Verdict>()
const rememberWould = remember<z.input<typeof WouldOut>>()

const verdict = defineRoute({
  method: 'get',
  path: '/sessions/{session}/verdict',
  summary: "The result of a session's edits: dollars saved, later quotes lost, cache misses caused",
  roles: EVERYBODY,
  answer: named('Verdict', {
    billed: z.number(),
    without: z.number().describe('The cost without edits.'),
    saved: z.number(),
    calls: z.number(),
    copied: z.number().describe('Calls at the beginning that were paid in the session it came from.'),
    estimated: z.number().describe('Calls without a report of the provider.'),
    assumed: z.array(z.string()).describe('A sentence for each model without a known price.'),
    quotes: z.number().describe('Passages of tool results that the agent quoted later.'),
    lost: z.number().describe('Those of them that were out of view when they were quoted.'),
    cacheLost: z.partialRecord(LossCause, z.number()).describe('How often the cache was lost, by cause.'),
    parts: z
      .array(z.object({ part: z.enum(['read', 'new', 'output', ...LossCause.options]), dollars: z.number() }))
      .describe('The parts of the bill; the extra cost of a lost cache is under its cause.'),
    edits: z
      .array(z.object({ id: z.string(), dollars: z.number() }))
      .describe(
        'The savings of each edit so far, less its share of the cache writes that it caused; undone edits as if in force.',
      ),
  }),
  async run({ params, caller, doors }) {
    const { timeline } = await openTimeline(doors, caller, params.session)
    const read = async () => {
      const session = await doors.desk.open(caller, params.session)
      const { length } = timeline
      return verdictOf(timeline, (await session.events()).slice(0, length))
    }
    return rememberVerdict(timeline, '', () => doors.heavy.run(read))
  },
})

const WouldOut = named('Would', {
  policy: z.string(),
  dollars: z.number().describe('The amount paid, less the savings of the policy.'),
  saved: z.number(),
  share: z.number().describe('As a share of the amount paid.'),
  evidence: z.number().describe('The share of later quotes that would still be visible.'),
  edits: z.number(),
  tokens: z.object({ raw: z.number(), shown: z.number() }),
  bars: z.array(BarOut).describe('The same bars as in the map.'),
  list: z
    .array(Edit.extend({ call: z.number(), dollars: z.number() }))
    .describe(`The ${MOST_EDITS} edits that would have saved most.`),
})

const would = defineRoute({
  method: 'get',
  path: '/sessions/{session}/would',
  summary: 'The edits that a policy would have made in a session, with their reasons, and the resulting view',
  description: 'A replay: nothing is recorded and no model is called.',
  roles: EVERYBODY,
  query: {
    policy: nameSchema(100).optional().describe('`thrifty` by default.'),
    max: numberIn(1, MOST_BARS).optional().describe(`The maximum number of bars; ${BARS} by default.`),
  },
  answer: WouldOut,
  refusals: [409],
  async run({ params, query: { policy = 'thrifty', max = BARS }, caller, doors }) {
    const opened = await openTimeline(doors, caller, params.session)
    const { timeline } = opened
    const key = `${caller.role === 'agent'} ${max} ${policy}`
    const replayed = async () => wouldOf(timeline, await replayable(doors, caller, opened), { policy, max })
    return rememberWould(timeline, key, () => doors.heavy.run(replayed))
  },
})

async function wouldOf(
  timeline: Timeline,
  { recorded, base, under }: Replayable,
  { policy, max }: { policy: string; max: number },
): Promise<z.input<typeof WouldOut>> {
  const outcome = await under(policy)
  const costs = costsOf(policy, outcome, base, timeline)
  const paid = costsOf('none', base, base, timeline).dollars
  const { timeline: ghost, edits } = await wouldBe(recorded, outcome, timeline)
  return {
    policy,
    dollars: costs.dollars,
    saved: paid - costs.dollars,
    share: paid > 0 ? 1 - costs.dollars / paid : 0,
    evidence: costs.evidence,
    edits: edits.length,
    tokens: { raw: timeline.theirs(ghost.tokens.raw), shown: timeline.theirs(ghost.tokens.shown) },
    bars: mergedBars(inTheirs(timeline, [...ghost.bars()]), max),
    list: edits.toSorted((a, b) => b.dollars - a.dollars).slice(0, MOST_EDITS),
  }
}

export const verdictRoutes: readonly Route[] = [verdict, would]
