/** Writers that are killed while they write (append-forever.ts): everything that they acknowledged is kept. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openPalimpsest } from '../../src/session/engine.ts'
import { ROOT } from './run-cli.ts'

const WRITER = join(import.meta.dirname, 'append-forever.ts')

export type Ended = { signal: NodeJS.Signals | null; code: number | null; lines: string[]; errors: string }

/** Starts a writer and kills it `killAfter` milliseconds after its first output. */
export function write(args: string[], killAfter?: number): Promise<Ended> {
  const env = { ...process.env, NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compile') }
  const child = spawn(process.execPath, [WRITER, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stderr.on('data', chunk => (errors += chunk))
  child.stdout.on('data', chunk => (output += chunk))
  if (killAfter !== undefined) child.stdout.once('data', () => wait(killAfter).then(() => child.kill('SIGKILL')))
  return new Promise(resolve => {
    // The kill may cut the last line; a whole line was acknowledged.
    child.on('close', (code, signal) => resolve({ code, signal, errors, lines: output.split('\n').slice(0, -1) }))
  })
}

export async function readBack(home: string): Promise<{ texts: string[]; edits: Map<string, string> }> {
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

export const labelOf = (text: string) => text.split(' ').slice(0, 2).join(' ')

/** Kills `rounds` writers to one session, throws if an acknowledged write is lost, and returns the number of those. */
export async function killRounds(home: string, rounds: number): Promise<number> {
  const acknowledged: string[] = []
  for (let round = 0; round < rounds; round++) {
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
  return acknowledged.length
}
