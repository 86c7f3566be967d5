import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  amount,
  asDollars,
  boundedTo,
  characterStart,
  cut,
  endingLine,
  headOf,
  inOneLine,
  lineAt,
  linesIn,
  localDay,
  localTime,
  minuteOf,
  onOneLine,
  pauseOf,
  tailOf,
  trimEndOf,
  withCommas,
} from '../../src/model/text.ts'
import type { Message } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import { isWellFormed } from '../../src/view/legality.ts'
import * as fc from '../property.ts'

describe('a cut', () => {
  const text = fc.string({ unit: fc.constantFrom('a', ' ', 'é', '🙂', '👩‍🚀', '\n') })

  test('of a valid text is a valid part of it, and at most one half character shorter', () => {
    fc.assert(
      fc.property(text, fc.nat(40), fc.nat(40), (text, from, more) => {
        const found = cut(text, from, from + more)
        assert.ok(found.isWellFormed())
        assert.ok(text.slice(from, from + more).includes(found))
        assert.ok(text.slice(from, from + more).length - found.length <= 2)
        const short = Math.max(0, Math.min(more, text.length) - 1)
        assert.ok(text.startsWith(headOf(text, more)) && headOf(text, more).length >= short)
        assert.ok(text.endsWith(tailOf(text, more)) && tailOf(text, more).length >= short)
        for (const part of [headOf(text, more), tailOf(text, more), boundedTo(text, more + 1)]) {
          assert.ok(part.isWellFormed() && part.length <= more + 1)
        }
        assert.ok(text.slice(0, characterStart(text, Math.min(from, text.length))).isWellFormed())
      }),
    )
  })
})

test('a long session full of emoji has only valid texts after any shortening', async () => {
  const filled = (length: number, shift: number) => 'x'.repeat(shift % 2) + '🙂'.repeat(length)
  for (const policy of ['thrifty', 'smart-history', 'stale-output', 'clear-tool-uses']) {
    const pal = await openPalimpsest({ home: ':memory:', clock: () => 1000, models: { small: { window: 12_000 } } })
    const session = await pal.session('s', { policy, model: 'small' })
    for (let turn = 0; turn < 60; turn++) {
      const id = `c${turn}`
      const step: Message[] = [
        { role: 'user', parts: [{ type: 'text', text: `${turn} ${filled(turn * 7, turn)}` }] },
        {
          role: 'assistant',
          parts: [
            { type: 'text', text: filled(150, turn) },
            { type: 'tool-call', id, name: 'bash', input: { command: `echo ${filled(300, turn)}` } },
          ],
        },
        {
          role: 'tool',
          parts: [{ type: 'tool-result', id, name: 'bash', output: `error ${filled(3_000, turn)}\n${filled(900, 1)}` }],
        },
        { role: 'assistant', parts: [{ type: 'text', text: filled(300, turn + 1) }] },
      ]
      await session.append(...step)
      const { messages, report } = await session.view()
      assert.ok(
        messages.every(({ parts }) => parts.every(isWellFormed)),
        `${policy}, turn ${turn}`,
      )
      assert.deepEqual(
        report.filter(({ rule }) => rule === 'edit-refused' || rule === 'invalid-unicode'),
        [],
      )
    }
    assert.ok(session.edits().length > 0, policy)
  }
})

test('amounts are written as people write them', () => {
  assert.deepEqual([0, 0.05, -0.05, 0.1, 1.005, -2].map(asDollars), [
    '$0.00',
    '$0.0500',
    '−$0.0500',
    '$0.10',
    '$1.00',
    '−$2.00',
  ])
  assert.deepEqual(
    [amount(1, 'call'), amount(2000, 'call'), amount(0, 'entry', 'entries')],
    ['1 call', '2,000 calls', '0 entries'],
  )
  assert.equal(withCommas(45_231), '45,231')
  assert.deepEqual([0, 999, 1000, -5, -1234].map(withCommas), ['0', '999', '1,000', '-5', '-1,234'])
})

test("days and times are in the user's time zone, minutes in UTC", () => {
  const at = new Date(2026, 0, 9, 3, 4, 59).getTime()
  assert.deepEqual([localDay(at), localTime(at)], ['2026-01-09', '03:04'])
  assert.equal(localDay(new Date(2026, 11, 31, 23, 59).getTime()), '2026-12-31')
  assert.equal(minuteOf(Date.UTC(2026, 4, 18, 9, 30, 59)), '2026-05-18 09:30')
})

test('the line at a position is the whole line around it', () => {
  const text = 'ab\n\ncd\nlast'
  const expected = ['ab', 'ab', 'ab', '', 'cd', 'cd', 'cd', 'last', 'last', 'last', 'last', 'last']
  for (const [at, line] of expected.entries()) assert.equal(lineAt(text, at), line, `${at}`)
  assert.equal(lineAt('\nab', 0), '')
})

test('shortening to one line leaves single spaces, and a text gets only one final line break', () => {
  assert.deepEqual([inOneLine(' a \n\t b  c', 9), inOneLine('a b c', 4)], ['a b c', 'a b…'])
  assert.deepEqual(['', 'a', 'a\n', '\n'].map(endingLine), ['', 'a\n', 'a\n', '\n'])
})

test('lines are counted and joined, and ends are trimmed and bounded', () => {
  assert.deepEqual(['', 'a', 'a\n', 'a\nb', '\n\n'].map(linesIn), [0, 1, 1, 2, 2])
  assert.equal(onOneLine(' a \n\n b  c '), 'a b  c')
  assert.deepEqual(
    [trimEndOf('a-- ', '- '), trimEndOf('---', '-'), trimEndOf('', '-'), trimEndOf('a', '')],
    ['a', '', '', 'a'],
  )
  assert.deepEqual([boundedTo('abc', 3), boundedTo('abcd', 3)], ['abc', 'ab…'])
})

test('half a character alone is a unit that a cut cannot split', () => {
  assert.equal(cut('a\udc00b', 1), '\udc00b')
  assert.equal(cut('\ud800b', 1), 'b')
  assert.equal(cut('a\u{1f600}b', 2), 'b')
  assert.equal(cut('a\u{1f600}b', 0, 2), 'a')
})

test('a pause is told in minutes, hours or days', () => {
  const pause = (minutes: number) =>
    pauseOf(minutes * 60_000).replace(/ since the last answer: the cache had expired$/, '')
  assert.deepEqual([7, 119, 120, 47 * 60, 48 * 60, 9 * 24 * 60].map(pause), [
    '7 minutes',
    '119 minutes',
    '2 hours',
    '47 hours',
    '2 days',
    '9 days',
  ])
})
