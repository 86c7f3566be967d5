/** A separate process that appends to a session and edits its own entries: `home name rounds`. */
import { openPalimpsest } from '../../src/session/engine.ts'

const [home = '', name = '', rounds = '1'] = process.argv.slice(2)
const pal = await openPalimpsest({ home })
const session = await pal.session('s')
let edits = 0
for (let i = 0; i < Number(rounds); i++) {
  const [entry] = await session.append({ role: 'user', parts: [{ type: 'text', text: `${i} ${name} said` }] })
  if (i % 3 > 0) continue
  await session.apply([
    { target: { type: 'part', entry: entry!, part: 0 }, replacement: `${i} ${name} edited`, why: 'test' },
  ])
  edits++
}
const { messages } = await session.view()
process.send?.({ texts: messages.length, edits })
process.once('message', () => pal.close().then(() => process.disconnect()))
