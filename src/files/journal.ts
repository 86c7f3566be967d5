/**
 * The interface of a journal of reads and writes, a journal in memory, and the rule by which any journal finds the write
 * to undo.
 *
 * The rule: a write that restores exactly the text that the last active write replaced cancels it. So undoing needs
 * no event of its own, undoing twice goes back two writes, and the rule can be replayed from a list of events.
 */

import { createHash } from 'node:crypto'
import type { FileEvent } from '../model/types.ts'

/** Remembers which files were read and what each write replaced, for as long as the session lives. */
export interface FileJournal {
  /** Contract: durable when it resolves. A write is recorded just before it becomes visible. */
  record(event: FileEvent): Promise<void>
  wasRead(path: string): Promise<boolean>
  /** The last write of this file that has not been undone. */
  lastWrite(path: string): Promise<{ hash: string; before: string | null } | undefined>
}

/** The hash that means "no file". */
export const NO_FILE = 'none'

export function hashContent(content: string | Uint8Array | null): string {
  return content === null ? NO_FILE : createHash('sha256').update(content).digest('hex')
}

export type Write = { hash: string; replaced: string }

/** Adds a write to a file's stack of active writes, or removes the one that it undoes. */
export function pileWrite<W extends Write>(standing: W[], write: W): void {
  const last = standing.at(-1)
  if (last && last.replaced === write.hash && write.replaced === last.hash) standing.pop()
  else standing.push(write)
}

/** The last write of one file that has not been undone, from that file's events in order. */
export function lastStandingWrite(events: Iterable<FileEvent>): { hash: string; before: string | null } | undefined {
  const standing: (Write & { before: string | null })[] = []
  for (const { action, hash, before = null } of events) {
    if (action === 'write') pileWrite(standing, { hash, before, replaced: hashContent(before) })
  }
  const last = standing.at(-1)
  return last && { hash: last.hash, before: last.before }
}

/** A journal in memory. */
export function memoryJournal(): FileJournal {
  const events = new Map<string, FileEvent[]>()
  const of = (path: string) => events.get(path) ?? []
  return {
    record: async event => {
      const known = events.get(event.path)
      if (known) known.push(event)
      else events.set(event.path, [event])
    },
    wasRead: async path => of(path).some(event => event.action === 'read'),
    lastWrite: async path => lastStandingWrite(of(path)),
  }
}
