/** The options with which a command chooses a preset and tunes it. They override palimpsest.json. */
import { PalimpsestError } from '../../model/errors.ts'
import type { PresetTuning } from '../../planner/presets.ts'
import type { PlannerFactory } from '../../policies/policy.ts'
import { listIn, type Options, type Values } from '../terminal/command.ts'

export const PLANNER_OPTIONS = {
  policy: { type: 'string', value: 'NAME', about: 'the planner preset for conversations' },
  keep: {
    type: 'string',
    value: 'HOW',
    about: 'how much thrifty and agent keep: least, less, normal, more, most, or a number',
  },
  protect: {
    type: 'string',
    value: 'TOOLS',
    about: 'tools whose results thrifty and agent never edit, separated by commas',
  },
  anchor: {
    type: 'string',
    value: 'CALLS',
    about: 'the number of tool calls after which agent and stale-output repeat the goal, or off',
  },
  marks: {
    type: 'string',
    value: 'LIST',
    about: 'thresholds of agent, any of: budget=0.6,keep=20,warnFrom=0.8,limit=24000,preview=6000',
  },
} as const satisfies Options

export type PlannerValues = Values<typeof PLANNER_OPTIONS>

/** The presets that each option is for. */
const PRESETS = {
  keep: ['thrifty', 'agent'],
  protect: ['thrifty', 'agent'],
  anchor: ['agent', 'stale-output'],
  marks: ['agent'],
} as const

/** The planner that the options name; undefined if there are none. `usual`: the preset that they tune without --policy. */
export async function plannerFrom(
  values: PlannerValues,
  { tuning = {}, usual }: { tuning?: PresetTuning | undefined; usual: string },
): Promise<string | PlannerFactory | undefined> {
  const { policy = usual } = values
  const given = tuningIn(values)
  if (Object.keys(given).length === 0) return values.policy
  const { parseConfig } = await import('../../session/config.ts')
  const { findPreset } = await import('../../planner/presets.ts')
  const { keep, protect, anchor, marks } = parseConfig({ policy, ...given }, 'The options')
  for (const [flag, allowed] of Object.entries(PRESETS)) {
    if (!(flag in given) || allowed.some(name => name === policy)) continue
    const message = `--${flag} is for the presets ${allowed.join(' and ')}, not for ${policy}.`
    throw new PalimpsestError('INVALID_INPUT', message, { policy })
  }
  return findPreset(policy, {
    ...tuning,
    ...(keep === undefined ? {} : { keep }),
    ...(protect === undefined ? {} : { protect }),
    ...(anchor === undefined ? {} : { anchor }),
    ...(marks === undefined ? {} : { marks: { ...tuning.marks, ...marks } }),
  })
}

/** The options in the form of palimpsest.json; errors are reported there. */
function tuningIn({ keep, protect, anchor, marks }: PlannerValues): Record<string, unknown> {
  return {
    ...(keep === undefined ? {} : { keep: numberOr(keep) }),
    ...(protect === undefined ? {} : { protect: listIn(protect) }),
    ...(anchor === undefined ? {} : { anchor: anchor === 'off' ? false : { every: numberOr(anchor) } }),
    ...(marks === undefined ? {} : { marks: Object.fromEntries(listIn(marks).map(pairIn)) }),
  }
}

function pairIn(text: string): [string, unknown] {
  const [name = '', ...value] = text.split('=')
  return [name.trim(), numberOr(value.join('='))]
}

function numberOr(text: string): string | number {
  return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text)
}
