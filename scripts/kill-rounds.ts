/**
 * `npm run kill -- --rounds 1000`: kills writers with SIGKILL and checks that everything they acknowledged is there, in
 * homes of several rounds each. `npm test` runs a few such rounds (test/e2e/kill.test.ts).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { killRounds } from '../test/e2e/kill-rounds.ts'

const ROUNDS_PER_HOME = 25
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '100' } } })
const wanted = Number(values.rounds)

let acknowledged = 0
for (let done = 0; done < wanted; ) {
  const rounds = Math.min(ROUNDS_PER_HOME, wanted - done)
  const home = mkdtempSync(join(tmpdir(), 'palimpsest-kill-'))
  acknowledged += await killRounds(home, rounds)
  rmSync(home, { recursive: true, force: true })
  done += rounds
  console.log(`${done} rounds of kill -9: ${acknowledged} acknowledged writes, none lost`)
}
