import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { leavesOf } from '../../src/model/leaves.ts'
import type { Message, Part } from '../../src/model/types.ts'
import { openPalimpsest } from '../../src/session/engine.ts'
import type { Session } from '../../src/session/session.ts'
import { checkView } from '../../src/view/legality.ts'
import * as fc from '../property.ts'

const user = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
const calls = (...ids: string[]): Message => ({
  role: 'assistant',
  parts: ids.map(id => ({ type: 'tool-call', id, name: 'bash', input: {} })),
})
const resultPart = (id: string, output: string | Part[] = `output of ${id}.`): Part => ({
  type: 'tool-result',
  id,
  name: 'bash',
  output,
})
const results = (...ids: string[]): Message => ({ role: 'tool', parts: ids.map(id => resultPart(id)) })

async function open(model = 'claude-sonnet-4-5'): Promise<Session> {
  const pal = await openPalimpsest({ home: ':memory:', clock: () => 1000 })
  return pal.session('test', { model })
}

async function assertLegal(session: Session): Promise<Message[]> {
  const view = await session.view()
  assert.deepEqual(view.report, [])
  assert.deepEqual(checkView(view.messages, { dialect: session.options.model.dialect }), [])
  return view.messages
}

const roles = (messages: readonly Message[]) => messages.map(({ role }) => role).join(' ')
const texts = (messages: readonly Message[]) => messages.flatMap(message => message.parts.flatMap(leavesOf))

describe('late results', () => {
  test('one between the results of another step is placed before that step', async () => {
    const session = await open()
    await session.append(user('go'), calls('c1'), user('stop'), calls('c2', 'c3'), results('c2'))
    await session.append(results('c1'))
    await session.append(results('c3'))
    const messages = await assertLegal(session)
    assert.equal(roles(messages), 'user assistant tool user user assistant tool tool')
    assert.deepEqual(texts(messages.slice(4, 5)), ['[Late result of bash]\noutput of c1.'])
  })

  test('one beside a result that is in time leaves that result in place', async () => {
    const session = await open()
    await session.append(user('go'), calls('c1'), user('stop'), calls('c2'))
    await session.append(results('c1', 'c2'))
    const messages = await assertLegal(session)
    assert.equal(roles(messages), 'user assistant tool user assistant tool user')
    assert.deepEqual(texts(messages.slice(-2)), ['output of c2.', '[Late result of bash]\noutput of c1.'])
  })

  test('one with an image shows the image too', async () => {
    const session = await open()
    const image: Part = { type: 'image', mediaType: 'image/png', data: 'AAAA' }
    await session.append(user('go'), calls('c1'), user('stop'))
    await session.append({ role: 'tool', parts: [resultPart('c1', [{ type: 'text', text: 'see' }, image])] })
    const last = (await assertLegal(session)).at(-1)!
    assert.deepEqual(
      last.parts.map(({ edit: _, ...part }) => part),
      [{ type: 'text', text: '[Late result of bash]\nsee' }, image],
    )
  })
})

test('the result of an interrupted call names its tool', async () => {
  const session = await open()
  await session.append(user('go'), calls('c1'), user('stop'))
  const [, , result] = await assertLegal(session)
  assert.deepEqual(texts([result!]), ['[No result: bash was interrupted]'])
})

describe('the content beside a late result', () => {
  test('is shown with it if no other result is left', async () => {
    const session = await open()
    await session.append(user('go'), calls('c1'), user('stop'))
    await session.append({ role: 'tool', parts: [resultPart('c1'), { type: 'text', text: 'a note' }] })
    const messages = await assertLegal(session)
    assert.deepEqual(texts(messages.slice(-1)), ['[Late result of bash]\noutput of c1.', 'a note'])
  })

  test('stays with results that are in time, if there are any', async () => {
    const session = await open()
    await session.append(user('go'), calls('c1'), user('stop'), calls('c2'))
    await session.append({
      role: 'tool',
      parts: [resultPart('c1'), resultPart('c2'), { type: 'text', text: 'a note' }],
    })
    const messages = await assertLegal(session)
    assert.equal(texts(messages).filter(text => text === 'a note').length, 1)
    assert.deepEqual(texts(messages.slice(-2)), ['output of c2.', 'a note', '[Late result of bash]\noutput of c1.'])
  })
})

