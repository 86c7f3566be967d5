/** Memory over HTTP: an agent proposes, a user decides, and every decision can be undone. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startServer } from './harness.ts'

const { server, call, token } = await startServer({ requireToken: true })
const user = (await token('alice', 'user')).token
const agent = (await token('alice', 'agent')).token
after(() => server.close())

const put = (label: string, body: string) =>
  call('PUT', `/users/alice/blocks/${label}`, { token: user, body: { body } })
const propose = (label: string, body: object) =>
  call('POST', `/users/alice/blocks/${label}/propose`, { token: agent, body: { reasoning: 'they said so', ...body } })
const decide = (id: string, verb: string, body?: object) =>
  call('POST', `/users/alice/proposals/${id}/${verb}`, { token: user, ...(body ? { body } : {}) })
const read = async (label: string) => (await call('GET', `/users/alice/blocks/${label}`, { token: agent })).json

test('a proposal changes nothing until it is approved, and its review shows the change', async () => {
  await put('goals', 'Learn Go.\nRun daily.\n')
  const made = await propose('goals', { old_string: 'Learn Go', new_string: 'Learn Ru\u200bst', confidence: 'high' })
  assert.equal(made.status, 201)
  assert.equal((await read('goals')).body, 'Learn Go.\nRun daily.\n')
  const review = await call('GET', `/users/alice/proposals/${made.json.id}`, { token: user })
  const shown = review.json.diff.map(({ type, text }: { type: string; text: string }) => `${type}:${text}`).join('|')
  assert.match(shown, /removed:Go/)
  assert.match(shown, /added:Ru⟨U\+200B⟩st/)
  assert.deepEqual(review.json.hidden, [{ char: 'U+200B', name: 'zero-width space', count: 1 }])
  const approved = await decide(made.json.id, 'approve', { body: 'Learn Rust.\nRun daily.\n' })
  assert.equal(approved.status, 200)
  assert.equal(approved.json.proposal.decision.by, 'user:alice')
  assert.equal((await read('goals')).body, 'Learn Rust.\nRun daily.\n')
})

test('a proposal can change one section of a block, by its header', async () => {
  await put('parts', '## A\n\nold\n\n## B\n\nstays\n')
  const made = await propose('parts', { section: '## A', content: 'new' })
  assert.deepEqual([made.status, made.json.kind, made.json.body], [201, 'section', '## A\n\nnew\n\n## B\n\nstays\n'])
  const nowhere = await propose('parts', { section: '## C', content: 'new' })
  assert.deepEqual([nowhere.status, nowhere.json.error.code], [409, 'PATTERN_NOT_FOUND'])
})

test('a proposal without reasoning or with an unknown key gets an error that names it', async () => {
  await put('told', 'one\n')
  const missing = await propose('told', { append: 'two', reasoning: undefined })
  assert.equal(missing.status, 422)
  assert.equal(missing.json.error.message, 'body.reasoning: is missing.')
  const strange = await propose('told', { old_string: 'one', new_string: 'two', appendix: 'x' })
  assert.match(strange.json.error.message, /appendix/)
})

test('deciding twice, or approving a rejected proposal, is a conflict', async () => {
  await put('twice', 'one\n')
  const first = (await propose('twice', { append: 'two' })).json.id
  assert.equal((await decide(first, 'approve')).status, 200)
  assert.equal((await decide(first, 'approve')).status, 409)
  const second = (await propose('twice', { append: 'three' })).json.id
  assert.equal((await decide(second, 'reject')).status, 200)
  const { status, json } = await decide(second, 'approve')
  assert.equal(status, 409)
  assert.equal(json.error.code, 'PROPOSAL_NOT_OPEN')
})

test('two changes of the same line are a conflict that shows both sides and can be resolved', async () => {
  await put('same', 'colour: red\n')
  const a = (await propose('same', { old_string: 'red', new_string: 'blue' })).json.id
  const b = (await propose('same', { old_string: 'red', new_string: 'green' })).json.id
  await decide(a, 'approve')
  const conflict = await decide(b, 'approve')
  assert.equal(conflict.status, 409)
  assert.equal(conflict.json.error.code, 'CONFLICT')
  assert.match(conflict.json.error.marked, /blue[\s\S]*green/)
  assert.equal((await decide(b, 'approve', { body: 'colour: teal\n' })).status, 200)
  assert.equal((await read('same')).body, 'colour: teal\n')
})

test('an approval can be reverted, and history restores any version, even of a deleted block', async () => {
  await put('plan', 'a\n')
  const { id } = (await propose('plan', { append: 'b\n' })).json
  await decide(id, 'approve')
  assert.equal((await read('plan')).body, 'a\nb\n')
  assert.equal((await decide(id, 'revert')).json.block.body, 'a\n')
  assert.equal((await call('DELETE', '/users/alice/blocks/plan', { token: user })).status, 200)
  assert.equal((await call('GET', '/users/alice/blocks/plan', { token: agent })).status, 404)
  const history = await call('GET', '/users/alice/blocks/plan/history', { token: agent })
  const actions = history.json.versions.map(({ action }: { action: string }) => action)
  assert.deepEqual(actions, ['delete', 'revert', 'approve', 'set'])
  const approved = history.json.versions.find(({ action }: { action: string }) => action === 'approve')
  const body = { version: approved.version }
  assert.equal((await call('POST', '/users/alice/blocks/plan/restore', { token: user, body })).json.body, 'a\nb\n')
})

test('an invalid proposal is refused with the reason', async () => {
  await put('twins', 'x x\n')
  assert.equal((await propose('twins', { old_string: 'y', new_string: 'z' })).json.error.code, 'PATTERN_NOT_FOUND')
  assert.equal((await propose('twins', { old_string: 'x', new_string: 'z' })).json.error.code, 'MATCH_AMBIGUOUS')
  assert.equal((await propose('nowhere', { old_string: 'x', new_string: 'z' })).status, 404)
  assert.equal((await propose('twins', { old_string: 'x', new_string: 'z', replace_all: true })).json.body, 'z z\n')
  assert.equal((await propose('twins', { old_string: 'x' })).status, 422)
  assert.equal((await propose('fresh', { body: 'new\n' })).json.kind, 'new')
})

test('a write for an older version of a block is refused', async () => {
  const { version } = (await put('shared', 'one')).json
  await put('shared', 'two')
  const stale = { body: 'three', expected: version }
  const { status, json } = await call('PUT', '/users/alice/blocks/shared', { token: user, body: stale })
  assert.equal(status, 409)
  assert.equal(json.error.code, 'CONFLICT')
})

test('lists come in pages that join without a gap', async () => {
  const labels = ['p1', 'p2', 'p3', 'p4', 'p5']
  const pages = (await token('pages', 'user')).token
  for (const label of labels) {
    await call('PUT', `/users/pages/blocks/${label}`, { token: pages, body: { body: label } })
    const body = { append: 'more', reasoning: 'r' }
    await call('POST', `/users/pages/blocks/${label}/propose`, { token: pages, body })
  }
  const walk = async (path: string, pick: (json: ReturnType<typeof JSON.parse>) => string[]) => {
    const found: string[] = []
    for (let cursor = ''; ; ) {
      const { json, status } = await call('GET', `${path}?limit=2${cursor && `&cursor=${cursor}`}`, { token: pages })
      assert.equal(status, 200)
      found.push(...pick(json))
      if (json.next === null) return found
      cursor = json.next
    }
  }
  const labelsOf = (items: { label: string }[]) => items.map(({ label }) => label)
  assert.deepEqual(await walk('/users/pages/blocks', json => labelsOf(json.blocks)), labels)
  const proposed = await walk('/users/pages/proposals', json => labelsOf(json.proposals))
  assert.deepEqual(proposed.sort(), labels)
})
