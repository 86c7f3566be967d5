/**
 * A process that writes to a session until it is killed, or `count` times, and prints one line for each acknowledged
 * write: `HOME SESSION NAME [COUNT]`. It writes large texts and edits too, so that a kill can hit any kind of write.
 */
import { writeSync } from 'node:fs'
import { openPalimpsest } from '../../src/session/engine.ts'

const [home, id, name, count = 'Infinity'] = process.argv.slice(2)
const pal = await openPalimpsest({ home: home! })
const session = await pal.session(id!)

for (let n = 0; n < Number(count); n++) {
  const label = `${name} ${n}`
  const text = n % 10 === 9 ? `${label} ${'x'.repeat(20_000 + n)}` : label
  const [entry] = await session.append({ role: 'user', parts: [{ type: 'text', text }] })
  writeSync(1, `${label}\n`)
  if (n % 7 !== 6) continue
  const [edit] = await session.apply([
    { target: { type: 'part', entry: entry!, part: 0 }, replacement: 'short', why: label },
  ])
  writeSync(1, `edit ${edit!.id} of ${label}\n`)
}
await pal.close()
