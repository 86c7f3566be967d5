/** Effective cost against evidence kept: our knob as a curve, everybody else as a point. Down and to the right is better. */
import type { Plot, Series } from '../src/plot.ts'
import type { Result } from './replay.ts'

const ROOM = 0.04
const COLOURS: Record<Result['kind'], number> = { thrifty: 0, peer: 1, preset: 2, bound: 3 }
const NAMES: Record<Result['kind'], string> = {
  thrifty: 'thrifty (its knob)',
  peer: 'peers (numbered)',
  preset: 'our presets that edit every turn',
  bound: 'knowing the future',
}

export function costAgainstEvidence(table: string, results: readonly Result[]): Plot {
  const shown = results.filter(({ stopped, effectiveShare }) => !stopped && effectiveShare < 1.6)
  const series = (Object.keys(COLOURS) as Result['kind'][]).map(kind => toSeries(kind, shown))
  const high = Math.max(1, ...shown.map(({ effectiveShare }) => effectiveShare))
  const low = Math.min(...shown.map(({ effectiveShare }) => effectiveShare))
  const left = Math.min(...shown.map(({ evidence }) => evidence))
  const legend = shown
    .filter(({ kind }) => kind === 'peer')
    .map(({ policy, setting }, i) => `${i + 1} ${policy}, ${setting}`)
  return {
    title: `Effective cost against evidence kept (${table})`,
    description: `Each point is a policy on all sessions. Lower is cheaper, further right loses less. Peers: ${legend.join('; ')}.`,
    notes: legend,
    panels: [
      {
        x: {
          label: 'evidence kept',
          min: Math.floor((left - ROOM / 4) * 20) / 20,
          max: 1.02,
          format: value => value.toFixed(2),
        },
        y: {
          label: 'effective cost (none = 1)',
          min: Math.floor((low - ROOM) * 10) / 10,
          max: Math.ceil((high + ROOM / 2) * 10) / 10,
          format: value => value.toFixed(2),
        },
        series: series.filter(({ points }) => points.length > 0),
        height: 420,
      },
    ],
  }
}

function toSeries(kind: Result['kind'], results: readonly Result[]): Series {
  const own = results.filter(result => result.kind === kind)
  return {
    name: NAMES[kind],
    colour: COLOURS[kind],
    form: kind === 'thrifty' ? 'curve' : 'points',
    points: own.map(({ evidence, effectiveShare }) => [evidence, effectiveShare] as const),
    labels: own.map(({ policy, setting }, i) =>
      kind === 'peer' ? `${i + 1}` : kind === 'thrifty' ? setting.replace(/^quote (\d+k).*/, '$1') : policy,
    ),
  }
}

export function fileOf(table: string): string {
  return `replay-${table.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.svg`
}
