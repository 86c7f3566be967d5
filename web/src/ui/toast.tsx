/** Short notices at the bottom of the page: confirmations with an undo button, and failures. */
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from 'react'
import { ApiError, messageOf } from '../api.ts'
import { Button } from './button.tsx'

type Notice = { text: string; kind?: 'done' | 'failed'; action?: { label: string; run(): void } }

type Toasts = {
  show(notice: Notice): void
  /** Shows a failure, except a refused sign-in, which the sign-in page shows. */
  fail(error: unknown): void
  /** Runs the work and shows a failure; returns whether it succeeded. */
  attempt(work: () => Promise<unknown>): Promise<boolean>
}

const SHOWN_MS = 6000
const FAILED_MS = 15_000
const MOST = 4

const Context = createContext<Toasts>({ show: () => {}, fail: () => {}, attempt: async () => false })

export function useToasts(): Toasts {
  return useContext(Context)
}

export function ToastProvider({ children }: { children: ReactNode }) {
  const [notices, setNotices] = useState<(Notice & { id: string })[]>([])
  const dismiss = useCallback((id: string) => setNotices(old => old.filter(notice => notice.id !== id)), [])
  const toasts = useMemo(() => {
    const show = (notice: Notice) => {
      const id = crypto.randomUUID()
      setNotices(old => [...old, { ...notice, id }].slice(-MOST))
      setTimeout(() => dismiss(id), notice.kind === 'failed' ? FAILED_MS : SHOWN_MS)
    }
    const fail = (error: unknown) => {
      if (error instanceof ApiError && error.status === 401) return
      show({ text: messageOf(error), kind: 'failed' })
    }
    const attempt = (work: () => Promise<unknown>) =>
      work().then(
        () => true,
        error => {
          fail(error)
          return false
        },
      )
    return { show, fail, attempt }
  }, [dismiss])
  const act = (id: string, action: { run(): void }) => {
    dismiss(id)
    action.run()
  }
  return (
    <Context value={toasts}>
      {children}
      <section className="toasts" aria-label="Notices" aria-live="polite">
        {notices.map(({ id, text, kind = 'done', action }) => (
          <div key={id} className={`toast toast-${kind}`}>
            <span>{text}</span>
            {action && (
              <Button kind="quiet" small onClick={() => act(id, action)}>
                {action.label}
              </Button>
            )}
            <Button kind="quiet" small label="Dismiss" onClick={() => dismiss(id)}>
              ✕
            </Button>
          </div>
        ))}
      </section>
    </Context>
  )
}
