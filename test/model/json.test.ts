import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readSources } from '../../scripts/check-layers.ts'
import { parseJson, type Reviver, unquoted } from '../../src/model/json.ts'
import { endOfString, endOfValue } from '../../src/model/json-text.ts'
import * as fc from '../property.ts'

/** A simple reader for comparison: character by character; only single words go to the engine's parser. */
function slowly(text: string): unknown {
  let at = 0
  const blank = () => {
    while (' \n\r\t'.includes(text[at] ?? 'end')) at++
  }
  const take = (expected: string) => {
    if (!text.startsWith(expected, at)) throw new SyntaxError(`${expected} expected at ${at}`)
    at += expected.length
  }
  const string = (): string => {
    let out = ''
    for (take('"'); text[at] !== '"'; ) {
      const char = text[at++]
      if (char === undefined || char < ' ') throw new SyntaxError('a string is not closed')
      out += char === '\\' ? escaped(text[at++] ?? '') : char
    }
    at++
    return out
  }
  const escaped = (letter: string): string => {
    if (letter !== 'u') return { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '"': '"', '\\': '\\', '/': '/' }[letter]!
    at += 4
    return String.fromCharCode(Number.parseInt(text.slice(at - 4, at), 16))
  }
  /** The elements between two brackets, one by one. */
  const list = (open: string, close: string, item: () => void) => {
    take(open)
    blank()
    for (let more = text[at] !== close; more; ) {
      blank()
      item()
      blank()
      more = text[at] === ','
      if (more) at++
    }
    take(close)
  }
  const value = (): unknown => {
    blank()
    if (text[at] === '"') return string()
    if (text[at] === '[') {
      const out: unknown[] = []
      list('[', ']', () => out.push(value()))
      return out
    }
    if (text[at] === '{') {
      const out = {}
      list('{', '}', () => {
        const key = string()
        blank()
        take(':')
        Object.defineProperty(out, key, { value: value(), enumerable: true, configurable: true, writable: true })
      })
      return out
    }
    const word = /^[-+.\w]+/.exec(text.slice(at, at + 30))?.[0] ?? ''
    take(word)
    return JSON.parse(word)
  }
  return value()
}

/** The same values under the same keys in the same order. */
function assertSame(actual: unknown, expected: unknown, text: string): void {
  assert.equal(JSON.stringify(actual), JSON.stringify(expected), text)
  assert.deepEqual(actual, expected, text)
}

const CHARS = [
  '\\',
  '"',
  '/',
  '\n',
  '\b',
  'a',
  'n',
  'u',
  '0',
  '1',
  '~',
  '2',
  ':',
  ' ',
  '\u0001',
  '\u007f',
  'é',
  '一',
  '\ud83d',
  '\ude42',
]
const LETTERS: Record<string, string> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  '\n': 'n',
  '\b': 'b',
  '\t': 't',
  '\r': 'r',
  '\f': 'f',
}

