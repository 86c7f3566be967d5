/**
 * A journal of reads and writes in memory, and the rule by which any journal finds the write to undo.
 *
 * The rule: a write that restores exactly what the last standing write replaced cancels it. So undoing needs no
 * event of its own, undoing twice goes back two writes, and the rule can be replayed from a list of events.
 */

import { createHash } from 'node:crypto'
import type { FileEvent, FileJournal } from './tool.ts'

/** The hash of a file that is not there. */
export const NO_FILE = 'none'

export function hashContent(content: string | Uint8Array | null): string {
  return content === null ? NO_FILE : createHash('sha256').update(content).digest('hex')
}

/** The last write of one file that has not been undone, from that file's events in order. */
export function lastStandingWrite(events: Iterable<FileEvent>): { hash: string; before: string | null } | undefined {
  const standing: { hash: string; before: string | null }[] = []
  for (const event of events) {
    if (event.action !== 'write') continue
    const write = { hash: event.hash, before: event.before ?? null }
    const last = standing.at(-1)
    if (last && hashContent(last.before) === write.hash && hashContent(write.before) === last.hash) standing.pop()
    else standing.push(write)
  }
  return standing.at(-1)
}

/** Lives as long as the process. */
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
