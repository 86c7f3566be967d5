/**
 * A journal of file reads and writes in a session's ledger, so that reads and replaced texts are known after a restart,
 * in a fork and in every process that opens the session, even if they are no longer in view.
 *
 * Only hashes are kept in memory; the text that a write replaced is read from the ledger for an undo.
 */

import { type FileJournal, NO_FILE, pileWrite, type Write } from '../files/journal.ts'
import { PalimpsestError } from '../model/errors.ts'
import type { Session } from '../session/session.ts'

type Known = { read: boolean; standing: (Write & { seq: number })[] }

export function sessionJournal(session: Pick<Session, 'record' | 'files' | 'eventAt'>): FileJournal {
  const known = new Map<string, Known>()
  let seen = 0

  async function of(path: string): Promise<Known | undefined> {
    const marks = await session.files()
    for (; seen < marks.length; seen++) {
      const { path, action, hash, before, seq } = marks[seen]!
      const file = known.get(path) ?? { read: false, standing: [] }
      known.set(path, file)
      if (action === 'read') file.read = true
      else pileWrite(file.standing, { hash, replaced: before ?? NO_FILE, seq })
    }
    return known.get(path)
  }

  return {
    record: event => session.record({ type: 'file', ...event }),
    wasRead: async path => (await of(path))?.read ?? false,
    lastWrite: async path => {
      const last = (await of(path))?.standing.at(-1)
      if (!last) return undefined
      const event = await session.eventAt(last.seq)
      if (event?.type === 'file') return { hash: last.hash, before: event.before ?? null }
      throw new PalimpsestError(
        'LEDGER_CORRUPT',
        `Event ${last.seq} of the ledger does not record the write of ${path}.`,
      )
    },
  }
}
