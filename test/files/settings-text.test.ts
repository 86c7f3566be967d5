import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  depthOfSetting,
  rawSetting,
  readSetting,
  removeSetting,
  type SettingsForm,
  writeRawSetting,
  writeSetting,
} from '../../src/files/settings-text.ts'
import * as fc from '../property.ts'
import { dotenv, jsonc, toml } from './settings-texts.ts'

const URL = 'http://127.0.0.1:8787/anthropic'

describe('JSON with comments', () => {
  test('a value is added to the existing object, in its style, and comments stay', () => {
    const text = '{\n    // mine\n    "model": "opus", /* big */\n    "env": { "A": "1" },\n}\n'
    assert.equal(
      writeSetting('json', text, ['env', 'B'], 'x'),
      '{\n    // mine\n    "model": "opus", /* big */\n    "env": { "A": "1", "B": "x" },\n}\n',
    )
    assert.equal(
      writeSetting('json', text, ['new', 'B'], 'x'),
      '{\n    // mine\n    "model": "opus", /* big */\n    "env": { "A": "1" },\n    "new": {\n        "B": "x"\n    },\n}\n',
    )
  })

  test('an empty file and an empty object get the value', () => {
    assert.equal(writeSetting('json', '', ['env', 'A'], 'x'), '{\n  "env": {\n    "A": "x"\n  }\n}\n')
    assert.equal(writeSetting('json', '{}', ['A'], 'x'), '{\n  "A": "x"\n}')
  })

  test('of repeated members the last one counts, as in JSON.parse', () => {
    assert.equal(readSetting('json', '{"a":"1","a":"2"}', ['a']), '2')
  })

  test('broken JSON, and JSON that is not an object, are refused', () => {
    const broken = ['{"a":1 "b":2}', '{"\\x":1}', '{"a":[1 2]}', '{a:1}', '{"a":"\\q"']
    for (const text of [...broken, '[]', '{"a":}', '{"a" 1}', '{', '{} {}', '{"a":"\n"}', '/* ', '{"env": "text"}']) {
      assert.throws(() => writeSetting('json', text, ['env', 'A'], 'x'), { code: 'CONFIG_INVALID' }, text)
    }
  })
})

test('a TOML key is added above the first table, and one in a table or a string is ignored', () => {
  const text = '# mine\nnote = """\nkey = "no"\n"""\n[table]\nkey = "other"\n'
  assert.equal(readSetting('toml', text, ['key']), undefined)
  assert.equal(writeSetting('toml', text, ['key'], 'x'), `key = "x"\n${text}`)
  assert.equal(writeSetting('toml', "key = 'a' # why\r\n", ['key'], 'x'), 'key = "x" # why\r\n')
})

test('invalid TOML is refused: a line of unknown form, or an unclosed string', () => {
  for (const text of ['what is this\n', 'a = "no end\n', "a = 'no end", 'a = 1\nodd line\n[t]\n']) {
    assert.throws(() => writeSetting('toml', text, ['key'], 'x'), { code: 'CONFIG_INVALID' }, text)
  }
  assert.equal(
    readSetting('toml', '# a\n\n \t\r\na = "1"\n[t] odd line\n', ['a']),
    '1',
    'behind a table nothing is read',
  )
})

test('removing the first member removes its comma, and removing the only one the text around it', () => {
  assert.equal(removeSetting('json', '{ "a": 1, "b": 2 }', ['a']), '{ "b": 2 }')
  assert.equal(removeSetting('json', '{ "a": 1, "b": 2 }', ['b']), '{ "a": 1 }')
  assert.deepEqual(JSON.parse(removeSetting('json', '{ "a": 1 }', ['a'])), {})
})

test('a line of .env is replaced in its place, or added at the end', () => {
  assert.equal(writeSetting('env', 'A=1\nexport B=2 \nC=3', ['B'], 'x'), 'A=1\nexport B=x \nC=3')
  assert.equal(writeSetting('env', 'A=1', ['B'], 'x'), 'A=1\nB=x\n')
})

test("added text has the file's line endings and indentation, and comes after its byte order mark", () => {
  const cases: [SettingsForm, before: string, at: string[], after: string][] = [
    ['json', '{\r\n\t"a": 1\r\n}\r\n', ['b', 'c'], '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"c": "x"\r\n\t}\r\n}\r\n'],
    ['json', '{\n\t"a": {}\n}\n', ['a', 'c'], '{\n\t"a": {\n\t\t"c": "x"\n\t}\n}\n'],
    ['json', '{\n\t"a": { /* none */ }\n}\n', ['a', 'c'], '{\n\t"a": {\n\t\t"c": "x" /* none */ }\n}\n'],
    ['json', '\r\n', ['a'], '\r\n{\r\n  "a": "x"\r\n}\r\n'],
    ['toml', 'a = 1\r\n', ['k'], 'k = "x"\r\na = 1\r\n'],
    ['toml', '\uFEFFa = 1\n', ['k'], '\uFEFFk = "x"\na = 1\n'],
    ['env', 'A=1\r\n', ['B'], 'A=1\r\nB=x\r\n'],
    ['env', '', ['B'], 'B=x\n'],
  ]
  for (const [form, before, at, after] of cases) assert.equal(writeSetting(form, before, at, 'x'), after)
})

