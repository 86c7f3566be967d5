/** The system prompt: its parts, their order, and when it changes. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openAgent } from '../../src/agent/agent.ts'
import { all, openGround, textsOf } from './harness.ts'

const systemOf = (ground: { upstream: { requests: Parameters<typeof textsOf>[0][] } }, index: number) =>
  textsOf(ground.upstream.requests[index]!)[0]!.text

test('the prompt has persona, tools, approved memory and workspace in this order', async () => {
  await using ground = await openGround([{ text: 'ok' }])
  await ground.memory.set('ada', 'goals', { body: 'Learn algebra', by: 'user:ada' })
  await ground.memory.propose('ada', 'goals', { body: 'Not approved', agentId: 'x', reasoning: 'r' })
  await all(ground.agent.run('hi'))
  const system = systemOf(ground, 0)
  const places = [
    'You are an agent under test.',
    `Your working folder is ${ground.root}`,
    'Changing files: name what changes',
    'Looking after your context',
    '# User Context\n\n## Goals (goals)\n\nLearn algebra',
    '## Memory Blocks',
    '═══ WORKSPACE KNOWLEDGE ═══',
  ].map(text => system.indexOf(text))
  assert.ok(
    places.every(place => place >= 0),
    places.join(),
  )
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
  assert.doesNotMatch(system, /Not approved/)
  const [first] = ground.agent.session.fold.entries
  assert.deepEqual([first?.role, first?.message?.parts], ['system', [{ type: 'text', text: system }]])
})

test('the prompt does not mention tools that the agent lacks', async () => {
  await using ground = await openGround([{ text: 'ok' }], {
    persona: { name: 'reader', systemPrompt: 'You read.', tools: ['read_file', 'list_files'] },
  })
  await all(ground.agent.run('hi'))
  const system = systemOf(ground, 0)
  assert.doesNotMatch(system, /Memory Blocks|Changing files|Delegating/)
  const names = ground.upstream.requests[0]!.json.tools.map(
    (tool: { function: { name: string } }) => tool.function.name,
  )
  assert.deepEqual(names, ['read_file', 'list_files'])
})

test('the prompt does not change while the cache is warm, even if the workspace changes', async () => {
  let now = 1_000_000
  await using ground = await openGround((_, index) => ({ text: `answer ${index}` }), {
    clock: () => now,
    engine: { clock: () => now },
  })
  await all(ground.agent.run('one'))
  writeFileSync(join(ground.root, 'workspace', 'MEMORY.md'), '# Memory\n\n- The build is green.\n')
  now += 60_000
  await all(ground.agent.run('two'))
  assert.equal(systemOf(ground, 1), systemOf(ground, 0))
  now += 60 * 60_000
  await all(ground.agent.run('three'))
  assert.match(systemOf(ground, 2), /The build is green/)
  assert.equal(ground.agent.session.edits().filter(({ edit }) => edit.by === 'engine').length, 1)
})

test('a memory that the user approves is in the prompt of the next turn', async () => {
  await using ground = await openGround((_, index) => ({ text: `answer ${index}` }))
  await all(ground.agent.run('one'))
  await ground.memory.set('ada', 'goals', { body: 'Learn geometry', by: 'user:ada' })
  await all(ground.agent.run('two'))
  assert.match(systemOf(ground, 1), /Learn geometry/)
  const again = await openAgent('work', ground.options)
  await all(again.run('three'))
  assert.equal(systemOf(ground, 2), systemOf(ground, 1))
})

test('a session that began elsewhere gets the prompt in its requests, and its ledger stays unchanged', async () => {
  await using ground = await openGround([{ text: 'ok' }], { session: 'imported' })
  await ground.agent.session.append(
    { role: 'user', parts: [{ type: 'text', text: 'before' }] },
    { role: 'assistant', parts: [{ type: 'text', text: 'yes' }] },
  )
  await all(ground.agent.run('and now'))
  assert.deepEqual(
    textsOf(ground.upstream.requests[0]!).map(({ role }) => role),
    ['system', 'user', 'assistant', 'user'],
  )
  assert.equal(ground.agent.session.fold.entries[0]?.role, 'user')
})

test('the shipped personas are valid, and all their tools exist', async () => {
  const { listPersonas } = await import('../../src/agent/personas.ts')
  const { toolsNamed } = await import('../../src/agent/toolbox.ts')
  const personas = await listPersonas('/nowhere')
  assert.deepEqual(
    personas.map(({ name }) => name),
    ['default', 'reviewer', 'tutor'],
  )
  for (const { tools } of personas) assert.ok(toolsNamed(tools).length > 0)
  const text = readFileSync(new URL('../../personas/default.json', import.meta.url), 'utf8')
  assert.equal(JSON.parse(text).temperature, 0.5)
})
