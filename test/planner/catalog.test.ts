/** Compositions from a configuration: how they are applied, their names, and the options of each policy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compositionSchema, makeComposition, optionNames, policyNames } from '../../src/planner/catalog.ts'
import { everyTurn, type Policy } from '../../src/policies/policy.ts'

const noModules = (): Policy => assert.fail('there is no module')

test('a composition has its name, or is custom, and modules are loaded by the given function', () => {
  assert.equal(makeComposition({ policies: [] }, noModules).name, 'custom')
  assert.equal(makeComposition({ name: 'mine', apply: 'thrifty', policies: [] }, noModules).name, 'mine')
  const loaded: unknown[] = []
  const policy: Policy = { name: 'own', start: () => assert.fail('not started here') } as never
  const config = { use: 'module' as const, path: './own.ts', options: { a: 1 } }
  makeComposition({ policies: [config, { use: 'warn' }] }, module => {
    loaded.push(module)
    return policy
  })
  assert.deepEqual(loaded, [config])
})

test('every policy of the catalog can be created from its name alone, and its options are known', () => {
  assert.ok(policyNames.length >= 14)
  for (const use of policyNames) {
    const composition = compositionSchema.parse({ policies: [{ use }] })
    assert.equal(makeComposition(composition, noModules).name, everyTurn('custom', []).name)
    assert.ok(optionNames(use).includes('use'), use)
  }
  assert.deepEqual(optionNames('anchor'), ['use', 'every', 'goalChars'])
  assert.deepEqual(optionNames('module'), ['use', 'path', 'options'])
  assert.deepEqual(optionNames('clear-results', ['trigger']), ['type', 'value'])
  assert.deepEqual(optionNames('nothing'), ['use'])
  assert.deepEqual(optionNames('anchor', ['every']), [], 'a number has no options')
  assert.deepEqual(optionNames('anchor', ['none', 'deeper']), [])
})
