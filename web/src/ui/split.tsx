/** A list on the left and the selected item on the right. */
import type { ReactNode } from 'react'
import './split.css'

type SplitProps = {
  label: string
  /** Rows, made with SplitItem. */
  items: ReactNode
  /** Content above and below the rows. */
  head?: ReactNode
  foot?: ReactNode
  children: ReactNode
}

export function Split({ label, items, head, foot, children }: SplitProps) {
  return (
    <div className="split">
      <section className="split-list card" aria-label={label}>
        {head}
        <ul className="split-items">{items}</ul>
        {foot && <div className="split-foot">{foot}</div>}
      </section>
      <div className="split-detail">{children}</div>
    </div>
  )
}

type SplitItemProps = {
  chosen: boolean
  onChoose(): void
  title: ReactNode
  aside?: ReactNode
  words?: ReactNode
  /** Content before the row's own button, such as a checkbox. */
  before?: ReactNode
  badges?: ReactNode
}

export function SplitItem({ chosen, onChoose, title, aside, words, before, badges }: SplitItemProps) {
  return (
    <li className="split-item" data-chosen={chosen}>
      {before}
      <button type="button" className="split-choose" aria-current={chosen || undefined} onClick={onChoose}>
        <span className="split-title">
          <span>{title}</span>
          {aside}
        </span>
        {words && <span className="split-words">{words}</span>}
        {badges && <span className="split-badges">{badges}</span>}
      </button>
    </li>
  )
}
