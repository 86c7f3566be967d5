import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { sharesOf } from '../../../src/doors/chat/context-map.ts'
import { newSessionName } from '../../../src/doors/chat/session-names.ts'
import { completeSlash, findSlash, isSlash, SLASHES } from '../../../src/doors/chat/slash.ts'
import { statusLine } from '../../../src/doors/chat/status.ts'
import { History } from '../../../src/doors/terminal/history.ts'
import { Request } from '../../../src/doors/terminal/input.ts'
import { paintLine } from '../../../src/doors/terminal/spans.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import { openSmall } from '../../small-session.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-slash-'))
after(() => rmSync(folder, { recursive: true, force: true }))

describe('slash commands', () => {
  test('are distinguished from requests that begin with a slash', () => {
    for (const text of ['/help', '/undo e3', '/', '/?']) assert.equal(isSlash(text), true, text)
    for (const text of ['/etc/hosts is wrong', ' /help', 'help', '//x']) assert.equal(isSlash(text), false, text)
  })

  test('are found by name and alias; for an unknown one the nearest is suggested', () => {
    assert.equal(findSlash('/undo e3 e4').slash.name, 'undo')
    assert.deepEqual(findSlash('/undo  e3  e4 ').args, ['e3', 'e4'])
    assert.equal(findSlash('/exit').slash.name, 'quit')
    assert.equal(findSlash('/expand 3').slash.name, 'show')
    const cases: [string, RegExp][] = [
      ['/hlep', /Did you mean \/help\?/],
      ['/sess', /Did you mean \/sessions\?/],
      ['/udno', /Did you mean \/undo\?/],
      ['/zzzzzzz', /\/help lists them/],
      ['/', /\/help lists them/],
    ]
    for (const [text, message] of cases) assert.throws(() => findSlash(text), message)
  })

  test('are completed with Tab, and other text is not', () => {
    assert.deepEqual(completeSlash('/co'), ['/context ', '/compact ', '/cost ', '/continue '])
    assert.deepEqual(completeSlash('/undo e'), [])
    assert.deepEqual(completeSlash('fix /co'), [])
  })

  test('match those in docs/chat.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/chat.md'), 'utf8')
    const rows = [...page.matchAll(/^\| `\/([a-z-]+)(?: [^`]*)?` \|/gm)].map(([, name]) => name)
    assert.deepEqual(rows.sort(), SLASHES.map(({ name }) => name).sort())
  })
})

test('lines of a request are joined while they end with a backslash', () => {
  const request = new Request()
  assert.deepEqual(
    [request.add('a\\'), request.add('b', true), request.add('c\\\\')],
    [undefined, undefined, 'a\nb\nc\\\\'],
  )
})

test('the history is a private file in the home, and damaged lines are skipped', () => {
  const path = join(folder, 'chat-history.jsonl')
  const history = new History(folder)
  for (const entry of ['one', 'two\nlines', 'two\nlines', '  ']) history.add(entry)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  writeFileSync(path, `${readFileSync(path, 'utf8')}{broken\n3\n`)
  assert.deepEqual(new History(folder).newestFirst, ['two\nlines', 'one'])
  assert.deepEqual(new History(join(folder, 'not', 'there')).newestFirst, [])
})

test('a long history loses its oldest lines', () => {
  const home = mkdtempSync(join(folder, 'long-'))
  const lines = Array.from({ length: 2500 }, (_, i) => `${JSON.stringify(`entry ${i}`)}\n`)
  writeFileSync(join(home, 'chat-history.jsonl'), lines.join(''))
  assert.equal(new History(home).newestFirst[0], 'entry 2499')
  assert.equal(readFileSync(join(home, 'chat-history.jsonl'), 'utf8').split('\n').length, 1001)
})

test('the shares of the context add up to the tokens of the view', async () => {
  const pal = await openPalimpsest({ home: ':memory:' })
  const session = await openSmall(pal)
  const { tokens } = await session.view({ plan: false })
  const shares = await sharesOf(session)
  const sum = shares.reduce((total, share) => total + share.tokens, 0)
  assert.ok(shares.some(({ kind }) => kind === 'edited'))
  // Messages have a few tokens of their own around their parts.
  assert.ok(sum <= tokens && sum > tokens * 0.9, `${sum} of ${tokens}`)
  await pal.close()
})

test('an unnamed session is named after the day, with a number from the second on', async () => {
  const taken = new Set<string>()
  const pal = { find: async (id: string) => (taken.has(id) ? ({ id } as never) : undefined) }
  const day = new Date(2026, 2, 4).getTime()
  const first = await newSessionName(pal, day)
  taken.add(first)
  assert.deepEqual([first, await newSessionName(pal, day)], ['chat-2026-03-04', 'chat-2026-03-04-2'])
})

test('the status shows how full the window is, the cached share and the cost', () => {
  const line = statusLine({ context: { tokens: 50_000, window: 200_000, cached: 45_000 }, cost: 0.0123, steps: 1 })
  assert.equal(paintLine(line, false), '███░░░░░░░░░ 25% of 200k · 90% cached · $0.0123 · 1 step')
  assert.equal(paintLine(statusLine({ cost: 0 }), false), '$0')
})
