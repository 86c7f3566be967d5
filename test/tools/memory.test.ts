import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Memory } from '../../src/memory/memory.ts'
import { SqliteMemory } from '../../src/memory/sqlite.ts'
import type { Actor } from '../../src/memory/store.ts'
import { type MemoryToolContext, memoryTools, memoryToolsFor } from '../../src/tools/memory.ts'
import { runTool, toJsonSchema } from '../../src/tools/tool.ts'

const USER = 'test-user-123'
const BY: Actor = `user:${USER}`

type Given = {
  memory: Memory
  call: (name: string, input?: unknown) => Promise<{ text: string; isError?: boolean }>
  context: MemoryToolContext
}

async function withBlock(body: string | undefined, work: (given: Given) => Promise<void>): Promise<void> {
  const memory = new Memory(new SqliteMemory(':memory:'))
  if (body !== undefined) await memory.set(USER, 'student', { title: 'Student Profile', body, by: BY })
  const context: MemoryToolContext = {
    memory: memory.forAgent(USER, 'test-agent'),
    sources: async () => [{ session: 's', entry: 3 }],
  }
  const call = (name: string, input: unknown = {}) => {
    const tool = memoryTools.find(candidate => candidate.name === name)
    assert.ok(tool, name)
    return runTool(tool, input, context)
  }
  await work({ memory, call, context })
  await memory.close()
}

const edit = (fields: Record<string, unknown>) => ({ block_label: 'student', reasoning: 'test', ...fields })

test('blocks are listed with labels and titles, or a message says that there are none', () =>
  withBlock(undefined, async ({ memory, call }) => {
    assert.deepEqual(await call('list_memory_blocks'), { text: 'No memory blocks exist for this user yet.' })
    await memory.set(USER, 'student', { title: 'Student Profile', body: '', by: BY })
    await memory.set(USER, 'learning_goals', { title: '', body: '', by: BY })
    assert.deepEqual(await call('list_memory_blocks'), {
      text: 'Available memory blocks:\n\n- learning_goals: Learning Goals\n- student: Student Profile',
    })
  }))

test('a tutor has the same tools with texts about a student', () =>
  withBlock(undefined, async ({ context }) => {
    assert.doesNotMatch(JSON.stringify(memoryTools.map(toJsonSchema)), /student/)
    const [list, read] = memoryToolsFor('student')
    assert.equal(list?.description, 'List all available memory blocks for the current student.')
    assert.equal((await runTool(list!, {}, context)).text, 'No memory blocks exist for this student yet.')
    assert.match(JSON.stringify(toJsonSchema(read!)), /e\.g\., \\"student\\", \\"goals\\"/)
  }))

test('a block is read with its title', () =>
  withBlock('## About\n\nTest content here.', async ({ memory, call }) => {
    assert.deepEqual(await call('read_memory_block', { block_label: 'student' }), {
      text: '# Student Profile\n\n## About\n\nTest content here.',
    })
    await memory.set(USER, 'my_goals', { title: '', body: '', by: BY })
    assert.equal((await call('read_memory_block', { block_label: 'my_goals' })).text, '# My Goals\n\n(empty)')
    for (const label of ['nonexistent', '', 'x\u0000', 'y'.repeat(500)]) {
      assert.deepEqual(await call('read_memory_block', { block_label: label }), {
        text: `Memory block '${label}' not found.`,
        isError: true,
      })
    }
  }))

test('an edit becomes a proposal that waits for the user', () =>
  withBlock('The student likes math.', async ({ memory, call }) => {
    const result = await call(
      'propose_memory_edit',
      edit({
        old_string: 'likes math',
        new_string: 'loves mathematics',
        reasoning: 'Student expressed stronger enthusiasm',
      }),
    )
    assert.deepEqual(result, {
      text: "Edit proposal created for block 'student'. The user will be asked to approve this change. Reasoning provided: Student expressed stronger enthusiasm",
    })
    const [proposal] = await memory.proposals(USER)
    assert.equal(proposal?.body, 'The student loves mathematics.')
    assert.deepEqual(
      [proposal?.agentId, proposal?.confidence, proposal?.entries],
      ['test-agent', 'medium', [{ session: 's', entry: 3 }]],
    )
    assert.equal((await memory.block(USER, 'student'))?.body, 'The student likes math.')
  }))

test('with replace_all every occurrence is replaced, literally', () =>
  withBlock('The student likes math. The student also likes science.', async ({ memory, call }) => {
    await call('propose_memory_edit', edit({ old_string: 'The student', new_string: "$& $' This", replace_all: true }))
    assert.equal((await memory.proposals(USER))[0]?.body, "$& $' This likes math. $& $' This also likes science.")
  }))

