/**
 * Homes of earlier versions kept the owners of sessions in server.sqlite, under names that all users shared. This file
 * gives those sessions ids that name their owner (ledger/owners.ts), once, before the server starts. Their users find
 * them under the names that they know. An admin's sessions belong to the home, as they do now. If the process dies
 * before the end, the next start handles the rest.
 */
import { join } from 'node:path'
import { ledgerId } from '../../ledger/owners.ts'
import { SqliteLedger } from '../../ledger/sqlite.ts'
import type { ServerStore } from './server-store.ts'

export async function adoptOwners(home: string, store: ServerStore): Promise<void> {
  const former = await store.formerOwners()
  if (former.length === 0) return
  const ledger = new SqliteLedger(join(home, 'ledger.sqlite'), { indexes: false })
  try {
    for (const { session, user } of former) {
      if (!(await store.isOnlyAdmin(user)) && (await ledger.find(session))) giveTo(ledger, user, session)
      await store.dropFormerOwner(session)
    }
  } finally {
    await ledger.close()
  }
}

/** Keeps the session's name, or adds a number if its user has another session of that name. */
function giveTo(ledger: SqliteLedger, user: string, session: string): void {
  for (let n = 1; ; n++) if (ledger.rename(session, ledgerId(user, n === 1 ? session : `${session}-${n}`))) return
}
