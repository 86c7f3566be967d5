/**
 * Routes: the settings and where each came from, changing them in palimpsest.json, and the effect of the knob on a
 * session.
 *
 * Only settings about the handling of sessions can be changed here, and no policy from a module: a caller on a port
 * must not choose which program runs or where keys are sent. The rest is for `palimpsest config`.
 */
import { z } from 'zod'
import { MEMORY } from '../../model/defaults.ts'
import { PalimpsestError } from '../../model/errors.ts'
import { KEEP_LEVELS } from '../../planner/tuning.ts'
import { isListedModel, modelInfo, PRICES_AS_OF } from '../../providers/models.ts'
import { knobOf } from '../../replay/report.ts'
import { configPath } from '../../session/config.ts'
import { changeSetting, settingsOf } from '../../session/settings.ts'
import type { KnobPoint } from '../../view/figures.ts'
import { PROVIDERS } from '../proxy/upstream.ts'
import type { Caller } from './gate.ts'
import { ADMINS, type Doors, defineRoute, EVERYBODY, named, type Route } from './route.ts'
import { openTimeline, remember } from './session-timeline.ts'
import { replayable } from './transcripts.ts'

const MOST_SESSIONS = 100_000
const MAX_NAME = 1000
const MOST_NAMES = 5
/** Settings that take effect when a session is next opened, and that can do no harm. */
const SETTABLE: readonly string[] = [
  'policy',
  'keep',
  'byAgent',
  'byProject',
  'protect',
  'anchor',
  'marks',
  'model',
  'cacheTtl',
  'overhead',
]

const SettingsOut = named('Settings', {
  file: z.string().nullable().describe('The file that changes are written to; null for a home in memory.'),
  settings: z.array(
    named('Setting', {
      key: z.string(),
      path: z.array(z.string()).describe('The path of keys to it.'),
      value: z.unknown(),
      source: z.enum(['default', 'file', 'environment', 'flag']),
      from: z.string().nullable().describe('The file, the variable or the flag.'),
      settable: z.boolean().describe('Whether it can be changed through the API.'),
    }),
  ),
  keep: z.record(z.string(), z.number()).describe('The levels of the knob, with their numbers.'),
  models: z
    .array(
      named('ModelRow', {
        model: z.string(),
        sessions: z.number(),
        calls: z.number(),
        window: z.number(),
        largest: z.number().describe('Tokens of the largest call so far.'),
        input: z.number().describe('Dollars per million tokens.'),
        output: z.number(),
        read: z.number().describe('The price of a cache read, as a factor of `input`.'),
        write: z.number(),
        ttl: z.number().describe('Milliseconds for which the provider promises to keep a prefix.'),
        kept: z.number().nullable().describe('The longest time for which it was seen to keep one, if that is longer.'),
        from: z
          .enum(['table', 'file', 'family'])
          .describe('`family`: the table does not have the model; this is the strictest row of its family.'),
      }),
    )
    .describe('The models used by sessions.'),
  asOf: z.string().describe('The date of the built-in prices.'),
})

const read = defineRoute({
  method: 'get',
  path: '/settings',
  summary: 'The settings with their sources, and the models in use',
  roles: ADMINS,
  answer: SettingsOut,
  run: ({ caller, doors }) => settingsNow(doors, caller),
})

const change = defineRoute({
  method: 'put',
  path: '/settings',
  summary: 'Change one setting in palimpsest.json; null removes it',
  description:
    `Takes ${SETTABLE.join(', ')}. The whole file is checked and replaced atomically. Sessions use it from their next ` +
    'call on; a session with its own planner keeps it.',
  roles: ADMINS,
  body: z.strictObject({
    path: z.array(z.string().min(1).max(MAX_NAME)).min(1).max(MOST_NAMES),
    value: z.unknown().describe('The value as in the file.'),
  }),
  answer: SettingsOut,
  refusals: [409],
  async run({ body, caller, doors }) {
    const { path, value } = body
    checkSettable(doors, path, value)
    await changeSetting(doors.pal.home, path, value === null || value === undefined ? undefined : JSON.stringify(value))
    await doors.pal.reconfigure()
    doors.desk.reopen()
    return settingsNow(doors, caller)
  },
})

