/** A modal dialog: the browser's own, which keeps the focus inside, closes with Escape and gives the focus back. */
import { type ReactNode, useEffect, useId, useRef } from 'react'
import { Button } from './button.tsx'

export type DialogProps = {
  title: string
  onClose(): void
  children: ReactNode
  /** The buttons at the foot; closing is there anyway. */
  actions?: ReactNode
  wide?: boolean
}

export function Dialog({ title, onClose, children, actions, wide }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  return (
    <dialog ref={dialog} className={wide ? 'dialog dialog-wide' : 'dialog'} aria-labelledby={heading} onClose={onClose}>
      <header className="dialog-head">
        <h2 id={heading}>{title}</h2>
        <Button kind="quiet" small label="Close" onClick={onClose}>
          ✕
        </Button>
      </header>
      <div className="dialog-body">{children}</div>
      {actions && <footer className="dialog-foot">{actions}</footer>}
    </dialog>
  )
}
