/** Our proxy as a process of the benchmark, with a home on disk: `node bench/proxy-ours.ts UPSTREAM POLICY HOME`. */
import { join } from 'node:path'
import { openPalimpsest } from '../src/engine.ts'
import { ThreadedLedger } from '../src/ledger/threaded.ts'
import { serveProxy } from '../src/proxy/front.ts'
import { createProxy } from '../src/proxy/proxy.ts'

const [upstream = '', policy = '', home = ''] = process.argv.slice(2)
const pal = await openPalimpsest({ home, store: new ThreadedLedger(join(home, 'ledger.sqlite')) })
const proxy = createProxy({ pal, policy, log: line => console.error(line), upstreams: { anthropic: upstream } })
const front = await serveProxy(proxy)
process.on('message', async () => {
  await proxy.idle()
  globalThis.gc?.()
  process.send?.({ rss: process.memoryUsage().rss, faults: proxy.meter.totals.faults, edits: proxy.meter.totals.edits })
})
process.on('SIGTERM', () => process.exit(0))
process.send?.(front.url)
