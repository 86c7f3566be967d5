import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { codingSession } from '../../bench/session.ts'
import { packedTokens, TOKENS } from '../../scripts/build-tokens.ts'
import { textOf } from '../../src/model/leaves.ts'
import { guarded, loadCounter, messageBytes, messageTokens, partTokens } from '../../src/model/tokens.ts'
import type { Part } from '../../src/model/types.ts'
import * as fc from '../property.ts'

const plain = { disallowedSpecial: new Set<string>() }
const exact = (text: string) => countTokens(text, plain)

/** A tokenizer that records its calls. */
function watched() {
  const asked: number[] = []
  const count = guarded(text => {
    asked.push(text.length)
    return exact(text)
  })
  return { count, asked, total: () => asked.reduce((sum, length) => sum + length, 0) }
}

/** The same pseudo-random text on every run. */
function noise(length: number, alphabet: string): string {
  let state = 12345
  let text = ''
  while (text.length < length) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    // The low bits of such a generator repeat after a few steps.
    text += alphabet[(state >>> 16) % alphabet.length]
  }
  return text
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const CJK = Array.from({ length: 3000 }, (_, i) => String.fromCharCode(0x4e00 + i * 5)).join('')

const PATHOLOGICAL: Record<string, string> = {
  'one letter': 'a'.repeat(200_000),
  'one capital': 'A'.repeat(200_000),
  blanks: ' '.repeat(200_000),
  'line feeds': '\n'.repeat(200_000),
  dashes: '-'.repeat(200_000),
  'a ruler of spaces and dots': ' .'.repeat(100_000),
  base64: noise(200_000, BASE64),
  'base64 in lines': (noise(200_000, BASE64).match(/.{1,76}/g) ?? []).join('\n'),
  'minified code': 'function a(b,c){return b.d?b.d(c):void 0};var e={f:1,g:[2,3]};'.repeat(3200),
  'JSON in one line': JSON.stringify(
    Array.from({ length: 4000 }, (_, id) => ({ id, name: `user${id}`, ok: id % 3 === 0 })),
  ),
  'CJK without punctuation': CJK.repeat(67),
  'emoji with joiners': '🙂👩‍👩‍👧'.repeat(20_000),
  'words of 1,000 letters': `${'x'.repeat(1000)} `.repeat(200),
  'combining marks': `e${'\u0301'.repeat(50_000)}`,
}

