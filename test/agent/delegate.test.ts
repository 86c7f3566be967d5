/** Subagents: a session of their own, their report as the result, their events and their money in the parent's turn. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Received } from '../upstream.ts'
import { all, doneOf, only, openGround, textsOf } from './harness.ts'

const isChild = (request: Received) => textsOf(request)[0]!.text.includes('You are a subagent')

test('a subagent works in a child session, and the agent gets only its report', async () => {
  await using ground = await openGround(
    request => {
      const behind = textsOf(request).at(-1)!
      if (isChild(request)) {
        return behind.role === 'user'
          ? { calls: [{ name: 'read_file', input: { path: 'long.txt' } }] }
          : { text: 'The word is xyzzy.', usage: { input: 1_000_000 } }
      }
      return behind.role === 'user'
        ? { calls: [{ name: 'delegate', input: { task: 'Find the word in long.txt.', report: 'the word' } }] }
        : { text: 'It is xyzzy.' }
    },
    { files: { 'long.txt': `${'noise '.repeat(500)} xyzzy` } },
  )
  const events = await all(ground.agent.run('Which word is it?'))
  const done = doneOf(events)
  assert.equal(done.message, 'It is xyzzy.')
  const [result] = only(events, 'result')
  assert.equal(result?.text, 'The subagent is done after 2 steps (session work-sub-1):\n\nThe word is xyzzy.')
  const inner = only(events, 'delegated')
  assert.ok(inner.every(({ session }) => session === 'work-sub-1'))
  const innerDone = doneOf(inner.map(({ event }) => event))
  assert.ok(innerDone.cost > 1 && done.cost > innerDone.cost)
  const info = await ground.pal.find('work-sub-1')
  assert.deepEqual(info?.about, {
    client: 'palimpsest:tester',
    parent: 'work',
    reason: 'sub-agent',
    project: ground.root,
  })
  const child = ground.upstream.requests.filter(isChild)
  assert.equal(
    textsOf(child[0]!)[1]!.text,
    'Find the word in long.txt.\n\nWhen you are done, answer with a report for the agent that gave you this task: the word.',
  )
  assert.ok(child[0]!.json.tools.every((tool: { function: { name: string } }) => tool.function.name !== 'delegate'))
  const parents = ground.upstream.requests.filter(request => !isChild(request))
  assert.ok(parents.every(({ body }) => !body.includes('noise noise')))
})

test('several subagents of one step run at the same time, each in its own session', async () => {
  const started = Promise.withResolvers<void>()
  let running = 0
  await using ground = await openGround(request => {
    const behind = textsOf(request).at(-1)!
    if (isChild(request)) {
      if (++running === 2) started.resolve()
      return { text: `report on ${behind.text.slice(0, 5)}` }
    }
    const calls = ['one', 'two'].map(task => ({ name: 'delegate', input: { task: `${task}: look` } }))
    return behind.role === 'user' ? { calls } : { text: 'both' }
  })
  const events = await all(ground.agent.run('go'))
  await started.promise
  assert.equal(doneOf(events).message, 'both')
  assert.deepEqual([...new Set(only(events, 'delegated').map(({ session }) => session))].sort(), [
    'work-sub-1',
    'work-sub-2',
  ])
})

test('a subagent asks the same user for approval, and its failure is an error result', async () => {
  const questions: string[] = []
  await using ground = await openGround(
    (request, index) => {
      if (!isChild(request)) {
        return index === 0 ? { calls: [{ name: 'delegate', input: { task: 'run it' } }] } : { text: 'it failed' }
      }
      return textsOf(request).at(-1)!.role === 'user'
        ? { calls: [{ name: 'run_command', input: { command: 'echo x' } }] }
        : { error: { status: 401, body: { error: { message: 'no' } } } }
    },
    { approve: async ({ question }) => questions.push(question) > 0 },
  )
  const events = await all(ground.agent.run('go'))
  assert.deepEqual(questions, ['Run this command? echo x'])
  const [result] = only(events, 'result')
  assert.ok(result!.isError)
  assert.match(result!.text, /The subagent stopped \(failed\) after 2 steps \(session work-sub-1\):\n\n.*401/)
})
