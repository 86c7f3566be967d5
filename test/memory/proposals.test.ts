import assert from 'node:assert/strict'
import { test } from 'node:test'
import { diffTexts, hiddenIn, reveal } from '../../src/memory/diff.ts'
import { applyOperation, mergeProposal, mergeTexts } from '../../src/memory/proposals.ts'
import type { Block, Proposal } from '../../src/memory/store.ts'
import * as fc from '../property.ts'

const text = fc
  .array(fc.constantFrom('a', 'b', 'c', 'd', '', 'long line'), { maxLength: 8 })
  .map(lines => lines.join('\n'))
const titled = (body: string) => ({ title: 'T', body })
const merged = (base: string, now: string, proposed: string) => mergeTexts(titled(base), titled(now), titled(proposed))

test('a change on only one side is the result', () => {
  fc.assert(
    fc.property(text, text, (base, other) => {
      for (const [now, proposed] of [
        [base, other],
        [other, base],
        [other, other],
      ] as const) {
        const merge = merged(base, now, proposed)
        assert.equal(merge.type === 'clean' && merge.body, other)
      }
    }),
  )
})

test('merging is symmetric, and a conflict keeps every line that either side added', () => {
  fc.assert(
    fc.property(text, text, text, (base, now, proposed) => {
      const one = merged(base, now, proposed)
      const two = merged(base, proposed, now)
      assert.equal(one.type, two.type)
      if (one.type === 'clean' && two.type === 'clean') assert.equal(one.body, two.body)
      if (one.type !== 'conflict') return
      const side = (pick: 'now' | 'proposed') =>
        one.regions.map(region => (region.type === 'settled' ? region.text : region[pick])).join('')
      const fresh = (side: string) => side.split('\n').filter(line => !base.includes(line))
      for (const line of fresh(now)) assert.ok(`${side('now')}${side('proposed')}`.includes(line))
      for (const line of fresh(proposed)) assert.ok(`${side('now')}${side('proposed')}`.includes(line))
    }),
  )
})

test('changes of different lines are merged, of the same line are a conflict with marks', () => {
  const clean = merged('a\nb\nc\n', 'A\nb\nc\n', 'a\nb\nC\n')
  assert.deepEqual(clean, { type: 'clean', title: 'T', body: 'A\nb\nC\n', stale: true })
  const conflict = merged('a\nb\n', 'x\nb\n', 'y\nb\n')
  assert.equal(conflict.type, 'conflict')
  assert.equal(
    conflict.type === 'conflict' && conflict.marked,
    '<<<<<<< now\nx\n||||||| base\na\n=======\ny\n>>>>>>> proposed\nb\n',
  )
})

test('two changed titles are a conflict of their own', () => {
  const merge = mergeTexts({ title: 'a', body: '' }, { title: 'b', body: '' }, { title: 'c', body: '' })
  assert.deepEqual(merge.type === 'conflict' && merge.titles, { base: 'a', now: 'b', proposed: 'c' })
  const one = mergeTexts({ title: 'a', body: '' }, { title: 'a', body: '' }, { title: 'c', body: '' })
  assert.equal(one.type === 'clean' && one.title, 'c')
})

test('an addition is added to the changed block', () => {
  fc.assert(
    fc.property(text, text, fc.constantFrom('append' as const, 'prepend' as const), (base, now, kind) => {
      const body = kind === 'append' ? `${base}${base === '' || base.endsWith('\n') ? '' : '\n'}new` : `new\n${base}`
      const merge = mergeProposal(
        { ...proposal({ kind, body, base }), operation: { type: kind, text: 'new' } },
        block(now),
      )
      assert.equal(merge.type, 'clean')
      if (merge.type !== 'clean') return
      assert.equal(merge.stale, now !== base, 'it says whether somebody else has changed the block')
      assert.ok(merge.body.includes(now))
      assert.match(merge.body, kind === 'append' ? /(^|\n)new$/ : /^new(\n|$)/)
    }),
  )
})

test('a body of very many equal lines is a conflict, because comparing would take too long', () => {
  const many = '\n'.repeat(50_000)
  assert.equal(merged(`a${many}`, `b${many}`, `c${many}`).type, 'conflict')
})

test('replacing treats both strings literally', () => {
  assert.equal(applyOperation('a.b', { type: 'replace', old: '.', new: '$&$1' }, 'x'), 'a$&$1b')
  assert.throws(() => applyOperation('aaa', { type: 'replace', old: 'a', new: 'b' }, 'x'), {
    code: 'MATCH_AMBIGUOUS',
    message: /appears 3 times/,
  })
  assert.equal(applyOperation('aXa', { type: 'replace', old: 'a', new: '', all: true }, 'x'), 'X')
})

test('a difference consists of words, and both texts can be rebuilt from it', () => {
  assert.deepEqual(diffTexts('She likes math.', 'She loves math.'), [
    { type: 'same', text: 'She ' },
    { type: 'removed', text: 'likes' },
    { type: 'added', text: 'loves' },
    { type: 'same', text: ' math.' },
  ])
  fc.assert(
    fc.property(text, text, (before, after) => {
      const parts = diffTexts(before, after)
      const side = (left: string) =>
        parts
          .filter(({ type }) => type !== left)
          .map(part => part.text)
          .join('')
      assert.equal(side('added'), before)
      assert.equal(side('removed'), after)
    }),
  )
})

test('texts that take too long to compare are shown whole, one after the other', () => {
  const [before, after] = ['a', 'b'].map(letter => Array.from({ length: 50_000 }, (_, i) => letter + i).join(' '))
  assert.deepEqual(diffTexts(before!, after!), [
    { type: 'removed', text: before },
    { type: 'added', text: after },
  ])
})

test('invisible characters are named', () => {
  const text = 'a\u200bb\u202ec\u0007d\u{e0041}e\ufefff\r\n\tg\u00adh'
  assert.equal(reveal(text), 'a⟨U+200B⟩b⟨U+202E⟩c⟨U+0007⟩d⟨U+E0041⟩e⟨U+FEFF⟩f⟨U+000D⟩\n\tg⟨U+00AD⟩h')
  assert.deepEqual(
    hiddenIn('\u200b\u200bx\u202e').map(({ char, name, count }) => [char, name, count]),
    [
      ['U+200B', 'zero-width space', 2],
      ['U+202E', 'direction override', 1],
    ],
  )
  assert.deepEqual(diffTexts('', 'x\u200by'), [{ type: 'added', text: 'x⟨U+200B⟩y' }])
})

test('emoji and scripts that need joiners are allowed', () => {
  for (const plain of ['👩‍👩‍👧‍👦 🏳️‍🌈 ❤️ 👍🏽 1️⃣', 'é ä 日本 العربية', 'tab\tline\n']) {
    assert.equal(reveal(plain), plain)
    assert.deepEqual(hiddenIn(plain), [])
  }
})

function block(body: string): Block {
  return { userId: 'u', label: 'l', title: 'T', body, schemaRef: null, updatedAt: 0, version: 'now' }
}

function proposal({ kind, body, base }: { kind: Proposal['kind']; body: string; base: string }): Proposal {
  return {
    ...{ id: 'p', userId: 'u', label: 'l', kind, title: 'T', body, base: { version: 'v', title: 'T', body: base } },
    ...{ agentId: 'a', reasoning: 'r', confidence: 'low', entries: [], createdAt: 0, state: 'open' },
  }
}
