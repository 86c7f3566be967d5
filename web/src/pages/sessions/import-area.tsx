/**
 * Import by drag and drop, anywhere on the page, or by a button: each file with its progress and what became of it.
 * Files go up one after the other; what they are is told from what is in them.
 */
import { type ReactNode, type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError, messageOf, storedToken, toError } from '../../api.ts'
import type { Imported } from '../../api-types.ts'
import { hrefOf } from '../../route.ts'
import { Bar } from '../../ui/bar.tsx'
import { Button } from '../../ui/button.tsx'
import { count, percent, plural } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'

type Job = {
  id: string
  name: string
  /** Share of the file that is at the server; then it reads it. */
  sent: number
  result?: Imported
  error?: unknown
}

export type Imports = {
  jobs: readonly Job[]
  input: RefObject<HTMLInputElement | null>
  choose(): void
  add(files: readonly File[]): void
  dismiss(): void
}

/** Calls `done` after every file that was taken in. */
export function useImports(done: () => void): Imports {
  const [jobs, setJobs] = useState<readonly Job[]>([])
  const input = useRef<HTMLInputElement>(null)
  const line = useRef(Promise.resolve())
  const change = useCallback((id: string, part: Partial<Job>) => {
    setJobs(old => old.map(job => (job.id === id ? { ...job, ...part } : job)))
  }, [])
  return useMemo(() => {
    const run = async (id: string, file: File) => {
      try {
        change(id, { result: await upload(file, sent => change(id, { sent })) })
        done()
      } catch (error) {
        change(id, { error })
      }
    }
    return {
      jobs,
      input,
      choose: () => input.current?.click(),
      add: files => {
        const added = files.map(file => ({ file, job: { id: crypto.randomUUID(), name: file.name, sent: 0 } }))
        setJobs(old => [...old, ...added.map(({ job }) => job)])
        for (const { job, file } of added) line.current = line.current.then(() => run(job.id, file))
      },
      dismiss: () => setJobs(old => old.filter(({ result, error }) => !result && error === undefined)),
    }
  }, [jobs, change, done])
}

export function ImportArea({ imports, children }: { imports: Imports; children: ReactNode }) {
  const { input, add, jobs } = imports
  const [over, setOver] = useState(false)
  useFileDrop(add, setOver)
  return (
    <div className="import-area">
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Transcript files"
        onChange={event => {
          add([...(event.target.files ?? [])])
          event.target.value = ''
        }}
      />
      {children}
      {jobs.length > 0 && <Jobs imports={imports} />}
      {over && (
        <div className="import-over" aria-hidden="true">
          <p>Drop transcripts to import them</p>
        </div>
      )}
    </div>
  )
}

/** Files may be dropped anywhere in the window while the page is shown. */
function useFileDrop(add: (files: readonly File[]) => void, setOver: (over: boolean) => void): void {
  useEffect(() => {
    const stop = new AbortController()
    const { signal } = stop
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true
    const over = (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      setOver(true)
    }
    const leave = (event: DragEvent) => event.relatedTarget === null && setOver(false)
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      setOver(false)
      add([...(event.dataTransfer?.files ?? [])])
    }
    addEventListener('dragover', over, { signal })
    addEventListener('dragleave', leave, { signal })
    addEventListener('drop', drop, { signal })
    return () => stop.abort()
  }, [add, setOver])
}

function Jobs({ imports: { jobs, dismiss } }: { imports: Imports }) {
  return (
    <section className="imports card" aria-label="Imports" aria-live="polite">
      <header>
        <h2>Imports</h2>
        <Button kind="quiet" small label="Dismiss finished imports" onClick={dismiss}>
          ✕
        </Button>
      </header>
      <ul>
        {jobs.map(job => (
          <li key={job.id}>
            <InlineText text={job.name} />
            <JobState job={job} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function JobState({ job: { result, error, sent } }: { job: Job }) {
  if (error !== undefined) return <p className="problem">{messageOf(error)}</p>
  if (!result) {
    const label = sent < 1 ? `${percent(sent)} sent` : 'Reading …'
    return <Bar share={sent} label={label} />
  }
  const { format, sessions, problems } = result
  const healed = sessions.reduce((total, session) => total + session.healed.length, 0)
  return (
    <p className="dim">
      {format}:{' '}
      {sessions.slice(0, 3).map(({ session, added, messages }) => (
        <span key={session}>
          <a href={hrefOf('sessions', session)}>
            <InlineText text={session} />
          </a>{' '}
          ({added === messages ? plural(messages, 'message') : `${count(added)} new of ${plural(messages, 'message')}`}){' '}
        </span>
      ))}
      {sessions.length > 3 && `and ${count(sessions.length - 3)} more. `}
      {healed > 0 && `${plural(healed, 'place')} healed. `}
      {problems.length > 0 && `${plural(problems.length, 'line')} could not be read.`}
    </p>
  )
}

/** By XMLHttpRequest, because fetch does not say how much of a body is sent. */
function upload(file: File, progress: (share: number) => void): Promise<Imported> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', `/import?file=${encodeURIComponent(file.name)}`)
    const token = storedToken()
    if (token) request.setRequestHeader('authorization', `Bearer ${token}`)
    request.setRequestHeader('content-type', 'application/octet-stream')
    request.upload.onprogress = ({ loaded, total }) => progress(total > 0 ? loaded / total : 0)
    request.upload.onload = () => progress(1)
    request.onerror = () => reject(new ApiError('UNREACHABLE', 'The server does not answer. Is it still running?', 0))
    request.onload = () => {
      if (request.status < 300) resolve(JSON.parse(request.responseText))
      else reject(toError(request.status, request.responseText))
    }
    request.send(file)
  })
}
