/** Proposals for files of the workspace, the same on every store. Part of the contract of memory stores. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Memory } from '../../src/memory/memory.ts'
import type { Actor, MemoryStore } from '../../src/memory/store.ts'

const LABEL = 'workspace:SOUL.md'
const agent = { agentId: 'ralph', reasoning: 'she said so' }
const TEXT = '# Soul\n- likes math\n\n- likes science\n'

export function memoryFilesContract(openStore: (name: string) => Promise<MemoryStore>): void {
  const folder = mkdtempSync(join(tmpdir(), 'palimpsest-files-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  let users = 0

  async function withFile(
    text: string | undefined,
    work: (given: { memory: Memory; store: MemoryStore; user: string; by: Actor; path: string }) => Promise<void>,
  ): Promise<void> {
    const user = `fay${users++}`
    const workspace = mkdtempSync(join(folder, 'w-'))
    const path = join(workspace, 'SOUL.md')
    if (text !== undefined) writeFileSync(path, text)
    const store = await openStore('files')
    const memory = new Memory(store, { workspaceOf: () => workspace })
    await work({ memory, store, user, by: `user:${user}`, path })
    await memory.close()
  }
  const replace = (old: string, text: string) => ({ ...agent, body: { type: 'replace' as const, old, new: text } })

  test('a workspace file changes on approval, stays on rejection, and is restored by a revert', () =>
    withFile(TEXT, async ({ memory, user, by, path }) => {
      const one = await memory.propose(user, LABEL, replace('likes math', 'loves math'))
      const two = await memory.propose(user, LABEL, replace('likes science', 'loves science'))
      const three = await memory.propose(user, LABEL, replace('# Soul', '# Tyrant'))
      assert.equal(readFileSync(path, 'utf8'), TEXT)
      const { diff, block } = await memory.review(user, one.id)
      assert.deepEqual(
        diff.filter(({ type }) => type !== 'same').map(({ text }) => text),
        ['likes', 'loves'],
      )
      assert.equal(block?.body, TEXT)
      for (const { id } of [one, two]) await memory.approve(user, id, { by })
      await memory.reject(user, three.id, { by })
      assert.equal(readFileSync(path, 'utf8'), '# Soul\n- loves math\n\n- loves science\n')
      await memory.revert(user, one.id, { by })
      assert.equal(readFileSync(path, 'utf8'), '# Soul\n- likes math\n\n- loves science\n')
      const states = (await memory.proposals(user)).map(({ state }) => state)
      assert.deepEqual(states.toSorted(), ['approved', 'rejected', 'reverted'])
      await assert.rejects(memory.approve(user, three.id, { by }), { code: 'PROPOSAL_NOT_OPEN' })
      await assert.rejects(memory.approve(user, two.id, { by: 'agent:ralph' }), { code: 'FORBIDDEN' })
    }))

  test('a workspace file is in no list of blocks and cannot be written as a block', () =>
    withFile(TEXT, async ({ memory, user, by, path }) => {
      const { id } = await memory.propose(user, LABEL, replace('likes math', 'loves math'))
      await memory.approve(user, id, { by })
      assert.deepEqual(await memory.blocks(user), [])
      assert.deepEqual(await memory.history(user, LABEL), [])
      await assert.rejects(memory.set(user, LABEL, { body: 'x', by }), {
        code: 'INVALID_INPUT',
        message: /Edit the file/,
      })
      await assert.rejects(memory.remove(user, LABEL, { by }), { code: 'INVALID_INPUT' })
      assert.match(readFileSync(path, 'utf8'), /loves math/)
      assert.equal(await memory.block(user, 'workspace:MEMORY.md'), undefined)
    }))

  test('later edits of the file are kept, and the user settles conflicts', () =>
    withFile(TEXT, async ({ memory, user, by, path }) => {
      const { id } = await memory.propose(user, LABEL, { ...agent, body: TEXT.replace('likes math', 'loves math') })
      const other = await memory.propose(user, LABEL, {
        ...agent,
        body: TEXT.replace('likes science', 'hates science'),
      })
      writeFileSync(path, `${TEXT.replace('likes science', 'likes art')}- lives in Rome\n`)
      await memory.approve(user, id, { by })
      assert.equal(readFileSync(path, 'utf8'), '# Soul\n- loves math\n\n- likes art\n- lives in Rome\n')
      await assert.rejects(memory.approve(user, other.id, { by }), { code: 'CONFLICT' })
      const { block } = await memory.review(user, other.id)
      await assert.rejects(memory.approve(user, other.id, { by, body: 'mine', seen: 'another' }), { code: 'CONFLICT' })
      await memory.approve(user, other.id, { by, body: 'mine\n', seen: block!.version })
      assert.equal(readFileSync(path, 'utf8'), 'mine\n')
    }))

  test('an approval creates a missing file, and its revert removes the file', () =>
    withFile(undefined, async ({ memory, user, by, path }) => {
      await assert.rejects(memory.propose(user, LABEL, replace('a', 'b')), { code: 'BLOCK_NOT_FOUND' })
      const { id } = await memory.propose(user, LABEL, { ...agent, kind: 'new', body: 'Be kind.\n' })
      assert.ok(!existsSync(path))
      await memory.approve(user, id, { by })
      assert.equal(readFileSync(path, 'utf8'), 'Be kind.\n')
      await memory.revert(user, id, { by })
      assert.ok(!existsSync(path))
    }))

  test('a file is restored if its decision cannot be recorded', () =>
    withFile(TEXT, async ({ memory, store, user, by, path }) => {
      const { id } = await memory.propose(user, LABEL, replace('likes math', 'loves math'))
      const decide = store.decide.bind(store)
      store.decide = () => Promise.reject(new Error('the disk is full'))
      await assert.rejects(memory.approve(user, id, { by }), /the disk is full/)
      assert.equal(readFileSync(path, 'utf8'), TEXT)
      // Somebody rejects it between the write and its record.
      store.decide = async (...given) => {
        store.decide = decide
        await memory.reject(user, id, { by })
        return decide(...given)
      }
      await assert.rejects(memory.approve(user, id, { by }), { code: 'PROPOSAL_NOT_OPEN' })
      assert.equal(readFileSync(path, 'utf8'), TEXT)
    }))
}