describe('exact counts', () => {
  test('the table of tokens is the published one', () => {
    assert.ok(readFileSync(TOKENS, 'utf8') === packedTokens(), 'run: node scripts/build-tokens.ts')
  })

  test('a byte order mark is its token in the table', async () => {
    const count = await loadCounter()
    assert.deepEqual(['\uFEFF', '\uFEFFusing'].map(count), [1, 1])
    assert.equal(await loadCounter(), count, 'it is loaded once')
  })

  test('any ordinary text counts as in the tokenizer', async () => {
    const count = await loadCounter()
    const word = fc.oneof(
      fc.lorem({ maxCount: 3 }),
      fc.string({ unit: 'grapheme', maxLength: 40 }),
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom(
        "it's I'LL we'Ve",
        '  \n\n\t x',
        '\r\n\r\n',
        '}\n/path',
        'camelCaseHTTP2Server',
        '1234567',
        '<|endoftext|>',
        '日本語のテキスト',
        ' …',
      ),
    )
    fc.assert(
      fc.property(fc.array(word, { maxLength: 30 }), fc.constantFrom('', ' ', '\n'), (words, glue) => {
        const text = words.join(glue)
        assert.equal(count(text), exact(text))
      }),
      { numRuns: 500 },
    )
  })

  test('every message of a coding session counts exactly, huge outputs included', async () => {
    const count = await loadCounter()
    let longest = 0
    for (const turn of codingSession({ turns: 60, seed: 7 })) {
      for (const text of turn.flatMap(message => message.parts).map(textOf)) {
        assert.equal(count(text), exact(text))
        longest = Math.max(longest, text.length)
      }
    }
    assert.ok(longest > 60_000)
  })

  test('a text of several megabytes is counted exactly, across its cuts', () => {
    const text = Array.from({ length: 9000 }, (_, i) => `line ${i}: the value of item_${i % 97} is ${i * 31}.`).join(
      '\n',
    )
    assert.ok(text.length > 2 * 131_072)
    assert.equal(guarded(exact)(text), exact(text))
    const words = Array.from({ length: 12_000 }, (_, i) => `${'internationalization'.repeat(3 + (i % 3))}`).join('\n')
    assert.ok(words.length > 3 * 262_144)
    assert.equal(guarded(exact)(words), exact(words))
  })

  test('a text of several megabytes in one line is cut between characters', () => {
    const words = 'word '.repeat(120_000)
    const cuts = Math.floor(words.length / 262_144)
    assert.ok(Math.abs(guarded(exact)(words) - exact(words)) <= cuts, 'a cut makes two tokens of one at most')
    for (const shift of ['', 'x']) {
      const text = `${shift}${'🙂 '.repeat(200_000)}`
      const asked: string[] = []
      guarded(piece => asked.push(piece))(text)
      assert.ok(asked.every(piece => piece.isWellFormed()))
    }
  })

  test('special tokens in a text are plain text, anywhere', async () => {
    const count = await loadCounter()
    assert.equal(count('<|endoftext|>'), exact('<|endoftext|>'))
    assert.ok(count('<|endoftext|>') > 1)
  })
})

describe('text that stalls tokenizers', () => {
  for (const [name, text] of Object.entries(PATHOLOGICAL)) {
    test(`${name}: the tokenizer gets only short texts, and in sum no more than the text`, () => {
      const { count, asked, total } = watched()
      assert.ok(count(text) > 0)
      assert.ok(Math.max(...asked) <= 256, `longest ${Math.max(...asked)}`)
      assert.ok(total() <= text.length, `${total()} of ${text.length}`)
    })

    test(`${name}: the count is close to the exact one`, () => {
      const sample = text.slice(0, 40_000)
      // In slices: the tokenizer itself needs minutes for some of these in one piece.
      const reference = Array.from({ length: 10 }, (_, i) => exact(sample.slice(i * 4000, (i + 1) * 4000)))
      const truth = reference.reduce((sum, tokens) => sum + tokens, 0)
      const error = Math.abs(guarded(exact)(sample) - truth) / truth
      assert.ok(error < 0.05, `${(error * 100).toFixed(1)} % off`)
    })
  }

  test('a long run without spaces is sampled: twice the text, the same work', () => {
    const once = watched()
    const twice = watched()
    once.count(noise(400_000, BASE64))
    twice.count(noise(800_000, BASE64))
    assert.ok(once.total() <= 33_000 && twice.total() <= 33_000, `${once.total()}, ${twice.total()}`)
  })

  test('text before and after a run is counted exactly', () => {
    const count = guarded(exact)
    const run = noise(40_000, BASE64)
    const [before, after] = ['some words of a text '.repeat(100), ` and others${' and others'.repeat(90)}`]
    assert.equal(count(before + run + after), count(before) + count(run) + count(after))
    assert.equal(count(`${run} ${run}${after}`), count(run) + count(' ') + count(run) + count(after))
  })

  test('a sampled count is within one percent on base64 and on JSON', () => {
    for (const text of [PATHOLOGICAL['base64']!, PATHOLOGICAL['JSON in one line']!]) {
      const truth = exact(text)
      assert.ok(Math.abs(guarded(exact)(text) - truth) / truth < 0.01)
    }
  })

  test('a count depends only on the text, not on earlier counts', () => {
    const fresh = guarded(exact)
    const used = guarded(exact)
    for (const text of Object.values(PATHOLOGICAL)) used(text.slice(0, 5000))
    for (const text of Object.values(PATHOLOGICAL)) assert.equal(used(text), fresh(text))
  })
})

