/** What holds where nothing else is said, for every door. */

export const DEFAULT_PLANNER = 'thrifty'
/** A folder's own home is here in it; what all homes of a user share is here in the user's folder. */
export const DEFAULT_HOME = '.agent'
/** The home that keeps everything in memory. */
export const MEMORY = ':memory:'

export type Environment = Readonly<Record<string, string | undefined>>

/** The home that the environment names. */
export function homeIn(env: Environment): string {
  return env['PALIMPSEST_HOME'] || DEFAULT_HOME
}
