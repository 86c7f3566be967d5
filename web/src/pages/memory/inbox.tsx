/**
 * Proposals as an inbox: j and k move through the list, a, r and e decide; several can be selected and decided at once.
 */

import { useEffect, useState } from 'react'
import type { Proposal, ProposalState } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { hrefOf, replaceQuery, useRoute } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Failure } from '../../ui/failure.tsx'
import { ago, plural } from '../../ui/format.ts'
import { useKeys } from '../../ui/keyboard.ts'
import { Split, SplitItem } from '../../ui/split.tsx'
import { InlineText } from '../../ui/text.tsx'
import { useDecisions } from './decisions.ts'
import { readProposals } from './memory-api.ts'
import { RejectDialog } from './reject-dialog.tsx'
import { ProposalReview } from './review.tsx'

const STATES: readonly [ProposalState, string][] = [
  ['open', 'Waiting'],
  ['approved', 'Approved'],
  ['rejected', 'Rejected'],
  ['reverted', 'Reverted'],
]

export function Inbox({ user, changes }: { user: string; changes: number }) {
  const { query } = useRoute()
  const state = STATES.find(([key]) => key === query.get('state'))?.[0] ?? 'open'
  const { list, proposals, decide } = useProposals(user, state, changes)
  const { chosen, choose, move } = useChosen(proposals, query.get('id'))
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set())
  const [editing, setEditing] = useState<string>()
  const [rejecting, setRejecting] = useState<Proposal[]>()
  const many = proposals.filter(({ id }) => ticked.has(id))
  const tick = (id: string) => setTicked(old => old.symmetricDifference(new Set([id])))
  const act = (run: (proposals: Proposal[]) => void) => {
    const those = many.length > 0 ? many : chosen ? [chosen] : []
    if (those.length > 0 && state === 'open') run(those)
  }
  const approveAll = (those: Proposal[]) => void decide.approve(those).then(() => setTicked(new Set()))
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    a: () => act(approveAll),
    r: () => act(setRejecting),
    e: () => state === 'open' && setEditing(chosen?.id),
    x: () => chosen && state === 'open' && tick(chosen.id),
  })
  if (list.error !== undefined) return <Failure error={list.error} retry={list.reload} />
  return (
    <>
      <States state={state} />
      {list.value && proposals.length === 0 && <Nothing state={state} />}
      {proposals.length > 0 && (
        <Split
          label="Proposals"
          head={
            <Many
              count={many.length}
              onApprove={() => approveAll(many)}
              onReject={() => setRejecting(many)}
              onNone={() => setTicked(new Set())}
            />
          }
          foot={state === 'open' ? <KeyHint /> : plural(proposals.length, 'proposal')}
          items={proposals.map(proposal => (
            <Row
              key={proposal.id}
              proposal={proposal}
              chosen={proposal.id === chosen?.id}
              onChoose={() => choose(proposal)}
              ticked={ticked.has(proposal.id)}
              {...(state === 'open' ? { onTick: () => tick(proposal.id) } : {})}
            />
          ))}
        >
          {chosen && (
            <ProposalReview
              key={chosen.id}
              user={user}
              id={chosen.id}
              changes={changes}
              editing={editing === chosen.id}
              onEdit={on => setEditing(on ? chosen.id : undefined)}
              onApprove={own => decide.approveOne(chosen, own)}
              onReject={() => setRejecting([chosen])}
              onRevert={body => decide.revert(chosen, body)}
            />
          )}
        </Split>
      )}
      {rejecting && (
        <RejectDialog
          proposals={rejecting}
          onClose={() => setRejecting(undefined)}
          onReject={why => {
            setRejecting(undefined)
            setTicked(new Set())
            void decide.reject(rejecting, why)
          }}
        />
      )}
    </>
  )
}

function useProposals(user: string, state: ProposalState, changes: number) {
  const list = useResource(`${user} ${state}`, signal => readProposals(user, state, signal))
  useReload(changes, list.reload)
  const proposals = list.value?.proposals ?? []
  // A decided proposal leaves the list at once, so that the next key applies to the next proposal.
  const leave = (gone: readonly Proposal[]) => {
    const left = proposals.filter(({ id }) => !gone.some(one => one.id === id))
    if (list.value) list.set({ ...list.value, proposals: left })
  }
  return { list, proposals, decide: useDecisions(user, { leave, reload: list.reload }) }
}

