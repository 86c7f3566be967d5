/** One proposal with everything needed to decide: the change, the reason, its source, and hidden characters. */

import { useState } from 'react'
import { ApiError } from '../../api.ts'
import type { Proposal, Review } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { hrefOf } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { DiffParts } from '../../ui/diff.tsx'
import { Failure } from '../../ui/failure.tsx'
import { ago, dateTime, plural } from '../../ui/format.ts'
import { InlineText, Text } from '../../ui/text.tsx'
import { useToasts } from '../../ui/toast.tsx'
import { Conflict, type ConflictData } from './conflict.tsx'
import { CONFIDENCE, useReload } from './inbox.tsx'
import { type OwnWords, readReview } from './memory-api.ts'
import { OwnWordsEditor, useOwnWords } from './own-words.tsx'

type ReviewProps = {
  user: string
  id: string
  changes: number
  editing: boolean
  onEdit(on: boolean): void
  /** Returns whether it was done. */
  onApprove(own?: OwnWords): Promise<boolean>
  onReject(): void
  /** Throws on a conflict. */
  onRevert(body?: string): Promise<void>
}

export function ProposalReview(props: ReviewProps) {
  const { user, id, changes } = props
  const review = useResource(`${user} ${id}`, signal => readReview(user, id, signal))
  useReload(changes, review.reload)
  if (review.error !== undefined) return <Failure error={review.error} retry={review.reload} />
  if (!review.value) return <p className="loading">Loading…</p>
  const { proposal, hidden, diff, title_diff: titleDiff, problem, duplicates, from_tools: fromTools } = review.value
  const isOpen = proposal.state === 'open'
  return (
    <article className="card detail-card" aria-label={`Proposal for ${proposal.label}`}>
      <ReviewHead review={review.value} />
      {fromTools && (
        <p className="notice notice-warn">
          From tool output: a tool printed this text; you did not write it. A page or a file may have been written to be
          remembered. Look at the entries above before you approve.
        </p>
      )}
      {duplicates.length > 0 && <Duplicates duplicates={duplicates} />}
      {hidden.length > 0 && (
        <p className="notice notice-warn">
          Hidden characters: {hidden.map(({ char, name, count }) => `${plural(count, name)} (${char})`).join(', ')}.
          They are named in the text below.
        </p>
      )}
      {isOpen && problem && <p className="notice notice-bad">{problem}</p>}
      {titleDiff.some(({ type }) => type !== 'same') && (
        <div className="review-title">
          <h3>Title</h3>
          <DiffParts parts={titleDiff} label="Changes to the title" />
        </div>
      )}
      {!(isOpen && props.editing) && <DiffParts parts={diff} label="Changes to the block" />}
      {isOpen ? (
        <Decide key={review.value.block?.version} review={review.value} {...props} />
      ) : (
        <Decided proposal={proposal} now={review.value.block?.body ?? ''} onRevert={props.onRevert} />
      )}
    </article>
  )
}

function ReviewHead({ review: { proposal, merge } }: { review: Review }) {
  const { label, kind, agent_id: agent, confidence, reasoning, created_at: at, entries, state, branch } = proposal
  return (
    <header className="review-head">
      <h2>
        <InlineText text={label} />
      </h2>
      <p className="review-facts">
        <span className="badge">{kind === 'new' ? 'a new block' : KINDS[kind]}</span>
        <span className={`badge ${CONFIDENCE[confidence]}`}>{confidence} confidence</span>
        {state !== 'open' && <span className="badge badge-accent">{state}</span>}
        {state === 'open' && merge.type === 'clean' && merge.stale && (
          <span className="badge badge-warn">merged with a later change</span>
        )}
        <span className="dim" title={dateTime(at)}>
          <InlineText text={agent} />, {ago(at, Date.now())}
        </span>
        {branch && <code className="dim">{branch}</code>}
      </p>
      <blockquote className="review-why">
        <Text text={reasoning} />
      </blockquote>
      {entries.length > 0 && (
        <p className="review-source">
          From the conversation:{' '}
          {entries.map(({ session, entry, source }) => (
            <a key={`${session} ${entry}`} href={`${hrefOf('sessions', session)}?entry=${entry}`}>
              <InlineText text={session} />, entry {entry}
              {source && ` (${SOURCES[source]})`}
            </a>
          ))}
        </p>
      )}
      {entries.length === 0 && <p className="review-source dim">It cites no conversation.</p>}
    </header>
  )
}

const SOURCES = { user: 'you wrote it', tool: 'tool output' }

