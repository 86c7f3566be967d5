/** The chat on a real pseudo-terminal: keys, colours, the moving part of the screen, and the fixed part. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { startUpstream, type Turn } from '../../upstream.ts'
import { freshPlace, NO_TERMINAL, startChat, untilThere } from './driven-chat.ts'

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'
const ENTER = '\r'
const ALT_ENTER = '\u001b\r'
const UP = '\u001b[A'
const PASTE = ['\u001b[200~', '\u001b[201~'] as const

const said = (text: string): Turn => ({ text, usage: { input: 1000, cacheRead: 3000, output: 50 } })
const command = (line: string): Turn => ({ calls: [{ name: 'run_command', input: { command: line } }] })

describe('palimpsest chat on a terminal', { skip: NO_TERMINAL, timeout: 600_000 }, () => {
  test("renders Markdown, collapses calls, shows the session's status, and expands a call", async () => {
    const turns = [{ text: 'I look.', ...command('echo hidden output') }, said('# Found\n\nIt is **there**: `x`')]
    await using upstream = await startUpstream(turns)
    const chat = startChat(freshPlace(upstream), ['--yes'], { terminal: {} })
    await chat.waitFor('› ')
    chat.type(`look${ENTER}`)
    await chat.waitFor('1 ✓ run_command echo hidden output')
    await chat.waitFor('It is there: x')
    await chat.waitFor(/\d% of 1M · 75% cached · \$0\.\d+ · 2 steps/)
    assert.doesNotMatch(chat.text, /"hidden output|\*\*there/)
    assert.match(chat.output, /\u001b\[1m\u001b\[4mFound/)
    assert.match(chat.output, /\u001b\[32m✓/)
    chat.type(`/show 1${ENTER}`)
    await chat.waitFor('hidden output\n  [exit code 0]')
    chat.type(CTRL_D)
    assert.equal(await chat.ended, 0)
    assert.ok(
      chat.output.lastIndexOf('\u001b[?2004l') > chat.output.lastIndexOf('\u001b[?2004h'),
      'paste marks are off',
    )
  })

  test('Ctrl-C stops a turn and keeps the session; pressed twice at the prompt, it exits', async () => {
    await using upstream = await startUpstream([command('touch begun; sleep 60'), said('Going on.')])
    const place = freshPlace(upstream)
    const chat = startChat(place, ['--yes'], { terminal: {} })
    await chat.waitFor('› ')
    chat.type(`wait${ENTER}`)
    await chat.waitFor(/1 . run_command touch begun; sleep 60/)
    await untilThere(join(place.root, 'begun'))
    chat.type(CTRL_C)
    await chat.waitFor('Stopped. The session is kept')
    await chat.waitFor('› ')
    chat.type(`never mind${ENTER}`)
    await chat.waitFor('Going on.')
    await chat.waitFor('› ')
    chat.type(`half a line${CTRL_C}`)
    await chat.waitFor('Press Ctrl-C again, or Ctrl-D, to leave.')
    chat.type(CTRL_C)
    assert.equal(await chat.ended, 0)
    assert.equal(upstream.requests.length, 2)
  })

  test('text typed while the agent works is the next request, and answers no question', async () => {
    const log = 'echo begun > log'
    await using upstream = await startUpstream([command(log), said('Not done.'), said('As you say.')])
    const place = freshPlace(upstream)
    const chat = startChat(place, [], { terminal: {} })
    await chat.waitFor('› ')
    chat.type(`begin${ENTER}ye`)
    await chat.waitFor('[y]es [n]o [a]lways')
    chat.type(`s please, y${ENTER}`)
    await chat.waitFor('yes please, y')
    chat.type('n')
    await chat.waitFor('Not done.')
    await chat.waitFor('As you say.')
    assert.equal(existsSync(join(place.root, 'log')), false)
    assert.equal(upstream.requests[2]!.json.messages.at(-1).content, 'yes please, y')
    chat.type(CTRL_D)
    assert.equal(await chat.ended, 0)
  })

  test('pastes, Alt-Enter and the history keep several lines together, in the next chat too', async () => {
    await using upstream = await startUpstream(() => said('Read.'))
    const place = freshPlace(upstream)
    const chat = startChat(place, [], { terminal: {} })
    await chat.waitFor('› ')
    chat.type(`${PASTE[0]}one\r\ttwo\rthree${PASTE[1]}${ALT_ENTER}four${ENTER}`)
    await chat.waitFor('Read.')
    await chat.waitFor(/steps?\n+.*› /)
    chat.type(CTRL_D)
    assert.equal(await chat.ended, 0)
    const again = startChat(place, [], { terminal: {} })
    await again.waitFor('› ')
    again.type(`${UP}${ENTER}`)
    await again.waitFor('Read.')
    again.type(CTRL_D)
    assert.equal(await again.ended, 0)
    const texts = upstream.requests.map(({ json }) => json.messages.at(-1).content)
    assert.deepEqual(texts, Array(2).fill('one\n\ttwo\nthree\nfour'))
  })

  test('a dumb terminal gets plain text only', async () => {
    await using upstream = await startUpstream([command('echo x'), said('# Title\n\nDone.')])
    const chat = startChat(freshPlace(upstream), [], { terminal: { term: 'dumb' } })
    await chat.waitFor('› ')
    chat.type('go\n')
    await chat.waitFor('[y]es [n]o [a]lways')
    chat.type('yes\n')
    await chat.waitFor('# Title')
    await chat.waitFor('› ')
    chat.type(CTRL_D)
    assert.equal(await chat.ended, 0)
    assert.doesNotMatch(chat.output, /\u001b/)
  })

  test('NO_COLOR keeps the layout and removes colours', async () => {
    await using upstream = await startUpstream([said('# Title\n\n- one\n- **two**')])
    const chat = startChat(freshPlace(upstream), [], { terminal: {}, env: { NO_COLOR: '1' } })
    await chat.waitFor('› ')
    chat.type(`go${ENTER}`)
    await chat.waitFor('• **two**')
    await chat.waitFor('steps'.slice(0, 4))
    chat.type(CTRL_D)
    assert.equal(await chat.ended, 0)
    assert.doesNotMatch(chat.output, /\u001b\[[\d;]*m/)
  })

  test('escape sequences of a model, a command or a file name never reach the terminal', async () => {
    const evil = '\u001b]0;owned\u0007\u001b[2J'
    const turns = [{ text: `I say ${evil}.`, ...command(`printf '${evil}'`) }, said(`Done ${evil}`)]
    await using upstream = await startUpstream(turns)
    const chat = startChat(freshPlace(upstream), ['--session', 's'], { terminal: {} })
    await chat.waitFor('› ')
    chat.type(`go${ENTER}`)
    await chat.waitFor('[y]es [n]o')
    chat.type(`y${ENTER}`)
    await chat.waitFor('Done ␛]0;owned␇␛[2J')
    await chat.waitFor(/steps?\n+.*› /)
    chat.type(`/show${ENTER}`)
    await chat.waitFor('exit code')
    chat.type(CTRL_D)
    assert.equal(await chat.ended, 0)
    assert.doesNotMatch(chat.output, /\u001b\]0;|\u001b\[2J/)
  })

  test('after the terminal closes, the session can be continued', async () => {
    await using upstream = await startUpstream([command('echo $$ > p; mv p pid; sleep 60'), said('Here again.')])
    const place = freshPlace(upstream)
    const chat = startChat(place, ['--yes'], { terminal: {} })
    await chat.waitFor('› ')
    chat.type(`wait${ENTER}`)
    const file = join(place.root, 'pid')
    await untilThere(file)
    chat.kill('SIGTERM')
    await chat.ended
    await untilGone(Number(readFileSync(file, 'utf8')))
    const again = startChat(place, ['--resume'], { terminal: {} })
    await again.waitFor('The last turn was interrupted.')
    again.type(`/continue${ENTER}`)
    await again.waitFor('Here again.')
    again.type(CTRL_D)
    assert.equal(await again.ended, 0)
  })
})

/** Resolves when there is no such process any more. */
async function untilGone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0)
    } catch {
      return
    }
    await setTimeout(20)
  }
}
