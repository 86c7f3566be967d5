import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cutMiddle, excerpt, firstTelling } from '../../src/planner/excerpt.ts'
import * as fc from '../property.ts'

const KEEP = { head: 200, tail: 100, telling: 150 }
const lines = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `line ${from + i} of it`)

describe('an excerpt', () => {
  test('is not made if it would save nothing', () => {
    assert.equal(excerpt('x'.repeat(460), KEEP), undefined)
    assert.ok(excerpt('x'.repeat(461), KEEP))
  })

  test('has whole lines in its head and tail, and counts the missing lines', () => {
    const text = lines(100, 160).join('\n')
    const short = excerpt(text, { ...KEEP, telling: 0 })!
    const [head, tail] = short.split(/\n\[… [^\]]*\]\n/) as [string, string]
    assert.ok(text.startsWith(`${head}\n`) && text.endsWith(`\n${tail}`), short)
    assert.ok(head.length > 150 && head.length <= 200, `${head.length}`)
    assert.ok(tail.length > 50 && tail.length <= 100, `${tail.length}`)
    const [, , chars] = /… (\d+) lines, (\d+) chars cut\]/.exec(short)!
    assert.equal(Number(chars), text.length - head.length - tail.length - 1)
  })

  test('of one endless line is cut inside it', () => {
    const short = excerpt('y'.repeat(5000), KEEP)!
    assert.match(short, /^y{200}\n\[… 1 lines, 4700 chars cut\]\ny{100}$/)
  })

  test('keeps lines about errors, with two lines after each, while there is room', () => {
    const text = [...lines(0, 40), 'Error: it broke', 'at once', 'and again', 'not this', ...lines(40, 80)].join('\n')
    const short = excerpt(text, KEEP)!
    assert.match(short, /; of these:\]\nError: it broke\nat once\nand again\nline/)
    assert.doesNotMatch(short, /not this/)
    assert.doesNotMatch(excerpt(text, { ...KEEP, telling: 0 })!, /Error|of these/)
    const narrow = excerpt(text, { ...KEEP, telling: 24 })!
    assert.match(narrow, /\nError: it broke\nat once\nline/)
    const wide = [...lines(0, 40), `Error: ${'w'.repeat(500)}`, ...lines(40, 80)].join('\n')
    assert.match(excerpt(wide, { ...KEEP, telling: 900 })!, /\nError: w{193}\n/)
  })

  test('is never longer than the text, if it keeps no important lines', () => {
    const line = fc.oneof(fc.lorem(), fc.constant('error: x'), fc.constant(''))
    const text = fc.array(line, { minLength: 20, maxLength: 80 }).map(all => all.join('\n'))
    let [tried, made] = [0, 0]
    fc.assert(
      fc.property(text, fc.nat(300), fc.nat(300), (whole, head, tail) => {
        const short = excerpt(whole, { head, tail: tail + 1, telling: 0 })
        tried++
        if (short === undefined) return
        made++
        assert.ok(short.length <= whole.length, `${short.length} for ${whole.length}`)
      }),
    )
    // 50 of 100; a fuzz run may have few cases.
    assert.ok(made > tried * 0.6 - 10, `${made} excerpts of ${tried}`)
  })
})

test('of a string is cut in its middle only if that saves more than its note', () => {
  assert.equal(cutMiddle('z'.repeat(420), { head: 200, tail: 100 }), 'z'.repeat(420))
  assert.equal(
    cutMiddle('z'.repeat(421), { head: 200, tail: 100 }),
    `${'z'.repeat(200)}[… 121 chars cut]${'z'.repeat(100)}`,
  )
})

test('important lines have words for errors, whole and in any letter case', () => {
  for (const line of ['ERROR in a.ts', '2 failed', 'exit code 1', 'Traceback (most', 'file not found', 'assertEqual']) {
    assert.equal(firstTelling(`one\n${line}\nerror`), line)
  }
  for (const line of ['all is well', 'terrors of the deep', 'unfailing', ''])
    assert.equal(firstTelling(`one\n${line}\n`), '', line)
})
