/** The planner and the knob for all sessions, with their effect on the bill. */

import { useId, useState } from 'react'
import type { Setting, Settings } from '../../api-types.ts'
import { Button } from '../../ui/button.tsx'
import { money, percent, plural } from '../../ui/format.ts'
import { LIMIT, type Point } from '../compare/costs.ts'
import { Scatter } from '../compare/scatter.tsx'
import { type Keep, type KnobOf, keepAt, placeOf, previewAt } from './knob.ts'
import type { Change } from './settings-api.ts'
import { SourceChip } from './source-chip.tsx'

export type Policies = readonly { name: string; about: string }[]
type CardProps = { settings: Settings; change: Change; knobs: readonly KnobOf[]; left: number; policies: Policies }

const KNOBBED = ['thrifty', 'agent']

export function KnobCard({ settings, change, knobs, left, policies }: CardProps) {
  const { keep: levels } = settings
  const find = (key: string) => settings.settings.find(setting => setting.key === key)
  const set = find('keep')
  const policy = find('policy')
  const inForce = (set?.value ?? 'normal') as Keep
  const [tried, setTried] = useState<Keep>()
  const keep = tried ?? inForce
  const save = () => change(['keep'], keep).then(() => setTried(undefined))
  return (
    <section id="planner" aria-labelledby="planner-title">
      <header className="settings-head">
        <h2 id="planner-title">Planner</h2>
        <p>The planner edits sessions. The knob sets how much it keeps of the text that may be quoted again.</p>
      </header>
      <div className="card knob-card">
        <div>
          <PlannerChoice setting={policy} policies={policies} change={change} />
          <KnobSlider keep={keep} levels={levels} onKeep={setTried} isFixed={set?.settable === false} />
          <Outcome knobs={knobs} left={left} keep={keep} inForce={inForce} levels={levels} />
          <div className="actions settings-actions">
            <Button kind="primary" disabled={tried === undefined || tried === inForce} onClick={() => void save()}>
              Keep this setting
            </Button>
            {tried !== undefined && tried !== inForce && (
              <Button kind="quiet" onClick={() => setTried(undefined)}>
                Back to {inForce}
              </Button>
            )}
            {set?.source === 'file' && tried === undefined && (
              <Button kind="quiet" onClick={() => void change(['keep'], null)}>
                Back to the default
              </Button>
            )}
            <SourceChip setting={set} />
          </div>
        </div>
        <Curve knobs={knobs} keep={keep} levels={levels} />
      </div>
    </section>
  )
}

function PlannerChoice({
  setting,
  policies,
  change,
}: {
  setting: Setting | undefined
  policies: Policies
  change: Change
}) {
  const id = useId()
  const isPreset = typeof setting?.value === 'string'
  const chosen = isPreset ? String(setting.value) : ''
  const about = policies.find(({ name }) => name === chosen)?.about
  return (
    <div className="knob-planner">
      <label htmlFor={id}>Everywhere, unless set below</label>
      <select
        id={id}
        value={chosen}
        disabled={!isPreset || !setting.settable}
        onChange={event => void change(['policy'], event.target.value)}
      >
        {!isPreset && <option value="">policies of your own, in palimpsest.json</option>}
        {policies.map(({ name }) => (
          <option key={name} value={name}>
            {name === 'none' ? 'none: send everything' : name}
          </option>
        ))}
      </select>
      <SourceChip setting={setting} />
      <p className="dim">
        {about}
        {isPreset && !KNOBBED.includes(chosen) && ' The knob is for thrifty and agent.'}
      </p>
    </div>
  )
}

type SliderProps = { keep: Keep; levels: Settings['keep']; onKeep(keep: Keep): void; isFixed: boolean }

function KnobSlider({ keep, levels, onKeep, isFixed }: SliderProps) {
  const id = useId()
  const words = Object.keys(levels)
  return (
    <div className="knob-slider">
      <label htmlFor={id}>
        How much is kept <b>{typeof keep === 'number' ? `× ${keep}` : keep}</b>
      </label>
      <input
        id={id}
        type="range"
        min={0}
        max={words.length - 1}
        step={0.05}
        value={placeOf(keep, levels)}
        disabled={isFixed}
        aria-valuetext={String(keep)}
        onChange={event => onKeep(keepAt(Number(event.target.value), levels))}
      />
      <div className="knob-words">
        {words.map(word => (
          <button key={word} type="button" aria-pressed={word === keep} disabled={isFixed} onClick={() => onKeep(word)}>
            {word}
          </button>
        ))}
      </div>
      <label className="knob-number">
        or as a number, 1 is normal
        <input
          type="number"
          min={0.01}
          max={1000}
          step="any"
          disabled={isFixed}
          value={typeof keep === 'number' ? keep : (levels[keep] ?? 1)}
          onChange={event => Number(event.target.value) > 0 && onKeep(Number(event.target.value))}
        />
      </label>
    </div>
  )
}

type OutcomeProps = { knobs: readonly KnobOf[]; left: number; keep: Keep; inForce: Keep; levels: Settings['keep'] }

function Outcome({ knobs, left, keep, inForce, levels }: OutcomeProps) {
  const there = previewAt(knobs, keep, levels)
  const here = previewAt(knobs, inForce, levels)
  if (!there || !here) {
    return (
      <p className="dim" role="status">
        {left > 0 ? 'Replaying your sessions …' : 'There is no session to try it on yet.'}
      </p>
    )
  }
  const costs = there.dollars - here.dollars
  return (
    <>
      <dl className="facts knob-facts">
        <div>
          <dt>{plural(knobs.length, 'session')} would cost</dt>
          <dd>{money(there.dollars)}</dd>
        </div>
        <div>
          <dt>Saved</dt>
          <dd className={there.saved > 0 ? 'saved' : undefined}>{money(there.saved)}</dd>
        </div>
        <div>
          <dt>Later quotes still visible</dt>
          <dd className={there.evidence < LIMIT ? 'lost' : undefined}>{percent(there.evidence)}</dd>
        </div>
      </dl>
      <p className="dim" role="status">
        {keep === inForce
          ? 'This is the current setting. Move the knob to see the effect of another one.'
          : `${money(Math.abs(costs))} ${costs > 0 ? 'more' : 'less'} than with ${inForce}, which keeps ${percent(here.evidence)}.`}
        {left > 0 && ` ${plural(left, 'session')} still to replay.`}
      </p>
    </>
  )
}

/** The curve of the knob over the replayed sessions; the ring is the current position. */
function Curve({ knobs, keep, levels }: { knobs: readonly KnobOf[]; keep: Keep; levels: Settings['keep'] }) {
  const here = previewAt(knobs, keep, levels)
  if (!here) return <div className="knob-curve" />
  const points = Object.keys(levels).map((word): Point => {
    const { dollars, evidence } = previewAt(knobs, word, levels)!
    return { policy: 'thrifty', keep: word, dollars, evidence }
  })
  const all: Point = { policy: 'none', keep: null, dollars: here.dollars + here.saved, evidence: 1 }
  const known = points.find(point => point.keep === keep)
  const chosen = known ?? { policy: 'thrifty', keep: `× ${keep}`, dollars: here.dollars, evidence: here.evidence }
  const rows = known ? points : [...points, chosen].sort((a, b) => b.dollars - a.dollars)
  return (
    <div className="knob-curve">
      <Scatter rows={[...rows, all]} best={chosen} toneOf={policy => (policy === 'none' ? 3 : 0)} />
    </div>
  )
}
