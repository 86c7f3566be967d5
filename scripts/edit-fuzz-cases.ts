/**
 * Cases for edit tools, the same on every run, and what a correct tool may leave in the file.
 *
 * The contract is the one that such tools state themselves: one exact, unique, literal replacement; nothing else in
 * the file changes; anything else is refused. Where reasonable tools differ (line endings, an edit that changes
 * nothing, an empty text in an empty file), every reasonable outcome is accepted.
 */

export type Case = {
  category: string
  bytes: Buffer
  /** The file's permissions, where they are part of the case. */
  mode?: number
  oldText: string
  newText: string
  /** The allowed contents of the file if the tool reports success. Empty: success is wrong. */
  accepted: Buffer[]
  /** Whether refusing, with the file as it was, is right as well. */
  mayRefuse: boolean
}

type Random = (below: number) => number
type Draft = { content: string; oldText: string; newText: string }

const PER_CATEGORY = 24
const WORDS = [
  'alpha',
  'beta',
  'gamma',
  'total',
  'value = 1',
  'return x',
  '## Notes',
  '- item',
  'naïve',
  '日本語',
  '{ }',
]
const SPECIAL = [
  '$&',
  '$$',
  '$1',
  "$'",
  '$`',
  '$<a>',
  '\\n',
  '\\\\',
  '\\u0041',
  '.*',
  '[a-z]+',
  '(a|b)',
  '^x$',
  '%s',
  '#{x}',
  '{{x}}',
]

export function makeCases(): Case[] {
  return Object.entries(CATEGORIES).flatMap(([category, make]) => {
    const random = seeded(category)
    return Array.from({ length: PER_CATEGORY }, () => judge(category, make(random)))
  })
}

const CATEGORIES: Record<string, (random: Random) => Draft> = {
  'one match on a line': random => unique(random, pick(random, WORDS), pick(random, WORDS)),
  'several lines': random => unique(random, lines(random, 2 + random(3)), lines(random, 1 + random(4))),
  '`$&`, `$$`, `$1` in new text': random => unique(random, pick(random, WORDS), mixed(random, SPECIAL.slice(0, 6))),
  'backslashes and patterns in new text': random =>
    unique(random, pick(random, WORDS), mixed(random, SPECIAL.slice(6))),
  'patterns in old text': random => unique(random, mixed(random, SPECIAL), pick(random, WORDS)),
  'no match': random => ({ ...unique(random, pick(random, WORDS), 'x'), oldText: `missing ${random(100)}` }),
  'no match but for whitespace': random => {
    const inner = `${pick(random, WORDS)}\n    ${pick(random, WORDS)}`
    return {
      content: `head\n${inner}\ntail\n`,
      oldText: inner.replace('\n    ', random(2) ? '\n\t' : '\n'),
      newText: 'new',
    }
  },
  'several matches, a line each': random => {
    const word = pick(random, WORDS)
    return { content: `${word}\n${lines(random, 1)}!\n${word}\n`, oldText: word, newText: 'new' }
  },
  'several matches on one line': random => {
    const word = pick(random, WORDS)
    return { content: `a\n${word} ${word}\nb\n`, oldText: word, newText: 'new' }
  },
  'overlapping matches': random => {
    const [part, run] = pick(random, [
      ['aa', 'aaa'],
      ['abab', 'ababab'],
      ['\n\n', '\n\n\n'],
      ['--', '---'],
      ['. .', '. . .'],
    ])
    return { content: `x${run}y\n`, oldText: part, newText: 'new' }
  },
  'CRLF, old text in CRLF': random => crlf(unique(random, lines(random, 2), lines(random, 2))),
  'CRLF, old text in LF': random => {
    const { content, oldText, newText } = unique(random, lines(random, 2), lines(random, 2))
    return { content: content.replaceAll('\n', '\r\n'), oldText, newText }
  },
  'CRLF, old text on one line': random => {
    const { content, oldText, newText } = unique(random, pick(random, WORDS), pick(random, WORDS))
    return { content: content.replaceAll('\n', '\r\n'), oldText, newText }
  },
  'mixed line endings': random => {
    const { content, oldText, newText } = unique(random, pick(random, WORDS), pick(random, WORDS))
    return { content: `one\r\ntwo\n${content}three\r\n`, oldText, newText }
  },
  'lone carriage returns': random => {
    const { content, oldText, newText } = unique(random, pick(random, WORDS), pick(random, WORDS))
    return { content: `progress 1\rprogress 2\r${content}`, oldText, newText }
  },
  'byte order mark': random => {
    const draft = unique(random, pick(random, WORDS), pick(random, WORDS))
    return {
      ...draft,
      content: `\uFEFF${random(2) ? draft.content : draft.content.slice(draft.content.indexOf(draft.oldText))}`,
    }
  },
  'no newline at the end': random => {
    const draft = unique(random, pick(random, WORDS), pick(random, WORDS))
    return { ...draft, content: draft.content.trimEnd() }
  },
  'the whole file': random => {
    const content = `${lines(random, 1 + random(3))}${random(2) ? '\n' : ''}`
    return { content, oldText: content, newText: random(3) === 0 ? '' : lines(random, 2) }
  },
  deletion: random => unique(random, pick(random, WORDS), ''),
  'Unicode normalization': random => {
    const [there, wanted] = random(2) ? ['caf\u00e9', 'cafe\u0301'] : ['cafe\u0301', 'caf\u00e9']
    return { content: `${pick(random, WORDS)}\n${there}\n`, oldText: wanted, newText: 'tea' }
  },
  emoji: random => unique(random, pick(random, ['😀', '👩‍🚀', '🇩🇪', '👍🏽']), pick(random, ['🙈', '👨‍👩‍👧', '$&🎉'])),
  'a very long line': random => {
    const draft = unique(random, pick(random, WORDS), pick(random, WORDS))
    return { ...draft, content: `${'x'.repeat(50_000)}${draft.content}${'y'.repeat(50_000)}` }
  },
  'empty old text': random => ({ content: random(2) ? `${pick(random, WORDS)}\n` : '', oldText: '', newText: 'new' }),
  'bytes that are not UTF-8': random => unique(random, pick(random, WORDS), pick(random, WORDS)),
  'an executable file': random => unique(random, pick(random, WORDS), pick(random, WORDS)),
}

