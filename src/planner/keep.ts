/** The one knob of `thrifty`: how much is kept, as a word or as a number (1 is normal, 2 keeps more, 0.5 less). */
import { PalimpsestError } from '../model/errors.ts'

/** What losing a passage costs, relative to the default. */
export const KEEP_LEVELS = { least: 0.1, less: 0.4, normal: 1, more: 3, most: 10 } as const

export type KeepLevel = keyof typeof KEEP_LEVELS

export const MAX_KEEP = 1000

export function keepFactor(keep: KeepLevel | number): number {
  const factor = typeof keep === 'number' ? keep : KEEP_LEVELS[keep]
  if (factor > 0 && factor <= MAX_KEEP) return factor
  throw new PalimpsestError(
    'CONFIG_INVALID',
    `keep is ${JSON.stringify(keep)}; allowed: ${Object.keys(KEEP_LEVELS).join(', ')}, or a number over 0 and up to ${MAX_KEEP}.`,
    { keep },
  )
}
