/**
 * Is our curve better than every other one? Cost against evidence with one price table. The knob of `thrifty` is a line
 * through its points (between two of them, some sessions get one setting and some the other), up to the policy that
 * sends everything. Each setting of a peer, and the line between two neighbouring settings of a peer, is compared with
 * the cost of `thrifty` at the same evidence, or with our cheapest point left of our curve. Contenders that fit the
 * window are compared with settings that fit it, and others with all settings.
 */
import type { Result } from './replay.ts'

export type Point = { evidence: number; cost: number }

export type Gap = {
  peer: string
  setting: string
  evidence: number
  theirs: number
  ours: number
  /** How much more they pay; below 0 the peer is outside our curve. */
  gap: number
  /** Share of the users' words that it keeps, and whether its views fit the window. */
  said: number
  fits: boolean
}

export function gapsTo(results: readonly Result[]): Gap[] {
  const knob = results.filter(({ kind }) => kind === 'thrifty')
  const curves = { fitting: frontier(knob.filter(({ fits }) => fits).map(toPoint)), any: frontier(knob.map(toPoint)) }
  const peers = results.filter(({ kind, stopped }) => kind === 'peer' && !stopped)
  const groups = [...Map.groupBy(peers, ({ policy }) => policy).values()]
  const gaps = groups.flatMap(group => {
    const sorted = group.toSorted((a, b) => a.evidence - b.evidence)
    return sorted.flatMap((result, i) => {
      const next = sorted[i + 1]
      const own = gapAt(curves, result, toPoint(result))
      if (!next) return [own]
      const middle = between(toPoint(result), toPoint(next), (result.evidence + next.evidence) / 2)
      const setting = `between ${result.setting} and ${next.setting}`
      const [said, fits] = [(result.said + next.said) / 2, result.fits && next.fits]
      return [own, gapAt(curves, { policy: result.policy, setting, said, fits }, middle)]
    })
  })
  return gaps.toSorted((a, b) => a.gap - b.gap)
}

/**
 * The cost of `thrifty` at this evidence, interpolated between the points of its knob and the policy that sends
 * everything.
 */
export function costAt(ours: readonly Point[], evidence: number): number {
  const right = ours.findIndex(point => point.evidence >= evidence)
  if (right <= 0) return ours[Math.max(0, right)]!.cost
  return between(ours[right - 1]!, ours[right]!, evidence).cost
}

/** The points that no other point beats in both, from little evidence to all of it. */
export function frontier(points: readonly Point[]): Point[] {
  const all = [...points, { evidence: 1, cost: 1 }]
  const kept = all.filter(
    point =>
      !all.some(
        other =>
          other.evidence >= point.evidence &&
          other.cost <= point.cost &&
          (other.evidence > point.evidence || other.cost < point.cost),
      ),
  )
  return kept.toSorted((a, b) => a.evidence - b.evidence)
}

type About = Pick<Result, 'policy' | 'setting' | 'said' | 'fits'>

type Curves = { fitting: readonly Point[]; any: readonly Point[] }

function gapAt(curves: Curves, { policy, setting, said, fits }: About, { evidence, cost }: Point): Gap {
  const own = costAt(fits ? curves.fitting : curves.any, evidence)
  return { peer: policy, setting, evidence, theirs: cost, ours: own, gap: cost - own, said, fits }
}

function between(a: Point, b: Point, evidence: number): Point {
  if (a.evidence === b.evidence) return { evidence, cost: Math.min(a.cost, b.cost) }
  const share = (evidence - a.evidence) / (b.evidence - a.evidence)
  return { evidence, cost: a.cost + share * (b.cost - a.cost) }
}

function toPoint({ evidence, effectiveShare }: Result): Point {
  return { evidence, cost: effectiveShare }
}
