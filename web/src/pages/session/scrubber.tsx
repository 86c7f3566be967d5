/** Steps through the calls: shows the map as of each call, and of the next call. */
import type { ContextMap, TimelineCall } from '../../api-types.ts'
import { Button } from '../../ui/button.tsx'
import { count, dateTime, percent, plural, tokens } from '../../ui/format.ts'
import { useKeys } from '../../ui/keyboard.ts'
import { cachedShare } from './timeline-tab.tsx'

export type ScrubberProps = {
  calls: readonly TimelineCall[]
  map: ContextMap
  at: number | undefined
  onAt(at: number | undefined): void
}

export function Scrubber({ calls, map, at, onAt }: ScrubberProps) {
  const last = map.calls + 1
  const value = at ?? last
  const go = (to: number) => onAt(to >= last ? undefined : Math.max(1, to))
  useKeys({ '[': () => go(value - 1), ']': () => go(value + 1), '0': () => onAt(undefined) })
  const call = at === undefined ? undefined : calls[at - 1]
  const text = at === undefined ? 'Now' : `Call ${count(at)} of ${count(map.calls)}`
  return (
    <div className="scrubber">
      <Button kind="quiet" small label="Call before ( [ )" disabled={value <= 1} onClick={() => go(value - 1)}>
        ‹
      </Button>
      <input
        type="range"
        min={1}
        max={last}
        value={value}
        aria-label="Call"
        aria-valuetext={text}
        onChange={event => go(Number(event.target.value))}
      />
      <Button kind="quiet" small label="Call after ( ] )" disabled={value >= last} onClick={() => go(value + 1)}>
        ›
      </Button>
      <p className="scrubber-text" data-testid="scrubber-text">
        <b>{text}</b>
        {call ? <CallText call={call} /> : <NextText map={map} />}
        {at !== undefined && (
          <Button kind="quiet" small onClick={() => onAt(undefined)}>
            Back to now
          </Button>
        )}
      </p>
    </div>
  )
}

function CallText({ call }: { call: TimelineCall }) {
  const { at, sent, raw, edits, miss } = call
  return (
    <>
      <span title={dateTime(at)}>
        {tokens(sent.tokens)} sent{raw.tokens === sent.tokens ? '' : ` of ${tokens(raw.tokens)}`}
      </span>
      <span>{percent(cachedShare(call))} from cache</span>
      {edits.made > 0 && <span>{plural(edits.made, 'edit')} before it</span>}
      {miss && (
        <span className="problem">
          {miss.kind === 'pause' ? 'found no cache' : `${tokens(miss.lost)} of the cache lost`}
        </span>
      )}
    </>
  )
}

function NextText({ map: { tokens: size, overhead, window } }: { map: ContextMap }) {
  const used = overhead + size.shown
  return (
    <span>
      {tokens(used)} of the window’s {tokens(window)} ({percent(used / Math.max(1, window))})
    </span>
  )
}
