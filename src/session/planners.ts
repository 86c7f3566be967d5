/**
 * Chooses the planner of a session and its knob. The request comes first, then the configuration for the session's
 * project, for its agent, and for all.
 */
import { DEFAULT_PLANNER } from '../model/defaults.ts'
import { PalimpsestError } from '../model/errors.ts'
import { findPreset, presets, seedPresets } from '../planner/presets.ts'
import { type PlannerFactory, type Policy, toPlanner } from '../policies/policy.ts'
import type { Choice, Settings } from './config.ts'
import { isInProject } from './recall.ts'
import type { About } from './session-options.ts'

export type PlannerChoice = string | PlannerFactory | Policy

/** The settings for the agent and the project. If several projects match, the longest name wins. */
function choiceFor({ byAgent = {}, byProject = {} }: Settings, { client = '', project }: About): Choice {
  const named = Object.keys(byProject).filter(name => isInProject(project, name))
  const [nearest = ''] = named.sort((a, b) => b.length - a.length)
  const own = Object.hasOwn(byAgent, client) ? byAgent[client] : {}
  return { ...own, ...byProject[nearest] }
}

/** The planner of a session that does not name one. */
export function defaultPlanner(settings: Settings, about: About = {}): string | PlannerFactory {
  return choiceFor(settings, about).policy ?? settings.planner ?? DEFAULT_PLANNER
}

export function findPlanner(name: string, settings: Settings, about: About = {}): PlannerFactory | undefined {
  const { planner, tuning } = settings
  const { keep } = choiceFor(settings, about)
  const own = planner?.name === name ? planner : undefined
  const tuned = keep === undefined ? tuning : { ...tuning, keep }
  return keep === undefined ? (own ?? findPreset(name, tuned)) : (findPreset(name, tuned) ?? own)
}

export function plannerNamed(given: PlannerChoice, settings: Settings, about: About = {}): PlannerFactory {
  if (typeof given !== 'string') return toPlanner(given)
  const { planner } = settings
  const found = findPlanner(given, settings, about)
  if (found) return found
  const allowed = [...presets, ...seedPresets, ...(planner ? [planner] : [])].map(({ name }) => name)
  throw new PalimpsestError('CONFIG_INVALID', `There is no policy ${given}; there are ${allowed.join(', ')}.`, {
    policy: given,
    allowed,
  })
}