test('a value is read without its quotes, of any kind; in JSON only strings are values', () => {
  const env = 'a = \'x y\'\nB="z \\"w"\nC = plain '
  assert.deepEqual(
    ['a', 'B', 'C', 'D'].map(name => readSetting('env', env, [name])),
    ['x y', 'z "w', 'plain', undefined],
  )
  assert.deepEqual([readSetting('toml', "a = 'x y'", ['a']), readSetting('toml', 'a = 5', ['a'])], ['x y', '5'])
  const json = '{"a": 5, "b": "5", "c": [1, {"b": 2}] }'
  assert.deepEqual(
    [['a'], ['b'], ['b', 'x'], ['x']].map(at => readSetting('json', json, at)),
    [undefined, '5', undefined, undefined],
  )
  assert.equal(rawSetting('json', json, ['c']), '[1, {"b": 2}]')
})

test('a TOML value is read to its real end, and its key may be spelled in any way', () => {
  const list = 'x = [ "[t]", # ]\n "]" ] # note\nb = 1 # note'
  assert.equal(rawSetting('toml', list, ['x']), '[ "[t]", # ]\n "]" ]')
  assert.equal(rawSetting('toml', list, ['b']), '1')
  assert.equal(rawSetting('toml', '"a b".c = { d = 1 }\r\n', ['a b', 'c']), '{ d = 1 }')
  assert.equal(rawSetting('toml', "'a' . b = 1", ['a', 'b']), '1')
  assert.equal(rawSetting('toml', 'a = 1\na = 2', ['a']), '2')
  assert.equal(rawSetting('toml', 'a = # nothing', ['a']), '')
  assert.equal(rawSetting('toml', '[a]\nb = 1', ['b']), undefined)
})

test('removing a value also removes objects that become empty, except those that existed before', () => {
  const deep = '{"a":{"b":{"c":"x"}}}'
  const at = ['a', 'b', 'c']
  assert.deepEqual(
    [0, 1, 2].map(depth => removeSetting('json', deep, at, depth)),
    ['{}', '{"a":{}}', '{"a":{"b":{}}}'],
  )
  assert.equal(removeSetting('json', '{"z":1,"a":{"b":{"c":"x","d":1}}}', at), '{"z":1,"a":{"b":{"d":1}}}')
  assert.equal(removeSetting('json', '{"a":1, "b":2, "c":3}', ['b']), '{"a":1, "c":3}')
  assert.equal(removeSetting('json', deep, ['x']), deep)
  assert.equal(removeSetting('toml', 'a = 1\nb = """\nx\n"""\nc = 1', ['b']), 'a = 1\nc = 1')
  assert.equal(removeSetting('env', 'a=1\nb=2', ['b']), 'a=1\n')
  assert.deepEqual(
    [['a'], ['a', 'b'], ['a', 'b', 'c', 'd'], ['x', 'y']].map(path => depthOfSetting('json', '{"a":{"b":{}}}', path)),
    [0, 1, 2, 0],
  )
})

test('an unreadable text is refused with the line, or with the name of the obstacle', () => {
  for (const [text, at, why] of [
    ['{"env": 5}', ['env', 'A'], /: env is not an object/],
    ['{"env": {"x": []}}', ['env', 'x', 'A'], /: env\.x is not an object/],
    ['{\n"a":1\n"b":2}', ['c'], /: line 3 should have a comma or }/],
    ['{\n\n"a" 1}', ['c'], /: line 3 should have a colon/],
    ['{} x', ['c'], /: there is text after its end/],
    ['[]', ['c'], /: it is not an object/],
  ] as const)
    assert.throws(() => writeSetting('json', text, at, 'x'), { code: 'CONFIG_INVALID', message: why })
})

const TEXTS: [SettingsForm, fc.Arbitrary<string>, string[][]][] = [
  ['json', jsonc, [['env', 'URL'], ['a'], ['a', 'b', 'c']]],
  ['toml', toml, [['openai_base_url'], ['a']]],
  ['env', dotenv, [['URL'], ['A']]],
]

for (const [form, texts, paths] of TEXTS) {
  test(`any ${form}: a written value is read back, the rest stays, and removing it restores the rest`, () => {
    fc.assert(
      fc.property(texts, fc.constantFrom(...paths), (text, at) => {
        const before = valueOrRefused(form, text, at)
        const written = before === REFUSED ? REFUSED : writtenIn(form, text, at)
        if (written === REFUSED || before === REFUSED) return
        assert.equal(readSetting(form, written, at), URL)
        const kept =
          before === undefined
            ? removeSetting(form, written, at, depthOfSetting(form, text, at))
            : writeRawSetting(form, written, at, before)
        if (before !== undefined) assert.equal(kept, text)
        else assert.deepEqual(strings(form, kept), strings(form, text))
      }),
      { numRuns: 1000 },
    )
  })
}

const REFUSED = Symbol('refused')

function valueOrRefused(form: SettingsForm, text: string, at: string[]) {
  try {
    return rawSetting(form, text, at)
  } catch {
    return REFUSED
  }
}

/** Refused if something other than an object is at the path. */
function writtenIn(form: SettingsForm, text: string, at: string[]) {
  try {
    return writeSetting(form, text, at, URL)
  } catch {
    return REFUSED
  }
}

/** The strings of a text, in order; they must stay when a value is written. */
function strings(form: SettingsForm, text: string): string[] {
  const words = text.match(form === 'json' ? /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*.*?\*\/|[\w.-]+/gs : /\S+/g) ?? []
  return [...words]
}
