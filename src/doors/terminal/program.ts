/** The name of our program in commands that we print: `npx palimpsest` if `palimpsest` is not on the path. */
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Environment } from '../../model/defaults.ts'

export function programName(env: Environment): string {
  const folders = (env['PATH'] ?? '').split(delimiter)
  const isThere = folders.some(folder => folder !== '' && existsSync(join(folder, 'palimpsest')))
  return isThere ? 'palimpsest' : 'npx palimpsest'
}
