/** The least that a proxy on Node can do, as a process of the benchmark: `node bench/proxy-bare.ts UPSTREAM`. */
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

const [upstream = ''] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true })
const bare = createServer((incoming, response) => {
  const { url = '/', method = 'GET', headers } = incoming
  const call = request(new URL(url, upstream), { method, headers, agent }, answer => {
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(response)
  })
  incoming.pipe(call)
})
bare.listen(0, '127.0.0.1', () => process.send?.(`http://127.0.0.1:${(bare.address() as AddressInfo).port}`))
process.on('SIGTERM', () => process.exit(0)).on('disconnect', () => process.exit(0))
