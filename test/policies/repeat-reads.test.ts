import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pointerText, repeatReads, staysWhole } from '../../src/policies/repeat-reads.ts'
import * as fc from '../property.ts'
import { editsBy, openWith, play, read, shown, user } from './talk.ts'

const POINTER = '[Re-read of config.py - see first read above for content]'

async function readTimes(times: number, samples?: number): Promise<number[]> {
  const session = await openWith([repeatReads(samples === undefined ? {} : { samples })])
  await play(session, user('go'))
  for (let n = 1; n <= times; n++) await play(session, ...read('config.py', `version ${n}`))
  const results = await shown(session)
  assert.equal(results.length, times, 'nothing is dropped, the order stays')
  for (const [i, text] of results.entries()) assert.ok(text === `version ${i + 1}` || text === POINTER, text)
  return results.flatMap((text, i) => (text === POINTER ? [] : [i + 1]))
}

describe('reads of one file', () => {
  const table: [times: number, whole: number[]][] = [
    [1, [1]],
    [2, [1, 2]],
    [3, [1, 3]],
    [4, [1, 4]],
    [5, [1, 5]],
    [6, [1, 5, 6]],
    [9, [1, 5, 9]],
    [10, [1, 5, 9, 10]],
    [14, [1, 5, 9, 13, 14]],
    [17, [1, 5, 9, 13, 17]],
    [18, [1, 9, 17, 18]],
  ]
  for (const [times, whole] of table) {
    test(`${times}: ${whole.join(', ')} stay whole, pointers for the rest`, async () => {
      assert.deepEqual(await readTimes(times), whole)
    })
  }

  test('of any number: first, last and at most three between stay, evenly spaced, and a pointer stays a pointer', () => {
    fc.assert(
      fc.property(fc.integer({ min: 6, max: 3000 }), fc.integer({ min: 1, max: 8 }), (reads, samples) => {
        const whole = (total: number) =>
          Array.from({ length: total }, (_, i) => i + 1).filter(number => staysWhole(number, total, samples))
        const now = whole(reads)
        const between = now.slice(1, -1)
        assert.ok(between.length <= samples)
        assert.equal(now[0], 1)
        assert.equal(now.at(-1), reads)
        const gaps = new Set(between.slice(1).map((number, i) => number - between[i]!))
        assert.ok(gaps.size <= 1, 'one distance between samples')
        for (const number of whole(reads + 1)) assert.ok(now.includes(number) || number === reads + 1)
      }),
    )
  })

  test('the number of samples is a setting', async () => {
    assert.deepEqual(await readTimes(10, 0), [1, 10])
    assert.deepEqual(await readTimes(10, 1), [1, 9, 10])
  })

  test('other lines, other files and failed reads are different reads; spellings of one path are the same', async () => {
    const session = await openWith([repeatReads()])
    await play(session, user('go'))
    await play(session, ...read('a.py', 'all 1'), ...read('./a.py', 'all 2'), ...read('src/../a.py', 'all 3'))
    await play(session, ...read('a.py', 'part 1', { offset: 1, limit: 5 }))
    await play(session, ...read('a.py', 'part 2', { offset: 1, limit: 5 }))
    await play(session, ...read('a.py', 'other part', { offset: 6, limit: 5 }), ...read('b.py', 'other file'))
    assert.deepEqual(await shown(session), [
      'all 1',
      pointerText('a.py'),
      'all 3',
      'part 1',
      'part 2',
      'other part',
      'other file',
    ])
  })

  test('a pinned read stays whole', async () => {
    const session = await openWith([repeatReads()])
    await play(session, user('go'), ...read('a.py', '1'), ...read('a.py', '2'))
    await session.pin(4)
    await play(session, ...read('a.py', '3'))
    assert.deepEqual(await shown(session), ['1', '2', '3'])
  })
})

describe('a pointer names a whole copy in view', () => {
  const four = async () => {
    const session = await openWith([repeatReads()])
    await play(session, user('go'))
    for (const text of ['1', '2', '3', '4']) await play(session, ...read('a.py', text))
    return session
  }

  test('when the first read is replaced, the pointers name the last', async () => {
    const session = await four()
    await session.apply([{ target: { type: 'part', entry: 2, part: 0 }, replacement: '[gone]', why: 'test' }])
    await session.view()
    const below = '[Re-read of a.py - see later read below for content]'
    assert.deepEqual(await shown(session), ['[gone]', below, below, '4'])
  })

  test('when the first read is hidden by a range, visible pointers change too', async () => {
    const session = await four()
    await session.apply([
      { target: { type: 'range', from: 0, to: 4 }, replacement: { messages: [user('so far')] }, why: 'test' },
    ])
    await session.view()
    assert.deepEqual(await shown(session), ['[Re-read of a.py - see later read below for content]', '4'])
  })

  test('when no copy is left, the pointers say so, without repeated edits', async () => {
    const session = await four()
    await session.apply([
      { target: { type: 'part', entry: 2, part: 0 }, replacement: '[gone]', why: 'test' },
      { target: { type: 'part', entry: 8, part: 0 }, replacement: '[gone]', why: 'test' },
    ])
    await session.view()
    const nowhere = '[Re-read of a.py - no longer in view, read it again if needed]'
    assert.deepEqual(await shown(session), ['[gone]', nowhere, nowhere, '[gone]'])
    const { length } = editsBy(session, 'repeat-reads')
    await session.view()
    assert.equal(editsBy(session, 'repeat-reads').length, length)
  })

  test('a read becomes no pointer while there is no whole copy', async () => {
    const session = await openWith([repeatReads()])
    await play(session, user('go'), ...read('a.py', '1'), ...read('a.py', '2'))
    await session.apply([{ target: { type: 'part', entry: 2, part: 0 }, replacement: '[gone]', why: 'test' }])
    await play(session, ...read('a.py', '3'))
    assert.deepEqual(await shown(session), ['[gone]', '[Re-read of a.py - see later read below for content]', '3'])
  })
})
