/** Deleting a session for good: says first what goes and what stays. */
import { sendJson } from '../../api.ts'
import { useResource } from '../../resource.ts'
import { hrefOf } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { plural } from '../../ui/format.ts'
import { useToasts } from '../../ui/toast.tsx'

type Deleted = { sessions: { session: string; events: number }[] }

const askFor = (session: string, preview: boolean) =>
  sendJson<Deleted>('POST', '/deletions', { sessions: [session], preview })

export function DeleteDialog({ session, onClose }: { session: string; onClose(): void }) {
  const toasts = useToasts()
  const preview = useResource(`delete ${session}`, () => askFor(session, true))
  const remove = async () => {
    try {
      await askFor(session, false)
      location.hash = hrefOf('sessions')
    } catch (error) {
      toasts.fail(error)
    }
  }
  const events = preview.value?.sessions[0]?.events
  return (
    <Dialog
      title="Delete the session for good"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="danger" disabled={events === undefined} onClick={remove}>
            Delete for good
          </Button>
        </>
      }
    >
      <p>
        {events === undefined ? 'Its events' : `Its ${plural(events, 'event')}`}, the files that only it points to, and
        its words in the search go. This cannot be undone.
      </p>
      <p className="dim">
        Forks keep what they share. A record stays of its name, the time and who deleted it, so that the rest can still
        be verified.
      </p>
    </Dialog>
  )
}
