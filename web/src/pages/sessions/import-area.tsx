/**
 * Import by drag and drop anywhere on the page, or by a button, with progress and result for each file. Files are
 * uploaded one after the other; their format is detected from their content. Many files, or a file with many sessions,
 * need a confirmation, and a whole import can be undone.
 */
import { type ReactNode, type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { ApiError, addressOf, messageOf, sendJson, storedToken, toError } from '../../api.ts'
import type { Imported } from '../../api-types.ts'
import { hrefOf } from '../../route.ts'
import { Bar } from '../../ui/bar.tsx'
import { Button } from '../../ui/button.tsx'
import { bytes, count, percent, plural } from '../../ui/format.ts'
import { InlineText } from '../../ui/text.tsx'
import { useToasts } from '../../ui/toast.tsx'
import { droppedFiles } from './dropped-files.ts'

/** The number that the command line imports without asking. */
const MANY = 20

type Job = {
  id: string
  name: string
  file: File
  /** Everything that is dropped at once is one import. */
  import: string
  /** The uploaded share of the file; after that the server reads it. */
  sent: number
  result?: Imported
  error?: unknown
}

export type Imports = {
  jobs: readonly Job[]
  input: RefObject<HTMLInputElement | null>
  choose(): void
  add(files: readonly File[]): void
  /** Files that wait for confirmation. */
  asking: readonly File[]
  answer(yes: boolean): void
  /** Imports a file with many sessions, or skips it. */
  decide(job: Job, yes: boolean): void
  dismiss(): void
  takeBack(): Promise<unknown>
}

/** Calls `done` after every imported file. */
export function useImports(done: () => void): Imports {
  const toasts = useToasts()
  const [jobs, setJobs] = useState<readonly Job[]>([])
  const [asking, setAsking] = useState<readonly File[]>([])
  const input = useRef<HTMLInputElement>(null)
  const line = useRef(Promise.resolve())
  const change = useCallback((id: string, part: Partial<Job>) => {
    setJobs(old => old.map(job => (job.id === id ? { ...job, ...part } : job)))
  }, [])
  return useMemo(() => {
    const run = async (job: Job, most?: number) => {
      try {
        change(job.id, { result: await upload(job, most, sent => change(job.id, { sent })) })
        done()
      } catch (error) {
        change(job.id, { error })
      }
    }
    const later = (work: () => Promise<void>) => {
      line.current = line.current.then(work)
    }
    const start = (files: readonly File[]) => {
      const shared = crypto.randomUUID()
      const added = files.map(file => {
        return { id: crypto.randomUUID(), name: file.name, file, import: shared, sent: 0 }
      })
      setJobs(old => [...old, ...added])
      for (const job of added) later(() => run(job, MANY))
    }
    const isOver = ({ result, error }: Job) => (result && !isAsking(result)) || error !== undefined
    return {
      jobs,
      input,
      asking,
      choose: () => input.current?.click(),
      add: files => (files.length > MANY ? setAsking(files) : start(files)),
      answer: yes => {
        if (yes) start(asking)
        setAsking([])
      },
      decide: (job, yes) => {
        if (!yes) return setJobs(old => old.filter(({ id }) => id !== job.id))
        setJobs(old => old.map(one => (one.id === job.id ? withoutResult(one) : one)))
        later(() => run(job))
      },
      dismiss: () => setJobs(old => old.filter(job => !isOver(job))),
      takeBack: () =>
        toasts.attempt(async () => {
          for (const id of new Set(jobs.filter(isOver).map(job => job.import)))
            await sendJson('POST', '/deletions', { body: { import: id } })
          setJobs(old => old.filter(job => !isOver(job)))
          done()
        }),
    }
  }, [jobs, asking, change, done, toasts])
}

function withoutResult({ result: _, ...job }: Job): Job {
  return job
}

/** Nothing was imported: the file has more sessions than are imported without asking. */
function isAsking({ found, sessions }: Imported): boolean {
  return found > MANY && sessions.length === 0
}

export function ImportArea({ imports, children }: { imports: Imports; children: ReactNode }) {
  const { input, add, jobs, asking } = imports
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
      {(jobs.length > 0 || asking.length > 0) && <Jobs imports={imports} />}
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
      if (event.dataTransfer) void droppedFiles(event.dataTransfer).then(add)
    }
    addEventListener('dragover', over, { signal })
    addEventListener('dragleave', leave, { signal })
    addEventListener('drop', drop, { signal })
    return () => stop.abort()
  }, [add, setOver])
}

function Jobs({ imports: { jobs, asking, answer, decide, dismiss, takeBack } }: { imports: Imports }) {
  const isNew = jobs.some(({ result }) => result?.sessions.some(({ added }) => added > 0))
  return (
    <section className="imports card" aria-label="Imports" aria-live="polite">
      <header>
        <h2>Imports</h2>
        {isNew && (
          <Button small onClick={() => void takeBack()}>
            Undo
          </Button>
        )}
        <Button kind="quiet" small label="Dismiss finished imports" onClick={dismiss}>
          ✕
        </Button>
      </header>
      <ul>
        {asking.length > 0 && (
          <li>
            <Question
              what={`${plural(asking.length, 'file')}, ${bytes(asking.reduce((sum, { size }) => sum + size, 0))}`}
              onAnswer={answer}
            />
          </li>
        )}
        {jobs.map(job => (
          <li key={job.id}>
            <InlineText text={job.name} />
            {job.result && isAsking(job.result) ? (
              <Question
                what={`${plural(job.result.found, 'session')}, ${bytes(job.file.size)}`}
                onAnswer={yes => decide(job, yes)}
              />
            ) : (
              <JobState job={job} />
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function Question({ what, onAnswer }: { what: string; onAnswer(yes: boolean): void }) {
  return (
    <p className="actions">
      {what}.
      <Button small kind="primary" onClick={() => onAnswer(true)}>
        Import them
      </Button>
      <Button small onClick={() => onAnswer(false)}>
        Cancel
      </Button>
    </p>
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

/** XMLHttpRequest, because fetch does not report the progress of an upload. */
function upload(job: Job, most: number | undefined, progress: (share: number) => void): Promise<Imported> {
  const address = addressOf(
    '/import',
    {},
    {
      file: job.name,
      import: job.import,
      most,
      written: job.file.lastModified,
    },
  )
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', address)
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
    request.send(job.file)
  })
}
