/** Why cached tokens were not read: each cause alone, in order of priority. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CacheWatch, type Watched } from '../../../src/doors/proxy/cache-watch.ts'
import { type Answer, emptyAnswer } from '../../../src/doors/proxy/dialect.ts'
import type { Usage } from '../../../src/model/types.ts'
import { modelInfo } from '../../../src/providers/models.ts'

const model = modelInfo('claude-sonnet-4-5')
const MINUTE = 60_000
const CACHED = 50_000

const call = (at: number, more: Partial<Watched> = {}): Watched => ({
  at,
  model: 'claude-sonnet-4-5',
  frame: [{ system: 'be brief' }],
  edited: false,
  clientChanged: false,
  ...more,
})
const answer = (usage: Usage, more: Partial<Answer> = {}): Answer => ({ ...emptyAnswer(), usage, ...more })
const writes = answer({ input: 10, cacheRead: 0, cacheWrite: CACHED })

/** The result for a call after one that wrote to the cache. */
function outcome(
  sent: Partial<Watched>,
  answered: Partial<Answer> = {},
  usage: Usage = { input: CACHED, cacheRead: 0 },
) {
  const watch = new CacheWatch()
  assert.deepEqual(watch.note(call(0), writes, model), {}, 'the first call misses nothing')
  return watch.note(call(MINUTE, sent), answer(usage, answered), model)
}

describe('a cache miss', () => {
  const cases: [why: string, cause: string, sent: Partial<Watched>, answered?: Partial<Answer>][] = [
    ['another model', 'model', { model: 'claude-opus-5', at: 60 * MINUTE, edited: true }],
    ['a pause that is longer than the lifetime', 'pause', { at: 6 * MINUTE, edited: true }],
    ['an edit of the server', 'server', { edited: true }, { serverEdits: [{ type: 'clear' } as never] }],
    ['a compaction of the server', 'server', { edited: true }, { diagnosis: 'context_compacted' }],
    ['an edit of ours', 'edit', { edited: true, clientChanged: true }],
    ['messages that the client changed', 'client', { clientChanged: true }],
    ['a frame that the client changed', 'client', { frame: [{ system: 'be long' }] }],
    ['messages that changed, as the provider says', 'client', {}, { diagnosis: 'messages_changed' }],
    ['input that changed, as the provider says', 'client', {}, { diagnosis: 'input_changed' }],
    ['tools that changed, as the provider says', 'client', { edited: true }, { diagnosis: 'tools_changed' }],
    ['a model that changed, as the provider says', 'model', { edited: true }, { diagnosis: 'model_changed' }],
    ['nothing that we know', 'provider', {}],
    ['nothing that we know, and the provider says nothing of use', 'provider', {}, { diagnosis: 'unavailable' }],
  ]
  for (const [why, cause, sent, answered] of cases) {
    test(`after ${why} has the cause ${cause}`, () => {
      const { miss, sentence } = outcome(sent, answered)
      assert.deepEqual(miss, { cause, tokens: CACHED })
      assert.equal(sentence !== undefined, cause === 'provider', 'only what nobody explains is told')
    })
  }

  test('at the very end of the lifetime is not caused by a pause', () => {
    assert.equal(outcome({ at: model.ttl }).miss?.cause, 'provider')
    assert.equal(outcome({ at: model.ttl + 1 }).miss?.cause, 'pause')
  })
})

describe('a cache hit', () => {
  const read = { input: 10, cacheRead: CACHED }

  test('within the lifetime is expected', () => assert.deepEqual(outcome({}, {}, read), {}))

  test('after the lifetime tells how long the cache was kept', () => {
    const { ttl, miss, sentence } = outcome({ at: 20 * MINUTE }, {}, read)
    assert.deepEqual([ttl, miss], [20 * MINUTE, undefined])
    assert.match(
      sentence ?? '',
      /^Expected 50\.0k tokens in the cache for 5 minutes, which is over; 50\.0k were read from it$/,
    )
  })

  test('of a prefix that was too small to be cached tells nothing', () => {
    const watch = new CacheWatch()
    watch.note(call(0), answer({ input: 10, cacheWrite: model.minimum - 1 }), model)
    assert.deepEqual(watch.note(call(20 * MINUTE), answer({ input: 5, cacheRead: model.minimum - 1 }), model), {})
  })
})
