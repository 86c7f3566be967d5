/** Redacting events: every occurrence, in place, and again when a client sends it. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Context, Script } from 'node:vm'
import {
  covered,
  lastLink,
  linkOf,
  placesIn,
  type RedactEvent,
  redactAgain,
  redactEvent,
  toPattern,
  withTexts,
} from '../../src/ledger/redaction.ts'
import type { Event, Message } from '../../src/model/types.ts'
import { session as anySession } from '../laws/sessions.ts'
import { says, user } from '../policies/talk.ts'
import * as fc from '../property.ts'

const SECRET = 'tale "of" two\ncities'
const quoted = (text: string) => JSON.stringify(text).slice(1, -1)
const entry = (message: Message): Event => ({ type: 'entry', message })
const covering = (text: string, what = SECRET) => covered(text, placesIn(text, { text: what }))

function redacted(texts: RedactEvent['texts'], link = ''): RedactEvent {
  return { type: 'redact', by: 'user', kinds: {}, from: 0, events: 1, head: '', salt: 'salt', texts, link }
}

describe('a text', () => {
  test('is redacted everywhere, plain and quoted in JSON once or twice, and nothing else is', () => {
    const forms = fc.constantFrom(SECRET, quoted(SECRET), quoted(quoted(SECRET)))
    const between = fc.string().filter(text => !/[tale]/.test(text))
    fc.assert(
      fc.property(fc.array(fc.tuple(between, forms)), between, (pieces, end) => {
        const text = pieces.flat().join('') + end
        const done = covering(text)
        assert.equal(done.length, text.length)
        for (const form of [SECRET, quoted(SECRET), quoted(quoted(SECRET))]) assert.ok(!done.includes(form))
        let at = 0
        for (const [before, form] of pieces) {
          assert.equal(done.slice(at, at + before.length), before)
          at += before.length
          assert.equal(done.slice(at, at + form.length), '[redacted: text]'.padEnd(form.length, '*'))
          at += form.length
        }
        assert.equal(done.slice(at), end)
      }),
    )
  })

  test('shorter than its mask is replaced by stars', () => {
    assert.equal(covering('a word here', 'word'), 'a **** here')
    assert.equal(covering('x'.repeat(16), 'x'.repeat(16)), '[redacted: text]')
    assert.equal(covering('xxxxxxxx!', 'xxxx'), '********!', 'one behind the other')
  })
})

describe('a pattern', () => {
  const matched = (text: string, source: string) => covered(text, placesIn(text, { pattern: toPattern(source) }))

  test('is redacted at every match, without splitting characters', () => {
    assert.equal(matched('AB-123 and AB-9, 🙂', '[A-Z]{2}-[0-9]+|.$'), '****** and ****, **')
    assert.equal(matched('aaa', 'x*'), 'aaa', 'an empty match covers nothing')
    assert.throws(() => toPattern('('), { code: 'INVALID_INPUT' })
  })

  test('with exponential time is stopped, in an event and in a text', () => {
    const text = `${'a'.repeat(60)}!`
    const pattern = toPattern('(a+)+$')
    const refused = { code: 'INVALID_INPUT', message: /takes too long/ }
    assert.throws(() => redactEvent(entry(user(text)), { pattern }, ''), refused)
    assert.throws(() => placesIn(text, { pattern }), refused)
    assert.equal(matched('a fine text', 'fine'), 'a **** text')
  })

  test('may take a second more than the length of all texts allows, and a millisecond for each event', t => {
    let [clock, takes] = [0, 400]
    const limits: number[] = []
    const { runInContext } = Script.prototype
    t.mock.method(performance, 'now', () => clock)
    t.mock.method(
      Script.prototype,
      'runInContext',
      function (this: Script, context: Context, options: { timeout: number }) {
        limits.push(options.timeout)
        clock += takes
        return runInContext.call(this, context)
      },
    )
    const pattern = toPattern('never')
    const look = () => placesIn('x'.repeat(100_000), { pattern })
    for (let i = 0; i < 4; i++) look()
    // The length of the text allows ten milliseconds, the event one.
    assert.deepEqual(limits, [1000, 1000 - 389, 1000 - 2 * 389, 1])
    takes = 0
    look()
    look()
    assert.deepEqual(limits.slice(4), [1, 1 + 11], 'what is quick gives time back')
    for (let i = 0; i < 200; i++) look()
    assert.equal(limits.at(-1), 1000)
    placesIn('x', { pattern: toPattern('another') })
    assert.equal(limits.at(-1), 1000)
  })

  test('with another error reports it', () => {
    assert.throws(() => placesIn('a', { pattern: /a/u }), TypeError)
  })

  test('with linear time is never stopped, for texts of any length', () => {
    const text = `${'lorem ipsum '.repeat(100_000)}AB-1`
    const pattern = toPattern('AB-[0-9]')
    for (let i = 0; i < 20; i++) assert.equal(placesIn(text, { pattern }).length, 1)
  })
})

describe('a value', () => {
  const upper = (text: string) => text.toUpperCase()

  test('keeps identifying fields, except in the arguments of a tool, where names are redacted too', () => {
    const part = { type: 'tool-call', id: 'c', name: 'bash', input: { name: 'bob', list: ['a', { type: 'b' }], n: 1 } }
    assert.deepEqual(withTexts(part, upper), {
      type: 'tool-call',
      id: 'c',
      name: 'bash',
      input: { NAME: 'BOB', LIST: ['A', { TYPE: 'B' }], N: 1 },
    })
    assert.deepEqual(withTexts({ edits: ['e1'], text: 'a', at: 5, more: null }, upper), {
      edits: ['e1'],
      text: 'A',
      at: 5,
      more: null,
    })
    assert.deepEqual(
      withTexts({ edits: [{ why: 'a' }] }, upper),
      { edits: [{ why: 'A' }] },
      'a list of objects names nothing',
    )
    assert.deepEqual(withTexts({ edits: ['e1', { why: 'a' }] }, upper), { edits: ['E1', { why: 'A' }] })
    assert.deepEqual(withTexts({ function: { arguments: 'a', name: 'b' } }, upper), {
      function: { arguments: 'A', name: 'b' },
    })
  })
})

describe('an event', () => {
  test('with the text is changed, and lists its changed texts', () => {
    const message: Message = { role: 'user', parts: [{ type: 'text', text: `see ${SECRET}` }, ...user('x').parts] }
    const change = redactEvent(entry(message), { text: SECRET }, 'salt')!
    assert.deepEqual(change.kinds, ['text'])
    assert.deepEqual(
      change.texts.map(({ length, places }) => [length, places]),
      [[24, [{ kind: 'text', start: 4, end: 24 }]]],
    )
    const elsewhere = redactEvent({ type: 'decision', text: SECRET }, { text: SECRET }, 'salt')!
    assert.deepEqual([elsewhere.kinds, elsewhere.texts], [['text'], []], 'no client sends a decision')
  })

  test('without the text is not changed, and neither is the record of another redaction', () => {
    assert.equal(redactEvent(entry(user('plain')), { text: SECRET }, 'salt'), undefined)
    assert.equal(redactEvent(redacted([], SECRET), { text: SECRET }, 'salt'), undefined)
  })
})

test('messages that a client sends again are redacted as in the ledger; others are the same objects', () =>
  fc.assert(
    fc.property(anySession, fc.nat(), (messages, at) => {
      const held: Message = { role: 'user', parts: [{ type: 'text', text: `please ${SECRET} now` }] }
      const sent = messages.toSpliced(at % (messages.length + 1), 0, held)
      const changes = sent.map(message => redactEvent(entry(message), { text: SECRET }, 'salt'))
      const event = redacted(changes.flatMap(change => change?.texts ?? []))
      const again = redactAgain(sent, [event])
      for (const [i, message] of sent.entries()) {
        const change = changes[i]?.event
        if (change?.type === 'entry') assert.deepEqual(again[i], change.message)
        else assert.equal(again[i], message)
      }
      assert.deepEqual(redactAgain(sent, [{ ...event, salt: 'other' }]), sent, 'by the hash alone')
    }),
    { numRuns: 40 },
  ))

describe('the hash that links a conversation', () => {
  const prompt: Message = { ...user('be brief'), role: 'system' }

  test('covers its messages, but no initial system prompt', () => {
    const link = linkOf(linkOf('', user('a')), says('b'))
    assert.equal(lastLink([{ event: entry(user('a')) }, { event: entry(says('b')) }]), link)
    assert.equal(lastLink([{ event: entry(prompt) }, { event: entry(user('a')) }, { event: entry(says('b')) }]), link)
    assert.notEqual(
      lastLink([{ event: entry(user('a')) }, { event: entry(says('b')) }, { event: entry(prompt) }]),
      link,
    )
    assert.equal(lastLink([{ event: entry(prompt) }, { event: { type: 'decision', text: 'x' } }]), undefined)
  })

  test('continues from a redaction', () => {
    const events = [{ event: entry(user('covered')) }, { event: redacted([], 'kept') }]
    assert.equal(lastLink(events), 'kept')
    assert.equal(lastLink([...events, { event: entry(says('b')) }]), linkOf('kept', says('b')))
  })
})
