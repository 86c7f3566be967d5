/** The metrics of a proxy, in the text format of Prometheus. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Meter } from '../../../src/doors/proxy/meter.ts'
import { noStatistics } from '../../../src/view/statistics.ts'

/** The samples of one metric. */
const samples = (text: string, metric: string) => text.split('\n').filter(line => line.startsWith(metric))

test('every counter exists from the start, with its type, and ends with a line break', () => {
  const text = new Meter().text(new Map())
  const names = [...text.matchAll(/^# TYPE (\S+) counter$/gm)].map(([, name]) => name!)
  assert.ok(names.length >= 13)
  for (const name of names) assert.deepEqual(samples(text, name), [`${name} 0`])
  assert.ok(text.endsWith('\n'))
})

test('events are counted by their labels, and characters that need escapes are replaced', () => {
  const meter = new Meter()
  meter.add('palimpsest_requests_total', { dialect: 'anthropic', status: '200' })
  meter.add('palimpsest_requests_total', { dialect: 'anthropic', status: '200' }, 2)
  meter.add('palimpsest_requests_total', { dialect: 'a"b\\c\nd', status: '500' })
  assert.deepEqual(samples(meter.text(new Map()), 'palimpsest_requests_total'), [
    'palimpsest_requests_total{dialect="anthropic",status="200"} 3',
    'palimpsest_requests_total{dialect="a_b_c_d",status="500"} 1',
  ])
})

test('faults and edits count in the totals too, but repairs by the engine are not edits', () => {
  const meter = new Meter()
  meter.fault('ledger')
  meter.edits(['policy:thrifty', 'engine', 'user', 'policy:thrifty'])
  assert.deepEqual(meter.totals, { passed: 0, edits: 3, faults: 1 })
  const text = meter.text(new Map())
  assert.deepEqual(samples(text, 'palimpsest_edits_total'), [
    'palimpsest_edits_total{by="policy:thrifty"} 2',
    'palimpsest_edits_total{by="user"} 1',
  ])
  assert.deepEqual(samples(text, 'palimpsest_faults_total'), ['palimpsest_faults_total{kind="ledger"} 1'])
})

test('tokens, cache misses and money come from the account, by model', () => {
  const busts = { ...noStatistics().busts, edit: 2, pause: 1 }
  const sums = {
    ...noStatistics(),
    calls: 3,
    tokensIn: 90,
    tokensSent: 60,
    input: 5,
    cost: 7,
    saved: -1,
    rewritten: 4,
    busts,
  }
  const text = new Meter().text(new Map([['some-model', sums]]))
  const value = (metric: string, labels = 'model="some-model"') => {
    const line = samples(text, metric).find(one => one.startsWith(`${metric}{${labels}} `))
    return Number(line?.split(' ').at(-1))
  }
  assert.deepEqual(
    ['calls', 'tokens_in', 'tokens_sent', 'cost_dollars', 'saved_dollars', 'rewritten_dollars'].map(name =>
      value(`palimpsest_${name}_total`),
    ),
    [3, 90, 60, 7, 3, 4],
    'saved is over the calls that became cheaper',
  )
  assert.equal(value('palimpsest_reported_tokens_total', 'model="some-model",kind="input"'), 5)
  assert.deepEqual(samples(text, 'palimpsest_busts_total'), [
    'palimpsest_busts_total{cause="edit"} 2',
    'palimpsest_busts_total{cause="pause"} 1',
  ])
})
