/** ⓘ: the explanation of a term, on hover, on focus and for screen readers. */
import { useId, useState } from 'react'

export function Info({ text }: { text: string }) {
  const id = useId()
  const [open, setOpen] = useState(false)
  return (
    <span className="info">
      <button
        type="button"
        aria-label="What this means"
        aria-describedby={id}
        aria-expanded={open}
        onClick={event => {
          event.preventDefault()
          event.stopPropagation()
          setOpen(old => !old)
        }}
        onKeyDown={event => event.key === 'Escape' && setOpen(false)}
        onBlur={() => setOpen(false)}
      >
        <span className="info-sign" aria-hidden="true">
          i
        </span>
      </button>
      <span id={id} role="tooltip" className={open ? 'info-text info-open' : 'info-text'}>
        {text}
      </span>
    </span>
  )
}
