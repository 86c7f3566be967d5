/**
 * The effect of the knob on the user's sessions: the most expensive ones are replayed on the server one after the
 * other, and the results are summed. Between two levels the curve is linear in the logarithm of the number. Pure except
 * for the hook.
 */
import { useEffect, useState } from 'react'
import { getJson } from '../../api.ts'
import type { KnobPoint, SessionRow } from '../../api-types.ts'

export type Keep = string | number
export type Levels = Record<string, number>
export type KnobOf = { session: SessionRow; points: readonly KnobPoint[] }
export type Preview = { dollars: number; saved: number; evidence: number }

/** Each session takes six replays. */
export const MOST_SESSIONS = 8

/** Requests one session after the other; sessions that cannot be replayed are skipped. */
export function useKnobs(sessions: readonly SessionRow[] | undefined): { knobs: readonly KnobOf[]; left: number } {
  const [knobs, setKnobs] = useState<ReadonlyMap<string, KnobOf | null>>(new Map())
  const next = sessions?.find(({ id }) => !knobs.has(id))
  useEffect(() => {
    if (!next) return
    const stop = new AbortController()
    const put = (knob: KnobOf | null) => setKnobs(old => new Map([...old, [next.id, knob]]))
    getJson('/sessions/{session}/knob', { params: { session: next.id }, signal: stop.signal }).then(
      ({ points }) => put({ session: next, points }),
      () => !stop.signal.aborted && put(null),
    )
    return () => stop.abort()
  }, [next])
  const left = sessions?.filter(({ id }) => !knobs.has(id)).length ?? 0
  return { knobs: [...knobs.values()].filter(knob => knob !== null), left }
}

/** The sessions of the preview: the most expensive ones with a known cost. */
export function mostExpensive(rows: readonly SessionRow[]): SessionRow[] {
  const known = rows.filter(({ summary }) => summary && summary.calls > 0)
  return known.sort((a, b) => b.summary!.money.with - a.summary!.money.with).slice(0, MOST_SESSIONS)
}

export function factorOf(keep: Keep, levels: Levels): number {
  return typeof keep === 'number' ? keep : (levels[keep] ?? 1)
}

/** The cost of all these sessions at this position of the knob; undefined without sessions. */
export function previewAt(knobs: readonly KnobOf[], keep: Keep, levels: Levels): Preview | undefined {
  if (knobs.length === 0) return undefined
  const factor = Math.log(factorOf(keep, levels))
  const sums = { without: 0, saved: 0, kept: 0, quotes: 0 }
  for (const { points } of knobs) {
    const [before, after, share] = around(points, factor, levels)
    const between = (of: (point: KnobPoint) => number) => of(before) + (of(after) - of(before)) * share
    sums.without += before.withoutUsd
    sums.saved += between(point => point.savedUsd)
    sums.kept += between(point => point.kept)
    sums.quotes += before.quotes
  }
  const { without, saved, kept, quotes } = sums
  return { dollars: without - saved, saved, evidence: quotes === 0 ? 1 : kept / quotes }
}

/** The points on either side, and the relative distance from the first to the second. */
function around(points: readonly KnobPoint[], factor: number, levels: Levels): [KnobPoint, KnobPoint, number] {
  const at = (point: KnobPoint) => Math.log(levels[point.keep] ?? 1)
  const next = points.findIndex(point => at(point) >= factor)
  const after = points[next < 0 ? points.length - 1 : next]!
  const before = points[next <= 0 ? points.indexOf(after) : next - 1]!
  return [before, after, before === after ? 0 : (factor - at(before)) / (at(after) - at(before))]
}

/** Positions of the slider: a whole number is a level, anything between two levels is a number. */
export function keepAt(place: number, levels: Levels): Keep {
  const words = Object.keys(levels)
  const nearest = Math.round(place)
  if (Math.abs(place - nearest) < 0.1) return words[nearest]!
  const [low, high] = [Math.floor(place), Math.ceil(place)].map(i => Math.log(levels[words[i]!]!))
  return Number(Math.exp(low! + (high! - low!) * (place % 1)).toPrecision(2))
}

export function placeOf(keep: Keep, levels: Levels): number {
  const factor = Math.log(factorOf(keep, levels))
  const logs = Object.values(levels).map(Math.log)
  const next = logs.findIndex(log => log >= factor - 1e-9)
  if (next < 0) return logs.length - 1
  return next === 0 ? 0 : next - 1 + (factor - logs[next - 1]!) / (logs[next]! - logs[next - 1]!)
}
