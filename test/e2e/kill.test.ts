/** Processes that are killed while they write, and processes that write at once: nothing acknowledged is lost. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openPalimpsest } from '../../src/session/engine.ts'
import { ROOT } from './run-cli.ts'

const WRITER = join(import.meta.dirname, 'append-forever.ts')
const ROUNDS = 25

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-kill-'))
after(() => rmSync(folder, { recursive: true, force: true }))

type Ended = { signal: NodeJS.Signals | null; code: number | null; lines: string[]; errors: string }

/** Starts a writer; `killAfter` milliseconds behind its first word it is killed. */
function write(args: string[], killAfter?: number): Promise<Ended> {
  const env = { ...process.env, NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compile') }
  const child = spawn(process.execPath, [WRITER, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stderr.on('data', chunk => (errors += chunk))
  child.stdout.on('data', chunk => (output += chunk))
  if (killAfter !== undefined) child.stdout.once('data', () => wait(killAfter).then(() => child.kill('SIGKILL')))
  return new Promise(resolve => {
    // The last line may be cut by the kill; what was written whole was acknowledged.
    child.on('close', (code, signal) => resolve({ code, signal, errors, lines: output.split('\n').slice(0, -1) }))
  })
}

async function readBack(home: string): Promise<{ texts: string[]; edits: Map<string, string> }> {
  const pal = await openPalimpsest({ home })
  const session = await pal.session('s', { mustExist: true })
  const { violations } = await session.verify()
  assert.deepEqual(violations, [])
  const events = await session.events()
  const texts = events.flatMap(({ event }) =>
    event.type === 'entry' && event.message.parts[0]?.type === 'text' ? [event.message.parts[0].text] : [],
  )
  const edits = new Map(session.edits().map(({ edit }) => [edit.id, edit.why]))
  await pal.close()
  return { texts, edits }
}

const labelOf = (text: string) => text.split(' ').slice(0, 2).join(' ')

test(`a writer killed ${ROUNDS} times loses nothing that it acknowledged`, async () => {
  const home = join(folder, 'killed')
  const acknowledged: string[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const { signal, lines, errors } = await write([home, 's', `r${round}`], (round * 37) % 120)
    assert.deepEqual([signal, errors], ['SIGKILL', ''])
    assert.ok(lines.length > 0)
    acknowledged.push(...lines)
    const { texts, edits } = await readBack(home)
    const kept = new Set(texts.map(labelOf))
    for (const line of acknowledged) {
      const made = /^edit (e\d+) of (.+)$/.exec(line)
      if (made) assert.equal(edits.get(made[1]!), made[2], `round ${round}`)
      else assert.ok(kept.has(line), `round ${round}: ${line} is lost`)
    }
  }
})

test('two processes that write to one session at once both get everything in, in their own order', async () => {
  const home = join(folder, 'both')
  const names = ['a', 'b']
  const count = 120
  const ended = await Promise.all(names.map(name => write([home, 's', name, String(count)])))
  for (const { code, errors } of ended) assert.deepEqual([code, errors], [0, ''])
  const { texts, edits } = await readBack(home)
  assert.equal(texts.length, names.length * count)
  for (const name of names) {
    const own = texts.map(labelOf).filter(label => label.startsWith(`${name} `))
    assert.deepEqual(
      own,
      Array.from({ length: count }, (_, n) => `${name} ${n}`),
    )
  }
  assert.equal(edits.size, names.length * Math.floor(count / 7))
})
