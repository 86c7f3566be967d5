/** A title of one's own for a session; an empty one takes it back. */
import { useState } from 'react'
import { sendJson, sessionPath } from '../../api.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { useToasts } from '../../ui/toast.tsx'

export type Renamed = { id: string; title: string }

export function RenameDialog({ session, onClose }: { session: Renamed; onClose(renamed: boolean): void }) {
  const [title, setTitle] = useState(session.title)
  const toasts = useToasts()
  const save = async () => {
    try {
      await sendJson('PUT', sessionPath(session.id, 'title'), { title: title.trim() })
      onClose(true)
    } catch (error) {
      toasts.fail(error)
    }
  }
  return (
    <Dialog
      title="Rename the session"
      onClose={() => onClose(false)}
      actions={
        <>
          <Button onClick={() => onClose(false)}>Cancel</Button>
          <Button kind="primary" onClick={save}>
            Save
          </Button>
        </>
      }
    >
      <form
        onSubmit={event => {
          event.preventDefault()
          void save()
        }}
      >
        <label>
          Title
          <input value={title} maxLength={200} onChange={event => setTitle(event.target.value)} />
        </label>
        <p className="dim">Its name stays {session.id}. Without a title it is called by its first request.</p>
      </form>
    </Dialog>
  )
}
