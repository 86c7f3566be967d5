/** Texts that look like secrets, and texts that do not. The secrets are generated, so that this file contains none. */
import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { hintOf, secretsIn } from '../../src/recall/secrets.ts'
import * as fc from '../property.ts'

const ROOT = join(import.meta.dirname, '../..')
const letters = (length: number) => 'aB3dE5gH7jK9mN'.repeat(20).slice(0, length)
const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const { privateKey } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

const SECRETS: readonly (readonly [kind: string, secret: string])[] = [
  ['Anthropic key', `sk-ant-api03-${letters(93)}`],
  ['OpenAI key', `sk-proj-${letters(60)}`],
  ['OpenAI key', `sk-${letters(48)}`],
  ['Google key', `AIza${letters(35)}`],
  [
    'AWS key',
    `AKIA${letters(16)
      .toUpperCase()
      .replace(/[0189]/g, '2')}`,
  ],
  ['GitHub token', `ghp_${letters(36)}`],
  ['GitHub token', `github_pat_${letters(22)}_${letters(59)}`],
  ['GitLab token', `glpat-${letters(20)}`],
  ['Slack token', `xoxb-${'1'.repeat(12)}-${letters(24)}`],
  ['Stripe key', `sk_live_${letters(24)}`],
  ['npm token', `npm_${letters(36)}`],
  ['Palimpsest token', `pal_${letters(43)}`],
  ['JWT', `${base64url({ alg: 'HS256' })}.${base64url({ sub: 'somebody' })}.${letters(43)}`],
  ['private key', String(privateKey).trim()],
]

describe('secrets', () => {
  for (const [kind, secret] of SECRETS) {
    test(`${kind}: found whole in any text`, () => {
      const around = fc.constantFrom('', ' ', '\n', '"', "'", 'KEY=', 'a: ', '(', 'url?k=', 'said.\\n')
      fc.assert(
        fc.property(around, fc.constantFrom('', ' ', '\n', '"', "'", ';', ')', ',', '.'), (before, behind) => {
          const text = `${before}${secret}${behind}`
          const found = secretsIn(text).map(({ kind, start, end }) => [kind, text.slice(start, end).trim()])
          assert.deepEqual(found, [[kind, secret]])
        }),
      )
    })
  }

  test('a private key that was cut off, or is quoted in JSON, is found', () => {
    const pem = SECRETS.at(-1)![1]
    assert.equal(secretsIn(pem.slice(0, 120))[0]?.kind, 'private key')
    assert.deepEqual(secretsIn(JSON.stringify(pem)), [
      { kind: 'private key', start: 1, end: JSON.stringify(pem).length - 1 },
    ])
    assert.deepEqual(secretsIn("grep -r '-----BEGIN PRIVATE KEY-----' src"), [])
  })

  test('an AWS secret is found by its name', () => {
    const text = `aws_secret_access_key = ${letters(40)}`
    assert.deepEqual(
      secretsIn(text).map(({ start, end }) => text.slice(start, end)),
      [letters(40)],
    )
  })

  test('hashes, uuids, base64 and names in code are not secrets', () => {
    const hash = fc.string({ maxLength: 20 }).map(text => createHash('sha512').update(text).digest('hex'))
    const base64 = fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes).toString('base64'))
    const base64url = fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes).toString('base64url'))
    const word = fc.stringMatching(/^[a-z]{1,12}$/)
    const name = fc.tuple(
      fc.constantFrom('sk', 'npm', 'xoxb', 'ghp', 'AKIA'),
      fc.array(word),
      fc.constantFrom('-', '_'),
    )
    const names = name.map(([first, words, by]) => [first, ...words].join(by))
    const ordinary = fc.oneof(hash, base64, base64url, fc.uuid(), names, fc.string())
    fc.assert(
      fc.property(fc.array(ordinary), texts => {
        assert.deepEqual(secretsIn(texts.join(' ')), [])
      }),
    )
  })

  test('the code and the docs of this project have none', () => {
    const files = globSync(['src/**/*.ts', 'scripts/*.ts', 'docs/*.md', '*.md', 'package-lock.json'], { cwd: ROOT })
    assert.ok(files.includes('src/cli.ts') && files.includes('README.md'))
    for (const file of files) {
      assert.deepEqual(secretsIn(readFileSync(join(ROOT, file), 'utf8')), [], file)
    }
  })

  test('a hint shows at most six characters', () => {
    fc.assert(fc.property(fc.string({ minLength: 20 }), text => assert.ok(hintOf(text).length <= 7)))
  })
})