function checkSettable({ pal }: Doors, [first = '', ...rest]: readonly string[], value: unknown): void {
  if (pal.home === MEMORY) {
    throw new PalimpsestError('CONFIG_INVALID', 'A home in memory has no file to write settings to.')
  }
  const isModule = first === 'policy' && (rest.length > 0 || (value !== null && typeof value !== 'string'))
  if (SETTABLE.includes(first) && !isModule) return
  const message = isModule
    ? 'policy takes the name of a preset here. Set your own policies in palimpsest.json.'
    : `${first} cannot be set through the API. Use: palimpsest config set ${first} VALUE`
  throw new PalimpsestError('CONFIG_INVALID', message, { settable: SETTABLE })
}

async function settingsNow(doors: Doors, caller: Caller): Promise<z.input<typeof SettingsOut>> {
  const { pal, given = { env: {} } } = doors
  const set = await settingsOf({ home: pal.home, ...given, upstreams: PROVIDERS })
  return {
    file: pal.home === MEMORY ? null : configPath(pal.home),
    settings: set.map(setting => ({
      ...setting,
      settable: SETTABLE.includes(setting.path[0]!) && setting.source !== 'flag' && setting.source !== 'environment',
    })),
    keep: KEEP_LEVELS,
    models: await modelsIn(doors, caller),
    asOf: PRICES_AS_OF,
  }
}

async function modelsIn({ pal, desk, timelines }: Doors, caller: Caller) {
  const rows = await desk.list(caller, { limit: MOST_SESSIONS })
  const byModel = Map.groupBy(rows, ({ model }) => model)
  return [...byModel].map(([model, sessions]) => {
    const { window, input, output, read: cached, write, ttl } = modelInfo(model, pal.models)
    const summaries = sessions.flatMap(
      row => timelines.latest({ ...row, id: desk.idOf(caller, row.id) })?.summary ?? [],
    )
    const kept = Math.max(0, ...sessions.map(({ cacheKept = 0 }) => cacheKept))
    const isOwn = Object.keys(pal.models).some(id => model.startsWith(id))
    return {
      model,
      sessions: sessions.length,
      calls: summaries.reduce((sum, { calls }) => sum + calls, 0),
      window,
      largest: Math.max(0, ...summaries.flatMap(({ series }) => series.shown)),
      input,
      output,
      read: cached,
      write,
      ttl,
      kept: kept > ttl ? kept : null,
      from: isOwn ? ('file' as const) : isListedModel(model) ? ('table' as const) : ('family' as const),
    }
  })
}

const KnobPointOut = named('KnobPoint', {
  keep: z.string(),
  withoutUsd: z.number().describe('The cost of the session without edits.'),
  savedUsd: z.number().describe('The savings of thrifty with the knob at this level.'),
  kept: z.number().describe('Later quotes still visible.'),
  quotes: z.number().describe('All later quotes.'),
})

const rememberKnob = remember<KnobPoint[]>()

const knob = defineRoute({
  method: 'get',
  path: '/sessions/{session}/knob',
  summary: 'Savings and kept quotes of thrifty in a session, for each level of the knob',
  description: 'One replay per level: nothing is recorded and no model is called.',
  roles: EVERYBODY,
  answer: z.object({ session: z.string(), points: z.array(KnobPointOut) }),
  refusals: [409],
  async run({ params, caller, doors }) {
    const opened = await openTimeline(doors, caller, params.session)
    const { timeline, session } = opened
    const replayed = async () => knobOf(timeline, await replayable(doors, caller, opened))
    return { session, points: await rememberKnob(timeline, '', () => doors.heavy.run(replayed)) }
  },
})

export const settingsRoutes: readonly Route[] = [read, change, knob]
