/** Presets by name, with the options that need no code. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findPreset, type PresetTuning, presets } from '../../src/planner/presets.ts'
import { coding, editsOf, run } from '../contracts/policy.ts'

/** The number of goal reminders that a preset adds in a session of 40 turns. */
async function reminders(name: string, tuning: PresetTuning): Promise<number> {
  const session = await run(coding(40), { policy: findPreset(name, tuning)! })
  return editsOf(session).filter(({ by }) => by === 'policy:anchor').length
}

test('every preset is found by its name, and no other is', () => {
  for (const { name } of presets) assert.equal(findPreset(name)?.name, name)
  assert.equal(findPreset('nice'), undefined)
})

for (const name of ['agent', 'stale-output']) {
  test(`${name} adds goal reminders at the configured interval, or never`, async () => {
    const usual = await reminders(name, {})
    const often = await reminders(name, { anchor: { every: 2 } })
    assert.ok(usual > 0 && often > usual, `${usual}, ${often}`)
    assert.equal(await reminders(name, { anchor: false }), 0)
  })
}
