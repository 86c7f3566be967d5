/**
 * `npm run fuzz:laws`: runs generated lives of sessions (test/laws/history.ts) until this many operations have ended
 * without a finding. After each operation the session is reopened and compared. A finding is shrunk and printed with
 * its seed and path.
 *
 * npm run fuzz:laws -- --operations 2000000
 */
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { checkHistory, history } from '../test/laws/history.ts'

const { values } = parseArgs({
  options: { operations: { type: 'string', default: '100000' }, seed: { type: 'string' } },
})
const wanted = Number(values.operations)
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
const REPORT_EVERY = 50_000
/** Histories for one seed: a new seed keeps a finding's path short. */
const LIVES_PER_SEED = 1000

let operations = 0
let lives = 0
for (let n = 0; operations < wanted; n++) {
  const before = operations
  const given = { seed: (seed + n) | 0, numRuns: LIVES_PER_SEED, endOnFailure: false }
  await fc.assert(
    fc.asyncProperty(history, async life => {
      if (operations >= wanted) return
      operations += await checkHistory(life)
      lives++
    }),
    given,
  )
  if (Math.floor(operations / REPORT_EVERY) > Math.floor(before / REPORT_EVERY)) {
    console.log(`${operations} operations in ${lives} sessions, no finding (seed ${given.seed})`)
  }
}
console.log(`${operations} operations in ${lives} sessions ended without a finding (first seed ${seed})`)
