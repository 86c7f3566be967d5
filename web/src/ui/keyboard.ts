/**
 * Keyboard shortcuts of a page: `useKeys({ j: next, k: previous, '/': search })`. They are inactive while the user
 * types, while a dialog is open, and together with Ctrl, Alt or Meta, which belong to the browser.
 */
import { useEffect, useEffectEvent } from 'react'

export type Keys = Record<string, (event: KeyboardEvent) => void>

export function useKeys(keys: Keys): void {
  const take = useEffectEvent((event: KeyboardEvent) => {
    const run = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined
    if (!run || event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return
    if (isTyping(event.target, event.key) || document.querySelector('dialog[open]')) return
    event.preventDefault()
    run(event)
  })
  useEffect(() => {
    const listener = (event: KeyboardEvent) => take(event)
    addEventListener('keydown', listener)
    return () => removeEventListener('keydown', listener)
  }, [])
}

/** Arrows, Enter and Space belong to the control that has the focus. */
function isTyping(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target.closest('textarea, select, [contenteditable="true"]')) return true
  const input = target.closest('input')
  if (input && !['checkbox', 'radio', 'button', 'range'].includes(input.type)) return true
  const isOwn = key.startsWith('Arrow') || key === 'Enter' || key === ' '
  return isOwn && target.closest('input, button, a, [role="tab"], [role="slider"]') !== null
}
