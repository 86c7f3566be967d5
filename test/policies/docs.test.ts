import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { optionNames, policyNames } from '../../src/planner/catalog.ts'
import { presets } from '../../src/planner/presets.ts'
import { configSchema, parseConfig } from '../../src/session/config.ts'

const page = (name: string) => readFileSync(join(import.meta.dirname, '..', '..', 'docs', name), 'utf8')

test('every policy has its section, with every option', () => {
  const sections = new Map(
    page('policies.md')
      .split(/^## /m)
      .map(text => [text.slice(0, text.indexOf('\n')), text]),
  )
  for (const name of policyNames) {
    const text = sections.get(name)
    assert.ok(text, `docs/policies.md has no section ${name}`)
    for (const option of optionNames(name)) {
      if (option !== 'use') assert.ok(text.includes(`\`${option}\``), `${name}: ${option} is not documented`)
    }
  }
})

test('every preset is in the table, and every key of the file in its own', () => {
  for (const { name } of presets) assert.ok(page('policies.md').includes(`| \`${name}\` |`), name)
  for (const key of Object.keys(configSchema.shape)) assert.ok(page('config.md').includes(`${key}`), key)
})

test('the example of docs/config.md is valid', () => {
  const [, example] = /```json\n([\s\S]*?)```/.exec(page('config.md')) ?? []
  parseConfig(JSON.parse(example ?? ''))
})
