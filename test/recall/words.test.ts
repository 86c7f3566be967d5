import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuery } from '../../src/recall/query.ts'
import { stem } from '../../src/recall/stem.ts'
import { countTerms } from '../../src/recall/words.ts'

const terms = (text: string) => [...countTerms(text).keys()]

test("stems follow Porter's algorithm", () => {
  const known = {
    caresses: 'caress',
    ponies: 'poni',
    feed: 'feed',
    agreed: 'agre',
    plastered: 'plaster',
    motoring: 'motor',
    conflated: 'conflat',
    hopping: 'hop',
    falling: 'fall',
    filing: 'file',
    happy: 'happi',
    relational: 'relat',
    rationalization: 'ration',
    sensibiliti: 'sensibl',
    triplicate: 'triplic',
    hopefulness: 'hope',
    adjustment: 'adjust',
    adoption: 'adopt',
    effective: 'effect',
    probate: 'probat',
    controll: 'control',
    roll: 'roll',
  }
  for (const [word, expected] of Object.entries(known)) assert.equal(stem(word), expected, word)
})

test('an identifier is found whole and by its parts', () => {
  assert.deepEqual(terms('getUserName'), ['getusername', 'get', 'user', 'name'])
  assert.deepEqual(terms('HTTPServer'), ['httpserver', 'http', 'server'])
  assert.deepEqual(terms('max_retry_count'), ['max_retry_count', 'max', 'retri', 'count'])
  assert.deepEqual(terms('sha256'), ['sha256'])
})

test('a path is found by its endings, and a dotted name as a whole', () => {
  const path = terms('/home/me/src/a/b-c.ts')
  for (const ending of ['src/a/b-c.ts', 'a/b-c.ts', 'b-c.ts']) assert.ok(path.includes(ending), ending)
  assert.ok(terms('C:\\work\\a\\b.ts').includes('a/b.ts'))
  assert.ok(terms('os.path.join(x)').includes('os.path.join'))
})

test('accents and letter case are ignored, and scripts without spaces are found by pairs', () => {
  assert.deepEqual(terms('Café'), terms('cafe'))
  assert.deepEqual(terms('全文検索'), ['全文', '文検', '検索', '索'])
  assert.ok(terms('การค้นหา').length > 3)
})

test('common words count only in a query without other words', () => {
  assert.deepEqual([...parseQuery('what did the parser say').terms.keys()], ['parser', 'sai'])
  assert.deepEqual([...parseQuery('to be or not to be').terms.keys()], ['to', 'be', 'or', 'not'])
  assert.equal(parseQuery('"…" (*').terms.size, 0)
})
