import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from '../property.ts'
import { checkHistory, history } from './history.ts'

test('the laws hold for any history of a session, reopened after every step and undone at the end', () =>
  fc.assert(
    fc.asyncProperty(history, async life => {
      assert.ok((await checkHistory(life)) > 0)
    }),
    {
      numRuns: 150,
      // Two results after an insertion: the second one was not reported until the session was reopened.
      seeds: [{ seed: 77024000, path: '9:8:7:7:7:10:13:13:13:13:15:17:17:17:17:21:22:22:22:22:22' }],
    },
  ))
