/**
 * Cost with fetching against evidence kept: our knob as a curve, all others as points. Down and to the right is better.
 */
import type { Panel, Plot, Series } from '../src/replay/plot.ts'
import type { Result } from './replay.ts'

const ROOM = 0.04
type Group = Result['kind'] | 'knob'
const COLOURS: Record<Group, number> = { thrifty: 0, peer: 1, knob: 4, preset: 2, bound: 3 }
const NAMES: Record<Group, string> = {
  thrifty: 'thrifty (its knob)',
  peer: 'peers (numbered)',
  knob: 'peers, other settings',
  preset: 'our presets that edit every turn',
  bound: 'knowing the future',
}

/** The range of most contenders: enough evidence to work with, and not more expensive than sending everything. */
const NEAR = { evidence: 0.78, cost: 1.02 }

export function costAgainstEvidence(table: string, results: readonly Result[]): Plot {
  const shown = results.filter(({ stopped, effectiveShare }) => !stopped && effectiveShare < 1.6)
  const peers = shown.filter(result => groupOf(result) === 'peer')
  const numbers = new Map(peers.map((result, i) => [result, `${i + 1}`]))
  const legend = peers.map(({ policy, setting }, i) => `${i + 1} ${policy}, ${setting}`)
  const near = shown.filter(({ evidence, effectiveShare }) => evidence >= NEAR.evidence && effectiveShare <= NEAR.cost)
  return {
    title: `Effective cost against evidence kept (${table})`,
    description: `Each point is a policy on all sessions; below, a part of the same. Lower is cheaper, further right loses less. Peers: ${legend.join('; ')}.`,
    notes: legend,
    panels: [toPanel(shown, { height: 240 }), toPanel(near, { height: 460, numbers })],
  }
}

type Size = { height: number; numbers?: ReadonlyMap<Result, string> }

function toPanel(shown: readonly Result[], { height, numbers }: Size): Panel {
  const costs = shown.map(({ effectiveShare }) => effectiveShare)
  const left = Math.min(...shown.map(({ evidence }) => evidence))
  const step = numbers ? 20 : 10
  return {
    x: {
      label: 'evidence kept',
      min: Math.floor((left - ROOM / 4) * 20) / 20,
      max: numbers ? 1.005 : 1.02,
      format: value => value.toFixed(2),
    },
    y: {
      label: 'effective cost (none = 1)',
      min: Math.floor((Math.min(...costs) - ROOM / 4) * step) / step,
      max: Math.ceil((Math.max(1, ...costs) + ROOM / 4) * step) / step,
      format: value => value.toFixed(2),
    },
    series: (Object.keys(COLOURS) as Group[])
      .map(group => toSeries(group, shown, numbers))
      .filter(({ points }) => points.length > 0),
    height,
  }
}

/** Labels only where there is room for them: in the panel that has numbers. */
function toSeries(group: Group, results: readonly Result[], numbers: Size['numbers']): Series {
  const own = results.filter(result => groupOf(result) === group).toSorted((a, b) => a.evidence - b.evidence)
  const labels = own.map(result => {
    if (group === 'peer') return numbers?.get(result) ?? ''
    return group === 'thrifty' ? labelOf(result) : result.policy
  })
  return {
    name: NAMES[group],
    colour: COLOURS[group],
    form: group === 'thrifty' ? 'curve' : 'points',
    points: own.map(({ evidence, effectiveShare }) => [evidence, effectiveShare] as const),
    ...(group === 'knob' || !numbers ? {} : { labels }),
  }
}

/** The number of the knob. */
function labelOf({ setting }: Result): string {
  return setting.replace(/^quote (\S+).*/, '$1')
}

function groupOf({ kind, setting }: Result): Group {
  return kind === 'peer' && setting.startsWith('knob') ? 'knob' : kind
}

export function fileOf(table: string): string {
  return `replay-${table.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.svg`
}
