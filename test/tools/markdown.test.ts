import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lexer } from 'marked'
import { nameOf, readHeadings, replaceSection } from '../../src/files/markdown.ts'
import * as fc from '../property.ts'

const names = (text: string) => readHeadings(text).map(nameOf)

function replaced(text: string, header: string, content: string): string {
  const result = replaceSection(text, header, content)
  assert.ok('text' in result, JSON.stringify(result))
  return result.text
}

function problem(text: string, header: string, content = 'x'): string {
  const result = replaceSection(text, header, content)
  assert.ok('problem' in result)
  return result.problem
}

test('headers can be ATX or Setext', () => {
  assert.deepEqual(names('# A\n## B ##\nC\n===\nD\nd\n---\n###### E\n'), ['# A', '## B', '# C', '## D d', '###### E'])
  assert.deepEqual(names('#no\n####### no\n#\n'), ['# '])
})

test('lines that only look like headers are ignored', () => {
  const none = {
    'a code fence': '```\n# no\n```\n',
    'a tilde fence': '~~~ md\n# no\n```\n# no\n~~~\n',
    'a longer fence': '````\n```\n# no\n````\n',
    'a fence without an end': '```\n# no\n',
    'an indented block': '    # no\n\n\t# no\n',
    'front matter': '---\ntitle: x\n# no\n---\n',
    'front matter after a byte order mark': '\uFEFF---\n# no\n---\n',
    'a comment': '<!--\n# no\n-->\n',
    'a pre block': '<pre>\n# no\n\n# no\n</pre>\n',
    'an HTML block': '<div>\n# no\n</div>\n',
    'a list item': '- # no\n- a\n\n  # no\n',
    'a quotation': '> # no\n> no\n---\n',
    'a rule after a blank line': 'text\n\n---\n',
    'a rule after a list': '- a\n---\n',
    'a table': 'a | b\n--- | ---\n',
    'a lone tag': '<custom-tag>\n# no\n',
    'a list item behind a tab': '-\ta\n\n\t# no\n',
    'a list item with a wide gap': '-      a\n\n  # no\n',
    'an empty list item': '-\n  # no\n',
    'a list item that a tab goes on': '- a\n\n \tx\n  # no\n',
  }
  for (const [name, text] of Object.entries(none)) assert.deepEqual(names(text), [], name)
})

