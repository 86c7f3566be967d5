/** Links with which a user decides: valid for a day, for the named proposals, with the right key. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  DecisionLinks,
  noticeOf,
  plainNoticeOf,
  tokenInNotice,
  withoutLinks,
  withoutLinksIn,
  withoutNotice,
} from '../../src/memory/decision-links.ts'

const DAY = 24 * 3_600_000
const key = Buffer.alloc(32, 7)
const tokenOf = (path: string) => path.slice('/decide/'.length)

describe('a link', () => {
  test('has its user and proposals, for a day', () => {
    let now = 1000
    const links = new DecisionLinks(key, () => now)
    const token = tokenOf(links.path('al/ice', ['p1', 'p2']))
    assert.deepEqual(links.read(token), { user: 'al/ice', ids: ['p1', 'p2'] })
    now = 1000 + DAY - 1
    assert.deepEqual(new DecisionLinks(key, () => now).read(token).ids, ['p1', 'p2'])
    now = 1000 + DAY
    assert.throws(() => links.read(token), { code: 'LINK_INVALID', message: /has expired/ })
  })

  test('with another key, or changed anywhere, is not valid', () => {
    const token = tokenOf(new DecisionLinks(key).path('alice', ['p1']))
    const invalid = { code: 'LINK_INVALID', message: /is not valid/ }
    assert.throws(() => new DecisionLinks(Buffer.alloc(32, 8)).read(token), invalid)
    for (const other of ['', '.', token.slice(1), token.slice(0, -1), `${token}a`, `a${token}`, token.split('.')[0]!]) {
      assert.throws(() => new DecisionLinks(key).read(other), invalid)
    }
  })

  test('has at most twenty proposals', () => {
    const links = new DecisionLinks(key)
    const ids = Array.from({ length: 30 }, (_, i) => `p${i}`)
    assert.deepEqual(links.read(tokenOf(links.path('alice', ids))).ids, ids.slice(0, 20))
  })
})

describe('a notice', () => {
  const path = new DecisionLinks(key).path('alice', ['p1'])
  const answer = `An answer.${noticeOf(1, `http://localhost:1${path}`)}`

  test('has the number of waiting proposals, and can be found and removed', () => {
    assert.match(answer, /1 change waits for your decision/)
    assert.match(noticeOf(2, 'x'), /2 changes wait for/)
    assert.match(plainNoticeOf(2, 'http://x'), /decision: http:\/\/x$/)
    assert.equal(tokenInNotice(answer), tokenOf(path))
    assert.equal(withoutNotice(answer), 'An answer.')
  })

  test('in a similar form is not changed', () => {
    const other = 'Text.\n\n---\nMemory: 1 change waits, they say.'
    assert.equal(tokenInNotice(other), undefined)
    assert.equal(withoutNotice(other), other)
    assert.equal(withoutNotice('Text.'), 'Text.')
  })

  test('quoted elsewhere has no link that can be followed', () => {
    assert.ok(!withoutLinks(`see ${answer} and ${path}`).includes(tokenOf(path)))
    const deep = { list: [{ text: answer }], other: 1 }
    assert.deepEqual(withoutLinksIn(deep), { list: [{ text: withoutLinks(answer) }], other: 1 })
    const plain = { text: 'none' }
    assert.equal(withoutLinksIn(plain), plain, 'a value without links stays the same')
  })
})
