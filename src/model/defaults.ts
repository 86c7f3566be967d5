/** What holds where nothing else is said, for every door. */

export const DEFAULT_PLANNER = 'thrifty'
const DEFAULT_HOME = '.agent'
/** The home that keeps everything in memory. */
export const MEMORY = ':memory:'

export type Environment = Readonly<Record<string, string | undefined>>

/** The home that the environment names. */
export function homeIn(env: Environment): string {
  return env['PALIMPSEST_HOME'] || DEFAULT_HOME
}
