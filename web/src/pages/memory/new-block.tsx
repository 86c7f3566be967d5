/** A form for a new block. Agents refer to a block by its label. */
import { useState } from 'react'
import { messageOf } from '../../api.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { writeBlock } from './memory-api.ts'

type NewBlockProps = { user: string; onClose(): void; onMade(label: string): void }

export function NewBlockDialog({ user, onClose, onMade }: NewBlockProps) {
  const [label, setLabel] = useState('')
  const [title, setTitle] = useState('')
  const [body, setBody] = useState('')
  const [problem, setProblem] = useState<string>()
  const send = async () => {
    try {
      await writeBlock(user, label.trim(), { body, title: title.trim() || undefined })
      onMade(label.trim())
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <Dialog
      title="A new block"
      onClose={onClose}
      action={{ label: 'Create it', run: send, disabled: label.trim() === '' }}
    >
      <label>
        Label, such as goals
        <input autoFocus value={label} maxLength={100} onChange={event => setLabel(event.target.value)} required />
      </label>
      <label>
        Title (optional)
        <input value={title} maxLength={200} onChange={event => setTitle(event.target.value)} />
      </label>
      <label>
        Text
        <textarea rows={8} value={body} onChange={event => setBody(event.target.value)} />
      </label>
      {problem && <p className="notice notice-bad">{problem}</p>}
    </Dialog>
  )
}
