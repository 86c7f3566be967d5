/** Generates settings of other programs: any JSON with comments and trailing commas, TOML, and `.env`. */
import * as fc from '../property.ts'

const space = fc.constantFrom('', ' ', '\n', '\n  ', '\t', '\r\n', ' // note: {"a"}\n', ' /* , } */ ')
const word = fc.constantFrom('a', 'b', 'c', 'env', 'URL', 'x y', 'ü', 'q"q', 'back\\slash', '//', '')
const name = word.map(text => JSON.stringify(text))

const { value } = fc.letrec<{ value: string; object: string; list: string }>(tie => ({
  value: fc.oneof({ maxDepth: 3 }, fc.constantFrom('null', 'true', '-1.5e3', '0'), name, tie('object'), tie('list')),
  object: listOf(
    fc.tuple(name, space, space, tie('value')).map(([key, a, b, inner]) => `${key}${a}:${b}${inner}`),
    '{}',
  ),
  list: listOf(tie('value'), '[]'),
}))

function listOf(item: fc.Arbitrary<string>, [open, close]: string | string[]): fc.Arbitrary<string> {
  return fc
    .tuple(fc.array(fc.tuple(space, item, space), { maxLength: 3 }), space, fc.boolean())
    .map(([items, end, trails]) => {
      const inside = items.map(([a, text, b]) => `${a}${text}${b}`).join(',')
      return `${open}${inside}${trails && items.length > 0 ? ',' : ''}${end}${close}`
    })
}

const object = listOf(
  fc.tuple(name, space, space, value).map(([key, a, b, inner]) => `${key}${a}:${b}${inner}`),
  '{}',
)

export const jsonc = fc.oneof(
  fc.tuple(fc.constantFrom('', '\uFEFF'), space, object, space).map(parts => parts.join('')),
  fc.constantFrom('', ' \n', '{}', '[]', 'null'),
)

const newline = fc.constantFrom('\n', '\r\n')
const tomlValue = fc.constantFrom(
  '1',
  '"a = 1 # no"',
  "'a'",
  '["a", # note\n  "b = 2",\n]',
  '"""\na = 1\n[t]\n"""',
  "'''\nb = 2'''",
  '{ a = 1 }',
)
const tomlLine = fc.oneof(
  fc
    .tuple(fc.constantFrom('a', 'b', '"a b"', 'a.b', 'openai_base_url'), tomlValue, fc.constantFrom('', ' # note'))
    .map(([key, text, note]) => `${key} = ${text}${note}`),
  fc.constantFrom('', '# a = 1', '[table]', '[[list]]', '  '),
)

export const toml = lines(tomlLine)

export const dotenv = lines(
  fc.constantFrom('A=1', 'export A=2', 'URL = http://x ', '# URL=no', '', 'B="two words"', 'no line', 'A='),
)

function lines(line: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom('', '\uFEFF'), fc.array(line, { maxLength: 6 }), newline, fc.boolean())
    .map(([bom, all, end, ends]) => bom + all.join(end) + (ends && all.length > 0 ? end : ''))
}
