/**
 * One knowledge file: read, edit, save. The draft is based on the version that was read: a change by others is shown,
 * and the user merges it.
 */

import { useDeferredValue, useState } from 'react'
import { ApiError, getJson, sendJson } from '../../api.ts'
import type { WorkspaceFile } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { hrefOf } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { TextDiff } from '../../ui/diff.tsx'
import { Failure } from '../../ui/failure.tsx'
import { count } from '../../ui/format.ts'
import { Markdown } from '../../ui/markdown.tsx'
import { InlineText } from '../../ui/text.tsx'
import { useToasts } from '../../ui/toast.tsx'

const ROWS = 22

function readFile(file: string, signal?: AbortSignal): Promise<WorkspaceFile> {
  return getJson('/workspace/{file}', { params: { file }, signal })
}

function writeFile(file: string, text: string, version: string): Promise<WorkspaceFile> {
  return sendJson('PUT', '/workspace/{file}', { params: { file }, body: { text, version } })
}

type FileEditorProps = { path: string; version: string; limit: number; onSaved(): void }

export function FileEditor({ path, version, limit, onSaved }: FileEditorProps) {
  const file = useResource(`${path} ${version}`, signal => readFile(path, signal), { keep: true })
  const [editing, setEditing] = useState(false)
  if (file.error !== undefined && !file.value) return <Failure error={file.error} retry={file.reload} />
  if (!file.value) return <p className="loading">Loading…</p>
  const { text } = file.value
  const done = (saved: WorkspaceFile) => {
    file.set(saved)
    setEditing(false)
    onSaved()
  }
  return (
    <article className="card detail-card" aria-label={path}>
      <header className="detail-head">
        <h2>
          <InlineText text={path} />
        </h2>
        {!editing && (
          <Button small onClick={() => setEditing(true)}>
            Edit
          </Button>
        )}
      </header>
      {text.length > limit && (
        <p className="notice notice-warn">
          A session gets only {count(limit)} characters of a file; this one has {count(text.length)} and is cut.
        </p>
      )}
      {editing ? (
        <Draft file={file.value} onSaved={done} onCancel={() => setEditing(false)} />
      ) : text.trim() === '' ? (
        <p className="dim">Empty.</p>
      ) : (
        <Markdown text={text} />
      )}
      {!editing && <AddedByAgents file={file.value} onSaved={done} />}
    </article>
  )
}

/** The mark of src/memory/workspace.ts on lines that agents add. */
const MARK = / <!-- from (.{1,200}) #(\d{1,9}) -->\r?$/

/** Lines that agents added without asking, each with an undo button. */
function AddedByAgents({ file, onSaved }: { file: WorkspaceFile; onSaved(file: WorkspaceFile): void }) {
  const toasts = useToasts()
  const rows = file.text.split('\n')
  const added = rows.flatMap((row, at) => {
    const [, session = '', entry = ''] = MARK.exec(row) ?? []
    return session === '' ? [] : [{ at, session, entry, text: row.replace(MARK, '').replace(/^- /, '') }]
  })
  if (added.length === 0) return null
  const undo = (at: number) =>
    toasts.attempt(async () => {
      const text = rows.toSpliced(at, 1).join('\n')
      onSaved(await writeFile(file.path, text, file.version))
      toasts.show({ text: 'Removed.' })
    })
  return (
    <section aria-label="Added by agents">
      <h3>Added by agents</h3>
      <ul>
        {added.map(({ at, session, entry, text }) => (
          <li key={at}>
            <InlineText text={text} />{' '}
            <span className="dim">
              from <a href={hrefOf('sessions', session)}>{session}</a> #{entry}
            </span>{' '}
            <Button small kind="quiet" onClick={() => void undo(at)}>
              Undo
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}

type DraftProps = { file: WorkspaceFile; onSaved(file: WorkspaceFile): void; onCancel(): void }

function Draft({ file, onSaved, onCancel }: DraftProps) {
  const [base, setBase] = useState(file)
  const [seen, setSeen] = useState(file)
  const [text, setText] = useState(file.text)
  const [busy, setBusy] = useState(false)
  const toasts = useToasts()
  const settled = useDeferredValue(text)
  // The newest known version: from polling, or from a refused save.
  const now = file.version === base.version ? seen : file
  const isOld = now.version !== base.version
  const rebase = (on: string) => {
    setBase(now)
    setSeen(now)
    setText(on)
  }
  const save = async () => {
    setBusy(true)
    try {
      onSaved(await writeFile(file.path, text, base.version))
      toasts.show({ text: `Saved ${file.path}.` })
    } catch (error) {
      const there = error instanceof ApiError ? changedIn(error, file.path) : undefined
      if (there) setSeen(there)
      else toasts.fail(error)
      setBusy(false)
    }
  }
  return (
    <div className="own-words">
      {isOld && (
        <section className="notice notice-warn" role="alert">
          <p>
            <b>This file was changed while you were writing.</b> Nothing is lost: this is what changed. Merge it into
            your text, then save.
          </p>
          <TextDiff before={base.text} after={now.text} label="What changed in the meantime" />
          <div className="actions">
            <Button small onClick={() => rebase(text)}>
              Continue, and compare my text with this version
            </Button>
            <Button small kind="quiet" onClick={() => rebase(now.text)}>
              Use theirs, discard mine
            </Button>
          </div>
        </section>
      )}
      <textarea
        aria-label={`Text of ${file.path}`}
        rows={ROWS}
        value={text}
        onChange={event => setText(event.target.value)}
      />
      <div className="actions">
        <Button kind="primary" disabled={busy || isOld || text === base.text} onClick={() => void save()}>
          Save
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
      {settled !== base.text && (
        <>
          <h3>What this changes</h3>
          <TextDiff before={base.text} after={settled} />
        </>
      )}
    </div>
  )
}

/** The current text, as reported by a refused save. */
function changedIn({ code, data }: ApiError, path: string): WorkspaceFile | undefined {
  const { now, version } = data
  if (code !== 'FILE_CHANGED' || typeof version !== 'string' || typeof now !== 'string') return undefined
  return { path, text: now, version, bytes: now.length }
}
