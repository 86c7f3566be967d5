import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { EditOperation } from '../../src/asked/context-edits.ts'
import type { PalimpsestError } from '../../src/model/errors.ts'
import { leavesOf } from '../../src/model/leaves.ts'
import type { Message, Part } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'

const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
const says = (...parts: (string | Part)[]): Message => ({
  role: 'assistant',
  parts: parts.map(part => (typeof part === 'string' ? { type: 'text', text: part } : part)),
})
const call = (id: string, name: string, input: unknown): Part => ({ type: 'tool-call', id, name, input })
const result = (id: string, output: string | Part[], name = 'bash'): Message => ({
  role: 'tool',
  parts: [{ type: 'tool-result', id, name, output }],
})

async function open(...messages: Message[]): Promise<Session> {
  const pal = await openPalimpsest({ home: ':memory:', clock: () => 1000 })
  const session = await pal.session('test')
  if (messages.length > 0) await session.append(...messages)
  return session
}

const replace = (session: Session, ...operations: EditOperation[]) => session.edit(operations)
const textsOf = async (session: Session) =>
  (await session.view()).messages.flatMap(message => message.parts.flatMap(leavesOf))
const bytes = async (session: Session) => JSON.stringify((await session.view()).messages)

const VERBOSE = `before START_VERBOSE_OUTPUT ${'detail '.repeat(60)}END_VERBOSE_OUTPUT after`

test('the result of a call reports the saving of each operation', async () => {
  const long = `START_LONG_OUTPUT ${'detail '.repeat(200)}END_LONG_OUTPUT`
  const session = await open(user('go'), says(VERBOSE), user('on'), says(long))
  const { replacements, tokensSaved } = await replace(
    session,
    { start: 'START_VERBOSE_OUTPUT', end: 'END_VERBOSE_OUTPUT', replacement: '…' },
    { start: 'START_LONG_OUTPUT', end: 'END_LONG_OUTPUT', replacement: '…' },
  )
  const [first, second] = replacements.map(one => one.tokensSaved)
  assert.ok(first! > 0 && second! > 2 * first!, `${first}, ${second}`)
  assert.equal(first! + second!, tokensSaved)
})

