import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { fromAnthropic, toAnthropic } from '../../src/formats/adapters/anthropic.ts'
import { SqliteLedger } from '../../src/ledger/sqlite.ts'
import type { ReadOptions, Row } from '../../src/ledger/store.ts'
import type { Message, Part } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { checkView } from '../../src/view/legality.ts'
import { session as anySession } from '../laws/sessions.ts'
import * as fc from '../property.ts'

const folder = mkdtempSync(join(tmpdir(), 'palimpsest-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
const says = (...parts: (string | Part)[]): Message => ({
  role: 'assistant',
  parts: parts.map(part => (typeof part === 'string' ? { type: 'text', text: part } : part)),
})
const call = (id: string, name = 'read_file', input: unknown = { path: 'a.ts' }): Part => ({
  type: 'tool-call',
  id,
  name,
  input,
})
const result = (id: string, output: string, name = 'read_file'): Message => ({
  role: 'tool',
  parts: [{ type: 'tool-result', id, name, output }],
})

async function open(
  options: Parameters<Awaited<ReturnType<typeof openPalimpsest>>['session']>[1] = {},
): Promise<Session> {
  const pal = await openPalimpsest({ home: ':memory:', clock: () => 1000 })
  return pal.session('test', options)
}

describe('any session', () => {
  for (const model of ['claude-sonnet-4-5', 'gpt-5', 'gpt-4o']) {
    test(`has a legal view after every append (${model})`, async () => {
      await fc.assert(
        fc.asyncProperty(anySession, fc.integer({ min: 1, max: 4 }), async (messages, batch) => {
          const session = await open({ model })
          for (let i = 0; i < messages.length; i += batch) {
            await session.append(...messages.slice(i, i + batch))
            const view = await session.view()
            assert.deepEqual(view.report, [])
            assert.deepEqual(checkView(view.messages, { dialect: session.options.model.dialect }), [])
          }
          assert.deepEqual((await session.verify()).violations, [])
        }),
        { numRuns: 120 },
      )
    })
  }

  test('shows the same bytes after a restart, and so does its fork', async () => {
    let n = 0
    await fc.assert(
      fc.asyncProperty(anySession, fc.nat(), async (messages, cut) => {
        const home = join(folder, `restart-${n++}`)
        const first = await openPalimpsest({ home, clock: () => 1000 })
        const session = await first.session('s')
        await session.append(...messages)
        const at = cut % messages.length
        const range = { type: 'range' as const, from: 0, to: at }
        await session
          .apply([{ target: range, replacement: { messages: [user('so far')] }, why: 'test' }])
          .catch(() => undefined)
        const fork = await session.fork()
        const before = JSON.stringify((await session.view()).messages)
        await first.close()
        const second = await openPalimpsest({ home, clock: () => 2000 })
        assert.equal(JSON.stringify((await (await second.session('s')).view()).messages), before)
        assert.equal(JSON.stringify((await (await second.session(fork.id)).view()).messages), before)
        await second.close()
      }),
      { numRuns: 40 },
    )
  })
})

describe('tool calls', () => {
  test('get an answer in the view if interrupted, recorded and explained; a late result is shown as text', async () => {
    const session = await open()
    await session.append(user('go'), says(call('c1'), call('c2')), result('c1', 'one'), user('never mind'))
    const { messages, edits } = await session.view()
    assert.deepEqual(
      messages.map(message => message.role),
      ['user', 'assistant', 'tool', 'tool', 'user'],
    )
    assert.match(JSON.stringify(messages[3]), /No result: read_file was interrupted/)
    assert.match(edits[0]!.why, /call-without-result/)
    await session.append(says('ok'), result('c2', 'two, at last'))
    const later = await session.view()
    assert.deepEqual(later.report, [])
    assert.match(JSON.stringify(later.messages.at(-1)), /Late result of read_file.*two, at last/)
  })

  test('with a shortened result that had an image mention it, and restoring the part restores the image', async () => {
    const session = await open()
    const image: Part = { type: 'image', mediaType: 'image/png', data: 'AAAA' }
    const output: Part[] = [{ type: 'text', text: 'a long text' }, image]
    const shot: Message = { role: 'tool', parts: [{ type: 'tool-result', id: 'c1', name: 'shot', output }] }
    await session.append(user('go'), says(call('c1')), shot, says('ok'))
    const target = { type: 'part', entry: 2, part: 0 } as const
    const [edit] = await session.apply([{ target, replacement: 'short', why: '' }])
    const { messages } = await session.view()
    assert.match(JSON.stringify(messages[2]), /"short\\n\[Image left out: image\/png, 4 bytes\]"/)
    await session.restore(edit!.id)
    assert.deepEqual(
      (await session.view()).messages.at(-1)?.parts.map(({ type }) => type),
      ['text', 'image'],
    )
  })

  test('are repaired in the view even if the recorded repair is undone, with a report', async () => {
    const session = await open()
    await session.append(user('go'), says(call('c1'), call('c2')), result('c1', 'one'), user('never mind'))
    await session.undo('e1')
    const { messages, report } = await session.view()
    assert.match(JSON.stringify(messages[3]), /No result: read_file was interrupted/)
    assert.deepEqual(
      report.map(({ rule, ids }) => [rule, ids]),
      [['call-without-result', ['c2']]],
    )
    const { violations } = await session.verify()
    assert.deepEqual(violations, [])
  })

  test('with invalid ids are refused, and nothing changes', async () => {
    const session = await open()
    await session.append(user('go'), says(call('c1')), result('c1', 'one'))
    const bad: [Message[], RegExp][] = [
      [[says(call('c1'))], /c1 is already used/],
      [[says(call('c9'), call('c9'))], /c9 is already used/],
      [[result('c7', 'x')], /no tool call c7/],
      [[result('c1', 'x')], /already has a result/],
      [[says(call(''))], /needs an id/],
      [[says(call('c2')), result('c2', 'a'), result('c2', 'b')], /already has a result/],
      [
        [{ role: 'user', parts: [{ type: 'tool-result', id: 'c1', name: 'x', output: '' }] }],
        /belongs to a message of role tool/,
      ],
    ]
    for (const [messages, message] of bad) {
      await assert.rejects(session.append(...messages), { code: 'INVALID_MESSAGE', message })
    }
    assert.equal(session.fold.entries.length, 3)
  })

  test('with invalid Unicode or oversized parts are refused with their own codes', async () => {
    const session = await open()
    await assert.rejects(session.append(user('\ud800')), { code: 'INVALID_UNICODE' })
    await assert.rejects(session.append(user('x'.repeat(50 * 1024 * 1024))), { code: 'TOO_LARGE' })
    assert.equal(session.fold.entries.length, 0)
  })

  test('without results are listed in the view', async () => {
    const session = await open()
    await session.append(user('go'), says(call('c1'), call('c2')))
    assert.deepEqual((await session.view()).waiting, ['c1', 'c2'])
    await session.append(result('c2', 'two'))
    assert.deepEqual((await session.view()).waiting, ['c1'])
  })
})

describe('rules on reasoning and opaque blocks', () => {
  const reasoning: Part = { type: 'reasoning', text: 'hm' }
  const raw: Part = { type: 'raw', provider: 'anthropic', value: { type: 'server_tool_use' } }
  const edit = (session: Session, entry: number, part: number, replacement: string | null | { input: unknown }) =>
    session.apply([{ target: { type: 'part', entry, part }, replacement, why: 'test' }])
  const broken = (rule: string) => ({ code: 'VIEW_ILLEGAL', message: new RegExp(rule) })

  test('allow to drop reasoning only whole, and not in the running turn', async () => {
    const session = await open()
    await session.append(user('go'), says(reasoning, call('c1')), result('c1', 'x'), says('done'))
    await assert.rejects(edit(session, 1, 0, 'shorter'), broken('reasoning-altered'))
    await assert.rejects(edit(session, 1, 0, null), broken('running-reasoning'))
    await session.append(user('next'))
    await edit(session, 1, 0, null)
    assert.equal((await session.view()).messages[1]!.parts.length, 1)
  })

  test('refuse edits of the message that is being answered if it has reasoning', async () => {
    const session = await open()
    await session.append(user('go'), says(reasoning, call('c1')), result('c1', 'x'))
    await assert.rejects(edit(session, 1, 1, { input: {} }), broken('running-reasoning'))
  })

  test('refuse a cut in a running loop that leaves no reasoning at its beginning', async () => {
    const session = await open()
    const step = (id: string, ...before: Part[]) => [says(...before, call(id)), result(id, 'x')]
    await session.append(user('go'), ...step('c1', reasoning), ...step('c2'), ...step('c3', reasoning))
    const fold = (to: number) =>
      session.apply([
        { target: { type: 'range', from: 1, to }, replacement: { messages: [user('folded')] }, why: 'fold' },
      ])
    await assert.rejects(fold(2), broken('loop-without-reasoning'))
    await fold(4)
    assert.equal((await session.view()).messages.length, 4)
  })

  test('refuse edits of an opaque block, and dropping a call or a result', async () => {
    const session = await open()
    await session.append(user('go'), says(raw, call('c1')), result('c1', 'x'))
    await assert.rejects(edit(session, 1, 0, 'x'), broken('opaque-edited'))
    await assert.rejects(edit(session, 1, 1, null), broken('call-dropped'))
    await assert.rejects(edit(session, 1, 1, 'text'), broken('call-dropped'))
    await assert.rejects(edit(session, 2, 0, null), broken('result-dropped'))
    await assert
      .rejects(
        session.apply([{ target: { type: 'range', from: 2, to: 2 }, replacement: { messages: [] }, why: 'drop' }]),
        broken('VIEW_ILLEGAL|call-without-result|refuse'),
      )
      .catch(() => undefined)
  })

  test('keep reasoning with its calls in the Responses dialect', async () => {
    const session = await open({ model: 'gpt-5' })
    await session.append(user('go'), says(reasoning, call('c1')), result('c1', 'x'), says('done'), user('next'))
    await assert.rejects(edit(session, 1, 0, null), broken('reasoning-pair'))
  })

  test('leave out, for every change, the bound reasoning that was after it at the time', async () => {
    const session = await open({ model: 'claude-opus-5-5' })
    const kept = async () => {
      const { messages } = await session.view()
      return messages.flatMap(({ parts }) => parts.flatMap(part => (part.type === 'reasoning' ? part.text : [])))
    }
    const thought = (said: string): Part => ({ type: 'reasoning', text: said })
    await session.append(user('go'), says(thought('one'), call('c1')), result('c1', 'long output'))
    await session.append(says(thought('two'), 'done'), user('next'))
    await edit(session, 2, 0, 'short')
    assert.deepEqual(await kept(), ['one'])
    await session.append(says(thought('three'), 'well'), user('and'))
    assert.deepEqual(await kept(), ['one', 'three'])
    await session.undo(session.edits()[0]!.edit.id)
    assert.deepEqual(await kept(), ['one'])
    await session.append(says(thought('four'), 'well'), user('and'))
    assert.deepEqual(await kept(), ['one', 'four'])
  })

  test('refuse a range that separates a call from its result, and record nothing', async () => {
    const session = await open()
    await session.append(user('go'), says(call('c1')), result('c1', 'x'), says('done'))
    await assert.rejects(
      session.apply([
        { target: { type: 'range', from: 0, to: 1 }, replacement: { messages: [user('cut')] }, why: 'test' },
      ]),
      broken('result-without-call'),
    )
    assert.equal(session.edits().length, 0)
    assert.equal((await session.view()).messages.length, 4)
  })
})

describe('pins, undo and forks', () => {
  test('only the user can edit pinned parts', async () => {
    const session = await open()
    await session.append(user('go'), says('a'.repeat(100)))
    await session.pin(1, { part: 0 })
    const request = [{ target: { type: 'part' as const, entry: 1, part: 0 }, replacement: 'b', why: 'test' }]
    await assert.rejects(session.apply(request, 'agent'), { code: 'PINNED' })
    await assert.rejects(session.apply(request, 'policy:x'), { code: 'PINNED' })
    await session.apply(request, 'user')
    await session.pin(1, { part: 0, on: false })
    await session.apply(request, 'agent')
  })

  test('undo and redo report that there is nothing to do', async () => {
    const session = await open()
    await session.append(user('go'), says('text'))
    const [edit] = await session.apply([{ target: { type: 'part', entry: 1, part: 0 }, replacement: 't', why: 'test' }])
    assert.equal(edit!.saved >= 0, true)
    await session.undo(edit!.id)
    await assert.rejects(session.undo(edit!.id), { code: 'ALREADY' })
    await session.redo(edit!.id)
    await assert.rejects(session.undo('e99'), { code: 'EDIT_NOT_FOUND' })
  })

  test('changes in a fork do not affect its parent', async () => {
    const session = await open()
    await session.append(user('go'), says('one'), user('two'), says('three'))
    const fork = await session.fork(1, 'other')
    await fork.append(user('another way'))
    assert.deepEqual(
      (await fork.view()).messages.map(message => message.parts[0]),
      ['go', 'one', 'another way'].map(text => ({ type: 'text', text })),
    )
    assert.equal((await session.view()).messages.length, 4)
    await assert.rejects(session.fork(99), { code: 'ENTRY_NOT_FOUND' })
    await assert.rejects(session.fork(1, 'other'), { code: 'ALREADY' })
  })
})

describe('recall and restore', () => {
  test('recall reports for each hit whether it is in view', async () => {
    const session = await open()
    await session.append(user('find the zebra'), says(call('c1')), result('c1', 'a zebra stands here'), says('done'))
    await session.apply([{ target: { type: 'part', entry: 2, part: 0 }, replacement: '[gone]', why: 'test' }])
    const hits = await session.recall('zebra')
    assert.deepEqual(hits.map(hit => [hit.entry, hit.inView]).sort(), [
      [0, true],
      [2, false],
    ])
  })

  test('restore appends an original at the end and does not change anything before it', async () => {
    const session = await open()
    await session.append(user('go'), says(call('c1')), result('c1', 'the original'), says('done'))
    const [edit] = await session.apply([
      { target: { type: 'part', entry: 2, part: 0 }, replacement: '[gone]', why: 'test' },
    ])
    const before = (await session.view()).messages
    const restored = await session.restore(edit!.id)
    assert.equal(restored.text, 'the original')
    const { messages } = await session.view()
    assert.deepEqual(messages.slice(0, -1), before)
    assert.match(JSON.stringify(messages.at(-1)), /the original/)
    await session.undo(restored.edit!.id)
    assert.deepEqual((await session.view()).messages, before)
  })
})

test('later changes of the caller to its objects do not affect appended messages', async () => {
  const session = await open()
  const message = says('looking', call('c1', 'read_file', { path: 'a.ts', when: new Date(0) }))
  await session.append(user('go'), message)
  message.parts.push({ type: 'text', text: 'never said' })
  const [, made] = message.parts
  if (made?.type === 'tool-call') Object.assign(made.input as object, { path: 'other.ts' })
  const { messages } = await session.view({ plan: false })
  assert.deepEqual(messages[1]!.parts, [
    { type: 'text', text: 'looking' },
    call('c1', 'read_file', { path: 'a.ts', when: '1970-01-01T00:00:00.000Z' }),
  ])
})

describe('a conversation that a client keeps itself', () => {
  test('is followed, forked where the client went back, and edited when its system prompt changes', async () => {
    const session = await open()
    const system: Message = { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] }
    await session.sync([system, user('go')])
    await session.sync([system, user('go'), says('one'), user('two')])
    assert.equal(session.fold.entries.length, 4)
    const changed: Message = { role: 'system', parts: [{ type: 'text', text: 'Be long.' }] }
    const view = await session.sync([changed, user('go'), says('one'), user('two')])
    assert.deepEqual(view.messages[0]!.parts[0], { type: 'text', text: 'Be long.', edit: 'e1' })
    const other = await session.sync([system, user('go'), says('one'), user('another')])
    assert.notEqual(other.session.id, session.id)
    assert.equal(other.messages.length, 4)
    assert.equal(session.fold.entries.length, 4)
  })

  test('is followed without reading the ledger again, even if folded messages are no longer loaded', async () => {
    let readings = 0
    class Counted extends SqliteLedger {
      override read(id: string, options: ReadOptions = {}): Promise<Row[]> {
        if (!options.from) readings++
        return super.read(id, options)
      }
    }
    const pal = await openPalimpsest({ home: ':memory:', store: new Counted(':memory:') })
    const first = await pal.session('s', { policy: 'none' })
    const history = [user('go'), says('one'), user('two'), says('three'), user('four')]
    await first.sync(history)
    await first.apply([
      { target: { type: 'range', from: 0, to: 2 }, replacement: { messages: [user('folded')] }, why: 'old' },
    ])
    const session = await pal.session('s')
    assert.equal(session.fold.entries[1]!.message, undefined)
    await session.sync(history)
    readings = 0
    for (let i = 0; i < 5; i++) {
      history.push(says(`answer ${i}`), user(`question ${i}`))
      assert.equal((await session.sync(history)).messages.length, history.length - 2)
    }
    assert.equal(readings, 0)
    const back = await session.sync([...history.slice(0, -1), user('another')])
    assert.notEqual(back.session.id, session.id)
  })

  test('does not collect cache marks that the client moves from request to request', async () => {
    const session = await open()
    const history: { role: string; content: unknown }[] = []
    for (let turn = 0; turn < 6; turn++) {
      history.push({ role: 'user', content: `question ${turn}` })
      const marked = history.map((message, i) =>
        i < history.length - 1
          ? message
          : { ...message, content: [{ type: 'text', text: message.content, cache_control: { type: 'ephemeral' } }] },
      )
      const { messages } = await session.sync(fromAnthropic(marked))
      assert.deepEqual(toAnthropic(messages).messages, marked)
      history.push({ role: 'assistant', content: `answer ${turn}` })
    }
  })
})
