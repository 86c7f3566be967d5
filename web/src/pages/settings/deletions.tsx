/** Deletes old sessions or everything of a user, after showing what would be deleted. */

import { useState } from 'react'
import { sendJson } from '../../api.ts'
import type { Deleted } from '../../api-types.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { plural } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { useToasts } from '../../ui/toast.tsx'

/** A planned deletion: a description, its sessions, and the request. */
type Planned = { what: string; sessions: Deleted['sessions']; ask: Ask }
type Ask = (preview: boolean) => Promise<Deleted>

const MOST_NAMED = 20

export function Deletions() {
  const [planned, setPlanned] = useState<Planned>()
  const { show, fail } = useToasts()
  const plan = (what: string, ask: Ask) =>
    void ask(true).then(({ sessions }) => setPlanned({ what, sessions, ask }), fail)
  const remove = (ask: Ask) =>
    void ask(false)
      .then(({ sessions }) => show({ text: `Deleted ${plural(sessions.length, 'session')}.` }))
      .catch(fail)
      .finally(() => setPlanned(undefined))
  return (
    <section id="deleting" aria-labelledby="deleting-title">
      <header className="settings-head">
        <h2 id="deleting-title">Deleting</h2>
        <p>Permanently, including files and the search index. You see the list before anything is deleted.</p>
      </header>
      <ul className="card setting-list">
        <li>
          <Chosen
            label="Sessions last used before"
            type="date"
            onChoose={day => plan(`Sessions last used before ${day}`, preview => deleteBefore(day, preview))}
          />
        </li>
        <li>
          <Chosen
            label="Everything of the user"
            type="text"
            onChoose={user =>
              plan(`Sessions, memory, files and tokens of ${user}`, preview => deleteUser(user, preview))
            }
          />
        </li>
      </ul>
      {planned && (
        <DeletionDialog planned={planned} onClose={() => setPlanned(undefined)} onDelete={() => remove(planned.ask)} />
      )}
    </section>
  )
}

function deleteBefore(day: string, preview: boolean): Promise<Deleted> {
  return sendJson('POST', '/deletions', { body: { before: Date.parse(day), preview } })
}

function deleteUser(user: string, preview: boolean): Promise<Deleted> {
  return sendJson('DELETE', '/users/{user}', { params: { user }, query: { preview: `${preview}` } })
}

type ChosenProps = { label: string; type: 'date' | 'text'; onChoose(value: string): void }

function Chosen({ label, type, onChoose }: ChosenProps) {
  const [value, setValue] = useState('')
  return (
    <form
      className="token-form"
      onSubmit={event => {
        event.preventDefault()
        onChoose(value.trim())
      }}
    >
      <label>
        <span>{label}</span>
        <input type={type} value={value} maxLength={100} onChange={event => setValue(event.target.value)} />
      </label>
      <Button type="submit" disabled={value.trim() === ''}>
        Show what would be deleted
      </Button>
    </form>
  )
}

type DeletionDialogProps = { planned: Planned; onClose(): void; onDelete(): void }

function DeletionDialog({ planned: { what, sessions }, onClose, onDelete }: DeletionDialogProps) {
  const events = sessions.reduce((sum, one) => sum + one.events, 0)
  const more = sessions.length - MOST_NAMED
  return (
    <Dialog title={what} onClose={onClose} action={{ label: 'Delete permanently', kind: 'danger', run: onDelete }}>
      <p>
        {plural(sessions.length, 'session')} with {plural(events, 'event')} would be deleted. This cannot be undone.
      </p>
      <ul className="secret-list">
        {sessions.slice(0, MOST_NAMED).map(({ session, events: own }) => (
          <li key={session}>
            <InlineText text={session} /> <span className="dim">{plural(own, 'event')}</span>
          </li>
        ))}
        {more > 0 && <li className="dim">and {more} more</li>}
      </ul>
    </Dialog>
  )
}
