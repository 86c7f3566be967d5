/**
 * A modal dialog. The browser's own element keeps the focus inside, closes on Escape and returns the focus. With an
 * `action` it is a form: Enter or the button submits it.
 */
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { Button } from './button.tsx'

type DialogAction = { label: string; run(): unknown; kind?: 'primary' | 'danger'; disabled?: boolean }

type DialogProps = { title: string; onClose(): void; children: ReactNode; action?: DialogAction; wide?: boolean }

export function Dialog({ title, onClose, children, action, wide }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  const body = <div className="dialog-body">{children}</div>
  return (
    <dialog ref={dialog} className={wide ? 'dialog dialog-wide' : 'dialog'} aria-labelledby={heading} onClose={onClose}>
      <header className="dialog-head">
        <h2 id={heading}>{title}</h2>
        <Button kind="quiet" small label="Close" onClick={onClose}>
          ✕
        </Button>
      </header>
      {action ? (
        <form
          onSubmit={event => {
            event.preventDefault()
            void action.run()
          }}
        >
          {body}
          <footer className="dialog-foot">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" kind={action.kind ?? 'primary'} disabled={action.disabled}>
              {action.label}
            </Button>
          </footer>
        </form>
      ) : (
        body
      )}
    </dialog>
  )
}
