import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { similarTexts } from '../../src/asked/similar.ts'

describe('similar texts', () => {
  test('the closest texts come first, few of them, and only close ones', () => {
    const texts = ['alpha beta gamma\nalpha beta gamma delta\nnothing of the kind', 'alpha betta gamma']
    const found = similarTexts(texts, 'alpha beta gama')
    assert.equal(found[0], 'alpha beta gamma')
    assert.ok(found.includes('alpha betta gamma'))
    assert.ok(!found.includes('nothing of the kind'))
    assert.deepEqual(similarTexts(texts, 'xyzzy plugh'), [])
    assert.deepEqual(similarTexts(texts, ''), [])
    assert.deepEqual(similarTexts(texts, '\n  \n'), [])
  })

  test('a similar stretch inside a very long line is found and quoted literally', () => {
    const line = `${'{"id":1},'.repeat(3000)}"Detailed analysis of all 47 files"${',{"id":2}'.repeat(3000)}`
    const [found] = similarTexts([line], 'Detailed analysis of all 46 files')
    assert.ok(found && line.includes(found))
    assert.match(found, /analysis of all 47/)
  })
})
