/** Replaces a part by a summary in the user's own words. */
import { useState } from 'react'
import { Dialog } from '../../ui/dialog.tsx'
import { Text } from '../../ui/text.tsx'
import type { Actions, Place } from './actions.ts'

type DistillDialogProps = { place: Place; text: string; actions: Actions; onClose(): void }

export function DistillDialog({ place, text, actions, onClose }: DistillDialogProps) {
  const [summary, setSummary] = useState('')
  const [busy, setBusy] = useState(false)
  const apply = async () => {
    setBusy(true)
    await actions.distill(place, summary.trim())
    onClose()
  }
  return (
    <Dialog
      wide
      title={`Shorten a part of entry ${place.entry}`}
      onClose={onClose}
      action={{ label: 'Show this instead', run: apply, disabled: busy || summary.trim() === '' }}
    >
      <label>
        What the model should see instead
        <textarea rows={6} value={summary} onChange={event => setSummary(event.target.value)} />
      </label>
      <details open>
        <summary>What it sees now</summary>
        <Text text={text} code />
      </details>
    </Dialog>
  )
}
