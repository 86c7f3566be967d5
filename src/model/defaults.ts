/** Defaults for every door. */

export const DEFAULT_PLANNER = 'thrifty'
/** Assumed if no model is named. */
export const DEFAULT_MODEL = 'claude-sonnet-4-5'
/** The name of a folder's own home, and of the folder in the user's home for data that all homes share. */
export const DEFAULT_HOME = '.agent'
/** Where the server listens. */
export const DEFAULT_PORT = 8787
/** The home that keeps everything in memory. */
export const MEMORY = ':memory:'

export type Environment = Readonly<Record<string, string | undefined>>

export function homeIn(env: Environment): string {
  return env['PALIMPSEST_HOME'] || DEFAULT_HOME
}
