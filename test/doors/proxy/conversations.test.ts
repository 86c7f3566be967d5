/** Which conversation a request continues: the memory of the proxy alone, without a server. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ClientKey } from '../../../src/doors/proxy/client.ts'
import { Conversations, chainOf, type Request } from '../../../src/doors/proxy/conversation.ts'
import type { Message } from '../../../src/model/types.ts'
import { bash, says, user } from '../../policies/talk.ts'
import { entriesOf, sessionNames, setUp } from './setup.ts'

const MINUTE = 60_000

function start() {
  let names = 0
  const conversations = new Conversations(() => `new-${++names}`)
  const request = (messages: readonly Message[], more: Partial<Request> = {}): Request => {
    return { client: undefined, side: undefined, messages, chain: chainOf(messages), hasTools: true, now: 0, ...more }
  }
  const locate = (messages: readonly Message[], more: Partial<Request> = {}) =>
    conversations.locate(request(messages, more))
  return { conversations, request, locate }
}

const client = (key: string, more: Partial<ClientKey> = {}): ClientKey => ({ key, by: 'header', ...more }) as ClientKey
const LONG = 'This is an answer that is long enough to be told from others.'

describe('a conversation without headers', () => {
  test('is known by the text of its last answer alone, whatever was thought before it', () => {
    const { conversations, locate } = start()
    conversations.answered('known', { calls: [], text: LONG })
    const thought: Message = { role: 'assistant', parts: [{ type: 'reasoning', text: 'hm' }, ...says(LONG).parts] }
    const place = locate([user('a summary'), says('something else'), user('so'), thought, user('and on')])
    assert.deepEqual([place.session, place.by], ['known', 'text'])
    assert.equal(locate([user('another'), says(LONG), user('so'), says('something else'), user('and')]).isNew, true)
  })

  test('is new if no message of it is known', () => {
    const { locate } = start()
    const place = locate([user('hello')])
    assert.deepEqual([place.session, place.by, place.isNew], ['new-1', 'new', true])
    assert.equal(place.end, chainOf([user('hello')]).at(-1))
  })

  test('continues if its beginning is known', () => {
    const { locate } = start()
    locate([user('hello')])
    const place = locate([user('hello'), says('hi'), user('more')])
    assert.deepEqual([place.session, place.by, place.isNew], ['new-1', 'beginning', false])
    assert.equal(locate([user('hello'), says('hi'), user('more'), says('x'), user('y')]).session, 'new-1')
    assert.equal(locate([user('other'), says('hi'), user('more')]).isNew, true)
  })

  test('continues the one with the longest common beginning', () => {
    const { conversations, locate } = start()
    const [short, long] = [[user('a')], [user('a'), says('b'), user('c')]]
    conversations.note('short', { client: undefined, chain: chainOf(short), now: 0 })
    conversations.note('long', { client: undefined, chain: chainOf(long), now: 0 })
    assert.equal(locate([...long, says('d'), user('e')]).session, 'long')
    assert.equal(locate([...short, says('x'), user('e')]).session, 'short')
  })

  test('sent again at once is a retry; sent later, or after it continued, it is another conversation', () => {
    const { locate } = start()
    const ask = (now: number) => locate([user('what time is it?')], { now }).session
    assert.deepEqual([ask(0), ask(9 * MINUTE)], ['new-1', 'new-1'])
    assert.equal(ask(9 * MINUTE + 10 * MINUTE), 'new-2')
    locate([user('what time is it?'), says('noon'), user('thanks')], { now: 20 * MINUTE })
    assert.equal(ask(20 * MINUTE), 'new-3')
  })

  test('with a longer first question than a known one is not a retry of it', () => {
    const { locate } = start()
    locate([user('a')])
    assert.equal(locate([user('a'), user('b')]).isNew, true)
  })

  test('is recognised by returned tool calls, whatever precedes them', () => {
    const { conversations, locate } = start()
    locate([user('do it')])
    const [call, result] = bash('ls', 'a') as [Message, Message]
    const id = call.parts[0]!.type === 'tool-call' ? call.parts[0]!.id : ''
    conversations.answered('new-1', { calls: [{ id, name: 'bash', input: {} }], text: '' })
    const place = locate([user('a summary of what was'), call, result])
    assert.deepEqual([place.session, place.by, place.isNew], ['new-1', 'call ids', false])
    assert.equal(locate([user('else'), ...bash('ls', 'a')]).isNew, true, 'calls that were not ours')
    assert.equal(locate([user('else'), call, result, says('so'), user('x')]).isNew, true, 'only the last answer counts')
  })

  test('is recognised by a streamed text, if it is long enough and the answer made no call', () => {
    const { conversations, locate } = start()
    locate([user('first')])
    conversations.answered('new-1', { calls: [], text: `  ${LONG}\n` })
    const place = locate([user('changed by the client'), says(LONG), user('more')])
    assert.deepEqual([place.session, place.by, place.isNew], ['new-1', 'text', false])
    conversations.answered('new-1', { calls: [], text: 'Yes.' })
    assert.equal(locate([user('changed again'), says('Yes.'), user('more')]).isNew, true)
    conversations.answered('new-1', { calls: [{ id: 'c1', name: 'bash', input: {} }], text: LONG.repeat(2) })
    assert.equal(locate([user('and again'), says(LONG.repeat(2)), user('more')]).isNew, true)
  })

  test('is found in the ledger if it has an answer and is no longer in memory', () => {
    const { conversations, request, locate } = start()
    assert.equal(conversations.isUnknown(request([user('a')])), false, 'nothing to go on with')
    assert.equal(conversations.isUnknown(request([user('a'), says('b'), user('c')])), true)
    locate([user('a')])
    assert.equal(conversations.isUnknown(request([user('a'), says('b'), user('c')])), false)
  })

  test('a side request is recorded under its own name, below its conversation if that is known', () => {
    const { locate } = start()
    const alone = locate([user('title, please')], { side: 'title' })
    assert.match(alone.session, /^side\.title-[0-9a-f]{8}$/)
    assert.deepEqual([alone.isNew, alone.side, alone.parent], [true, 'title', undefined])
    locate([user('a')])
    const below = locate([user('a'), says('b'), user('sum it up')], { side: 'compaction' })
    assert.match(below.session, /^new-1\.compaction-[0-9a-f]{8}$/)
    assert.equal(below.parent, 'new-1')
    const next = locate([user('a'), says('b'), user('sum it up'), says('c'), user('d')])
    assert.equal(next.session, 'new-1', 'what was said beside is not remembered')
  })
})

describe('a client that names its conversation', () => {
  const aa = { client: client('aa') }

  test('has a session of that name, with the named parent', () => {
    const { conversations, request, locate } = start()
    assert.equal(conversations.isUnknown(request([user('a')], aa)), true)
    const child = { client: client('aa.sub', { parent: 'aa' }) }
    const place = locate([user('a')], child)
    assert.deepEqual([place.session, place.isNew, place.parent, place.by], ['aa.sub', true, 'aa', 'header'])
    assert.equal('parent' in locate([user('a')], aa), false)
    assert.equal(conversations.isUnknown(request([user('a')], aa)), false)
  })

  test('continues in it, and is kept apart from other names and unnamed requests', () => {
    const { locate } = start()
    locate([user('a')], aa)
    const more = [user('a'), says('b'), user('c')]
    assert.deepEqual([locate(more, aa).session, locate(more, aa).isNew], ['aa', false])
    assert.deepEqual([locate(more, { client: client('bb') }).session, locate(more).session], ['bb', 'new-1'])
  })

  test('that starts again gets a numbered segment with its parent', () => {
    const { conversations, locate } = start()
    locate([user('a')], aa)
    const second = locate([user('continued'), says('b'), user('c')], aa)
    assert.deepEqual([second.session, second.isNew, second.parent], ['aa.2', true, 'aa'])
    const third = locate([user('continued again')], aa)
    assert.deepEqual([third.session, third.parent], ['aa.3', 'aa.2'])
    const [call, result] = bash('ls', 'a') as [Message, Message]
    conversations.answered('aa', {
      calls: call.parts.flatMap(part => (part.type === 'tool-call' ? part : [])),
      text: '',
    })
    const fourth = locate([user('from the first'), call, result], aa)
    assert.deepEqual([fourth.session, fourth.parent], ['aa.4', 'aa'])
    assert.equal(locate([user('a'), says('b')], aa).session, 'aa')
  })

  test('that sends an unrelated request without tools makes a side request', () => {
    const { locate } = start()
    locate([user('a')], { ...aa, hasTools: false })
    const other = locate([user('is this fine?')], { ...aa, hasTools: false })
    assert.match(other.session, /^aa\.other-[0-9a-f]{8}$/)
    assert.deepEqual([other.side, other.parent, other.isNew], ['other', 'aa', true])
    const title = locate([user('a'), says('b'), user('a title?')], { ...aa, side: 'title' })
    assert.match(title.session, /^aa\.title-/)
    assert.equal(locate([user('a'), says('b')], { ...aa, hasTools: false }).session, 'aa', 'what is known goes on')
  })
})

describe('a chain of hashes', () => {
  const talk = [user('a'), says('b'), user('c')]

  test('has one hash for each message, and ignores leading system prompts', () => {
    const system: Message = { role: 'system', parts: [{ type: 'text', text: 'be brief' }] }
    assert.equal(new Set(chainOf(talk)).size, 3)
    assert.deepEqual(chainOf([system, ...talk]), chainOf(talk))
    assert.deepEqual(chainOf([system]), [])
    assert.notDeepEqual(chainOf([user('a'), system, says('b')]), chainOf(talk))
    assert.notEqual(chainOf([user('b'), user('a')])[1], chainOf([user('a'), user('b')])[1])
  })

  test('reuses the hashes of an earlier request with the same objects', () => {
    const system: Message = { role: 'system', parts: [{ type: 'text', text: 'be brief' }] }
    const known = { messages: talk, chain: ['x', 'y', 'z'] }
    const longer = chainOf([...talk, says('d')], known)
    assert.deepEqual(longer.slice(0, 3), ['x', 'y', 'z'])
    assert.equal(longer.length, 4)
    const parted = chainOf([talk[0]!, says('else')], known)
    assert.deepEqual([parted.length, parted[0]], [2, 'x'])
    assert.deepEqual(chainOf([system, ...talk], known), chainOf(talk), 'not where the system prompt differs in number')
    assert.deepEqual(chainOf([user('a')], known), chainOf([user('a')]), 'equal words are not the same object')
  })
})

test('results are recorded even if the client only references their calls', async () => {
  const call = { id: 'c1', name: 'bash', input: { command: 'ls' } }
  await using it = await setUp([{ text: 'I look.', calls: [call] }, { text: 'There is nothing.' }])
  const tools = [{ type: 'function', name: 'bash', parameters: {} }]
  const post = async (input: readonly unknown[]) => {
    const body = JSON.stringify({ model: 'gpt-5', input, tools })
    return (await fetch(`${it.url}/v1/responses`, { method: 'POST', body })).json()
  }
  const asked = { role: 'user', content: 'What is here?' }
  const { output } = (await post([asked])) as { output: { id: string }[] }
  const references = output.map(({ id }) => ({ type: 'item_reference', id }))
  await post([asked, ...references, { type: 'function_call_output', call_id: 'c1', output: 'nothing' }])
  const [name] = await sessionNames(it.pal)
  const entries = await entriesOf(it.pal, name!)
  assert.deepEqual(
    entries.map(({ parts }) => parts.map(({ type }) => type)),
    [['text'], ['raw', 'tool-call'], ['tool-result']],
  )
  assert.deepEqual(it.faults, [])
})