test('for a missing header the error lists existing ones, at most a hundred', () => {
  const text = Array.from({ length: 120 }, (_, i) => `## Part ${i}\n`).join('')
  const result = replaceSection(text, '## Nowhere', 'new')
  const said = JSON.stringify(result)
  assert.match(said, /not found/)
  assert.match(said, /## Part 99\\n… and 20 more/)
  assert.doesNotMatch(said, /Part 100\b/)
  assert.match(JSON.stringify(replaceSection('no headers\n', '## Nowhere', 'new')), /there are no headers/)
})

test('a header directly after a block that hides headers is found', () => {
  const after = ['```\nx\n```\n', '<!-- x -->\n', '---\na: b\n---\n', '- a\n- b\n', '> q\n', '    code\n', '<div>\n\n']
  for (const text of after) assert.deepEqual(names(`${text}# Yes\n`), ['# Yes'], JSON.stringify(text))
  assert.deepEqual(names('   -  a\n\n \tx\nYes\n===\n'), ['# Yes'], 'a tab goes to the next column of four')
  assert.deepEqual(names('---\n\n# Yes\n'), ['# Yes'], 'a rule at the top that no second one closes')
  for (const text of ['> ```\n> x\n', '- ~~~\n  x\n', '> > ```\n> > x\n', '> <!-- a\n> x\n', '> - ```\n>   x\n'])
    assert.deepEqual(names(`${text}Yes\n===\n`), ['# Yes'], `what is left open ends with ${JSON.stringify(text)}`)
})

test('a section ends at the next header of the same or a higher level', () => {
  const text = '# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\ne\n'
  assert.equal(replaced(text, '## B', 'new'), '# A\na\n## B\nnew\n## D\nd\n# E\ne\n')
  assert.equal(replaced(text, '# A', 'new'), '# A\nnew\n# E\ne\n')
  assert.equal(replaced(text, '# E', 'new'), '# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\nnew\n')
})

test('the replaced sub-sections are named', () => {
  const result = replaceSection('## B\nb\n### C\n#### D\n', '## B', 'new')
  assert.deepEqual('subsections' in result && result.subsections, ['### C', '#### D'])
})

test('blank lines around the content are kept', () => {
  assert.equal(replaced('## A\n\nold\n\n\n## B\n', '## A', '\nnew\n\n'), '## A\n\nnew\n\n\n## B\n')
  assert.equal(replaced('## A\nold', '## A', 'new\n'), '## A\nnew')
  assert.equal(replaced('## A\n## B\n', '## A', 'new'), '## A\n\nnew\n\n## B\n')
  assert.equal(replaced('## A', '## A', 'new'), '## A\n\nnew\n')
  assert.equal(replaced('## A\n\nold\n\n## B\n', '## A', ''), '## A\n\n## B\n')
})

test('new content is taken literally', () => {
  assert.equal(replaced('# A\nx\n', '# A', '$& $1 \\n'), '# A\n$& $1 \\n\n')
})

test('a header is found by its text, with or without marks, in any style', () => {
  const text = 'Title\n=====\nx\n\n##   Sub  part ##\ny\n'
  for (const header of ['## Sub part', 'Sub part', '##  Sub  part  ##', ' ## Sub part ']) {
    assert.equal(replaced(text, header, 'new'), 'Title\n=====\nx\n\n##   Sub  part ##\nnew\n')
  }
  assert.match(replaced(text, '# Title', 'new'), /^Title\n=====\nnew\n$/)
  assert.match(problem(text, '### Sub part'), /not found/)
})

test('a repeated header needs its path, and the path works', () => {
  const text = '# P\n## A\n### B\n1\n## C\n### B\n2\n'
  const asked = problem(text, '### B')
  assert.match(asked, /occurs 2 times\. Give the path of the section that you mean, as listed\./)
  assert.match(asked, /line 3: # P > ## A > ### B\nline 6: # P > ## C > ### B$/)
  for (const path of ['# P > ## C > ### B', '## C > ### B', 'C > B']) {
    assert.equal(replaced(text, path, 'new'), '# P\n## A\n### B\n1\n## C\n### B\nnew\n')
  }
  assert.match(problem('## A\n1\n## A\n2\n', '## A'), /unique piece of their text/)
})

test('a header may contain the separator of a path', () => {
  assert.equal(replaced('## a > b\nold\n', '## a > b', 'new'), '## a > b\nnew\n')
})

test('a header repeated at the top of the new content is not doubled', () => {
  assert.equal(replaced('## A\nold\n', '## A', '## A\nnew'), '## A\nnew\n')
})

test('content that would break the structure is refused', () => {
  const text = '## A\nold\n\n## B\nb\n'
  assert.match(problem(text, '## A', 'new\n\n## C\nc'), /contains the header "## C"/)
  assert.match(problem(text, '## A', 'new\n\n# C\nc'), /contains the header "# C"/)
  assert.match(problem(text, '## A', '```\nopen'), /leaves a code fence or a comment open/)
  assert.match(problem(text, '## A', '<!-- open'), /leaves a code fence or a comment open/)
  assert.equal(replaced(text, '## A', '### C\nc'), '## A\n### C\nc\n\n## B\nb\n')
})

test('an underlined header after the section does not absorb the new content', () => {
  const text = '# A\n```\nx\n```\nB\n===\nb\n'
  assert.equal(replaced(text, '# A', 'words'), '# A\nwords\n\nB\n===\nb\n')
})

const lines = fc.constantFrom(
  '# A',
  '## B',
  '### C',
  'text',
  '',
  '```',
  '- item',
  '    code',
  '===',
  '---',
  '> q',
  '<!-- x -->',
)
const documents = fc.array(lines, { maxLength: 14 }).map(parts => `${parts.join('\n')}\n`)
const contents = fc
  .array(fc.constantFrom('text', '', '- item', '#### D', '```js\n# x\n```', '$&'), { maxLength: 4 })
  .map(parts => parts.join('\n'))

/** Lines on which Marked agrees with CommonMark; it does not for numbers inside a paragraph and for definitions. */
const readAlike = fc.constantFrom(
  ...[
    '# A',
    '## B',
    '#no',
    '# C #',
    '  # D',
    '   # E',
    '#',
    '# F#',
    'text',
    'more',
    '  text',
    '',
    '',
    '    code',
    '\ttab',
    ' \tx',
  ],
  ...[
    '```',
    '~~~',
    '````',
    '``` js',
    '- item',
    '-',
    '+ x',
    '-      wide',
    '   -  wide',
    '\n-\ttab',
    '- # in',
    '- a\n  - b\n\n    # c',
  ],
  ...[
    '1. one',
    '* x\n\n  # y',
    '> q',
    '> # q',
    '>',
    '> ```',
    '> ===',
    '>> q',
    '> - q',
    '> <!-- a',
    '===',
    '---',
    '***',
    '--- -',
    '_ _ _',
    '=== x',
    '###### x',
    '#\tT',
    '    # x',
  ],
  ...['<!-- x -->', '<!-- a\n# b\n-->', '<div>', '<pre>\n# x\n</pre>'],
)

test('the headers of any text equal those of another CommonMark parser', () => {
  fc.assert(
    fc.property(fc.array(readAlike, { maxLength: 9 }), lines => {
      const text = `${lines.join('\n')}\n`
      fc.pre(!text.startsWith('---'))
      const others = lexer(text).flatMap(token =>
        token.type === 'heading'
          ? [nameOf({ level: token['depth'], title: token.text.replace(/\s*\n\s*/g, ' ') })]
          : [],
      )
      assert.deepEqual(names(text), others)
    }),
    { numRuns: 2000 },
  )
})

test('law: only the section changes, other headers stay, and a second run changes nothing', () => {
  fc.assert(
    fc.property(documents, contents, fc.nat(), (text, content, pick) => {
      const headings = readHeadings(text)
      const heading = headings[pick % Math.max(1, headings.length)]
      fc.pre(heading !== undefined)
      const result = replaceSection(text, nameOf(heading), content)
      if ('problem' in result) return
      assert.ok(result.text.startsWith(text.slice(0, heading.content)))
      assert.ok(result.text.endsWith(text.slice(heading.end)))
      const outside = headings.filter(other => other.start <= heading.start || other.start >= heading.end).map(nameOf)
      const now = names(result.text)
      assert.deepEqual(
        outside,
        now.filter(
          (_, index) =>
            index < outside.length - rest(headings, heading) || index >= now.length - rest(headings, heading),
        ),
      )
      assert.equal(replaced(result.text, nameOf(heading), content), result.text)
    }),
    { numRuns: 500 },
  )
})

function rest(headings: ReturnType<typeof readHeadings>, heading: { end: number }): number {
  return headings.filter(other => other.start >= heading.end).length
}
