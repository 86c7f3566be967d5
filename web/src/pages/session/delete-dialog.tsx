/** Deletes a session permanently, after listing what is deleted and what is kept. */
import { sendJson } from '../../api.ts'
import { useResource } from '../../resource.ts'
import { hrefOf, navigate } from '../../route.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { plural } from '../../ui/format.ts'
import { useToasts } from '../../ui/toast.tsx'

const askFor = (session: string, preview: boolean) =>
  sendJson('POST', '/deletions', { body: { sessions: [session], preview } })

export function DeleteDialog({ session, onClose }: { session: string; onClose(): void }) {
  const toasts = useToasts()
  const preview = useResource(`delete ${session}`, () => askFor(session, true))
  const remove = () =>
    toasts.attempt(async () => {
      await askFor(session, false)
      navigate(hrefOf('sessions'))
    })
  const events = preview.value?.sessions[0]?.events
  return (
    <Dialog
      title="Delete the session permanently"
      onClose={onClose}
      action={{ label: 'Delete permanently', run: remove, kind: 'danger', disabled: events === undefined }}
    >
      <p>
        {events === undefined ? 'Its events' : `Its ${plural(events, 'event')}`}, the files that only it points to, and
        its words in the search index are removed. This cannot be undone.
      </p>
      <p className="dim">
        Forks keep the events that they share. Its name, the time and the user who deleted it are recorded, so that the
        rest can still be verified.
      </p>
    </Dialog>
  )
}
