import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PlannerValues, plannerFrom } from '../../../src/doors/commands/planner-options.ts'
import { openPalimpsest } from '../../../src/session/engine.ts'
import type { Session } from '../../../src/session/session.ts'

const named = async (values: PlannerValues, usual = 'thrifty') => {
  const planner = await plannerFrom(values, { usual })
  return typeof planner === 'string' ? planner : planner?.name
}

test('options choose a preset, or tune the default one', async () => {
  assert.equal(await named({}), undefined)
  assert.equal(await named({ policy: 'seed-003' }), 'seed-003')
  assert.equal(await named({ keep: 'more' }), 'thrifty')
  assert.equal(await named({ keep: '1.5', protect: 'read_file, db_query' }, 'agent'), 'agent')
  assert.equal(await named({ policy: 'stale-output', anchor: 'off' }), 'stale-output')
})

test('an invalid option is refused with the allowed values', async () => {
  const wrong: [PlannerValues, RegExp][] = [
    [{ keep: 'lots' }, /keep is "lots"; allowed: least, less, normal, more, most/],
    [{ policy: 'stale-output', keep: 'more' }, /--keep is for the presets thrifty and agent, not for stale-output/],
    [{ anchor: '5' }, /--anchor is for the presets agent and stale-output, not for thrifty/],
    [{ policy: 'agent', anchor: 'often' }, /anchor\.every is "often"/],
    [{ policy: 'agent', marks: 'budget=2' }, /marks\.budget is 2/],
    [{ policy: 'agent', marks: 'bud=1' }, /unknown key marks\.bud; allowed in marks: budget, keep, warnFrom/],
    [{ policy: 'seed-9', keep: 'more' }, /policy is "seed-9"/],
  ]
  for (const [values, message] of wrong) await assert.rejects(plannerFrom(values, { usual: 'thrifty' }), { message })
})

/** Nine calls; returns the reminders of the goal and the moved results in the view. */
async function worked(session: Session): Promise<{ anchors: number; moved: number }> {
  await session.append({ role: 'user', parts: [{ type: 'text', text: 'Mend the build.' }] })
  for (let i = 0; i < 9; i++) {
    const id = `c${i}`
    await session.append(
      { role: 'assistant', parts: [{ type: 'tool-call', id, name: 'bash', input: { command: `make ${i}` } }] },
      { role: 'tool', parts: [{ type: 'tool-result', id, name: 'bash', output: `${i}`.repeat(1000) }] },
    )
    await session.view()
  }
  const made = session.edits().map(({ edit }) => edit.by)
  const by = (policy: string) => made.filter(author => author === `policy:${policy}`).length
  return { anchors: by('anchor'), moved: by('offload') }
}

test('the options for anchors and marks work, and the rest of the configuration is kept', async () => {
  const pal = await openPalimpsest({ home: ':memory:', keepFile: async () => undefined })
  const values = { policy: 'agent', anchor: '3', marks: 'limit=500,preview=100' }
  const planner = await plannerFrom(values, { usual: 'thrifty' })
  assert.deepEqual(await worked(await pal.session('often', { planner: planner! })), { anchors: 3, moved: 9 })
  const config = { anchor: { every: 2 }, marks: { limit: 500, preview: 100 } }
  const other = await plannerFrom({ policy: 'agent', marks: 'keep=10' }, { tuning: config, usual: 'thrifty' })
  assert.deepEqual(await worked(await pal.session('file', { planner: other! })), { anchors: 4, moved: 9 })
  const off = await plannerFrom({ policy: 'agent', anchor: 'off' }, { tuning: config, usual: 'thrifty' })
  assert.deepEqual(await worked(await pal.session('off', { planner: off! })), { anchors: 0, moved: 9 })
})
