/** One real Dolt server for a test file, or the reason for skipping the test. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type DoltServer, findDolt, startDoltServer } from '../../src/memory/dolt-server.ts'

export const noDolt = findDolt() ? false : 'no dolt here; get it with: npm run dolt:install'

export async function startDolt(): Promise<{ server: DoltServer; stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-dolt-'))
  const server = await startDoltServer({ folder })
  const stop = async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return { server, stop }
}