describe('empty and blank messages', () => {
  for (const model of ['claude-sonnet-4-5', 'gpt-5', 'gpt-4o']) {
    test(`an empty message says that it is empty, an empty tool message is left out (${model})`, async () => {
      const session = await open(model)
      const empty = (role: Message['role']): Message => ({ role, parts: [] })
      await session.append(user('go'), empty('assistant'), empty('user'), empty('tool'), user('on'))
      const messages = await assertLegal(session)
      assert.equal(roles(messages), 'user assistant user user')
      assert.deepEqual(texts(messages), ['go', '[empty message]', '[empty message]', 'on'])
      const [record] = session.edits()
      assert.match(record!.edit.why, /^empty-message: /)
      assert.equal(record!.edit.by, 'engine')
    })
  }

  test('a message of only blank texts says once that it is empty', async () => {
    const session = await open()
    const blank = (count: number): Message => ({ role: 'user', parts: Array(count).fill({ type: 'text', text: ' ' }) })
    await session.append(blank(1), blank(3))
    assert.deepEqual(texts(await assertLegal(session)), ['[empty message]', '[empty message]'])
  })

  test('a blank text is dropped if the provider refuses it, and kept otherwise', async () => {
    const parts: Part[] = [
      { type: 'text', text: ' \n' },
      { type: 'text', text: 'said' },
    ]
    const claude = await open()
    await claude.append({ role: 'assistant', parts })
    assert.deepEqual(texts(await assertLegal(claude)), ['said'])
    await claude.append({ role: 'user', parts: [parts[0]!, parts[0]!] })
    assert.deepEqual(texts(await assertLegal(claude)), ['said', '[empty message]'], 'where nothing else is left')
    const gpt = await open('gpt-4o')
    await gpt.append({ role: 'assistant', parts })
    assert.deepEqual(texts(await assertLegal(gpt)), [' \n', 'said'])
  })
})

describe('whatever happens to an agent', () => {
  /** What may come next; steps that do not fit the state are skipped. */
  const happening = fc.record({
    kind: fc.constantFrom('user', 'calls', 'answer', 'late', 'mixed', 'says', 'empty', 'blank'),
    pick: fc.nat(),
    many: fc.integer({ min: 1, max: 3 }),
  })
  type Happening = { kind: string; pick: number; many: number }

  /** Follows which calls are open and which were given up, as an agent would. */
  class Agent {
    open: string[] = []
    given: string[] = []
    #answering = false
    #made = 0

    next({ kind, pick, many }: Happening): Message | undefined {
      if (kind === 'user' || kind === 'blank') return this.#interrupt(user(kind === 'user' ? `request ${pick}` : ' '))
      if (kind === 'empty') return this.#empty((['user', 'assistant', 'tool'] as const)[pick % 3]!)
      if (kind === 'says')
        return this.#assistant({ role: 'assistant', parts: [{ type: 'text', text: `said ${pick}` }] })
      if (kind === 'calls') return this.#call(many)
      const late = kind === 'answer' ? [] : this.given.splice(pick % Math.max(1, this.given.length), many)
      const inTime = kind === 'late' ? [] : this.open.splice(0, many)
      if (late.length + inTime.length === 0) return undefined
      this.#answering = true
      return results(...(pick % 2 ? [...late, ...inTime] : [...inTime, ...late]))
    }

    #interrupt(message: Message): Message {
      this.given.push(...this.open.splice(0))
      this.#answering = false
      return message
    }

    #assistant(message: Message): Message {
      if (this.#answering) this.#interrupt(message)
      return message
    }

    #call(many: number): Message {
      const ids = Array.from({ length: many }, () => `c${this.#made++}`)
      const message = this.#assistant(calls(...ids))
      this.open.push(...ids)
      return message
    }

    #empty(role: 'user' | 'assistant' | 'tool'): Message {
      const message: Message = { role, parts: [] }
      if (role === 'user') return this.#interrupt(message)
      if (role === 'assistant') return this.#assistant(message)
      this.#answering = true
      return message
    }
  }

  for (const model of ['claude-sonnet-4-5', 'gpt-5', 'gpt-4o']) {
    test(`the view is legal after every message, and shows every result (${model})`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(happening, { maxLength: 25 }), async happenings => {
          const session = await open(model)
          await session.append(user('go'))
          const agent = new Agent()
          const answered: string[] = []
          for (const choice of happenings) {
            const message = agent.next(choice)
            if (!message) continue
            await session.append(message)
            answered.push(...message.parts.flatMap(part => (part.type === 'tool-result' ? part.id : [])))
            const shown = texts(await assertLegal(session)).join('\n')
            for (const id of answered) assert.ok(shown.includes(`output of ${id}.`), `${id} is not shown`)
          }
          assert.deepEqual((await session.verify()).violations, [])
        }),
        { numRuns: 150 },
      )
    })
  }
})
