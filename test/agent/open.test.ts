/** The settings of a session when an agent opens it. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openAgent } from '../../src/agent/agent.ts'
import { openHome } from '../../src/agent/open.ts'
import { all, openGround } from './harness.ts'

const settings = async ({ pal }: Awaited<ReturnType<typeof openGround>>, id: string) => {
  const { policy, model, about } = (await pal.find(id))!
  return { policy, model, client: about.client }
}

test("a session that the agent creates has the agent's planner, model and client, and a later planner replaces the first", async () => {
  await using ground = await openGround([{ text: 'ok' }])
  const own = { policy: 'agent', model: 'gpt-4.1', client: 'palimpsest:tester' }
  assert.deepEqual(await settings(ground, 'work'), own)
  await openAgent('work', { ...ground.options, planner: 'none' })
  assert.deepEqual(await settings(ground, 'work'), { ...own, policy: 'none' })
  const { session } = await openAgent('work', ground.options)
  assert.equal(session.options.policy.name, 'none')
  assert.deepEqual(await settings(ground, 'work'), { ...own, policy: 'none' })
})

test("in another client's session, the agent uses its own model and changes no settings", async () => {
  await using ground = await openGround([{ text: 'ok' }])
  const anothers = { policy: 'smart-history', model: 'claude-opus-4-1', about: { client: 'claude-code', title: 'x' } }
  await ground.pal.session('theirs', anothers)
  const before = await ground.pal.find('theirs')
  for (const more of [{}, { planner: 'none' }]) {
    const { session } = await openAgent('theirs', { ...ground.options, ...more })
    assert.equal(session.options.policy.name, more.planner ?? 'smart-history')
    assert.equal(session.options.model.window, ground.agent.session.options.model.window)
  }
  assert.deepEqual(await ground.pal.find('theirs'), before)
})

test("the agent's copy of another client's session belongs to the agent", async () => {
  await using ground = await openGround([{ text: 'ok' }])
  await ground.pal.session('theirs', { policy: 'none', model: 'claude-opus-4-1', about: { client: 'claude-code' } })
  const agent = await openAgent('theirs', ground.options)
  await all(agent.run('go'))
  const { id } = await agent.session.fork()
  assert.deepEqual(await settings(ground, id), { policy: 'none', model: 'gpt-4.1', client: 'palimpsest:tester' })
  assert.equal((await settings(ground, 'theirs')).client, 'claude-code')
})

test("a session without a client keeps its policy and becomes the agent's", async () => {
  await using ground = await openGround([{ text: 'ok' }])
  await ground.pal.session('imported', { policy: 'none', model: 'claude-opus-4-1' })
  await openAgent('imported', ground.options)
  assert.deepEqual(await settings(ground, 'imported'), {
    policy: 'none',
    model: 'gpt-4.1',
    client: 'palimpsest:tester',
  })
})

test("a subagent's session gets the planner of its parent", async () => {
  await using ground = await openGround((_, index) =>
    index === 0 ? { calls: [{ name: 'delegate', input: { task: 'look' } }] } : { text: 'done' },
  )
  await ground.pal.session('theirs', { policy: 'none', about: { client: 'claude-code' } })
  await all((await openAgent('theirs', ground.options)).run('go'))
  assert.deepEqual(await settings(ground, 'theirs-sub-1'), {
    policy: 'none',
    model: 'gpt-4.1',
    client: 'palimpsest:tester',
  })
})

test('the configured policy applies only to sessions that the agent creates', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-open-'))
  const agent = { provider: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1', model: 'm', policy: 'none' }
  writeFileSync(join(folder, 'palimpsest.json'), JSON.stringify({ agent }))
  const env = { PALIMPSEST_WORKSPACE: join(folder, 'workspace') }
  const home = await openHome({ home: join(folder, 'home'), env, root: folder, user: 'ada' })
  try {
    await home.pal.session('old', { policy: 'stale-output' })
    assert.equal((await home.open('old')).session.options.policy.name, 'stale-output')
    assert.equal((await home.open('new')).session.options.policy.name, 'none')
    assert.equal((await home.open('new', { planner: 'thrifty' })).session.options.policy.name, 'thrifty')
  } finally {
    await home.close()
    rmSync(folder, { recursive: true })
  }
})

test('notes of the planner name only tools that the agent has', async () => {
  await using ground = await openGround([{ text: 'ok' }])
  const told = async (...toolNames: string[]) => {
    const { memory: _, ...options } = ground.options
    const { session } = await openAgent(`with ${toolNames}`, { ...options, toolNames })
    const { saveWith, recallWith, readsFiles } = session.options
    return { saveWith, recallWith, readsFiles }
  }
  assert.deepEqual(await told('files', 'context', 'workspace'), {
    saveWith: 'workspace_save_fact',
    recallWith: 'recall',
    readsFiles: true,
  })
  assert.deepEqual(await told('files'), { saveWith: 'append_to_file', recallWith: false, readsFiles: true })
  assert.deepEqual(await told('shell'), { saveWith: undefined, recallWith: false, readsFiles: true })
  // Without a memory there are no tools for it.
  assert.deepEqual(await told('memory', 'context'), { saveWith: undefined, recallWith: 'recall', readsFiles: false })
})
