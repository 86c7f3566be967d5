/**
 * `npm run bench:servers`: three server processes on one PostgreSQL, and many clients that append to sessions and read
 * them back, each request at another server. Prints what was answered, what failed, and how long answers took; then it
 * checks that every session holds what was acknowledged, once and in order.
 *
 *   npm run bench:servers -- --clients 200 --seconds 60 --servers 3
 */
import { parseArgs } from 'node:util'
import { findPostgres, PostgresServer } from '../scripts/postgres.ts'
import { type Append, append, problemsOf, Servers } from '../test/servers.ts'

const { values } = parseArgs({
  options: {
    clients: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '60' },
    servers: { type: 'string', default: '3' },
  },
})
const [programs] = findPostgres()
if (!programs) throw new Error('There is no PostgreSQL here; get it with: npm run postgres:install')

const TEXT = 'What was said in this turn, at about the length of a short request. '.repeat(4)
/** Every so many appends a client looks at the view. */
const LOOK_EVERY = 5
/** So many clients share a session. */
const PER_SESSION = 2

const postgres = await PostgresServer.start(programs)
const servers = new Servers({ PALIMPSEST_DATABASE_URL: await postgres.create('load') })
await Promise.all(Array.from({ length: Number(values.servers) }, () => servers.start()))

const clients = Number(values.clients)
const sessions = Array.from({ length: Math.ceil(clients / PER_SESSION) }, (_, i) => `load-${i}`)
for (const id of sessions) await servers.any().call('POST', '/sessions', { id })

const until = performance.now() + Number(values.seconds) * 1000
const looks: number[] = []
const failures = new Map<string, number>()
const fail = (what: string) => failures.set(what, (failures.get(what) ?? 0) + 1)

async function client(number: number): Promise<Append[]> {
  const session = sessions[number % sessions.length]!
  const seen: Append[] = []
  for (let turn = 0; performance.now() < until; turn++) {
    try {
      seen.push(await append(servers, session, `${number}-${turn} ${TEXT}`))
      if (turn % LOOK_EVERY !== 0) continue
      const asked = performance.now()
      const { status } = await servers.any().call('GET', `/sessions/${session}/view`)
      if (status === 200) looks.push(performance.now() - asked)
      else fail(`view ${status}`)
    } catch (error) {
      fail(error instanceof Error ? error.message.slice(0, 100) : String(error))
    }
  }
  return seen
}

const began = performance.now()
const appends = (await Promise.all(Array.from({ length: clients }, (_, i) => client(i)))).flat()
const took = (performance.now() - began) / 1000
const unanswered = appends.filter(({ entry }) => entry === undefined).length

let problems = 0
for (const session of sessions) {
  const texts: string[] = []
  for (let cursor: number | null = 0; cursor !== null; ) {
    const { json } = await servers.any().call('GET', `/sessions/${session}/entries?limit=200&cursor=${cursor}`)
    for (const { message } of json.entries) texts.push(message.parts[0].text)
    cursor = json.next
  }
  const own = appends.filter(one => one.session === session)
  const found = problemsOf(own, texts)
  problems += found.length
  for (const line of found.slice(0, 3)) console.log(`${session}: ${line.slice(0, 120)}`)
}
await servers.stop()
await postgres.stop()

const at = (times: readonly number[], share: number) =>
  `${(times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? 0).toFixed(0)} ms`
const row = (name: string, times: readonly number[]) =>
  console.log(
    `${name}: ${times.length}, ${(times.length / took).toFixed(0)}/s, p50 ${at(times, 0.5)}, p99 ${at(times, 0.99)}`,
  )
console.log(`PostgreSQL ${programs.version}, ${values.servers} servers, ${clients} clients, ${took.toFixed(0)} s`)
row(
  'appends',
  appends.map(({ asked, answered }) => answered - asked),
)
row('views', looks)
console.log(`appends without an answer: ${unanswered}; other failures: ${JSON.stringify(Object.fromEntries(failures))}`)
console.log(`problems in the histories of ${sessions.length} sessions: ${problems}`)
process.exitCode = problems > 0 ? 1 : 0
