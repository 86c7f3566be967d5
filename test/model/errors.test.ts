/** Errors, listeners and the home of a process. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { homeIn } from '../../src/model/defaults.ts'
import { isPalimpsestError, messageOf, PalimpsestError } from '../../src/model/errors.ts'
import { Listeners } from '../../src/model/listeners.ts'

test('an error says its code, its sentence, what it is about, and what caused it', () => {
  const cause = new Error('disk')
  const error = new PalimpsestError('STORE_FULL', 'The disk is full.', { path: 'a' }, cause)
  assert.deepEqual(
    [error.code, error.message, error.data, error.cause],
    ['STORE_FULL', 'The disk is full.', { path: 'a' }, cause],
  )
  assert.deepEqual(new PalimpsestError('STORE_FULL', 'x').data, {})
  assert.ok(!('cause' in new PalimpsestError('STORE_FULL', 'x')))
})

test('anything that was thrown has a message', () => {
  assert.deepEqual([new RangeError('a'), 'b', 7, undefined].map(messageOf), ['a', 'b', '7', 'undefined'])
})

test('our errors are known by name, also those of another copy of the package', () => {
  assert.ok(isPalimpsestError(new PalimpsestError('STORE_FULL', 'x')))
  assert.ok(isPalimpsestError(Object.assign(new Error('x'), { name: 'PalimpsestError', code: 'STORE_FULL' })))
  assert.ok(!isPalimpsestError(Object.assign(new Error('x'), { code: 'ENOENT' })))
  assert.ok(!isPalimpsestError(Object.assign(new Error('x'), { name: 'PalimpsestError' })))
  assert.ok(!isPalimpsestError({ name: 'PalimpsestError', code: 'STORE_FULL' }))
})

test('those who listen are told in their order, until they stop', () => {
  const listeners = new Listeners<string>()
  const heard: string[] = []
  const stop = listeners.listen(event => heard.push(`first ${event}`))
  listeners.listen(event => heard.push(`second ${event}`))
  listeners.tell('a')
  stop()
  listeners.tell('b')
  assert.deepEqual(heard, ['first a', 'second a', 'second b'])
})

test('the home is what the environment names', () => {
  assert.equal(homeIn({ PALIMPSEST_HOME: '/home/x' }), '/home/x')
  assert.equal(homeIn({ PALIMPSEST_HOME: '' }), '.agent')
  assert.equal(homeIn({}), '.agent')
})