function Duplicates({ duplicates }: Pick<Review, 'duplicates'>) {
  return (
    <div className="notice notice-warn">
      <p>Memory already has something similar:</p>
      <ul>
        {duplicates.map(({ label, text, proposal, state }) => (
          <li key={`${label} ${proposal ?? ''}`}>
            <b>
              <InlineText text={label} />
            </b>
            {state && ` (${state})`}: <InlineText text={text} />
          </li>
        ))}
      </ul>
    </div>
  )
}

const KINDS = { edit: 'an edit', append: 'text at the end', prepend: 'text at the beginning', section: 'a section' }

function Decide({ review, ...props }: ReviewProps & { review: Review }) {
  const { editing, onEdit, onApprove, onReject } = props
  const { merge, proposal, block, problem } = review
  const [busy, setBusy] = useState(false)
  const seen = block?.version ?? null
  const approve = async (own?: OwnWords) => {
    setBusy(true)
    const done = await onApprove(own)
    if (!done) setBusy(false)
  }
  if (merge.type === 'conflict') {
    return (
      <Conflict
        conflict={merge}
        now={block?.body ?? ''}
        keepLabel="Approve as written here"
        busy={busy}
        onKeep={text => void approve({ ...text, seen })}
        onReject={onReject}
      />
    )
  }
  if (editing || merge.type === 'deleted') {
    const start = merge.type === 'clean' ? merge : proposal
    return (
      <>
        {merge.type === 'deleted' && (
          <p className="notice notice-warn">The block has since been deleted. Approving creates it again.</p>
        )}
        <EditAndApprove
          start={start}
          now={block?.body ?? ''}
          busy={busy}
          onCancel={merge.type === 'deleted' ? onReject : () => onEdit(false)}
          cancel={merge.type === 'deleted' ? 'Reject' : 'Cancel'}
          onApprove={text => void approve({ ...text, seen })}
        />
      </>
    )
  }
  return (
    <footer className="actions">
      <Button kind="primary" disabled={busy || problem !== null} onClick={() => void approve()}>
        Approve
      </Button>
      <Button onClick={() => onEdit(true)}>Edit and approve</Button>
      <Button kind="danger" onClick={onReject}>
        Reject
      </Button>
    </footer>
  )
}

type EditProps = {
  start: { body: string; title: string }
  now: string
  busy: boolean
  cancel: string
  onCancel(): void
  onApprove(text: { body: string; title: string }): void
}

function EditAndApprove({ start, now, busy, cancel, onCancel, onApprove }: EditProps) {
  const own = useOwnWords(start)
  return (
    <OwnWordsEditor label="The block as you want it" own={own} now={now}>
      <Button kind="primary" disabled={busy} onClick={() => onApprove({ body: own.body, title: own.title })}>
        Approve as written here
      </Button>
      <Button onClick={onCancel}>{cancel}</Button>
    </OwnWordsEditor>
  )
}

/**
 * A decided proposal. An approval can be reverted here; if the same place has changed since, the user resolves the
 * conflict.
 */
function Decided({ proposal, now, onRevert }: { proposal: Proposal; now: string } & Pick<ReviewProps, 'onRevert'>) {
  const [conflict, setConflict] = useState<ConflictData>()
  const [busy, setBusy] = useState(false)
  const toasts = useToasts()
  const { decision, state, title } = proposal
  const takeBack = async (body?: string) => {
    setBusy(true)
    try {
      await onRevert(body)
    } catch (error) {
      const found = error instanceof ApiError ? conflictIn(error.data, title) : undefined
      if (found) setConflict(found)
      else toasts.fail(error)
      setBusy(false)
    }
  }
  return (
    <>
      {decision && (
        <p className="review-decision">
          {state} by <InlineText text={decision.by} />, {dateTime(decision.at)}
          {decision.why !== '' && (
            <>
              : <InlineText text={decision.why} />
            </>
          )}
        </p>
      )}
      {state === 'approved' && !conflict && (
        <footer className="actions">
          <Button disabled={busy} onClick={() => void takeBack()}>
            Revert
          </Button>
          <span className="dim">Later changes are kept.</span>
        </footer>
      )}
      {conflict && (
        <Conflict
          conflict={conflict}
          now={now}
          proposedName="without it"
          keepLabel="Revert to this"
          busy={busy}
          onKeep={({ body }) => void takeBack(body)}
        />
      )}
    </>
  )
}

function conflictIn(data: Record<string, unknown>, title: string): ConflictData | undefined {
  const { regions, marked, titles } = data as Partial<ConflictData>
  if (!Array.isArray(regions) || typeof marked !== 'string') return undefined
  return { regions, marked, title, titles }
}
