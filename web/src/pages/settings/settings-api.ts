/** Settings as the server gives and takes them. */
import { useMemo } from 'react'
import { getJson, sendJson } from '../../api.ts'
import { type Resource, useResource } from '../../resource.ts'
import { useToasts } from '../../ui/toast.tsx'
import type { Levels } from './knob.ts'

export type Setting = {
  key: string
  path: string[]
  value: unknown
  source: 'default' | 'file' | 'environment' | 'flag'
  from: string | null
  settable: boolean
}

export type ModelRow = {
  model: string
  sessions: number
  calls: number
  window: number
  largest: number
  input: number
  output: number
  read: number
  write: number
  ttl: number
  kept: number | null
  from: 'table' | 'file' | 'family'
}

export type Settings = { file: string | null; settings: Setting[]; keep: Levels; models: ModelRow[]; asOf: string }

/** Writes one setting; `null` takes it out of the file. Says so, with a way back to what was in the file before. */
export type Change = (path: readonly string[], value: unknown) => Promise<void>

export function useSettings(): { settings: Resource<Settings>; change: Change } {
  const settings = useResource('settings', signal => getJson<Settings>('/settings', { signal }))
  const { show, fail } = useToasts()
  const { value, set } = settings
  const change = useMemo<Change>(() => {
    const write = async (path: readonly string[], to: unknown) =>
      set(await sendJson('PUT', '/settings', { path, value: to }))
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

/** What was typed: JSON, or a word. */
export function fromText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