/** The selected proposal. When it leaves the list after a decision, the next one takes its place. */
function useChosen(proposals: readonly Proposal[], id: string | null) {
  const [place, setPlace] = useState(0)
  const found = proposals.findIndex(proposal => proposal.id === id)
  const at = found >= 0 ? found : Math.min(place, proposals.length - 1)
  const choose = (next: Proposal | undefined) => {
    if (!next) return
    setPlace(proposals.indexOf(next))
    replaceQuery({ id: next.id })
  }
  const move = (step: number) => choose(proposals[Math.min(proposals.length - 1, Math.max(0, at + step))])
  return { chosen: proposals[at], choose, move }
}

type ManyProps = { count: number; onApprove(): void; onReject(): void; onNone(): void }

function Many({ count, onApprove, onReject, onNone }: ManyProps) {
  if (count === 0) return null
  return (
    <div className="inbox-many">
      <span>{count} ticked</span>
      <Button small kind="primary" onClick={onApprove}>
        Approve {count}
      </Button>
      <Button small kind="danger" onClick={onReject}>
        Reject {count}
      </Button>
      <Button small kind="quiet" onClick={onNone}>
        None
      </Button>
    </div>
  )
}

function KeyHint() {
  return (
    <span className="inbox-keys">
      <kbd>j</kbd> <kbd>k</kbd> move · <kbd>a</kbd> approve · <kbd>r</kbd> reject · <kbd>e</kbd> edit · <kbd>x</kbd>{' '}
      tick
    </span>
  )
}

function States({ state }: { state: ProposalState }) {
  return (
    <fieldset className="inbox-states">
      <legend className="visually-hidden">Which proposals</legend>
      {STATES.map(([key, label]) => (
        <label key={key} data-chosen={key === state}>
          <input
            type="radio"
            name="state"
            className="visually-hidden"
            checked={key === state}
            onChange={() => replaceQuery({ state: key === 'open' ? undefined : key, id: undefined })}
          />
          {label}
        </label>
      ))}
    </fieldset>
  )
}

function Nothing({ state }: { state: ProposalState }) {
  if (state !== 'open') return <EmptyState title={`No proposal has been ${state}.`} />
  return (
    <EmptyState title="Nothing is waiting for you.">
      <p>
        When an agent wants to change its memory of you, its proposal comes here first. Nothing changes until you
        approve it.
      </p>
      <p>
        Give an agent the memory tools with <code>palimpsest mcp</code>, or talk to ours in{' '}
        <a href={hrefOf('chat')}>Chat</a>.
      </p>
    </EmptyState>
  )
}

type RowProps = { proposal: Proposal; chosen: boolean; onChoose(): void; ticked: boolean; onTick?: () => void }

function Row({ proposal, chosen, onChoose, ticked, onTick }: RowProps) {
  const { label, kind, reasoning, created_at: at, confidence, agent_id: agent } = proposal
  return (
    <SplitItem
      chosen={chosen}
      onChoose={onChoose}
      title={<InlineText text={label} />}
      aside={<time>{ago(at, Date.now())}</time>}
      words={<InlineText text={reasoning} />}
      badges={
        <>
          <span className="badge">{kind === 'new' ? 'new block' : kind}</span>{' '}
          <span className={`badge ${CONFIDENCE[confidence]}`}>{confidence}</span>{' '}
          <span className="dim">
            <InlineText text={agent} />
          </span>
        </>
      }
      before={
        onTick && (
          <input
            type="checkbox"
            className="inbox-tick"
            aria-label={`Tick the proposal for ${label}`}
            checked={ticked}
            onChange={onTick}
          />
        )
      }
    />
  )
}

export const CONFIDENCE = { low: 'badge-warn', medium: 'badge', high: 'badge-good' } as const

/** Reloads after an event, but not on the first render. */
export function useReload(changes: number, reload: () => void): void {
  const [seen, setSeen] = useState(changes)
  useEffect(() => {
    if (changes === seen) return
    setSeen(changes)
    reload()
  }, [changes, seen, reload])
}
