import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from '../property.ts'
import { checkHistory, history } from './history.ts'

test('the laws hold for any life of a session, opened anew after every step, with everything undone in the end', () =>
  fc.assert(
    fc.asyncProperty(history, async life => {
      assert.ok((await checkHistory(life)) > 0)
    }),
    { numRuns: 150 },
  ))
