/** The edits that the policy would make at the next call, and those that it holds back, with its reasons. */
import type { HeldEdit } from '../../api-types.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Failure } from '../../ui/failure.tsx'
import { count } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { useSessionPart } from './session-part.ts'

type PendingTabProps = { session: string; length: number; onOpen(entry: number): void }

export function PendingTab({ session, length, onOpen }: PendingTabProps) {
  const pending = useSessionPart('/sessions/{session}/pending', { session, length })
  if (pending.error !== undefined) return <Failure error={pending.error} retry={pending.reload} />
  if (!pending.value) return <p className="dim">Asking the policy …</p>
  const { policy, decision, now, later, saves } = pending.value
  if (policy === 'none') {
    return (
      <EmptyState title="No policy">
        <p>Only you and the agent edit this session.</p>
      </EmptyState>
    )
  }
  return (
    <div className="pending">
      {decision && (
        <p className="decision">
          <InlineText text={decision} />
        </p>
      )}
      {now.length + later.length === 0 && <p className="dim">The policy {policy} sees nothing to do.</p>}
      <HeldList title={`At the next call: ${count(saves.now)} tokens`} held={now} onOpen={onOpen} />
      <HeldList title={`Held back: ${count(saves.later)} tokens`} held={later} onOpen={onOpen} />
    </div>
  )
}

function HeldList({ title, held, onOpen }: { title: string; held: readonly HeldEdit[]; onOpen(entry: number): void }) {
  if (held.length === 0) return null
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul className="held">
        {held.map(one => (
          <li key={`${one.from} ${one.to} ${one.part} ${one.policy} ${one.why}`}>
            <button type="button" className="link" onClick={() => onOpen(one.from)}>
              {one.from === one.to ? `entry ${one.from}` : `entries ${one.from}–${one.to}`}
            </button>
            <span>
              <InlineText text={one.why} />
              {one.reason && (
                <span className="dim">
                  {' '}
                  <InlineText text={one.reason} />
                </span>
              )}
            </span>
            <span className="number">{count(one.saves)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