const refused: [name: string, input: Record<string, unknown>, text: string][] = [
  ['equal strings', { old_string: 'same', new_string: 'same' }, 'Error: old_string and new_string must be different.'],
  ['an empty old_string', { old_string: '', new_string: 'something' }, 'Error: old_string cannot be empty.'],
  [
    'no reasoning',
    { old_string: 'old', new_string: 'new', reasoning: '' },
    'Error: reasoning is required to explain the edit to the user.',
  ],
  [
    'no such block',
    { block_label: 'nonexistent', old_string: 'old', new_string: 'new' },
    "Error: Memory block 'nonexistent' not found.",
  ],
  [
    'a string that is not there',
    { old_string: 'not in content', new_string: 'x' },
    "Error: old_string not found in block 'student'. Make sure you've read the block first and the text matches exactly (including whitespace and newlines).",
  ],
  [
    'a string that is there twice',
    { old_string: 'The student', new_string: 'x' },
    "Error: old_string appears 2 times in block 'student'. Provide a larger unique string with more surrounding context, or set replace_all=True to replace all occurrences.",
  ],
]

for (const [name, input, text] of refused) {
  test(`an edit with ${name} is refused with this message`, () =>
    withBlock('The student likes math. The student also likes science.', async ({ memory, call }) => {
      assert.deepEqual(await call('propose_memory_edit', edit(input)), { text, isError: true })
      assert.deepEqual(await memory.proposals(USER), [])
    }))
}

test('the checks come in a fixed order', () =>
  withBlock('x', async ({ call }) => {
    const all = { block_label: 'none', old_string: '', new_string: '', reasoning: '' }
    assert.match((await call('propose_memory_edit', all)).text, /must be different/)
    assert.match((await call('propose_memory_edit', { ...all, new_string: 'a' })).text, /cannot be empty/)
    assert.match((await call('propose_memory_edit', { ...all, old_string: 'a' })).text, /reasoning is required/)
  }))

test('a failing store gives a result with the error', () =>
  withBlock('x', async ({ memory, call }) => {
    await memory.close()
    assert.match((await call('list_memory_blocks')).text, /^Error listing memory blocks: /)
    assert.match((await call('read_memory_block', { block_label: 'student' })).text, /^Error reading memory block: /)
    const failed = await call('propose_memory_edit', edit({ old_string: 'x', new_string: 'y' }))
    assert.match(failed.text, /^Error creating edit proposal: /)
    assert.equal(failed.isError, true)
  }))

test('text is added at the beginning or the end, on its own lines', () =>
  withBlock('likes math', async ({ memory, call }) => {
    const said = await call('propose_memory_append', edit({ text: 'plays chess', confidence: 'high' }))
    assert.match(said.text, /^Addition proposed for block 'student'\. The user will be asked/)
    await call('propose_memory_append', edit({ text: 'Ann', at_start: true }))
    const [second, first] = await memory.proposals(USER)
    assert.deepEqual([first?.kind, first?.body, first?.confidence], ['append', 'likes math\nplays chess', 'high'])
    assert.deepEqual([second?.kind, second?.body], ['prepend', 'Ann\nlikes math'])
    for (const { id } of [first!, second!]) await memory.approve(USER, id, { by: BY })
    assert.equal((await memory.block(USER, 'student'))?.body, 'Ann\nlikes math\nplays chess')
    assert.equal((await call('propose_memory_append', edit({ text: '' }))).text, 'Error: text cannot be empty.')
  }))

test('a section is replaced, and a missing section is an error', () =>
  withBlock('# A\n\n## Goals\n\nold\n\n## Other\n\nstays\n', async ({ memory, call }) => {
    await call('propose_memory_section', edit({ header: '## Goals', content: 'new' }))
    const [proposal] = await memory.proposals(USER)
    assert.equal(proposal?.kind, 'section')
    assert.match(proposal!.body, /## Goals\n\nnew\n\n## Other\n\nstays\n/)
    const missing = await call('propose_memory_section', edit({ header: '## Nope', content: 'x' }))
    assert.equal(missing.isError, true)
    assert.match(missing.text, /^Error: /)
  }))

test('a new block can be proposed, an existing one cannot', () =>
  withBlock('x', async ({ memory, call }) => {
    const input = { block_label: 'goals', title: 'Goals', body: 'algebra', reasoning: 'she said so' }
    assert.match((await call('propose_memory_block', input)).text, /^New block 'goals' proposed\./)
    assert.equal((await memory.proposals(USER))[0]?.kind, 'new')
    assert.equal(await memory.block(USER, 'goals'), undefined)
    assert.match(
      (await call('propose_memory_block', { ...input, block_label: 'student' })).text,
      /^Error: .*already exists/,
    )
  }))

test('no tool of an agent decides on proposals', () =>
  withBlock('x', async ({ context }) => {
    assert.deepEqual(Object.keys(context.memory).sort(), [
      'block',
      'blocks',
      'duplicates',
      'propose',
      'search',
      'workspace',
    ])
    assert.ok(memoryTools.every(({ name }) => !/approve|reject|restore|revert|set|delete/.test(name)))
  }))

test('propose_memory_edit has its documented schema', () => {
  const tool = memoryTools.find(({ name }) => name === 'propose_memory_edit')!
  const schema = toJsonSchema(tool)
  assert.deepEqual(Object.keys(schema['properties'] as object), [
    'block_label',
    'old_string',
    'new_string',
    'reasoning',
    'replace_all',
  ])
  assert.deepEqual(schema['required'], ['block_label', 'old_string', 'new_string', 'reasoning'])
})