/** A character in one of the ways in which JSON may write it. */
function spelled(char: string, way: number): string {
  const code = `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
  const letter = LETTERS[char]
  const ways = [code, code.slice(0, 2) + code.slice(2).toUpperCase()]
  if (letter) ways.push(`\\${letter}`)
  if (char >= ' ' && char !== '"' && char !== '\\') ways.push(char)
  return ways[ways.length - 1 - (way % ways.length)]!
}

const character = fc.tuple(fc.constantFrom(...CHARS), fc.nat(5)).map(([char, way]) => spelled(char, way))
const quoted = fc.array(character, { maxLength: 4 }).map(chars => `"${chars.join('')}"`)
const key = fc.oneof(
  { weight: 3, arbitrary: character.map(char => `"${char}"`) },
  { weight: 3, arbitrary: quoted },
  fc.constantFrom('"__proto__"', '"\\u005f_proto__"', '"a"', '"\\u0061"', '"7"', '"\\u0037"', '"toString"', '"~~5c"'),
)
const blank = fc.constantFrom('', '', '', ' ', '\n', '\t \r\n')
const { json } = fc.letrec<{ json: string }>(tie => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(quoted, fc.constantFrom('0', '-1.5e3', 'true', 'null', '":"', '"\\\\"', '"\\":"', '"x\\\\\\":{"')),
    fc.tuple(blank, fc.array(tie('json'), { maxLength: 4 })).map(([gap, items]) => `[${items.join(`,${gap}`)}${gap}]`),
    fc
      .array(fc.tuple(key, blank, tie('json')), { maxLength: 5 })
      .map(members => `{${members.map(([name, gap, value]) => `${gap}${name}${gap}:${gap}${value}`).join(',')}}`),
  ),
}))

/** Makes an engine with the fault parse what it needs to mistake one key for another. */
function lure(members: readonly string[], name: string): void {
  const length = String(slowly(name)).length
  const other = name.slice(1, 1 + length)
  JSON.parse(`{${members.map(member => `${member}:0,`).join('')}${JSON.stringify(other)}:0}`)
}

describe('parseJson', () => {
  test('any text is read as written, with any keys in any spelling', () => {
    fc.assert(
      fc.property(json, text => assertSame(parseJson(text), slowly(text), text)),
      { numRuns: 5000 },
    )
  })

  test('a key is not mistaken for another one that was in its place before', () => {
    fc.assert(
      fc.property(fc.uniqueArray(key, { minLength: 2, maxLength: 4 }), names => {
        for (const [i, name] of names.entries()) lure(names.slice(0, i), name)
        for (const wide of ['', 'é', '🙂']) {
          const text = `["${wide}",{${names.map((name, i) => `${name}:${i}`).join(',')}}]`
          assertSame(parseJson(text), slowly(text), text)
        }
      }),
      { numRuns: 2000 },
    )
  })

  test('a reviver gets the keys as written, and the same values in the same order', () => {
    const noting = (parse: (text: string, reviver: Reviver) => unknown, text: string) => {
      const calls: unknown[] = []
      const value = parse(text, (name, inner) => {
        calls.push([name, JSON.stringify(inner)])
        if (inner === null) return undefined
        return typeof inner === 'string' ? `${name}=${inner}` : inner
      })
      return { calls, value }
    }
    fc.assert(
      fc.property(json, text => {
        const actual = noting(parseJson, text)
        const expected = noting((_, reviver) => revived('', slowly(text), reviver), text)
        assert.deepEqual(actual.calls, expected.calls, text)
        assertSame(actual.value, expected.value, text)
      }),
      { numRuns: 2000 },
    )
  })

  test('an error of a reviver is passed on', () => {
    const failing = () => {
      throw new TypeError('not this one')
    }
    for (const text of ['{"a":1}', '{"\\u0061":1}']) assert.throws(() => parseJson(text, failing), TypeError)
  })

  test('a text that is not JSON gives a SyntaxError about this text', () => {
    const broken = [
      '',
      '{"\\n":1',
      '{"a":1,"\\"":}',
      '["\\n":1]',
      '{"\\x":1}',
      '{"\\n" 1}',
      '{"\\u12":1}',
      ':',
      '":',
      '\\":',
    ]
    for (const text of broken) {
      let message = ''
      try {
        JSON.parse(text)
      } catch (error) {
        message = String(error)
      }
      assert.throws(() => parseJson(text), { name: 'SyntaxError', message: message.replace('SyntaxError: ', '') }, text)
    }
  })

  test('a text with any change is refused or read as by JSON.parse', () => {
    fc.assert(
      fc.property(
        json,
        fc.nat(),
        fc.constantFrom('', '"', '\\', ':', '{', '}', ',', ' ', '\n', 'a'),
        (text, where, by) => {
          const at = where % (text.length + 1)
          const changed = text.slice(0, at) + by + text.slice(at + 1)
          let valid = true
          try {
            JSON.parse(changed)
          } catch {
            valid = false
          }
          if (valid) assertSame(parseJson(changed), slowly(changed), changed)
          else assert.throws(() => parseJson(changed), SyntaxError, changed)
        },
      ),
      { numRuns: 3000 },
    )
  })

  test('strings of many megabytes and escapes are read', () => {
    const long = 'x\\n\\"'.repeat(3_000_000)
    const value = parseJson<Record<string, string>>(`{"a":"${long}","\\n":"${long}"}`)
    assert.deepEqual(Object.keys(value), ['a', '\n'])
    assert.equal(value['\n'], 'x\n"'.repeat(3_000_000))
  })
})

describe('strings of JSON', () => {
  test('a string ends after its quote, and is unquoted correctly', () => {
    fc.assert(
      fc.property(quoted, fc.string(), (string, behind) => {
        assert.equal(endOfString(`[${string}${behind}`, 1), 1 + string.length)
        assert.equal(unquoted(string), slowly(string))
      }),
    )
  })

  test('the end of a value is found, and a value that is cut off has none', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom('', ' ', ',1', ']', '}', '\n"'), (value, behind) => {
        const text = JSON.stringify(value)
        assert.equal(endOfValue(`[${text}${behind}`, 1), 1 + text.length)
        if (/^[[{"]/.test(text)) {
          for (let end = 1; end < text.length; end++) assert.equal(endOfValue(text.slice(0, end), 0), 0)
        }
      }),
    )
  })
})

/** Files where no key comes from outside: they parse only strings, our own files, or text that we have written. */
const OWN = [
  'agent/demo-model.ts',
  'doors/proxy/injection.ts',
  'doors/terminal/history.ts',
  'memory/dolt-server.ts',
  'memory/rows.ts',
  'model/json.ts',
  'session/sample.ts',
]

test('JSON.parse itself is called only where no key comes from outside', () => {
  const folder = join(import.meta.dirname, '../../src')
  const calling = readSources(folder).filter(({ path }) =>
    readFileSync(join(folder, path), 'utf8').includes('JSON.parse('),
  )
  assert.deepEqual(calling.map(({ path }) => path).sort(), OWN)
})

/** As in the standard: `InternalizeJSONProperty`. */
function revived(name: string, value: unknown, reviver: Reviver): unknown {
  if (typeof value === 'object' && value !== null) {
    const holder = value as Record<string, unknown>
    for (const inner of Object.keys(holder)) {
      const now = revived(inner, holder[inner], reviver)
      if (now === undefined) delete holder[inner]
      else Object.defineProperty(holder, inner, { value: now, enumerable: true, configurable: true, writable: true })
    }
  }
  return reviver(name, value)
}
