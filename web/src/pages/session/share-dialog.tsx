/** Exports a session as one file for others, and says what the file contains and what is redacted. */
import { useState } from 'react'
import { addressOf, fetchApi, getJson } from '../../api.ts'
import { useResource } from '../../resource.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { plural } from '../../ui/format.ts'
import { useToasts } from '../../ui/toast.tsx'

export function ShareDialog({ session, onClose }: { session: string; onClose(): void }) {
  const toasts = useToasts()
  const [hides, setHides] = useState(false)
  const [busy, setBusy] = useState(false)
  const found = useResource(`secrets ${session}`, () => getJson('/sessions/{session}/secrets', { params: { session } }))
  const secrets = found.value?.secrets.length
  const save = async () => {
    setBusy(true)
    const done = await toasts.attempt(async () => {
      const response = await fetchApi(addressOf('/sessions/{session}/share', { session }, { hide_names: hides }))
      const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? 'session.html'
      saveAs(await response.blob(), name)
    })
    if (done) onClose()
    else setBusy(false)
  }
  return (
    <Dialog
      title="Share the session as a file"
      onClose={onClose}
      action={{ label: 'Download', run: save, disabled: busy || secrets === undefined }}
    >
      <p>
        One HTML file: the original conversation, what the model saw instead, and why. It works offline, loads nothing
        and runs nothing. Read it before you send it.
      </p>
      {secrets !== undefined && (
        <p>
          {secrets === 0
            ? 'No text in it looks like a key or token.'
            : `${plural(secrets, 'place')} with a possible key or token will be redacted.`}
        </p>
      )}
      <label className="actions">
        <input type="checkbox" checked={hides} onChange={event => setHides(event.target.checked)} />
        Hide the title, the project and names of users
      </label>
    </Dialog>
  )
}

function saveAs(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}
