/** All peers. Those whose packages are not installed are left out, with a line that says so. */
import { described } from './described.ts'
import type { Peer } from './peer.ts'
import { pluginPeers } from './plugins.ts'

const FROM_PACKAGES: readonly [name: string, load: () => Promise<readonly Peer[]>][] = [
  ['langchain', async () => (await import('./langchain.ts')).langchain],
  ['ai', async () => (await import('./ai-sdk.ts')).aiSdk],
]

export async function loadPeers(say: (line: string) => void): Promise<Peer[]> {
  const peers: Peer[] = []
  for (const [name, load] of FROM_PACKAGES) {
    try {
      peers.push(...(await load()))
    } catch (error) {
      say(`${name} is left out: ${error instanceof Error ? error.message.split('\n')[0] : error}`)
    }
  }
  return [...peers, ...described, ...pluginPeers]
}
