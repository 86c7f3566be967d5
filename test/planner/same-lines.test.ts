/** Repeated lines: which blocks become pointers, what stays around them, and where they may point. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LineIndex, withoutNumber } from '../../src/planner/same-lines.ts'

const OPTIONS = { minLines: 3, minChars: 20, context: 1 }
const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `line number ${from + i}`)

function point(index: LineIndex<string>, text: readonly string[], options = OPTIONS) {
  return index.point(text, text, options, item => item)
}

function indexOf(...sources: [string, (string | null)[]][]): LineIndex<string> {
  const index = new LineIndex<string>()
  for (const [item, of] of sources) index.add(item, of)
  return index
}

describe('a repeated block', () => {
  test('becomes a pointer, with lines of context if the text continues', () => {
    const index = indexOf(['a.ts', lines(0, 20)])
    const pointed = point(index, ['before it all', ...lines(5, 15), 'behind it all'])!
    assert.deepEqual(pointed.text.split('\n'), [
      'before it all',
      'line number 5',
      '[8 lines unchanged: shown above in a.ts]',
      'line number 14',
      'behind it all',
    ])
    assert.deepEqual([...pointed.targets], ['a.ts'])
    assert.deepEqual(pointed.lines, [
      'before it all',
      'line number 5',
      ...Array(8).fill(null),
      'line number 14',
      'behind it all',
    ])
  })

  test('needs no context at the beginning or the end of the text', () => {
    const index = indexOf(['a.ts', lines(0, 20)])
    assert.equal(point(index, lines(0, 20))?.text, '[20 lines unchanged: shown above in a.ts]')
    const tail = point(index, ['something new', ...lines(10, 20)])!
    assert.deepEqual(tail.text.split('\n'), [
      'something new',
      'line number 10',
      '[9 lines unchanged: shown above in a.ts]',
    ])
  })

  test('stays if it has too few lines or too few characters', () => {
    const index = indexOf(['a.ts', lines(0, 20)])
    assert.equal(point(index, ['x', ...lines(5, 9), 'y']), undefined)
    assert.ok(point(index, ['x', ...lines(5, 10), 'y']))
    assert.equal(point(index, ['x', ...lines(5, 10), 'y'], { ...OPTIONS, minChars: 100 }), undefined)
    assert.equal(point(index, ['quite another text', 'of two lines']), undefined)
  })

  test('points to the longest copy, and two blocks to one copy each', () => {
    const index = indexOf(['short', lines(0, 6)], ['long', lines(0, 12)], ['other', lines(50, 60)])
    const pointed = point(index, [...lines(0, 12), 'between the two', ...lines(50, 60)])!
    assert.match(pointed.text, /^\[11 lines unchanged: shown above in long\]\n/)
    assert.match(pointed.text, /\[9 lines unchanged: shown above in other\]$/)
    assert.deepEqual([...pointed.targets], ['long', 'other'])
  })

  test('does not begin with a line without content', () => {
    const index = indexOf(['a.ts', ['}', ...lines(0, 10)]])
    assert.equal(point(index, ['}', ...lines(0, 10)])?.text.split('\n')[0], '}')
  })
})

describe('text that is no longer shown', () => {
  test('is not the target of a pointer', () => {
    const index = indexOf(['a.ts', lines(0, 20)], ['b.ts', lines(0, 10)])
    index.delete('a.ts')
    assert.match(point(index, lines(0, 20))!.text, /^\[9 lines unchanged: shown above in b\.ts\]/)
    index.delete('b.ts')
    assert.equal(point(index, lines(0, 20)), undefined)
    index.delete('b.ts')
  })

  test('ends a block: lines after a pointer do not count', () => {
    const index = indexOf(['a.ts', [...lines(0, 5), null, ...lines(6, 20)]])
    const pointed = point(index, lines(0, 20))!
    assert.deepEqual(pointed.text.split('\n').slice(0, 3), [
      '[4 lines unchanged: shown above in a.ts]',
      'line number 4',
      'line number 5',
    ])
  })

  test('is ignored, and a line in very many places is found in the latest', () => {
    const index = new LineIndex<string>()
    for (let i = 0; i < 12; i++) index.add(`file ${i}`, [...lines(0, 10), `end of file ${i}`])
    assert.match(point(index, [...lines(0, 10), 'end of file 11'])!.text, /in file 11\]$/)
    assert.match(point(index, [...lines(0, 10), 'end of file 0'])!.text, /in file 4\]/)
  })
})

test('line numbers of a read tool are ignored', () => {
  const numbered = ['    12→code', '12\tcode', ' 3| code', '3|code', '7: code']
  assert.deepEqual(numbered.map(withoutNumber), Array(5).fill('code'))
  assert.deepEqual(['12 code', 'x12→code', '→code'].map(withoutNumber), ['12 code', 'x12→code', '→code'])
})
