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
  test('a value goes into the object that is there, in its style, and comments stay', () => {
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

  test('an empty file and an empty object become one with the value', () => {
    assert.equal(writeSetting('json', '', ['env', 'A'], 'x'), '{\n  "env": {\n    "A": "x"\n  }\n}\n')
    assert.equal(writeSetting('json', '{}', ['A'], 'x'), '{\n  "A": "x"\n}')
  })

  test('the last of several members of one name counts, as in JSON.parse', () => {
    assert.equal(readSetting('json', '{"a":"1","a":"2"}', ['a']), '2')
  })

  test('what is not an object, or broken, is refused', () => {
    const broken = ['{"a":1 "b":2}', '{"\\x":1}', '{"a":[1 2]}', '{a:1}', '{"a":"\\q"']
    for (const text of [...broken, '[]', '{"a":}', '{"a" 1}', '{', '{} {}', '{"a":"\n"}', '/* ', '{"env": "text"}']) {
      assert.throws(() => writeSetting('json', text, ['env', 'A'], 'x'), { code: 'CONFIG_INVALID' }, text)
    }
  })
})

test('a TOML key goes above the first table, and one in a table or a string is not taken for it', () => {
  const text = '# mine\nnote = """\nkey = "no"\n"""\n[table]\nkey = "other"\n'
  assert.equal(readSetting('toml', text, ['key']), undefined)
  assert.equal(writeSetting('toml', text, ['key'], 'x'), `key = "x"\n${text}`)
  assert.equal(writeSetting('toml', "key = 'a' # why\r\n", ['key'], 'x'), 'key = "x" # why\r\n')
})

test('a text that is no TOML is refused: a line of no form, a string without an end', () => {
  for (const text of ['what is this\n', 'a = "no end\n', "a = 'no end", 'a = 1\nodd line\n[t]\n']) {
    assert.throws(() => writeSetting('toml', text, ['key'], 'x'), { code: 'CONFIG_INVALID' }, text)
  }
  assert.equal(
    readSetting('toml', '# a\n\n \t\r\na = "1"\n[t] odd line\n', ['a']),
    '1',
    'behind a table nothing is read',
  )
})

test('the first of several members goes with its comma, and the only one with what is around it', () => {
  assert.equal(removeSetting('json', '{ "a": 1, "b": 2 }', ['a']), '{ "b": 2 }')
  assert.equal(removeSetting('json', '{ "a": 1, "b": 2 }', ['b']), '{ "a": 1 }')
  assert.deepEqual(JSON.parse(removeSetting('json', '{ "a": 1 }', ['a'])), {})
})

test('a line of .env is replaced where it is, or added at the end', () => {
  assert.equal(writeSetting('env', 'A=1\nexport B=2 \nC=3', ['B'], 'x'), 'A=1\nexport B=x \nC=3')
  assert.equal(writeSetting('env', 'A=1', ['B'], 'x'), 'A=1\nB=x\n')
})

const TEXTS: [SettingsForm, fc.Arbitrary<string>, string[][]][] = [
  ['json', jsonc, [['env', 'URL'], ['a'], ['a', 'b', 'c']]],
  ['toml', toml, [['openai_base_url'], ['a']]],
  ['env', dotenv, [['URL'], ['A']]],
]

for (const [form, texts, paths] of TEXTS) {
  test(`any ${form}: what is written is read, the rest stays, and taking it out gives the rest back`, () => {
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

/** Refused where something else than an object is on the way. */
function writtenIn(form: SettingsForm, text: string, at: string[]) {
  try {
    return writeSetting(form, text, at, URL)
  } catch {
    return REFUSED
  }
}

/** What of a text must stay whatever is written beside it: its words, in order. */
function strings(form: SettingsForm, text: string): string[] {
  const words = text.match(form === 'json' ? /"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*.*?\*\/|[\w.-]+/gs : /\S+/g) ?? []
  return [...words]
}
