/** Random decisions on one block, each followed by a check that block, history and proposals agree. */
import assert from 'node:assert/strict'
import type { Memory } from '../../src/memory/memory.ts'
import type { Actor } from '../../src/memory/store.ts'
import * as fc from '../property.ts'

const agent = { agentId: 'ralph', reasoning: 'she said so' }
const text = fc.constantFrom('', 'a', 'a\nb', 'b\n', 'a\nb\nc\n')
/** An action of a person or an agent on the block. */
export const command = fc.oneof(
  fc.record({ type: fc.constant('set' as const), body: text }),
  fc.record({ type: fc.constant('propose' as const), body: text }),
  fc.record({ type: fc.constantFrom('approve' as const, 'reject' as const, 'revert' as const), pick: fc.nat(9) }),
  fc.record({ type: fc.constant('remove' as const) }),
)

/** Runs commands, and after each checks the block against its history and the proposals against their states. */
export async function runCommands(
  memory: Memory,
  user: string,
  commands: readonly (typeof command extends fc.Arbitrary<infer T> ? T : never)[],
): Promise<void> {
  const by: Actor = `user:${user}`
  const ids: string[] = []
  let versions = 0
  for (const each of commands) {
    const done = await attempt(async () => {
      if (each.type === 'set') return memory.set(user, 'x', { body: each.body, by })
      if (each.type === 'remove') return memory.remove(user, 'x', { by })
      if (each.type === 'propose') return ids.push((await memory.propose(user, 'x', { ...agent, body: each.body })).id)
      const id = ids[each.pick % Math.max(1, ids.length)] ?? 'none'
      return memory[each.type](user, id, { by })
    })
    if (done && each.type !== 'propose' && each.type !== 'reject') versions++
    const history = await memory.history(user, 'x')
    const block = await memory.block(user, 'x')
    assert.equal(history.length, versions)
    assert.equal(history[0]?.content?.body, block?.body)
    assert.equal(block === undefined || block.version === history[0]?.id, true)
    const open = await memory.proposals(user, { state: 'open' })
    for (const proposal of open) assert.equal(proposal.decision, undefined)
  }
}

/** True if it worked; our own errors are outcomes, any other error is a defect. */
async function attempt(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    assert.ok(error instanceof Error && error.name === 'PalimpsestError', String(error))
    return false
  }
}
