/** A new block, written by the person: its label is how agents name it. */
import { type FormEvent, useId, useState } from 'react'
import { messageOf } from '../../api.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { writeBlock } from './memory-api.ts'

type NewBlockProps = { user: string; onClose(): void; onMade(label: string): void }

export function NewBlockDialog({ user, onClose, onMade }: NewBlockProps) {
  const [label, setLabel] = useState('')
  const [title, setTitle] = useState('')
  const [body, setBody] = useState('')
  const [problem, setProblem] = useState<string>()
  const form = useId()
  const send = async (event: FormEvent) => {
    event.preventDefault()
    try {
      await writeBlock(user, label.trim(), { body, ...(title.trim() ? { title: title.trim() } : {}) })
      onMade(label.trim())
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <Dialog
      title="A new block"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} kind="primary" disabled={label.trim() === ''}>
            Write it
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={event => void send(event)} className="block-form">
        <label>
          <span>Label, such as goals</span>
          <input autoFocus value={label} maxLength={100} onChange={event => setLabel(event.target.value)} required />
        </label>
        <label>
          <span>Title, if it should have one</span>
          <input value={title} maxLength={200} onChange={event => setTitle(event.target.value)} />
        </label>
        <label>
          <span>Text</span>
          <textarea rows={8} value={body} onChange={event => setBody(event.target.value)} />
        </label>
        {problem && <p className="notice notice-bad">{problem}</p>}
      </form>
    </Dialog>
  )
}