/** A text that contains `oldText` exactly once, between lines that differ from it. */
function unique(random: Random, oldText: string, newText: string): Draft {
  const above = Array.from({ length: random(4) }, (_, i) => `above ${i}: ${random(1000)}`)
  const below = Array.from({ length: random(4) }, (_, i) => `below ${i}: ${random(1000)}`)
  const indent = ' '.repeat(random(3) * 2)
  return { content: `${[...above, `${indent}<${oldText}>`, ...below].join('\n')}\n`, oldText, newText }
}

function crlf({ content, oldText, newText }: Draft): Draft {
  const convert = (text: string) => text.replaceAll('\n', '\r\n')
  return { content: convert(content), oldText: convert(oldText), newText: convert(newText) }
}

function judge(category: string, { content, oldText, newText }: Draft): Case {
  const invalid = category === 'bytes that are not UTF-8' ? Buffer.of(0xff, 0xc3, 0x28, 0x0a) : Buffer.alloc(0)
  const bytes = (text: string) => Buffer.concat([invalid, Buffer.from(text)])
  const endings = category === 'CRLF, old text in LF' ? '\r\n' : undefined
  const literal = replaceOnce(content, oldText, newText)
  const kept = endings && replaceOnce(content, oldText.replaceAll('\n', endings), newText.replaceAll('\n', endings))
  const accepted = [literal, kept].flatMap(text => (text === undefined ? [] : [bytes(text)]))
  // Some tools let an empty old text mean the content of an empty file.
  if (content === '' && oldText === '') accepted.push(bytes(newText))
  const mayRefuse = literal === undefined || oldText === newText || invalid.length > 0
  const mode = category === 'an executable file' ? { mode: 0o700 } : {}
  return { category, bytes: bytes(content), oldText, newText, accepted, mayRefuse, ...mode }
}

/** Undefined unless `oldText` occurs exactly once, counting overlapping places. */
function replaceOnce(content: string, oldText: string, newText: string): string | undefined {
  const at = content.indexOf(oldText)
  if (oldText === '' || at === -1 || content.indexOf(oldText, at + 1) !== -1) return undefined
  return content.slice(0, at) + newText + content.slice(at + oldText.length)
}

function lines(random: Random, count: number): string {
  return Array.from({ length: count }, () => `${pick(random, WORDS)} ${random(1000)}`).join('\n')
}

function mixed(random: Random, parts: readonly string[]): string {
  return Array.from({ length: 1 + random(3) }, () => pick(random, parts)).join(pick(random, ['', ' ', 'a']))
}

function pick<T>(random: Random, values: readonly T[]): T {
  const value = values[random(values.length)]
  if (value === undefined) throw new RangeError('nothing to pick from')
  return value
}

/** A small linear congruential generator: cases must be the same on every machine. */
function seeded(name: string): Random {
  let state = [...name].reduce((sum, char) => (sum * 31 + (char.codePointAt(0) ?? 0)) >>> 0, 7)
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
