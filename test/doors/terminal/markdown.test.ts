/**
 * Markdown on a terminal: the same for any split into pieces, never wider than the screen, and safe with untrusted
 * text.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MarkdownStream } from '../../../src/doors/terminal/markdown-stream.ts'
import { type Line, lineWidth, paintLine } from '../../../src/doors/terminal/spans.ts'
import * as fc from '../../property.ts'

type Options = { width?: number; colour?: boolean; pieces?: readonly string[] }

function lines(text: string, { width = 60, colour = false, pieces = [text] }: Options = {}): Line[] {
  const stream = new MarkdownStream(() => ({ width, marks: !colour }))
  return [...pieces.flatMap(piece => stream.push(piece)), ...stream.end()]
}

function rendered(text: string, options: Options = {}): string {
  return lines(text, options)
    .map(line => paintLine(line, options.colour ?? false))
    .join('\n')
}

/** Blocks in an order that a lexer could read differently when it sees only the beginning. */
const BLOCKS = [
  '# Title\n',
  'Title\n===\n',
  'A paragraph with **bold**, `code` and a [link](https://example.com).\n',
  'one line\nand another\n',
  '\n',
  '\n\n\n',
  '- one\n- two\n  more of two\n',
  '- loose\n\n- list\n\n  its second paragraph\n',
  '-\n',
  '* other\n',
  '1. first\n2. second\n   - inside\n',
  '> quoted\nlazily continued\n',
  '```ts\nconst a = 1\n\n\tb()\n```\n',
  '```\nnever closed\n',
  '    indented code\n',
  '| a | b |\n|---|--:|\n| 1 | two |\n',
  '| not a table\n',
  '---\n',
  '<div>\nhtml\n</div>\n',
  '<!-- comment\n',
  '[ref]: https://example.com/target\n',
  'see [ref] and [it][ref]\n',
  'ends with a return\r\n',
  '~~~\ntilde\n~~~\n',
  'tail without an end',
]

const texts = fc.array(fc.oneof(fc.constantFrom(...BLOCKS), fc.string({ unit: 'grapheme', maxLength: 12 })), {
  maxLength: 12,
})

/** A text, and the same text split into pieces of any size. */
const piecemeal = fc.tuple(texts, fc.array(fc.nat(40), { maxLength: 30 })).map(([blocks, sizes]) => {
  const text = blocks.join('')
  const pieces: string[] = []
  let at = 0
  for (const size of sizes) {
    pieces.push(text.slice(at, at + size))
    at += size
  }
  return { text, pieces: [...pieces, text.slice(at)] }
})

describe('streamed text', () => {
  test('is rendered like the whole text', () => {
    fc.assert(
      fc.property(piecemeal, ({ text, pieces }) => {
        assert.equal(rendered(text, { pieces }), rendered(text))
      }),
      { numRuns: 300 },
    )
  })

  test('is written block by block, before its end', () => {
    const stream = new MarkdownStream(() => ({ width: 60, marks: true }))
    assert.deepEqual(
      stream.push('# Title\n\nA para').map(line => paintLine(line, false)),
      ['# Title'],
    )
  })

  test('shows an unfinished block, and later only the rest of it', () => {
    const stream = new MarkdownStream(() => ({ width: 60, marks: true }))
    const given = stream.push('first\n\nsecond is not wh')
    const pending = stream.pending().map(line => paintLine(line, false))
    assert.deepEqual([given.length, pending], [1, ['', 'second is not wh']])
    stream.push('ole\n')
    assert.deepEqual(
      stream.end().map(line => paintLine(line, false)),
      ['', 'second is not whole'],
    )
  })
})

describe('untrusted text', () => {
  test('sends no control characters to the terminal, except for our colours', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            texts.map(parts => parts.join('')),
            controls(),
          ),
        ),
        parts => {
          const shown = rendered(parts.join(''), { colour: true }).replace(/\u001b\[\d+(?:;\d+)*m/g, '')
          assert.doesNotMatch(shown, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
        },
      ),
    )
  })

  test('shows escape sequences as symbols, even in links and code blocks', () => {
    const text = 'a \u001b[2J b [x](http://e.com/\u001b]0;t\u0007)\n\n```\n\u001b[31mred\n```\n'
    assert.match(rendered(text, { colour: true }), /␛\[2J.*␛\]0;t␇[\s\S]*␛\[31mred/)
  })

  test('shows the target of a link, whatever its label', () => {
    assert.equal(
      rendered('[https://bank.example](https://evil.example)'),
      'https://bank.example (https://evil.example)',
    )
    assert.equal(rendered('<https://same.example>'), 'https://same.example')
  })
})

function controls() {
  return fc.constantFrom(
    '\u001b[2J',
    '\u001b]8;;http://x\u0007',
    '\u009b31m',
    '\u202eabc',
    '\r',
    '\u0007',
    '\b',
    '\u001b[?1049h',
  )
}

describe('layout', () => {
  test('no line is wider than the screen, except code', () => {
    const wide = BLOCKS.filter(block => !/^( {4}|```|~~~)/.test(block))
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...wide)), fc.integer({ min: 20, max: 90 }), (blocks, width) => {
        for (const line of lines(blocks.join(''), { width }))
          assert.ok(lineWidth(line) <= width, paintLine(line, false))
      }),
    )
  })

  test('a table takes the width that it needs, then less, and becomes a list if it does not fit', () => {
    const table = '| name | what it is for |\n|---|---|\n| 日本語 | a text of some length that has to be wrapped |\n'
    assert.equal(rendered(table, { width: 80 }).split('\n').length, 3)
    const narrow = rendered(table, { width: 30 }).split('\n')
    assert.equal(narrow.length, 5)
    assert.ok(
      narrow.every(
        line => line.indexOf('│') === narrow[0]!.indexOf('│') || line.includes('┼') || line.startsWith('日'),
      ),
    )
    assert.match(rendered(table, { width: 12 }), /^name: 日本語\nwhat it is/)
  })

  test('without colours the marks of Markdown stay', () => {
    assert.equal(rendered('## A **b** `c`\n\n- [x] d\n'), '## A **b** `c`\n\n• ☑ d')
    assert.equal(rendered('```js\nx\n```\n'), '```js\nx\n```')
  })

  test('with colours they become styles', () => {
    const text = rendered('## A **b** `c`', { colour: true })
    assert.equal(text, '\u001b[1mA b \u001b[22m\u001b[1m\u001b[36mc\u001b[39m\u001b[22m')
  })

  test('a very long paragraph and a very deep quotation keep their text, without styles', () => {
    const words = `**bold** ${'word '.repeat(100)}\n`.repeat(9)
    const deep = `${'> '.repeat(40)}quoted\n`
    const text = rendered(`${words}\n${deep}\n> shallow`, { colour: true })
    assert.equal(text.match(/\*\*bold\*\*/g)?.length, 9)
    assert.equal(text.match(/\bword\b/g)?.length, 900)
    assert.equal(text.match(/>/g)?.length, 40)
    assert.match(text, /quoted\n(.*\n)*.*│ .*shallow$/)
  })

  test('a word that is wider than the screen is broken, not lost', () => {
    const word = 'abcdefghij'.repeat(8)
    assert.equal(rendered(`break ${word}`, { width: 20 }).replaceAll('\n', ''), `break${word}`)
  })
})
