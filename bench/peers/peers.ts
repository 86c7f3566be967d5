/** All peers. Peers whose packages are not installed are left out, and a line says so. */
import { described, describedKnobs } from './described.ts'
import type { Peer } from './peer.ts'

const FROM_PACKAGES: readonly [name: string, load: () => Promise<readonly Peer[]>][] = [
  ['langchain', async () => (await import('./langchain.ts')).langchain],
  ['ai', async () => (await import('./ai-sdk.ts')).aiSdk],
  ['@tarquinen/opencode-dcp', async () => (await import('./opencode-dcp.ts')).loadOpencodeDcp()],
  ['deepagents', async () => (await import('./deepagents.ts')).loadDeepagents()],
]

export async function loadPeers(say: (line: string) => void): Promise<Peer[]> {
  const peers: Peer[] = []
  for (const [name, load] of FROM_PACKAGES) {
    try {
      peers.push(...(await load()))
    } catch (error) {
      if (!isMissing(error)) throw error
      say(`skipped: ${name} is not installed. Get it with: npm run bench:install`)
    }
  }
  return [...peers, ...described, ...describedKnobs]
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
}
