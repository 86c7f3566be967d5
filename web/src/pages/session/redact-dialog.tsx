/** Lists texts in a session that look like secrets, and redacts them, or another text or pattern, permanently. */
import { useState } from 'react'
import { getJson, sendJson } from '../../api.ts'
import type { Redacted, SecretPlace } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { hrefOf } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/failure.tsx'
import { plural } from '../../ui/format.ts'
import { useToasts } from '../../ui/toast.tsx'

type What = { secrets: true } | { text: string } | { pattern: string }

const SHORTEST_TEXT = 4

const askFor = (session: string, what: What, preview: boolean) =>
  sendJson('POST', '/redactions', { body: { ...what, sessions: [session], preview } })

const timesIn = ({ sessions }: Redacted) =>
  sessions.flatMap(({ kinds }) => Object.values(kinds)).reduce((sum, times) => sum + times, 0)

type RedactDialogProps = { session: string; onClose(): void; onChanged(): void }

export function RedactDialog({ session, onClose, onChanged }: RedactDialogProps) {
  const toasts = useToasts()
  const found = useResource(`secrets ${session}`, () => getJson('/sessions/{session}/secrets', { params: { session } }))
  const [text, setText] = useState('')
  const [isPattern, setIsPattern] = useState(false)
  const own: What = isPattern ? { pattern: text } : { text }
  const key = JSON.stringify(own)
  /** The last search, and its number of matches. */
  const [seen, setSeen] = useState<{ key: string; times: number }>()
  const cover = (what: What) =>
    toasts.attempt(async () => {
      const done = await askFor(session, what, false)
      toasts.show({ text: `${plural(timesIn(done), 'place')} redacted.` })
      setSeen(undefined)
      found.reload()
      onChanged()
    })
  const look = () => toasts.attempt(async () => setSeen({ key, times: timesIn(await askFor(session, own, true)) }))
  const secrets = found.value?.secrets
  const times = seen?.key === key ? seen.times : undefined
  return (
    <Dialog wide title="Secrets in this session" onClose={onClose}>
      <p className="dim">
        Redacted text is replaced by a mask of the same length: in messages, edits, kept files and the search. This
        cannot be undone. Remember to replace a leaked key.
      </p>
      {found.error !== undefined && <Failure error={found.error} retry={found.reload} />}
      {secrets?.length === 0 && <p>No text looks like a key or token.</p>}
      {secrets && secrets.length > 0 && (
        <>
          <ul className="secret-list">
            {secrets.map(place => (
              <SecretRow key={`${place.event} ${place.part} ${place.kind} ${place.hint}`} {...{ session, place }} />
            ))}
          </ul>
          <Button kind="danger" onClick={() => void cover({ secrets: true })}>
            Redact {secrets.length === 1 ? 'it' : `all ${secrets.length}`} permanently
          </Button>
        </>
      )}
      <form
        onSubmit={event => {
          event.preventDefault()
          void look()
        }}
      >
        <label>
          Redact another text
          <input value={text} onChange={event => setText(event.target.value)} autoComplete="off" />
        </label>
        <label className="actions">
          <input type="checkbox" checked={isPattern} onChange={event => setIsPattern(event.target.checked)} />
          It is a regular expression
        </label>
        <p className="actions">
          <Button type="submit" disabled={text.length < (isPattern ? 1 : SHORTEST_TEXT)}>
            Look for it
          </Button>
          {times === 0 && <span>This session does not contain it.</span>}
          {times !== undefined && times > 0 && (
            <Button kind="danger" onClick={() => void cover(own)}>
              Redact {plural(times, 'place')} permanently
            </Button>
          )}
        </p>
      </form>
    </Dialog>
  )
}

function SecretRow({ session, place: { kind, hint, entry, event } }: { session: string; place: SecretPlace }) {
  return (
    <li>
      {kind} <code>{hint}</code>{' '}
      {entry === undefined ? (
        <span className="dim">in event {event}</span>
      ) : (
        <a href={`${hrefOf('sessions', session)}?entry=${entry}`}>entry {entry}</a>
      )}
    </li>
  )
}
