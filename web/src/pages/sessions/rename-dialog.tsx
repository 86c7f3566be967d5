/** Sets the title of a session (an empty one removes it) and its tags. */
import { useState } from 'react'
import { sendJson } from '../../api.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { useToasts } from '../../ui/toast.tsx'

export type Renamed = { id: string; title: string; about: { tags?: string[] } }

export function RenameDialog({ session, onClose }: { session: Renamed; onClose(renamed: boolean): void }) {
  const before = session.about.tags?.join(', ') ?? ''
  const [title, setTitle] = useState(session.title)
  const [tags, setTags] = useState(before)
  const toasts = useToasts()
  const params = { session: session.id }
  const save = () =>
    toasts.attempt(async () => {
      if (title !== session.title)
        await sendJson('PUT', '/sessions/{session}/title', { params, body: { title: title.trim() } })
      if (tags !== before)
        await sendJson('PUT', '/sessions/{session}/tags', { params, body: { tags: tags.split(',') } })
      onClose(true)
    })
  return (
    <Dialog title="Rename and tag the session" onClose={() => onClose(false)} action={{ label: 'Save', run: save }}>
      <label>
        Title
        <input value={title} maxLength={200} onChange={event => setTitle(event.target.value)} />
      </label>
      <label>
        Tags, separated by commas
        <input value={tags} onChange={event => setTags(event.target.value)} />
      </label>
      <p className="dim">Its id stays {session.id}. Without a title, its first request is shown.</p>
    </Dialog>
  )
}
