/**
 * One block: read it, edit it (a change by others is shown and not overwritten), see its history, and restore a
 * version.
 */

import { useState } from 'react'
import { ApiError } from '../../api.ts'
import type { Block, Version } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { Button } from '../../ui/button.tsx'
import { TextDiff } from '../../ui/diff.tsx'
import { Failure } from '../../ui/failure.tsx'
import { ago, dateTime } from '../../ui/format.ts'
import { InlineText, Text } from '../../ui/text.tsx'
import { useToasts } from '../../ui/toast.tsx'
import { useReload } from './inbox.tsx'
import { deleteBlock, readHistory, restoreVersion, writeBlock } from './memory-api.ts'
import { OwnWordsEditor, useOwnWords } from './own-words.tsx'

type BlockViewProps = {
  user: string
  label: string
  /** Undefined if the block was deleted; its history still exists. */
  block: Block | undefined
  changes: number
  onChanged(): void
}

export function BlockView({ user, label, block, changes, onChanged }: BlockViewProps) {
  const [editing, setEditing] = useState(false)
  const history = useResource(`${user} ${label}`, signal => readHistory(user, label, signal))
  useReload(changes, history.reload)
  const toasts = useToasts()
  const changed = () => {
    history.reload()
    onChanged()
  }
  const done = () => {
    setEditing(false)
    changed()
  }
  const restore = (version: string) =>
    toasts.attempt(async () => {
      await restoreVersion(user, label, version)
      toasts.show({ text: `${label} was restored.` })
      changed()
    })
  const remove = (version: string) =>
    toasts.attempt(async () => {
      await deleteBlock(user, label, version)
      toasts.show({ text: `Deleted ${label}.`, action: { label: 'Restore it', run: () => void restore(version) } })
      changed()
    })
  return (
    <article className="block">
      <div className="card detail-card">
        <header className="detail-head">
          <h2>
            <InlineText text={block?.title || label} />
          </h2>
          {block && !editing && (
            <div className="actions">
              <Button small onClick={() => setEditing(true)}>
                Edit
              </Button>
              <Button small kind="danger" onClick={() => void remove(block.version)}>
                Delete
              </Button>
            </div>
          )}
        </header>
        {!block && history.value && (
          <p className="notice notice-warn">This block was deleted. Its versions are below.</p>
        )}
        {block && !editing && block.stale.length > 0 && (
          <div className="notice notice-warn">
            <p>Out of date, and marked as such for agents:</p>
            <ul>
              {block.stale.map(({ text, since, replacedBy }) => (
                <li key={text}>
                  <InlineText text={text} /> <span className="badge badge-warn">{staleBadge(since, replacedBy)}</span>
                </li>
              ))}
            </ul>
          </div>
        )}
        {block && !editing && (block.body === '' ? <p className="dim">Empty.</p> : <Text text={block.body} whole />)}
        {block && editing && <EditBlock user={user} block={block} onDone={done} onCancel={() => setEditing(false)} />}
      </div>
      <section className="history" aria-label="History">
        <h2>History</h2>
        {history.error !== undefined && <Failure error={history.error} retry={history.reload} />}
        <ol>
          {history.value?.versions.map((version, i, all) => (
            <VersionRow
              key={version.version}
              version={version}
              before={all[i + 1]}
              isNow={i === 0}
              onRestore={() => void restore(version.version)}
            />
          ))}
        </ol>
      </section>
    </article>
  )
}

function staleBadge(since: string | undefined, replacedBy: string | undefined): string {
  return replacedBy === undefined ? `stale since ${since}` : `replaced by ${replacedBy}`
}

type EditBlockProps = { user: string; block: Block; onDone(): void; onCancel(): void }

function EditBlock({ user, block, onDone, onCancel }: EditBlockProps) {
  const own = useOwnWords(block)
  // The version that the edited text is based on; a change by others does not move it.
  const [base, setBase] = useState(block)
  const [problem, setProblem] = useState<string>()
  const isOld = block.version !== base.version
  const toasts = useToasts()
  const save = async () => {
    try {
      await writeBlock(user, block.label, { body: own.body, title: own.title, expected: base.version })
      toasts.show({ text: `Saved ${block.label}.` })
      onDone()
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : String(error))
    }
  }
  return (
    <>
      {isOld && (
        <div className="notice notice-warn">
          <p>Somebody changed this block while you were writing:</p>
          <TextDiff before={base.body} after={block.body} label="What changed in the meantime" />
          <Button
            small
            onClick={() => {
              setBase(block)
              setProblem(undefined)
            }}
          >
            Continue, and compare my text with this version
          </Button>
        </div>
      )}
      <OwnWordsEditor label="Text" own={own} now={base.body} problem={problem}>
        <Button kind="primary" disabled={isOld} onClick={() => void save()}>
          Save
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </OwnWordsEditor>
    </>
  )
}

const ACTIONS: Record<string, string> = {
  set: 'written',
  delete: 'deleted',
  approve: 'proposal approved',
  revert: 'approval reverted',
  restore: 'restored',
  import: 'imported',
}

type VersionRowProps = { version: Version; before: Version | undefined; isNow: boolean; onRestore(): void }

function VersionRow({ version, before, isNow, onRestore }: VersionRowProps) {
  const [open, setOpen] = useState(isNow && before !== undefined)
  const { action, by, at, why, body } = version
  return (
    <li className="version">
      <div className="version-head">
        <button type="button" className="version-open" aria-expanded={open} onClick={() => setOpen(old => !old)}>
          <b>{ACTIONS[action] ?? action}</b> by <InlineText text={by} />
          <span className="dim" title={dateTime(at)}>
            {ago(at, Date.now())}
          </span>
        </button>
        {isNow ? (
          <span className="badge">now</span>
        ) : (
          body !== null && (
            <Button small kind="quiet" onClick={onRestore}>
              Restore
            </Button>
          )
        )}
      </div>
      {why !== '' && (
        <p className="dim version-why">
          <InlineText text={why} />
        </p>
      )}
      {open && (
        <TextDiff before={before?.body ?? ''} after={body ?? ''} label={`What changed ${ago(at, Date.now())}`} />
      )}
    </li>
  )
}
