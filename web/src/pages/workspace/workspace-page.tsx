/**
 * The workspace: the knowledge files that every session starts with. Changes by others are shown and never overwritten:
 * each save names the version that it is based on.
 */
import { useState } from 'react'
import { ApiError, getJson, sendJson } from '../../api.ts'
import { useResource } from '../../resource.ts'
import { replaceQuery, useRoute } from '../../route.ts'
import { Button } from '../../ui/button.tsx'
import { EmptyState } from '../../ui/empty-state.tsx'
import { useEvery } from '../../ui/every.ts'
import { Failure } from '../../ui/failure.tsx'
import { plural } from '../../ui/format.ts'
import { Split, SplitItem } from '../../ui/split.tsx'
import { InlineText } from '../../ui/text.tsx'
import { useToasts } from '../../ui/toast.tsx'
import { FileEditor } from './file-editor.tsx'
import { NewFileDialog } from './new-file.tsx'
import '../../ui/notice.css'

const LOOK_MS = 4000

/** The purpose of each standard file. */
const ABOUT: Record<string, string> = {
  'SOUL.md': 'who the agent is and how it behaves',
  'TOOLS.md': 'how tools are best used here',
  'AGENTS.md': 'what to delegate, and to whom',
  'MEMORY.md': 'facts that stay true between sessions',
  '.learnings/LEARNINGS.md': 'what works well',
  '.learnings/ERRORS.md': 'errors and what solved them',
  '.learnings/FEATURE_REQUESTS.md': 'features that are missing',
}

export function WorkspacePage() {
  const { query } = useRoute()
  const list = useResource('workspace', signal => getJson('/workspace', { signal }))
  const [making, setMaking] = useState(false)
  // Agents change files on disk, without an event.
  useEvery(LOOK_MS, list.reload)
  const files = list.value?.files ?? []
  const chosen = query.get('file') ?? files[0]?.path
  const file = files.find(({ path }) => path === chosen)
  if (list.error !== undefined && !list.value) return <Refused error={list.error} retry={list.reload} />
  return (
    <>
      <header className="page-head">
        <h1>Workspace</h1>
        <p className="dim">
          Every session starts with these files. <InlineText text={list.value?.folder ?? ''} />
        </p>
      </header>
      {list.value && files.length === 0 && <MakeFiles onMade={list.reload} />}
      {files.length > 0 && (
        <Split
          label="Knowledge files"
          head={
            <div className="split-head">
              <span className="dim">{plural(files.length, 'file')}</span>
              <Button small onClick={() => setMaking(true)}>
                New file
              </Button>
            </div>
          }
          items={files.map(({ path, bytes }) => (
            <SplitItem
              key={path}
              chosen={path === chosen}
              onChoose={() => replaceQuery({ file: path })}
              title={<InlineText text={path} />}
              aside={<span className="dim">{sizeOf(bytes)}</span>}
              words={ABOUT[path] ?? (path.startsWith('memory/') ? 'what happened that day' : undefined)}
            />
          ))}
        >
          {file && (
            <FileEditor
              key={file.path}
              path={file.path}
              version={file.version}
              limit={list.value!.limit}
              onSaved={list.reload}
            />
          )}
          {chosen !== undefined && !file && <EmptyState title={`${chosen} no longer exists.`} />}
        </Split>
      )}
      {making && (
        <NewFileDialog
          onClose={() => setMaking(false)}
          onMade={path => {
            setMaking(false)
            list.reload()
            replaceQuery({ file: path })
          }}
        />
      )}
    </>
  )
}

function MakeFiles({ onMade }: { onMade(): void }) {
  const toasts = useToasts()
  const make = () => toasts.attempt(() => sendJson('POST', '/workspace').then(onMade))
  return (
    <EmptyState title="There are no knowledge files yet.">
      <p>They are created from templates when an agent first starts, or now.</p>
      <Button kind="primary" onClick={() => void make()}>
        Create them
      </Button>
    </EmptyState>
  )
}

function Refused({ error, retry }: { error: unknown; retry(): void }) {
  if (!(error instanceof ApiError) || error.status !== 403) return <Failure error={error} retry={retry} />
  return (
    <EmptyState title="Only admins can see the workspace.">
      <p>It belongs to the server, not to one user: its daily log covers everybody’s sessions.</p>
    </EmptyState>
  )
}

function sizeOf(bytes: number): string {
  return bytes < 1000 ? `${bytes} B` : `${(bytes / 1000).toFixed(1)} kB`
}
