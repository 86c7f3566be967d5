import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildMemoryContext, memoryInstructions } from '../../src/memory/context.ts'
import { Memory } from '../../src/memory/memory.ts'
import { SqliteMemory } from '../../src/memory/sqlite.ts'
import { memoryTools } from '../../src/tools/memory.ts'

const by = 'user:ann'

async function withMemory(work: (memory: Memory) => Promise<void>): Promise<void> {
  const memory = new Memory(new SqliteMemory(':memory:'))
  await work(memory)
  await memory.close()
}

test('approved blocks are shown under the heading, sorted by label', () =>
  withMemory(async memory => {
    assert.equal(await buildMemoryContext(memory, 'ann'), '')
    await memory.set('ann', 'student', { title: 'Student Profile', body: 'likes math\n', by })
    await memory.set('ann', 'learning_goals', { title: '', body: '', by })
    assert.equal(
      await buildMemoryContext(memory, 'ann'),
      '# User Context\n\n## Learning Goals (learning_goals)\n\n(empty)\n\n## Student Profile (student)\n\nlikes math\n',
    )
    assert.match(await buildMemoryContext(memory, 'ann', { heading: 'About the user' }), /^# About the user\n/)
  }))

test('the bytes stay the same until an approval', () =>
  withMemory(async memory => {
    await memory.set('ann', 'student', { body: 'likes math', by })
    const before = await buildMemoryContext(memory, 'ann')
    const { id } = await memory.propose('ann', 'student', { body: 'loves math', agentId: 'a', reasoning: 'r' })
    assert.equal(await buildMemoryContext(memory, 'ann'), before)
    const other = await memory.propose('ann', 'student', { body: 'hates math', agentId: 'a', reasoning: 'r' })
    await memory.reject('ann', other.id, { by })
    assert.equal(await buildMemoryContext(memory, 'ann'), before)
    await memory.approve('ann', id, { by })
    assert.match(await buildMemoryContext(memory, 'ann'), /loves math/)
  }))

test('blocks that do not fit are left out whole and named', () =>
  withMemory(async memory => {
    await memory.set('ann', 'big', { body: 'x'.repeat(5000), by })
    await memory.set('ann', 'small', { body: 'fits', by })
    const text = await buildMemoryContext(memory, 'ann', { most: 1000 })
    assert.ok(text.length < 1200)
    assert.match(text, /## Small \(small\)\n\nfits/)
    assert.match(text, /- Big: 5000 characters\. Load it with read_memory_block\("big"\)\.\n$/)
    for (let i = 0; i < 200; i++) await memory.set('ann', `block${i}`, { body: 'y'.repeat(900), by })
    assert.match(await buildMemoryContext(memory, 'ann', { most: 1000 }), /and \d+ more/)
  }))

test('a block on demand is one line: title or label, whether it is outdated, and its beginning', () =>
  withMemory(async memory => {
    const now = Date.parse('2026-10-02')
    const late = '---\nload: on-demand\nvalid_until: 2026-10-01\n---\n# Deploys\n\n- How we deploy to staging\n'
    await memory.set('ann', 'deploys', { title: '', body: late, by })
    await memory.set('ann', 'other', { title: 'Other Things', body: '---\nload: on-demand\n---\nx\n', by })
    assert.equal(
      await buildMemoryContext(memory, 'ann', { now }),
      '# User Context\n\n## More memory, loaded on demand\n\n' +
        `- Deploys [STALE since 2026-10-01]: ${late.length} characters, beginning with "How we deploy to staging". ` +
        'Load it with read_memory_block("deploys").\n' +
        '- Other Things: 26 characters. Load it with read_memory_block("other").\n',
    )
  }))

test('blocks fill the prompt up to the last character', () =>
  withMemory(async memory => {
    await memory.set('ann', 'a', { body: 'x'.repeat(100), by })
    await memory.set('ann', 'b', { body: 'y'.repeat(100), by })
    const whole = await buildMemoryContext(memory, 'ann')
    const fits = whole.length - 1 - '\n\n'.length
    assert.equal(await buildMemoryContext(memory, 'ann', { most: fits }), whole)
    assert.match(
      await buildMemoryContext(memory, 'ann', { most: fits - 1 }),
      /x{100}\n\n## More memory.*\n- B: 100 characters/s,
    )
  }))

test('the instructions use the heading and name existing tools', () => {
  assert.doesNotMatch(memoryInstructions(), /student/i)
  const text = memoryInstructions({ heading: 'Student Context', subject: 'student' })
  assert.match(
    text,
    /^## Memory Blocks\n\nYou have access to memory blocks that contain persistent information about the student\.\n/,
  )
  assert.match(text, /shown above in "Student Context" when available/)
  assert.match(memoryInstructions({ heading: 'Facts' }), /shown above in "Facts" when available/)
  const names = memoryTools.map(({ name }) => name)
  const named = [...text.matchAll(/`(\w+_memory_\w+)`/g)].map(([, name]) => name!)
  assert.ok(named.length > 0)
  assert.deepEqual(
    named.filter(name => !names.includes(name)),
    [],
  )
})
