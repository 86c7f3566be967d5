/**
 * Data that is read from the server: its value, its error, and a function to read it again.
 *
 * The old value stays while a new one is loading, so that pages do not flicker. A response to an older request is
 * dropped.
 */
import { useCallback, useEffect, useEffectEvent, useState } from 'react'

export type Resource<T> = {
  value: T | undefined
  error: unknown
  loading: boolean
  reload(): void
  /** Sets a value that is already known, for instance from the response to a write. */
  set(value: T): void
}

/**
 * Reads when the component mounts and whenever the key changes. A key of `undefined` reads nothing. With `keep`, the
 * value of the previous key stays until the new one has arrived.
 */
export function useResource<T>(
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<T>,
  { keep = false }: { keep?: boolean } = {},
): Resource<T> {
  const [state, setState] = useState<{ key?: string | undefined; value?: T; error?: unknown; loading: boolean }>({
    loading: true,
  })
  const [round, setRound] = useState(0)
  const read = useEffectEvent(load)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round reads the same key again
  useEffect(() => {
    if (key === undefined) return
    const stop = new AbortController()
    setState(old => ({ ...(keep || old.key === key ? old : {}), key, loading: true }))
    read(stop.signal).then(
      value => !stop.signal.aborted && setState({ key, value, loading: false }),
      error => !stop.signal.aborted && setState(old => ({ ...old, key, error, loading: false })),
    )
    return () => stop.abort()
  }, [key, round, keep])
  const reload = useCallback(() => setRound(old => old + 1), [])
  const set = useCallback((value: T) => setState(old => ({ key: old.key, value, loading: false })), [])
  const current = keep || state.key === key ? state : { value: undefined, error: undefined, loading: key !== undefined }
  return { value: current.value, error: current.error, loading: current.loading, reload, set }
}
