import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFrontMatter } from '../../src/memory/front-matter.ts'
import { checkSchema } from '../../src/memory/schema.ts'

const SCHEMA = {
  type: 'object',
  required: ['name', 'age'],
  properties: {
    name: { type: 'string' },
    age: { type: 'integer', minimum: 0 },
    tags: { type: 'array', items: { type: 'string' } },
  },
  additionalProperties: false,
}
const check = (body: string, schemaRef: string | null = JSON.stringify(SCHEMA)) =>
  checkSchema({ title: '', body, schemaRef }, async name => (name === 'person' ? JSON.stringify(SCHEMA) : undefined))

test('a matching body of JSON or with front matter passes', async () => {
  await check('{"name": "Ann", "age": 12}')
  await check('---\nname: Ann\nage: 12\ntags:\n  - math\n  - "chess: fast"\n---\n\n# Anything\n')
  await check('{"name": "Ann", "age": 12}', 'person')
  await check('anything', null)
})

test('a body that does not match is refused with each reason', async () => {
  await assert.rejects(check('{"name": 5}'), error => {
    assert.ok(error instanceof Error && 'code' in error)
    assert.equal(error.code, 'SCHEMA_VIOLATION')
    assert.match(error.message, /age/)
    assert.match(error.message, /name: .*"number".*"string"/)
    return true
  })
  await assert.rejects(check('{"name": 5, "age": -1, "tags": [1, 2]}'), {
    message: /name: .*age: .*tags\/0: .*tags\/1: /s,
  })
  await assert.rejects(check('{"name": "A", "age": 1, "x": 1}'), { code: 'SCHEMA_VIOLATION' })
  await assert.rejects(check('plain words'), {
    code: 'SCHEMA_VIOLATION',
    message: /not JSON .* and does not begin with front matter/,
  })
  await assert.rejects(check('---\nname: Ann\nage: -1\n---\n'), { code: 'SCHEMA_VIOLATION', message: /age/ })
})

test('a reason names the place, unless it is about the whole body', async () => {
  const list = JSON.stringify({ type: 'array', minItems: 3 })
  await assert.rejects(check('[1]', list), ({ message }: Error) => !/(?:^|[\n ]): /.test(message) && /3/.test(message))
  const inside = JSON.stringify({ type: 'array', items: { type: 'string' } })
  await assert.rejects(check('["a", 1]', inside), { message: /\b1: / })
})

test('an unknown name checks nothing, and an invalid schema is refused', async () => {
  await check('anything', 'somebody-elses-schema')
  await assert.rejects(check('{}', '{not json'), { code: 'INVALID_INPUT' })
  await assert.rejects(check('{}', '{"$ref": "#/nowhere"}'), { code: 'INVALID_INPUT' })
})

test('a schema that would check for hours is stopped', async () => {
  const twice = (ref: string) => ({ allOf: [{ $ref: ref }, { $ref: ref }] })
  const doubled = Array.from({ length: 40 }, (_, i) => [`d${i}`, i < 39 ? twice(`#/$defs/d${i + 1}`) : {}])
  for (const [schema, value] of [
    [{ properties: { a: { pattern: '^(a+)+$' } } }, { a: `${'a'.repeat(40)}!` }],
    [{ patternProperties: { '^(a+)+$': {} } }, { [`${'a'.repeat(40)}!`]: 1 }],
    [{ $defs: Object.fromEntries(doubled), $ref: '#/$defs/d0' }, {}],
  ])
    await assert.rejects(check(JSON.stringify(value), JSON.stringify(schema)), {
      code: 'INVALID_INPUT',
      message: /too long|longer/,
    })
})

const documents: [text: string, value: unknown][] = [
  ['', {}],
  [
    "a: 1\nb: 1.5\nc: true\nd: null\ne: text # comment\nf: \"q: 1\"\ng: 'it''s'\nh: False\ni: the cats'",
    { a: 1, b: 1.5, c: true, d: null, e: 'text', f: 'q: 1', g: "it's", h: false, i: "the cats'" },
  ],
  ['a:\n  b:\n    c: 1\n  d: 2\ne: 3', { a: { b: { c: 1 }, d: 2 }, e: 3 }],
  ['list:\n- a\n- b\nother: 1', { list: ['a', 'b'], other: 1 }],
  [
    'flow: [a, b]\nmap: {"x": [1]}\nurl: http://x.org/a:b',
    { flow: ['a', 'b'], map: { x: [1] }, url: 'http://x.org/a:b' },
  ],
  ['empty:\nnext: 1', { empty: null, next: 1 }],
  ['__proto__: 1', { ['__proto__']: 1 }],
]

for (const [text, value] of documents) {
  test(`front matter is read: ${JSON.stringify(text)}`, () => {
    assert.deepEqual(readFrontMatter(`---\n${text}\n---\nbody`), { value })
  })
}

for (const text of [
  'a: |\n  x',
  '&a b: 1',
  '\ta: 1',
  'a: 1\na: 2',
  'just words',
  'a: "open',
  '"\\x": 1',
  'a: 1\n   b: 2',
]) {
  test(`unsupported front matter is a problem: ${JSON.stringify(text)}`, () => {
    assert.match(JSON.stringify(readFrontMatter(`---\n${text}\n---\n`)), /cannot be read/)
  })
}

test('a text without front matter has none', () => {
  for (const text of ['', 'a: 1', '--- no', 'x\n---\na: 1\n---\n', '---\na: 1\n'])
    assert.equal(readFrontMatter(text), undefined)
})
