/** The file changes of the session, and a file as it was after any call. */

import { type FormEvent, useState } from 'react'
import { getJson } from '../../api.ts'
import type { FileChange } from '../../api-types.ts'
import { useResource } from '../../resource.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Failure } from '../../ui/failure.tsx'
import { InlineText, Text } from '../../ui/text.tsx'
import { useSessionPart } from './session-part.ts'

const DONE: Record<FileChange['kind'], string> = { write: 'written', edit: 'edited', remove: 'removed' }

type FilesTabProps = { session: string; length: number; calls: number }

export function FilesTab({ session, length, calls }: FilesTabProps) {
  const found = useSessionPart('/sessions/{session}/changelog', { session, length })
  const [looked, setLooked] = useState<{ path: string; turn: number }>()
  if (found.error !== undefined) return <Failure error={found.error} retry={found.reload} />
  if (!found.value) return <p className="dim">Reading …</p>
  const { changes } = found.value
  return (
    <div className="editor">
      <FileForm key={`${looked?.path} ${looked?.turn}`} given={looked} calls={calls} onLook={setLooked} />
      {looked && <FileAt session={session} {...looked} />}
      <section aria-label="Changes">
        <h3>File changes and their reasons</h3>
        {changes.length === 0 && <EmptyState title="No files were changed." />}
        <ol className="editor-stretches">
          {changes.map(({ turn, path, kind, intent }, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: one call may change a file twice, and the list only grows
            <li key={`${turn} ${path} ${i}`}>
              <p>
                <button type="button" className="link" onClick={() => setLooked({ path, turn })}>
                  <InlineText text={path} />
                </button>{' '}
                <span className="dim">
                  {DONE[kind]}, call {turn}
                </span>
              </p>
              {intent && (
                <p>
                  <InlineText text={intent} />
                </p>
              )}
            </li>
          ))}
        </ol>
      </section>
    </div>
  )
}

type FormProps = {
  given: { path: string; turn: number } | undefined
  calls: number
  onLook(at: { path: string; turn: number }): void
}

function FileForm({ given, calls, onLook }: FormProps) {
  const [path, setPath] = useState(given?.path ?? '')
  const [turn, setTurn] = useState(given?.turn ?? calls)
  const look = (event: FormEvent) => {
    event.preventDefault()
    onLook({ path: path.trim(), turn })
  }
  return (
    <form className="file-form" onSubmit={look}>
      <label>
        File
        <input value={path} placeholder="src/cart.ts" onChange={event => setPath(event.target.value)} />
      </label>
      <label>
        after call
        <input type="number" min={0} max={calls} value={turn} onChange={event => setTurn(Number(event.target.value))} />
      </label>
      <Button type="submit" small disabled={path.trim() === ''}>
        Look
      </Button>
    </form>
  )
}

function FileAt({ session, path, turn }: { session: string; path: string; turn: number }) {
  const state = useResource(`${session}\n${path}\n${turn}`, signal =>
    getJson('/sessions/{session}/file', { params: { session }, query: { path, turn }, signal }),
  )
  if (state.error !== undefined) return <Failure error={state.error} retry={state.reload} />
  if (!state.value) return <p className="dim">Reading …</p>
  const { content, basis } = state.value
  return (
    <section aria-label={`${path} after call ${turn}`} className="file-at">
      {content === null ? (
        <p className="dim">What was in it after call {turn} is not known.</p>
      ) : (
        <Text text={content} code />
      )}
      <details>
        <summary>Sources</summary>
        <ul>
          {basis.map(line => (
            <li key={line}>
              <InlineText text={line} />
            </li>
          ))}
        </ul>
      </details>
    </section>
  )
}
