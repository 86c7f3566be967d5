/** Tabs by the ARIA pattern: arrow keys move between them, and one tab is in the focus order. */
import { type KeyboardEvent, type ReactNode, useId, useRef } from 'react'

export type Tab<K extends string> = { key: K; label: string; badge?: string; content: ReactNode }

export type TabsProps<K extends string> = {
  label: string
  tabs: readonly Tab<K>[]
  chosen: K
  onChoose(key: K): void
}

export function Tabs<K extends string>({ label, tabs, chosen, onChoose }: TabsProps<K>) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const current = tabs.find(({ key }) => key === chosen) ?? tabs[0]
  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    const next = (tabs.findIndex(({ key }) => key === chosen) + step + tabs.length) % tabs.length
    onChoose(tabs[next]!.key)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus()
  }
  return (
    <div className="tabs">
      <div ref={list} className="tab-list" role="tablist" aria-label={label} onKeyDown={move} tabIndex={-1}>
        {tabs.map(({ key, label: name, badge }) => (
          <button
            key={key}
            type="button"
            role="tab"
            id={`${id}-${key}`}
            className="tab"
            aria-selected={key === current?.key}
            aria-controls={`${id}-panel`}
            tabIndex={key === current?.key ? 0 : -1}
            onClick={() => onChoose(key)}
          >
            {name}
            {badge && <span className="badge">{badge}</span>}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} className="tab-panel" role="tabpanel" aria-labelledby={`${id}-${current?.key}`}>
        {current?.content}
      </div>
    </div>
  )
}
