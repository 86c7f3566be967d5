/** The files beside the ledger of a home: in the ledger's database if there is one, else in the home. */
import { databaseUrl } from '../ledger/postgres/database.ts'
import { MEMORY } from '../model/defaults.ts'
import { HomeFolder, renameUserFolders } from './folder.ts'
import type { HomeFiles } from './store.ts'

export async function openHomeFiles(home: string, url: string | false = databaseUrl() ?? false): Promise<HomeFiles> {
  if (home === MEMORY || url === false) {
    await renameUserFolders(home)
    return new HomeFolder(home)
  }
  // The driver is loaded only when it is needed.
  const { HomeTable } = await import('./table.ts')
  return HomeTable.open(url, home)
}
