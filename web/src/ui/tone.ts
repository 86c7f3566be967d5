/** The colours of series and kinds as styles: the rules of plots and parts read `--tone` and `--kind`. */
import type { CSSProperties } from 'react'

const TONES = ['--ink-3', '--accent', '--kind-user', '--kind-read', '--kind-shell', '--kind-edit']
export const TONE_COUNT = TONES.length

export function toneStyle(tone: number): CSSProperties {
  return { '--tone': `var(${TONES[tone]})` } as CSSProperties
}

export function kindStyle(group: string): CSSProperties {
  return { '--kind': `var(--kind-${group})` } as CSSProperties
}
