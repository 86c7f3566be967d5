import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Message, Part, Target } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { addEntry, createFold } from '../../src/view/fold.ts'
import {
  isOwnTool,
  partId,
  placeOfId,
  recallToolIn,
  savingToolIn,
  shownByEdits,
  shownParts,
  shownTexts,
} from '../../src/view/shown-texts.ts'
import { session as anySession } from '../laws/sessions.ts'
import * as fc from '../property.ts'

const text = (role: 'user' | 'assistant', said: string): Message => ({ role, parts: [{ type: 'text', text: said }] })

async function open(...messages: Message[]): Promise<Session> {
  const pal = await openPalimpsest({ home: ':memory:', clock: () => 1000 })
  const session = await pal.session('test')
  await session.append(...messages)
  return session
}

const bytes = async (session: Session) => JSON.stringify((await session.view()).messages)

test('the tool to save with is the best available one: ours by its name, even after the name of a server', () => {
  const best = (...names: string[]) => savingToolIn(names)
  assert.equal(best('bash', 'append_to_file', 'workspace_save_fact'), 'workspace_save_fact')
  assert.equal(best('save_memory', 'memory'), 'memory')
  assert.equal(best('mcp__palimpsest__workspace_save_fact', 'memory'), 'mcp__palimpsest__workspace_save_fact')
  assert.equal(best('mcp__other__workspace_save_fact', 'my_memory'), undefined, 'of somebody else')
  const twice = ['mcp__palimpsest__save_memory', 'save_memory']
  assert.equal(best(...twice), twice[0], 'the first of several')
  assert.equal(best('palimpsest_notes', 'bash'), undefined)
  assert.equal(best(), undefined)
})

test('our own tools are recognised by their names, alone or after the name of our server', () => {
  const own = ['context', 'recall', 'mcp__palimpsest__recall', 'Palimpsest.context', 'my_palimpsest_recall']
  const others = ['mcp__other__recall', 'recalled', 'palimpsestrecall', 'palimpsest_recall_all', 'my-context', '']
  assert.deepEqual(
    [own, others].map(names => names.map(isOwnTool)),
    [own.map(() => true), others.map(() => false)],
  )
  assert.equal(
    recallToolIn(['bash', 'context', 'mcp__other__recall', 'mcp__palimpsest__recall']),
    'mcp__palimpsest__recall',
  )
  assert.equal(recallToolIn(['context', 'mcp__other__recall']), undefined)
  assert.equal(recallToolIn(['recall', 'mcp__palimpsest__recall']), 'recall', 'the first of several')
})

test('texts of ranges and insertions have only their edits; texts of entries have originals', async () => {
  const session = await open(
    text('user', 'one'),
    text('assistant', 'two'),
    text('user', 'three'),
    text('assistant', 'four'),
  )
  const [range] = await session.apply([
    { target: { type: 'range', from: 0, to: 1 }, replacement: { messages: [text('user', 'so far')] }, why: '' },
  ])
  const [behind] = await session.apply([
    { target: { type: 'after', entry: 3 }, replacement: { messages: [text('user', 'a note')] }, why: '' },
  ])
  await session.apply([{ target: { type: 'part', entry: 2, part: 0 }, replacement: 'short', why: '' }])
  assert.deepEqual(
    [...shownByEdits(session.fold)],
    [
      { edit: range!.id, text: 'so far' },
      { edit: behind!.id, text: 'a note' },
    ],
  )
})

test('hidden and dropped parts have no text; an insertion after a dropped entry is shown', async () => {
  const session = await open(
    text('user', 'one'),
    { ...text('user', 'two'), parts: ['two', 'three'].map(said => ({ type: 'text', text: said })) },
    text('user', 'four'),
    text('assistant', 'five'),
  )
  const drop = (entry: number, part: number) =>
    ({ target: { type: 'part', entry, part }, replacement: null, why: '' }) as const
  const note = { messages: [text('user', 'a note')] }
  const [, , behind] = await session.apply([
    drop(1, 0),
    drop(2, 0),
    { target: { type: 'after', entry: 2 }, replacement: note, why: '' },
    { target: { type: 'entry', entry: 0 }, replacement: { messages: [text('user', 'instead')] }, why: '' },
  ])
  const { fold } = session
  assert.deepEqual(
    [...shownTexts(fold)].map(one => one.text),
    ['three', 'five'],
  )
  assert.deepEqual(
    [0, 1, 2, 3, 4].map(entry => [...shownParts(fold, entry)].length),
    [0, 1, 0, 1, 0],
  )
  assert.deepEqual(
    [...shownByEdits(fold)].map(one => one.text),
    ['instead', 'a note'],
  )
  assert.equal([...shownByEdits(fold)].at(-1)!.edit, behind!.id)
})

