/** docs/seeds.md: every named file exists and has the quoted text, and every preset exists. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { findPreset, seedPresets } from '../src/planner/presets.ts'

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/seeds.md'), 'utf8')
const rows = page
  .split('\n')
  .filter(line => line.startsWith('| 00'))
  .map(line => line.split(/(?<!\\)\|/).map(cell => cell.trim()))

test('the page has all five documents, each with texts at the given places', () => {
  assert.deepEqual([...new Set(rows.map(row => row[1]))], ['000', '001', '002', '003', '004'])
  for (const [, document, path, quoted = ''] of rows) {
    const text = quoted.replace(/^`/, '').replace(/`$/, '')
    const source = readFileSync(join(root, path!), 'utf8')
    assert.ok(text !== '' && source.includes(text), `${document}: ${path} has no ${quoted}`)
  }
})

test('the settings of each document are available by its name', () => {
  const named = [...page.matchAll(/^\| `(seed-\d+)`/gm)].map(match => match[1])
  assert.deepEqual(
    named,
    seedPresets.map(({ name }) => name),
  )
  for (const name of named) assert.equal(findPreset(name!)?.name, name)
})