describe('the cache', () => {
  test('a text is tokenized once, and so is a word that occurs often', () => {
    const { count, asked } = watched()
    const text = 'one two three one two three one two three, and many more words than sixty-four characters'
    count(text)
    const first = asked.length
    count(text)
    count(text.split(' ').slice(3).join(' '))
    assert.equal(asked.length, first)
    assert.ok(first < text.split(' ').length)
    count('one two three '.repeat(100))
    assert.ok(asked.length <= first + 2, 'wherever it is in a text')
  })

  test('the cache is bounded, and counting on gives the same numbers', () => {
    const count = guarded(text => text.length)
    const texts = Array.from({ length: 120 }, (_, i) => `${i} `.repeat(20_000))
    const first = texts.map(count)
    assert.deepEqual(texts.map(count), first)
  })
})

describe('parts', () => {
  const count = (text: string) => text.length

  test('each kind of part counts the text that the model reads', () => {
    const sizes: [Part, number][] = [
      [{ type: 'text', text: 'abcd' }, 4],
      [{ type: 'reasoning', text: 'abc' }, 3],
      [{ type: 'tool-call', id: 'c', name: 'x', input: { a: 1 } }, '{"a":1}'.length],
      [{ type: 'tool-call', id: 'c', name: 'x', input: 'raw text' }, 8],
      [{ type: 'tool-call', id: 'c', name: 'x', input: undefined }, 0],
      [{ type: 'tool-result', id: 'c', name: 'x', output: 'abcde' }, 5],
      [{ type: 'tool-result', id: 'c', name: 'x', output: [{ type: 'text', text: 'ab' }] }, 2],
    ]
    for (const [part, size] of sizes) assert.equal(partTokens(part, count), size, part.type)
  })

  test('bytes are not tokens (T13): base64 of images and files is never counted as text', () => {
    const data = noise(4_000_000, BASE64)
    const image: Part = { type: 'image', mediaType: 'image/png', data }
    const pdf: Part = {
      type: 'raw',
      provider: 'anthropic',
      value: { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } },
    }
    const url: Part = { type: 'raw', provider: 'openai', value: { file_url: `data:application/pdf;base64,${data}` } }
    for (const part of [image, pdf, url]) {
      assert.ok(partTokens(part, count) < 2000)
      assert.ok(messageBytes({ role: 'user', parts: [part] }) >= data.length)
    }
  })

  test('other opaque data counts by its length, because hidden reasoning is paid for (T4)', () => {
    const part: Part = {
      type: 'raw',
      provider: 'anthropic',
      value: { type: 'redacted_thinking', data: 'x'.repeat(4000) },
    }
    assert.ok(partTokens(part, count) >= 1000)
  })

  test('a message counts its parts, including bytes in results of several parts', () => {
    const parts: Part[] = [
      { type: 'text', text: 'abc' },
      { type: 'tool-call', id: 'c', name: 'x', input: { a: 'bc', d: ['e'] } },
    ]
    assert.equal(messageTokens({ role: 'assistant', parts }, count), 3 + '{"a":"bc","d":["e"]}'.length)
    assert.equal(messageBytes({ role: 'assistant', parts }), 6)
    const output: Part[] = [
      { type: 'text', text: 'ab' },
      { type: 'image', mediaType: 'image/png', data: 'xyz' },
    ]
    assert.equal(messageBytes({ role: 'tool', parts: [{ type: 'tool-result', id: 'c', name: 'x', output }] }), 5)
  })
})

test('a run of ten million characters without a blank is counted, as a blob in a result is', async () => {
  const count = await loadCounter()
  const run = 'aGVsbG8+/'.repeat(1_100_000)
  const tokens = count(run)
  assert.ok(tokens > run.length / 10 && tokens < run.length)
  assert.ok(Math.abs(count(`a\n${run}\nb`) - tokens) < 10)
})
