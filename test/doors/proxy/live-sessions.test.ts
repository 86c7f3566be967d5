/** How the proxy opens the session of a conversation: its model, planner and facts, and when it is opened again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropic } from '../../../src/doors/proxy/anthropic.ts'
import { Conversations, type Place } from '../../../src/doors/proxy/conversation.ts'
import { gemini } from '../../../src/doors/proxy/gemini.ts'
import { type LiveOptions, LiveSessions, type Opening } from '../../../src/doors/proxy/live-sessions.ts'
import { openaiChat } from '../../../src/doors/proxy/openai-chat.ts'
import { openaiResponses } from '../../../src/doors/proxy/openai-responses.ts'
import type { Message } from '../../../src/model/types.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'

const said = (text: string): Message => ({ role: 'user', parts: [{ type: 'text', text }] })
const place = (session: string, more: Partial<Place> = {}): Place => {
  return { session, by: 'test', isNew: true, end: '', ...more }
}
const opening = (more: Partial<Opening> = {}): Opening => {
  const given = { dialect: anthropic, headers: new Headers(), body: {}, isHere: true, user: undefined }
  return { ...given, model: 'claude-sonnet-4-5', ...more }
}

async function setUp(more: Partial<LiveOptions> = {}) {
  const pal = await openPalimpsest({ home: ':memory:', config: false })
  const fault = (kind: string, error: unknown) => assert.fail(`${kind}: ${error}`)
  const options: LiveOptions = { pal, policy: 'thrifty', holdout: 0, inject: {}, serverEdits: 'auto', fault, ...more }
  return { pal, live: new LiveSessions(options), options }
}

test('a session is opened once, and again if a request has other settings or the session was deleted', async () => {
  const { pal, live } = await setUp()
  const first = await live.open(place('a'), opening())
  await first.session.append(said('hello'))
  assert.equal(await live.open(place('a'), opening()), first)
  assert.equal(live.known('a'), first)
  const other = await live.open(place('a'), opening({ model: 'claude-opus-4-5' }))
  assert.notEqual(other, first)
  assert.equal(other.session.options.model.id, 'claude-opus-4-5')
  assert.deepEqual([other.watch, other.seen, other.lateCalls], [first.watch, first.seen, first.lateCalls], 'it goes on')
  assert.equal(other.session.fold.entries.length, 1)
  await pal.remove(['a'], { by: 'user:ann' })
  const anew = await live.open(place('a'), opening({ model: 'claude-opus-4-5' }))
  assert.notEqual(anew, other)
  assert.equal(anew.session.fold.entries.length, 0)
})

test('the provider may clear results where the client or the option allows it, until the provider was seen not to', async () => {
  const headers = new Headers({ 'anthropic-beta': 'context-management-2025-06-27' })
  const { live } = await setUp()
  const mayClear = async (more: Partial<Opening>) => {
    const { asked, session } = await live.open(place('a'), opening(more))
    assert.equal(session.options.serverClears === true, asked.mayClear === true)
    return asked.mayClear
  }
  assert.deepEqual([await mayClear({}), await mayClear({ headers })], [undefined, true])
  live.known('a')!.seen.mayClear = false
  assert.equal(await mayClear({ headers }), false)
})

test('what is injected counts as part of the system prompt and tools', async () => {
  const overheadOf = async (more: Partial<LiveOptions>) => {
    const { live } = await setUp(more)
    const { session } = await live.open(place('a'), opening({ body: { tools: [{ name: 'bash' }] } }))
    return session.options.overhead ?? 0
  }
  const alone = await overheadOf({})
  assert.ok(alone > 0 && (await overheadOf({ inject: { tools: true } })) > alone + 100)
})

test('a conversation that moved to a fork goes on there, without what was sent before', async () => {
  const { live } = await setUp()
  const first = await live.open(place('a'), opening())
  await first.session.append(said('hello'))
  const fork = await first.session.fork()
  const moved = live.follow({ ...first, legal: [] }, fork)
  assert.equal(moved.session, fork)
  assert.equal('legal' in moved, false)
  assert.equal(await live.open(place(fork.id), opening()), moved)
  assert.equal(live.known('a'), first, 'the conversation that it left stays as it was')
})

test('the model is the requested one, and an unknown name is marked with its provider', async () => {
  const { live } = await setUp()
  let count = 0
  const modelOf = async (more: Partial<Opening>) => (await live.open(place(`m${count++}`), opening(more))).model
  const long = new Headers({ 'anthropic-beta': 'context-1m-2025-08-07' })
  assert.equal(await modelOf({}), 'claude-sonnet-4-5')
  assert.equal(await modelOf({ model: undefined }), 'unknown')
  assert.equal(await modelOf({ model: 'my-deployment' }), 'my-deployment')
  assert.equal(await modelOf({ headers: long }), 'claude-sonnet-4-5[1m]')
  assert.equal(await modelOf({ headers: long, model: 'claude-sonnet-4-5[1m]' }), 'claude-sonnet-4-5[1m]')
  assert.equal(await modelOf({ dialect: openaiResponses, model: 'my-deployment' }), 'gpt:my-deployment')
  assert.equal(await modelOf({ dialect: openaiResponses, model: 'gpt-5' }), 'gpt-5')
  assert.equal(await modelOf({ dialect: gemini, model: 'tuned' }), 'gemini:tuned')
  assert.equal(await modelOf({ dialect: openaiChat, model: 'qwen3' }), 'qwen3')
})

test('side requests, holdouts and conversations that the server edits are only recorded', async () => {
  const { live } = await setUp()
  const policyOf = async (at: Place, more: Partial<Opening> = {}) => (await live.open(at, opening(more))).policy
  assert.equal(await policyOf(place('plain')), 'thrifty')
  assert.equal(await policyOf(place('plain.title-1', { side: 'title', parent: 'plain' })), 'none')
  const edits = [{ type: 'compact_20260112' }]
  assert.equal(await policyOf(place('edited'), { body: { context_management: { edits } } }), 'none')
  const { live: all } = await setUp({ holdout: 1 })
  const held = await all.open(place('held'), opening())
  assert.deepEqual([held.policy, held.isHoldout], ['none', true])
})

test('a holdout includes its forks and side requests, is stable over restarts, and keeps the configured share', async () => {
  const { live, options } = await setUp({ holdout: 0.3 })
  const again = new LiveSessions(options)
  let held = 0
  for (let i = 0; i < 60; i++) {
    const { isHoldout } = await live.open(place(`chat-${i}`), opening())
    held += isHoldout ? 1 : 0
    const parts = [
      place(`chat-${i}`),
      place(`chat-${i}.2`, { parent: `chat-${i}` }),
      place(`chat-${i}.2.title-aa`, { parent: `chat-${i}.2`, side: 'title' }),
      place(`other-${i}`, { parent: `chat-${i}-fork-3` }),
    ]
    for (const part of parts) assert.equal((await again.open(part, opening())).isHoldout, isHoldout, part.session)
  }
  assert.ok(held > 8 && held < 30, `${held} of 60`)
})

test('after a restart, conversations are found by their last message, and each is read once', async () => {
  const { pal, options } = await setUp()
  const earlier = new LiveSessions(options)
  for (const name of ['one', 'claude-aa', 'claude-aa.2', 'claude-aab']) {
    const { session } = await earlier.open(place(name), opening())
    await session.append(said(`question of ${name}`), { role: 'assistant', parts: [{ type: 'text', text: 'yes' }] })
  }
  const opened: string[] = []
  const open = pal.session.bind(pal)
  pal.session = (id, given) => {
    opened.push(id)
    return open(id, given)
  }
  const live = new LiveSessions(options)
  const conversations = new Conversations(() => 'new')
  await live.recover({ key: 'claude-zz', by: 'header' }, conversations)
  assert.deepEqual(opened, [], 'nothing is known of this client')
  await live.recover({ key: 'claude-aa', by: 'header' }, conversations)
  assert.deepEqual(opened.splice(0).sort(), ['claude-aa', 'claude-aa.2'], 'the conversation and its segments')
  await live.recover(undefined, conversations)
  assert.deepEqual(opened.splice(0).sort(), ['claude-aab', 'one'], 'the others were read')
  await live.recover(undefined, conversations)
  assert.deepEqual(opened, [], 'none has grown')
  await (await open('one')).append(said('more'))
  await live.recover(undefined, conversations)
  assert.deepEqual(opened, ['one'])
})
