/** A proxy to be killed: `fork('proxy-process.ts', [HOME, UPSTREAM, POLICY])`. Any message is answered when it is idle. */
import { join } from 'node:path'
import { serveProxy } from '../../../src/doors/proxy/front.ts'
import { createProxy } from '../../../src/doors/proxy/proxy.ts'
import { ThreadedLedger } from '../../../src/ledger/threaded.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'

const [home = '', upstream = '', policy = ''] = process.argv.slice(2)
const store = new ThreadedLedger(join(home, 'ledger.sqlite'), { busyMs: 60_000 })
const pal = await openPalimpsest({ home, store })
const proxy = createProxy({ pal, policy, upstreams: { anthropic: upstream } })
const { url } = await serveProxy(proxy)
process.on('message', () => proxy.idle().then(() => process.send?.('idle')))
process.send?.(url)
