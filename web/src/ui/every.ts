/** Polls while the page is visible, and when the user comes back to it: for changes without events. */
import { useEffect, useEffectEvent } from 'react'

export function useEvery(ms: number, run: () => void): void {
  const latest = useEffectEvent(run)
  useEffect(() => {
    const look = () => document.visibilityState === 'visible' && latest()
    const timer = setInterval(look, ms)
    document.addEventListener('visibilitychange', look)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [ms])
}