test('an entry whose content is not loaded has no texts', () => {
  const fold = createFold(words => words.length)
  addEntry(fold, { seq: 0, at: 0, message: undefined, role: 'user' })
  assert.deepEqual([[...shownParts(fold)], [...shownParts(fold, 0)], [...shownTexts(fold)]], [[], [], []])
})

test('a text is shown in pieces: unchanged ones, and those that edits put in place of others', async () => {
  const session = await open(text('user', 'abcdefghij'), text('assistant', 'so'))
  const leaf = { type: 'part' as const, entry: 0, part: 0, leaf: 0 }
  const put = (target: Target, replacement: string) => session.apply([{ target, replacement, why: 'test' }], 'user')
  await put({ ...leaf, span: [6, 8] }, 'YYYY')
  await put({ ...leaf, span: [1, 3] }, 'X')
  const shown = () => [...shownTexts(session.fold)][0]!
  assert.deepEqual([shown().text, shown().replaced], ['aXdefYYYYij', undefined])
  assert.deepEqual(
    shown().pieces.map(({ from, to, original, literal }) => [from, to, ...original, literal]),
    [
      [0, 1, 0, 1, true],
      [1, 2, 1, 3, false],
      [2, 5, 3, 6, true],
      [5, 9, 6, 8, false],
      [9, 11, 8, 10, true],
    ],
  )
  await put(leaf, 'all')
  const { pieces, replaced } = shown()
  assert.deepEqual([pieces, replaced], [[{ from: 0, to: 3, original: [0, 10], literal: false }], 'leaf'])
  await put({ type: 'part', entry: 0, part: 0 }, 'whole part')
  assert.equal(shown().replaced, 'part')
  const [, untouched] = [...shownTexts(session.fold)]
  assert.deepEqual(untouched!.pieces, [{ from: 0, to: 2, original: [0, 2], literal: true }])
})

test('in a call with several texts, those without an edit are unchanged', async () => {
  const input = { a: 'first', b: 'second' }
  const session = await open(
    text('user', 'go'),
    { role: 'assistant', parts: [{ type: 'tool-call', id: 'c', name: 'bash', input }] },
    { role: 'tool', parts: [{ type: 'tool-result', id: 'c', name: 'bash', output: 'done' }] },
    text('user', 'next'),
  )
  const target: Target = { type: 'part', entry: 1, part: 0, leaf: 1 }
  await session.apply([{ target, replacement: '2nd', why: 'test' }], 'user')
  assert.deepEqual(
    [...shownTexts(session.fold)].slice(1, 3).map(({ text: shown, replaced, pieces }) => [shown, replaced, pieces]),
    [
      ['first', undefined, [{ from: 0, to: 5, original: [0, 5], literal: true }]],
      ['2nd', 'leaf', [{ from: 0, to: 3, original: [0, 6], literal: false }]],
    ],
  )
})

test('a match may use results and inputs of calls, but no reasoning', async () => {
  const call = (id: string, name: string): Part => ({ type: 'tool-call', id, name, input: { query: `${name} input` } })
  const result = (id: string, name: string): Part => ({ type: 'tool-result', id, name, output: `${name} output` })
  const session = await open(
    text('user', 'go'),
    { role: 'assistant', parts: [{ type: 'reasoning', text: 'hm' }, call('1', 'recall'), call('2', 'bash')] },
    { role: 'tool', parts: [result('1', 'recall'), result('2', 'bash')] },
  )
  assert.deepEqual(
    [...shownTexts(session.fold)].map(one => one.text),
    ['go', 'bash input', 'bash output'],
  )
})

describe('ids of parts', () => {
  const type = fc.constantFrom(...(['text', 'reasoning', 'tool-call', 'tool-result', 'image', 'raw'] as const))

  test('lead back to their part, for any part', () => {
    fc.assert(
      fc.property(fc.nat(8_000_000), fc.nat(2000), type, (entry, part, kind) => {
        assert.deepEqual(placeOfId(partId(entry, part, { type: kind })), { entry, part, type: kind })
      }),
      { examples: [63, 64, 65, 127, 128].map(part => [5, part, 'text']) },
    )
  })

  test('are texts of eight digits, and not every such text is an id', () => {
    const digits = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 8, maxLength: 8 })
    fc.assert(
      fc.property(digits, id => {
        const place = placeOfId(id)
        if (place) assert.equal(partId(place.entry, place.part, place), id)
      }),
    )
  })

  test('are short, and no two parts of a long session share one', () => {
    const seen = new Set<string>()
    for (let entry = 0; entry < 30_000; entry++) {
      for (let part = 0; part < 3; part++) seen.add(partId(entry, part, { type: 'text' }))
    }
    assert.equal(seen.size, 90_000)
    assert.ok([...seen].every(id => /^[0-9a-f]{8}$/.test(id)))
    assert.equal(placeOfId('zzzzzzzz'), undefined)
    assert.equal(placeOfId('1234'), undefined)
  })
})