describe('replace', () => {
  test('t1: replaces a single block of more than 30 characters, and says what it saved', async () => {
    const session = await open(user('go'), says(VERBOSE))
    const { tokens } = await session.view()
    const { replacements, tokensSaved } = await replace(session, {
      start: 'START_VERBOSE_OUTPUT',
      end: 'END_VERBOSE_OUTPUT',
      replacement: '…',
    })
    assert.equal(replacements.length, 1)
    assert.ok(replacements[0]!.originalLength > 30)
    assert.ok(replacements[0]!.tokensSaved > 0)
    assert.equal(replacements[0]!.newLength, 1)
    assert.equal(replacements[0]!.entry, 1)
    assert.equal((await session.view()).tokens, tokens - tokensSaved)
    assert.deepEqual(await textsOf(session), ['go', 'before … after'])
  })

  test('t2: rejects a match of less than 30 characters', async () => {
    const session = await open(user('go'), says('ab short cd, and ab again cd'))
    const before = await bytes(session)
    const rejected = { code: 'MATCH_TOO_SHORT', message: /minimum 30 characters/ }
    await assert.rejects(replace(session, { start: 'ab s', end: 'cd', replacement: '…' }), rejected)
    await assert.rejects(replace(session, { start: 'ab', end: 'cd', replacement: '…' }), rejected)
    assert.equal(await bytes(session), before)
  })

  test('exactly 30 characters are enough, 29 are not', async () => {
    const session = await open(says(`<${'x'.repeat(28)}> and [${'y'.repeat(27)}]`))
    await assert.rejects(replace(session, { start: '[', end: ']', replacement: '' }), { code: 'MATCH_TOO_SHORT' })
    await replace(session, { start: '<', end: '>', replacement: '' })
    assert.match((await textsOf(session))[0]!, /^ and \[y+\]$/)
  })

  test('t3: makes several replacements in one batch', async () => {
    const log = (n: number) => `LOG_${n}_START ${'line '.repeat(20)}LOG_${n}_END`
    const session = await open(user('go'), says(`${log(1)} between ${log(2)}`))
    const { replacements, edits } = await replace(
      session,
      { start: 'LOG_1_START', end: 'LOG_1_END', replacement: '[log1]' },
      { start: 'LOG_2_START', end: 'LOG_2_END', replacement: '[log2]' },
    )
    assert.equal(replacements.length, 2)
    assert.equal(edits.length, 2)
    assert.deepEqual(await textsOf(session), ['go', '[log1] between [log2]'])
    await session.undo(edits[0]!.id)
    assert.deepEqual(await textsOf(session), ['go', `${log(1)} between [log2]`])
  })

  test('t4: refuses overlapping patterns and names both', async () => {
    const fill = ' some text that is long enough, '.repeat(2)
    const session = await open(says(`A1${fill}B1${fill}C1${fill}D1`))
    const before = await bytes(session)
    await assert.rejects(
      replace(session, { start: 'A1', end: 'C1', replacement: '…' }, { start: 'B1', end: 'D1', replacement: '…' }),
      { code: 'EDITS_OVERLAP', message: /overlapping targets: "A1" … "C1" and "B1" … "D1"/ },
    )
    await assert.rejects(
      replace(session, { start: 'A1', end: 'D1', replacement: '…' }, { start: 'B1', end: 'C1', replacement: '…' }),
      { code: 'EDITS_OVERLAP' },
    )
    assert.equal(await bytes(session), before)
  })

  test('several matches change nothing and are all listed with place and context', async () => {
    const block = (n: number) => `note ${n}: BEGIN ${'same words '.repeat(5)}FINISH`
    const session = await open(user(block(0)), says(block(1)), user('and'), says(`${block(2)} and ${block(3)}`))
    const before = await bytes(session)
    const error: PalimpsestError = await replace(session, { start: 'BEGIN', end: 'FINISH', replacement: '…' }).then(
      () => assert.fail('it went through'),
      reason => reason,
    )
    assert.equal(error.code, 'MATCH_AMBIGUOUS')
    assert.match(error.message, /matches 4 times.*entry 0 \(user\): "note 0: BEGIN.*entry 3 \(assistant\): .*note 3/s)
    const matches = error.data['matches'] as { entry: number; role: string; context: string }[]
    assert.deepEqual(
      matches.map(match => [match.entry, match.role]),
      [
        [0, 'user'],
        [1, 'assistant'],
        [3, 'assistant'],
        [3, 'assistant'],
      ],
    )
    assert.equal(await bytes(session), before)
    await replace(session, { start: 'note 2: BEGIN', end: 'FINISH', replacement: '2' })
  })

  test('ten thousand matches are refused in one pass with a short message', async () => {
    const session = await open(says('ab '.repeat(60_000)), says(`${'a'.repeat(200_000)}b`))
    for (const operation of [
      { start: 'ab ', end: 'b ab ab ab ab ab ab ab ab ab ab', replacement: '' },
      { start: 'a', end: 'b', replacement: '' },
    ]) {
      await assert.rejects(replace(session, operation), (error: PalimpsestError) => {
        assert.equal(error.code, 'MATCH_AMBIGUOUS')
        assert.match(error.message, /and \d+ more/)
        assert.ok(error.message.length < 3000)
        return true
      })
    }
    await assert.rejects(replace(session, { start: 'a', end: 'zzz', replacement: '' }), { code: 'PATTERN_NOT_FOUND' })
  })

  test('a missing pattern is answered with the nearest texts', async () => {
    const session = await open(
      user('go'),
      says('Detailed analysis of all 47 files:\n- one\nEnd of file analysis report, which is long'),
    )
    await assert.rejects(
      replace(session, { start: 'Detailed analysis of all 46 files', end: 'report', replacement: '' }),
      (error: PalimpsestError) => {
        assert.equal(error.code, 'PATTERN_NOT_FOUND')
        assert.match(error.message, /start pattern .* is not in view.*Similar: "Detailed analysis of all 47 files:"/)
        assert.equal((error.data['similar'] as string[])[0], 'Detailed analysis of all 47 files:')
        return true
      },
    )
    await assert.rejects(
      replace(session, { start: 'Detailed analysis', end: 'End of the file analysis', replacement: '' }),
      { code: 'PATTERN_NOT_FOUND', message: /end pattern .* does not follow.*End of file analysis report/ },
    )
  })

  test('start and end must be in the same text', async () => {
    const session = await open(user(`START ${'x'.repeat(40)}`), says(`${'y'.repeat(40)} END`))
    await assert.rejects(replace(session, { start: 'START', end: 'END', replacement: '' }), {
      code: 'PATTERN_NOT_FOUND',
      message: /in the same text/,
    })
  })

  test('text shown by a range edit or a restore is not edited, and the error names the edit to undo', async () => {
    const session = await open(user('one'), says('two'), user('three'))
    const summary = 'SUMMARY of what happened in these two messages, END'
    const [edit] = await session.apply([
      { target: { type: 'range', from: 0, to: 1 }, replacement: { messages: [user(summary)] }, why: 'test' },
    ])
    await assert.rejects(replace(session, { start: 'SUMMARY', end: 'END', replacement: '' }), {
      code: 'PATTERN_NOT_FOUND',
      message: new RegExp(`text that edit ${edit!.id} shows`),
    })
    await assert.rejects(replace(session, { start: 'SUMMARY', end: 'nowhere', replacement: '' }), error => {
      assert.ok(error instanceof Error)
      assert.doesNotMatch(error.message, /that edit/)
      return true
    })
  })

  test('matching is literal: nothing in a pattern or a replacement is syntax', async () => {
    const session = await open(says(`(.*) [a-z]+ $& ${'.'.repeat(30)} \\d{3} ^end$ tail`))
    await replace(session, { start: '(.*) [a-z]+', end: '^end$', replacement: '$& $1 $$ \\n' })
    assert.deepEqual(await textsOf(session), ['$& $1 $$ \\n tail'])
  })

  test('matches are found in results, in inputs and in outputs of several parts', async () => {
    const long = (name: string) => `<${name}>${' filler'.repeat(10)}</${name}>`
    const session = await open(
      user('go'),
      says(call('c1', 'write_file', { path: 'a.ts', content: long('input'), more: { deep: ['x', long('deep')] } })),
      result('c1', [
        { type: 'text', text: 'first' },
        { type: 'image', mediaType: 'image/png', data: 'AAAA' },
        { type: 'text', text: long('inner') },
      ]),
      says(call('c2', 'bash', { command: 'ls' })),
      result('c2', long('result')),
      says('done'),
    )
    const names = ['input', 'deep', 'inner', 'result']
    await replace(session, ...names.map(name => ({ start: `<${name}>`, end: `</${name}>`, replacement: `[${name}]` })))
    const { messages } = await session.view()
    const [, calls, several, , single] = messages
    assert.deepEqual(calls!.parts[0], {
      type: 'tool-call',
      id: 'c1',
      name: 'write_file',
      input: { path: 'a.ts', content: '[input]', more: { deep: ['x', '[deep]'] } },
      edit: (calls!.parts[0] as Part).edit,
    })
    assert.deepEqual(several!.parts[0], {
      type: 'tool-result',
      id: 'c1',
      name: 'bash',
      output: [
        { type: 'text', text: 'first' },
        { type: 'image', mediaType: 'image/png', data: 'AAAA' },
        { type: 'text', text: '[inner]' },
      ],
      edit: several!.parts[0]!.edit,
    })
    assert.equal(leavesOf(single!.parts[0]!)[0], '[result]')
  })

  test('arguments of the context tool are never matched', async () => {
    const block = `BLOCK_START ${'words '.repeat(10)}BLOCK_END`
    const target = { start: 'BLOCK_START', end: 'BLOCK_END', replacement: `${block}` }
    const session = await open(
      user('go'),
      says(block),
      user('shorten it'),
      says(call('c1', 'context', { action: 'replace', targets: [target] })),
    )
    const { replacements } = await replace(session, { start: 'BLOCK_START', end: 'BLOCK_END', replacement: '[block]' })
    assert.equal(replacements[0]!.entry, 1)
  })

  test('reasoning is never matched', async () => {
    const session = await open(
      user('go'),
      says({ type: 'reasoning', text: `THINK ${'deep '.repeat(10)}STOP` }, 'text'),
      user('next'),
    )
    await assert.rejects(replace(session, { start: 'THINK', end: 'STOP', replacement: '' }), {
      code: 'PATTERN_NOT_FOUND',
    })
  })

  test('surrogate pairs, combining marks and right-to-left text can be replaced', async () => {
    const session = await open(says(`🙂 anfang é ${'日本語のテキスト'.repeat(5)} שלום 👩‍👩‍👧 ende 🙂`))
    await replace(session, { start: 'é', end: '👩‍👩‍👧', replacement: '…' })
    assert.deepEqual(await textsOf(session), ['🙂 anfang … ende 🙂'])
  })

  test('an empty replacement is allowed; empty patterns and wrong shapes are not', async () => {
    const session = await open(says(VERBOSE))
    await replace(session, { start: 'START_VERBOSE_OUTPUT', end: 'END_VERBOSE_OUTPUT', replacement: '' })
    assert.deepEqual(await textsOf(session), ['before  after'])
    const wrong = [
      { start: '', end: 'x', replacement: '' },
      { start: 'x', end: '', replacement: '' },
      { start: 'x', end: 'y' },
      [],
      ['a', 'b', 'c', 'd'],
      [1],
      null,
    ]
    for (const target of wrong) {
      await assert.rejects(replace(session, target as EditOperation), { code: 'INVALID_INPUT' }, JSON.stringify(target))
    }
    await assert.rejects(replace(session, { start: '\ud83d', end: 'x', replacement: '' }), { code: 'INVALID_UNICODE' })
    await assert.rejects(replace(session), { code: 'INVALID_INPUT', message: /at least one target/ })
  })
})

describe('text that is already edited', () => {
  const fill = 'filler words that nobody needs, '
  const original = `head [A] ${fill}${fill}[B] middle [C] ${fill}${fill}[D] tail and some more words at the end`

  test('a match may begin in original text and end in edited text, and the other way round', async () => {
    for (const [start, end, shown] of [
      ['head', 'one]', '…! middle'],
      ['[one', 'middle', 'head ?…'],
      ['head', 'middle', '…'],
    ] as const) {
      const session = await open(says(original))
      const first = await replace(session, { start: '[A]', end: '[B]', replacement: '?[one one one one one one one]!' })
      const before = await bytes(session)
      const second = await replace(session, { start, end, replacement: '…' })
      assert.match((await textsOf(session))[0]!, new RegExp(`^${shown.replace(/[?[\]]/g, '\\$&')}`))
      await session.undo(second.edits[0]!.id)
      assert.equal(await bytes(session), before)
      await session.redo(second.edits[0]!.id)
      await session.undo(first.edits[0]!.id)
      await session.undo(second.edits[0]!.id)
      assert.deepEqual(await textsOf(session), [original])
    }
  })

  test('a match inside edited text changes only that text', async () => {
    const session = await open(says(original))
    const long = `<${'summary of it '.repeat(4)}>`
    const first = await replace(session, { start: '[A]', end: '[B]', replacement: `1 ${long} 2` })
    await replace(session, { start: '<summary', end: '>', replacement: '…' })
    assert.match((await textsOf(session))[0]!, /^head 1 … 2 middle \[C\]/)
    await session.undo(first.edits[0]!.id)
    assert.match((await textsOf(session))[0]!, /^head 1 … 2 middle \[C\]/, 'the outer edit shows')
  })

  test('a part that was replaced as a whole, and a leaf, can be shortened further', async () => {
    const long = `SUMMARY ${'of many things '.repeat(5)}END, and a rest`
    const session = await open(
      user('go'),
      says(call('c1', 'write_file', { path: 'a', content: 'x' })),
      result('c1', 'y'),
      says('z'),
      user('on'),
    )
    await session.apply([
      {
        target: { type: 'part', entry: 1, part: 0 },
        replacement: { input: { path: 'a', content: `1 ${long}` } },
        why: 'test',
      },
      { target: { type: 'part', entry: 2, part: 0 }, replacement: `2 ${long}`, why: 'test' },
      { target: { type: 'part', entry: 3, part: 0, leaf: 0 }, replacement: `3 ${long}`, why: 'test' },
    ])
    const before = await bytes(session)
    const { edits } = await replace(
      session,
      ...['1', '2', '3'].map(n => ({ start: `${n} SUMMARY`, end: 'END', replacement: n })),
    )
    const rest = ', and a rest'
    assert.deepEqual(await textsOf(session), ['go', 'a', `1${rest}`, `2${rest}`, `3${rest}`, 'on'])
    for (const { id } of edits) await session.undo(id)
    assert.equal(await bytes(session), before)
  })

  test("two targets inside one edit's text are refused together and work one after the other", async () => {
    const session = await open(says(original))
    const side = (n: number) => `<${n} ${'words '.repeat(6)}${n}>`
    await replace(session, { start: '[A]', end: '[B]', replacement: `${side(1)} and ${side(2)}` })
    const [one, two] = [1, 2].map(n => ({ start: `<${n}`, end: `${n}>`, replacement: `[${n}]` }))
    await assert.rejects(replace(session, one!, two!), { code: 'EDITS_OVERLAP', message: /one after the other/ })
    await replace(session, one!)
    await replace(session, two!)
    assert.match((await textsOf(session))[0]!, /^head \[1\] and \[2\] middle/)
  })

  test('a text that an edit only adds, such as an id, stays when its neighbour is replaced', async () => {
    const session = await open(says(original))
    const add = (at: number, text: string) => ({
      target: { type: 'part' as const, entry: 0, part: 0, leaf: 0, span: [at, at] as [number, number] },
      replacement: text,
      why: 'test',
    })
    await session.apply([add(0, '<begin>'), add(original.length, '<id 1234>')])
    const { edits } = await replace(session, { start: 'tail and', end: 'the end', replacement: '…' })
    await replace(session, { start: 'head [A]', end: '[B]', replacement: '!' })
    assert.match((await textsOf(session))[0]!, /^<begin>! middle .* …<id 1234>$/)
    await session.undo(edits[0]!.id)
    assert.match((await textsOf(session))[0]!, /^<begin>! middle .* the end<id 1234>$/)
  })

  test('an edit with an empty replacement has no effect on its neighbours', async () => {
    const session = await open(says(original))
    await replace(session, { start: '[A]', end: '[B]', replacement: '' })
    await replace(session, { start: ' middle', end: '[D]', replacement: '|' })
    assert.match((await textsOf(session))[0]!, /^head \| tail/)
  })
})

describe('discard and distill', () => {
  const noisy = `a result with ${'many '.repeat(50)}words`

  async function listed() {
    const session = await open(
      user('go'),
      says(call('c1', 'bash', { command: 'x' })),
      result('c1', noisy),
      says('done'),
    )
    const parts = await session.parts()
    return { session, hash: parts.find(part => part.kind === 'tool-result')!.hash, parts }
  }

  test('a result can be discarded by its id and restored by the same id', async () => {
    const { session, hash } = await listed()
    const { edits, tokensSaved } = await session.edit([{ discard: hash }])
    assert.ok(tokensSaved > 0)
    assert.match(
      (await textsOf(session)).at(-2)!,
      new RegExp(`^\\[Discarded: result of bash, ${noisy.length} chars.*${hash}`),
    )
    assert.equal((await session.restore(hash)).text, noisy)
    await session.undo(edits[0]!.id)
  })

  test('a summary replaces the text and names it', async () => {
    const { session, hash } = await listed()
    await session.edit([{ distill: hash, to: 'many words' }])
    assert.equal((await textsOf(session)).at(-2), `many words\n[Distilled from ${noisy.length} chars, id ${hash}]`)
  })

  test('one batch may discard, distill and replace, and is applied whole or not at all', async () => {
    const { session, hash, parts } = await listed()
    await session.append(user('next'), says(VERBOSE))
    const text = parts.find(part => part.preview === 'done')!.hash
    const operation = { start: 'START_VERBOSE_OUTPUT', end: 'END_VERBOSE_OUTPUT', replacement: '…' }
    const before = await bytes(session)
    const broken: EditOperation[] = [{ discard: hash }, { ...operation, start: 'NOT THERE AT ALL' }]
    await assert.rejects(session.edit(broken), { code: 'PATTERN_NOT_FOUND' })
    await assert.rejects(session.edit([{ discard: hash }, { distill: hash, to: 'twice' }]), {
      code: 'EDITS_OVERLAP',
      message: new RegExp(`overlapping targets: ${hash} and ${hash}`),
    })
    assert.equal(await bytes(session), before)
    assert.equal(session.edits().length, 0)
    const { replacements } = await session.edit([{ discard: hash }, { distill: text, to: 'said so' }, operation])
    assert.equal(replacements.length, 3)
    assert.deepEqual((await textsOf(session)).slice(-3), [
      'said so\n[Distilled from 4 chars, id '.concat(text, ']'),
      'next',
      'before … after',
    ])
  })

  test('an id that is not in view, the id of a call, and a missing summary are refused', async () => {
    const { session, hash, parts } = await listed()
    const callId = parts.find(part => part.kind === 'tool-call')!.hash
    for (const id of ['00000000', 'no id', '']) {
      await assert.rejects(session.edit([{ discard: id }]), { code: 'PATTERN_NOT_FOUND' })
    }
    await assert.rejects(session.edit([{ discard: callId }]), {
      code: 'INVALID_INPUT',
      message: /is a tool-call; only texts and results can be edited/,
    })
    await assert.rejects(session.edit([{ distill: hash, to: '  ' }]), { code: 'INVALID_INPUT' })
    await assert.rejects(session.edit([{ distill: hash } as never]), { code: 'INVALID_INPUT' })
    await session.apply([{ target: { type: 'range', from: 1, to: 2 }, replacement: { messages: [] }, why: 'hidden' }])
    await assert.rejects(session.edit([{ discard: hash }]), { code: 'PATTERN_NOT_FOUND' })
  })

  test('an edit of a pinned part refuses the whole batch', async () => {
    const { session, hash, parts } = await listed()
    await session.pin(2)
    const text = parts.find(part => part.preview === 'done')!.hash
    await assert.rejects(session.edit([{ discard: text }, { discard: hash }]), { code: 'PINNED' })
    assert.equal(session.edits().length, 0)
  })
})
