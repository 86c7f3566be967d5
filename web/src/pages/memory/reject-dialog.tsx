/** Rejects proposals, with an optional reason for the agent. A rejected proposal is not suggested again. */

import { useState } from 'react'
import type { Proposal } from '../../api-types.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { InlineText } from '../../ui/text.tsx'

type RejectDialogProps = { proposals: readonly Proposal[]; onClose(): void; onReject(why: string): void }

export function RejectDialog({ proposals, onClose, onReject }: RejectDialogProps) {
  const [why, setWhy] = useState('')
  const [only] = proposals
  return (
    <Dialog
      title={proposals.length === 1 ? 'Reject this proposal' : `Reject ${proposals.length} proposals`}
      onClose={onClose}
      action={{ label: 'Reject', run: () => onReject(why.trim()), kind: 'danger' }}
    >
      {proposals.length === 1 && only && (
        <p>
          <b>
            <InlineText text={only.label} />
          </b>{' '}
          stays as it is.
        </p>
      )}
      <label>
        Reason (optional)
        <input autoFocus value={why} maxLength={2000} onChange={event => setWhy(event.target.value)} />
      </label>
    </Dialog>
  )
}
