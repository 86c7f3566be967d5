/**
 * Limits how often a function is called: at once, and then at most once per interval. Live events may come ten times a
 * second.
 */
import { useEffect, useEffectEvent, useRef } from 'react'

export function useThrottled(run: () => void, ms: number): () => void {
  const latest = useEffectEvent(run)
  const state = useRef<{ timer?: ReturnType<typeof setTimeout> | undefined; again: boolean }>({ again: false })
  const ask = useRef(() => {})
  useEffect(() => {
    const { current } = state
    const start = () => {
      if (current.timer !== undefined) {
        current.again = true
        return
      }
      latest()
      current.timer = setTimeout(() => {
        current.timer = undefined
        if (!current.again) return
        current.again = false
        start()
      }, ms)
    }
    ask.current = start
    return () => {
      clearTimeout(current.timer)
      current.timer = undefined
    }
  }, [ms])
  return () => ask.current()
}
