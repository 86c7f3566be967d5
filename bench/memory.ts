/**
 * Memory stores under load: proposals and approvals per second, and what listing costs, with 10,000 blocks of 1,000
 * users and 1,000 open proposals. The last lines show that a user's lists do not grow with other users' proposals.
 *
 *   node bench/memory.ts [sqlite|dolt] [--blocks N] [--open N] [--rounds N]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { DoltMemory } from '../src/memory/dolt.ts'
import { findDolt, startDoltServer } from '../src/memory/dolt-server.ts'
import { Memory } from '../src/memory/memory.ts'
import { SqliteMemory } from '../src/memory/sqlite.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    blocks: { type: 'string', default: '10000' },
    open: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '200' },
  },
})
const BLOCKS = Number(values.blocks)
const OPEN = Number(values.open)
const ROUNDS = Number(values.rounds)
const USERS = Math.ceil(BLOCKS / 10)
const BODY = 'She likes mathematics and prefers examples over proofs.\n'.repeat(20)
const agent = { agentId: 'bench', reasoning: 'to measure' }

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-bench-'))
const wanted = positionals.length > 0 ? positionals : ['sqlite', 'dolt']
try {
  if (wanted.includes('sqlite')) await bench('sqlite', new Memory(new SqliteMemory(join(folder, 'memory.sqlite'))))
  if (wanted.includes('dolt')) await benchDolt()
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function benchDolt(): Promise<void> {
  if (!findDolt()) return console.log('skipped: no dolt here; get it with: npm run dolt:install')
  const server = await startDoltServer({ folder: join(folder, 'dolt') })
  try {
    await bench('dolt', new Memory(new DoltMemory({ url: server.url(), timeoutMs: 60_000 })))
  } finally {
    await server.stop()
  }
}

async function bench(name: string, memory: Memory): Promise<void> {
  console.log(`\n${name}: ${BLOCKS} blocks of ${USERS} users`)
  await fill(memory)
  for (let i = 0; i < 5; i++) await memory.propose('user0', 'block5', { ...agent, body: `${BODY}${i}` })
  const [before] = await timed(100, () => memory.proposals('user0', { state: 'open', label: 'block5' }))
  await rate('propose', ROUNDS, i => memory.propose(userOf(i), 'block0', { ...agent, body: `${BODY}${i}` }))
  await rate(
    'propose, 8 at once',
    ROUNDS,
    i => memory.propose(userOf(i), 'block1', { ...agent, body: `${BODY}${i}` }),
    8,
  )
  const ids: string[] = []
  for (let i = 0; i < ROUNDS; i++)
    ids.push((await memory.propose(userOf(i), 'block2', { ...agent, body: `${BODY}${i}` })).id)
  await rate('approve', ROUNDS / 2, i => memory.approve(userOf(i), ids[i]!, { by: `user:${userOf(i)}` }))
  const half = ROUNDS / 2
  await rate(
    'approve, 8 at once',
    half,
    i => memory.approve(userOf(i + half), ids[i + half]!, { by: `user:${userOf(i + half)}` }),
    8,
  )
  await rate('propose and approve', half, async i => {
    const { id } = await memory.propose(userOf(i), 'block3', { ...agent, body: { type: 'append', text: `${i}\n` } })
    await memory.approve(userOf(i), id, { by: `user:${userOf(i)}` })
  })
  for (let i = 0; i < OPEN; i++) await memory.propose(userOf(1 + (i % 50)), 'block4', { ...agent, body: `${BODY}${i}` })
  await show('list blocks of a user', () => memory.blocks('user0'))
  await show('list open proposals of a user', () => memory.proposals('user0', { state: 'open', label: 'block5' }), 100)
  console.log(`  ${'… before the others proposed'.padEnd(34)} ${before!.toFixed(2).padStart(8)} ms`)
  await show('read a block', () => memory.block('user0', 'block0'))
  await show('history of a block', () => memory.history('user0', 'block2'), 5)
  await memory.close()
}

async function fill(memory: Memory): Promise<void> {
  const all = Array.from({ length: BLOCKS }, (_, i) => ({
    ...{ userId: userOf(i), label: `block${Math.floor(i / USERS)}`, title: 'A block', body: BODY, schemaRef: null },
  }))
  for (let i = 0; i < all.length; i += 1000) await memory.writeAll(all.slice(i, i + 1000), 'admin:bench', 'fill')
}

function userOf(i: number): string {
  return `user${i % USERS}`
}

/** How many a second, some of them at once. */
async function rate(name: string, count: number, work: (i: number) => Promise<unknown>, atOnce = 1): Promise<void> {
  const start = performance.now()
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  const perSecond = (count * 1000) / (performance.now() - start)
  console.log(`  ${name.padEnd(34)} ${perSecond.toFixed(0).padStart(8)} a second`)
}

async function show(name: string, work: () => Promise<unknown>, count = 50): Promise<void> {
  const [median, worst] = await timed(count, work)
  console.log(`  ${name.padEnd(34)} ${median!.toFixed(2).padStart(8)} ms (95 %: ${worst!.toFixed(2)})`)
}

/** Median and 95th percentile, in milliseconds. */
async function timed(count: number, work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const start = performance.now()
    await work()
    times.push(performance.now() - start)
  }
  times.sort((a, b) => a - b)
  return [times[Math.floor(count / 2)]!, times[Math.floor(count * 0.95)]!]
}
