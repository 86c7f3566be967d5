/** Rejecting, with a word to the agent if one likes: a proposal that was rejected does not come back by itself. */
import { type FormEvent, useId, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { InlineText } from '../../ui/text.tsx'
import type { Proposal } from './memory-api.ts'

type RejectDialogProps = { proposals: readonly Proposal[]; onClose(): void; onReject(why: string): void }

export function RejectDialog({ proposals, onClose, onReject }: RejectDialogProps) {
  const [why, setWhy] = useState('')
  const form = useId()
  const send = (event: FormEvent) => {
    event.preventDefault()
    onReject(why.trim())
  }
  const [only] = proposals
  return (
    <Dialog
      title={proposals.length === 1 ? 'Reject this proposal' : `Reject ${proposals.length} proposals`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} kind="danger">
            Reject
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={send} className="reject-form">
        {proposals.length === 1 && only && (
          <p>
            <b>
              <InlineText text={only.label} />
            </b>{' '}
            stays as it is.
          </p>
        )}
        <label>
          <span>Why, if you like to say</span>
          <input autoFocus value={why} maxLength={2000} onChange={event => setWhy(event.target.value)} />
        </label>
      </form>
    </Dialog>
  )
}
