/** The size of an element, kept up to date, for drawings that fill their space. */
import { type RefObject, useEffectEvent, useLayoutEffect, useRef, useState } from 'react'

export function useWidth<T extends HTMLElement>(): { ref: RefObject<T | null>; width: number } {
  const { ref, size } = useSize<T>(element => element.clientWidth)
  return { ref, width: size }
}

export function useHeight<T extends HTMLElement>(): { ref: RefObject<T | null>; height: number } {
  const { ref, size } = useSize<T>(element => element.offsetHeight)
  return { ref, height: size }
}

function useSize<T extends HTMLElement>(measure: (element: T) => number): { ref: RefObject<T | null>; size: number } {
  const ref = useRef<T>(null)
  const [size, setSize] = useState(0)
  const latest = useEffectEvent((element: T) => setSize(Math.floor(measure(element))))
  useLayoutEffect(() => {
    const element = ref.current
    if (!element) return
    latest(element)
    const observer = new ResizeObserver(() => latest(element))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return { ref, size }
}