test('in a message with several parts, only the replaced part is marked as replaced', async () => {
  const parts: Part[] = ['one', 'two', 'three'].map(said => ({ type: 'text', text: said }))
  const session = await open({ role: 'user', parts })
  await session.apply([{ target: { type: 'part', entry: 0, part: 1 }, replacement: '2', why: 'test' }], 'user')
  assert.deepEqual(
    [...shownTexts(session.fold)].map(({ text: shown, part, replaced }) => [part, shown, replaced]),
    [
      [0, 'one', undefined],
      [1, '2', 'part'],
      [2, 'three', undefined],
    ],
  )
})

describe('any session', () => {
  const pick = fc.record({
    text: fc.nat(),
    start: fc.nat(),
    length: fc.nat(),
    marks: fc.nat(),
    replacement: fc.string(),
  })

  test('shows a unique match of replace(start, end) replaced, and undo restores it', async () => {
    await fc.assert(
      fc.asyncProperty(anySession, fc.array(pick, { minLength: 1, maxLength: 6 }), async (messages, picks) => {
        const session = await open(...messages.map(lengthen))
        const unique = 'Nothing that is generated says this sentence, so it can always be matched.'
        await session.append(text('user', unique), text('assistant', 'it is done'))
        const made: { id: string; before: string }[] = []
        for (const choice of picks) {
          const texts = [...shownTexts(session.fold)]
          const chosen = texts.map((_, i) => choose(texts, { ...choice, text: choice.text + i })).find(Boolean)
          if (!chosen) continue
          const before = await bytes(session)
          const { entry, part, leaf } = texts[chosen.text]!
          const { edits, replacements } = await session.edit([chosen.operation])
          const after = [...shownTexts(session.fold)].find(t => t.entry === entry && t.part === part && t.leaf === leaf)
          assert.equal(after?.text, chosen.expected)
          assert.equal(replacements[0]!.originalLength, chosen.length)
          await session.undo(edits[0]!.id)
          assert.equal(await bytes(session), before)
          await session.redo(edits[0]!.id)
          made.push({ id: edits[0]!.id, before })
        }
        assert.ok(made.length > 0)
        for (const { id, before } of made.reverse()) {
          await session.undo(id)
          assert.equal(await bytes(session), before)
        }
      }),
      { numRuns: 120 },
    )
  })

  /** Texts of sessions are short: doubled and trebled they have matches. */
  function lengthen(message: Message): Message {
    const parts = message.parts.map((part, i): Part => {
      if (part.type === 'text') return { ...part, text: `${part.text} (${message.role} ${i}) ${part.text} and so on` }
      if (part.type === 'tool-result' && typeof part.output === 'string')
        return { ...part, output: `result ${part.id}: ${part.output} -- ${part.output} that was ${part.id}` }
      return part
    })
    return { ...message, parts }
  }

  function choose(
    texts: { text: string }[],
    {
      text,
      start,
      length,
      marks,
      replacement,
    }: { text: number; start: number; length: number; marks: number; replacement: string },
  ) {
    const index = text % texts.length
    const source = texts[index]!.text
    if (source.length < 30) return undefined
    const from = start % (source.length - 29)
    const to = Math.min(source.length, from + 30 + (length % 60))
    const cut = 1 + (marks % (to - from - 1))
    const operation = {
      start: source.slice(from, from + cut),
      end: source.slice(from + cut, to),
      replacement: `<${replacement}>`,
    }
    if (!operation.start.isWellFormed() || !operation.end.isWellFormed()) return undefined
    const ends = texts.flatMap(t =>
      allIndices(t.text, operation.start).filter(at => t.text.indexOf(operation.end, at + cut) >= 0),
    )
    if (ends.length !== 1 || source.indexOf(operation.end, from + cut) !== from + cut) return undefined
    return {
      text: index,
      operation,
      length: to - from,
      expected: source.slice(0, from) + operation.replacement + source.slice(to),
    }
  }

  function allIndices(text: string, wanted: string): number[] {
    const found: number[] = []
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) found.push(at)
    return found
  }
})
