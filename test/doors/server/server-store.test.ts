/** The server's own store on SQLite. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { openServerStore } from '../../../src/doors/server/server-store.ts'
import { serverStoreContract } from '../../contracts/server-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-server-store-'))
after(() => rmSync(folder, { recursive: true, force: true }))

serverStoreContract('sqlite', name => openServerStore(join(folder, name)))
