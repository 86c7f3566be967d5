/** The settings routes of the API. */

import { useMemo } from 'react'
import { getJson, sendJson } from '../../api.ts'
import type { Settings } from '../../api-types.ts'
import { type Resource, useResource } from '../../resource.ts'
import { useToasts } from '../../ui/toast.tsx'

/** Writes one setting; `null` removes it from the file. Confirms it, with a way back to the previous value. */
export type Change = (path: readonly string[], value: unknown) => Promise<void>

export function useSettings(): { settings: Resource<Settings>; change: Change } {
  const settings = useResource('settings', signal => getJson('/settings', { signal }))
  const { show, fail } = useToasts()
  const { value, set } = settings
  const change = useMemo<Change>(() => {
    const write = async (path: readonly string[], to: unknown) =>
      set(await sendJson('PUT', '/settings', { body: { path: [...path], value: to } }))
    return async (path, to) => {
      const before = value?.settings.find(({ key }) => key === path.join('.'))
      const old = before?.source === 'file' ? before.value : null
      try {
        await write(path, to)
        const said = to === null ? `${path.join('.')} is no longer set` : `${path.join('.')} is ${asText(to)}`
        const undo = { label: 'Undo', run: () => void write(path, old).catch(fail) }
        show({ text: `${said}, from the next call on.`, action: undo })
      } catch (error) {
        fail(error)
      }
    }
  }, [value, set, show, fail])
  return { settings, change }
}

export function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The typed value: JSON, or a word. */
export function fromText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
